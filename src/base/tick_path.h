/* A tick runs once a second, long enough for everything that it touches to leave the caches: what
 * it costs is how many pages and cache lines it touches, not how many instructions it runs. */
#pragma once

#include <stddef.h>

/* On the path of every tick: the linker puts these functions side by side (.text.hot). */
#define EVERY_TICK __attribute__((hot))
/* On the path of no healthy tick: what calls it is moved out of the way of what runs. */
#define RARELY __attribute__((cold))

/* Set by src/tick_path.ld; a program that is linked without it has nothing to ask for. */
extern const char tick_path_begin[] __attribute__((weak));
extern const char tick_path_end[] __attribute__((weak));

/* Ask for the code of a tick before it runs: many cache lines come at once in the time in which
 * code that runs cold waits for a few, one after the other. */
static inline void tick_path_warm(void)
{
	for (const char *line = tick_path_begin; line < tick_path_end; line += 64)
		__builtin_prefetch(line, 0, 2);
}
