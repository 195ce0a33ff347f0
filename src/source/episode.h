/* From matched kernel log lines to events: a driver that prints a thousand lines for one reset
 * gives one event with its start, end, cause, queue and count. Pure: time comes with the lines.
 *
 * Lines of different trust never meet in one episode: what userspace could have written cannot add
 * to, or hide behind, what the kernel said. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmsg.h"
#include "pattern.h"
#include "rec_event.h"

/* Lines that the lab injects begin with this; it is taken off before they are matched. */
#define EPISODE_LAB_MARK "zscope-lab: "
/* Such a line, as userspace must write it: never with the kernel's own facility. */
bool episode_lab_line(unsigned facility, const char *text, size_t len);

enum episode_clock {
	EPISODE_NO_TIME,
	EPISODE_BOOT_TIME,
	EPISODE_WALL_TIME,
};

struct episode_line {
	const struct pattern_hit *hit; /* NULL = an unmatched line that follows a matched one */
	const char *text;
	size_t len;
	enum episode_clock clock;
	uint64_t time_ns; /* by that clock */
	uint64_t mono_ns; /* since boot; 0 = unknown */
	uint64_t lag_ns;  /* how late the receiver stamped the line */
	bool trusted;
	bool injected;
	uint64_t tag; /* the caller's own number for the line, see episodes_oldest_tag */
};

struct episodes;

/* order: position of the event's first line, so that events can be put in file order. The event is
 * valid during the call. */
typedef void (*episode_emit_fn)(void *arg, const struct rec_event *event, uint64_t order);

struct episodes *episodes_new(episode_emit_fn emit, void *arg); /* NULL = out of memory */
void episodes_free(struct episodes *e);
void episodes_line(struct episodes *e, const struct episode_line *line);
/* A record of the live kernel log: matched, and what the lab injected told from what the kernel
 * said (only user facilities can bear the lab's mark). True when a pattern took it. */
bool episodes_record(struct episodes *e, struct pattern_set *patterns,
		     const struct kmsg_record *record);
/* Live: emit what has been quiet for long enough at wall time now_ns. */
void episodes_advance(struct episodes *e, uint64_t now_ns);
/* The tag of the first line of the episode that began first among those still open; false when none
 * is. A recorder that dies must read the log again from there. */
bool episodes_oldest_tag(const struct episodes *e, uint64_t *ret);
/* Emit everything that is still open. */
void episodes_flush(struct episodes *e);
