/* A tick runs once a second, long enough for everything that it touches to leave the caches: what
 * it costs is how many pages and cache lines it touches, not how many instructions it runs. */
#pragma once

/* On the path of every tick: the linker puts these functions side by side (.text.hot). */
#define EVERY_TICK __attribute__((hot))
/* On the path of no healthy tick: what calls it is moved out of the way of what runs. */
#define RARELY __attribute__((cold))
