/* What a frame in the store holds. The store itself looks into none of them. Numbers are on disk:
 * never reuse one. */
#pragma once

#include <stdint.h>

enum frame_kind {
	FRAME_TICK = 1,     /* one reading of the host (rec/tick.h), written by tick_codec */
	FRAME_KEY = 2,      /* the tick that later ticks of the segment are deltas of */
	FRAME_EVENT = 3,    /* one rec_event */
	FRAME_PROFILE = 4,  /* the samples of one second */
	FRAME_STACKS = 5,   /* dictionary entries that later PROFILE frames of the segment use */
	FRAME_CENSUS = 6,   /* summary of a zombie census */
	FRAME_CHURN = 7,    /* cgroups made, removed and released, per parent and owner */
	FRAME_UNITS = 8,    /* state of units and containers */
	FRAME_META = 9,     /* host facts at the start of a segment: kernel, boot id, cores, hz */
	FRAME_KMSG = 10,    /* raw kernel log records as they arrived */
	FRAME_GAP = 11,     /* [from, to) in which nothing could be written, and why */
	FRAME_CLOCK = 12,   /* the store's own: the clocks of one second */
	FRAME_SEGMENT = 13, /* the store's own: first frame of a segment, boot id and clocks */
	FRAME_FOOTER = 14,  /* the store's own: last frame of a sealed segment, the index */
	FRAME_TOTALS = 15,  /* counters up to the start of the segment, for metrics */
	FRAME_RECLAIM = 16, /* what memory reclaim took, in which cgroup, who paid */
	FRAME_KIND_END,     /* at most 32: readers take a bit mask of kinds */
};

/* What else may stand in a segment's footer. On disk too. */
enum footer_kind {
	FOOTER_HEAT = 1,    /* heat-map rows of the profile */
	FOOTER_PROFILE = 2, /* per-second accounts of the profile: expected, received, lost */
	FOOTER_EVENTS = 3,  /* free for the events part: counts by source */
	FOOTER_KIND_END,
};

#define FRAME_BIT(kind) (UINT32_C(1) << (kind))
#define FRAME_ALL       UINT32_MAX

struct frame {
	enum frame_kind kind;
	unsigned version;    /* of the payload's layout, per kind */
	uint64_t time_ns;    /* wall clock */
	uint64_t segment;    /* which segment it lies in: dictionaries and keys are per segment */
	const void *payload; /* decompressed; valid until the next call on the same reader */
	uint64_t len;
};
