/* Profiles on disk. A segment of the store holds dictionary frames (FRAME_STACKS: entries that are
 * new since the last one) and one frame per second (FRAME_PROFILE) with small records:
 *
 *   time of a sample    distance from where the sampling period predicts it, in microseconds
 *   task, stack         ids that count up per segment in order of first use
 *
 * A dictionary frame says from which id on it counts, so that a damaged one loses only the samples
 * that need it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "map.h"
#include "profile.h"
#include "vec.h"

enum { PROFILE_CODEC_VERSION = 1 };

struct profile_task {
	uint32_t pid, tid, comm, cgroup;
};

/* One per segment. */
struct profile_encoder {
	size_t strings, modules, frames, stacks, cgroups, events; /* written so far */
	VEC(struct profile_task) tasks;
	size_t tasks_written;
	struct map_str task_ids;
	VEC(uint32_t) leaves; /* stacks that samples end in */
	size_t leaves_written;
	struct map_u64 leaf_ids;
};

void profile_encoder_reset(struct profile_encoder *e);

struct profile_second {
	uint64_t second;
	bool exact_ns; /* times to the nanosecond (imported files), else to the microsecond */
	const struct profile_cpu_second *rows;
	size_t n_rows;
};

/* What the samples need and no dictionary frame of this segment has yet; false = nothing. */
bool profile_encode_dictionary(struct profile_encoder *e, const struct profile *p,
			       const struct profile_sample *samples, size_t n, struct buf *out);
/* Call profile_encode_dictionary with the same samples first. Sorts them by core and time. */
void profile_encode_second(struct profile_encoder *e, const struct profile *p,
			   const struct profile_second *second, struct profile_sample *samples,
			   size_t n, struct buf *out);

/* A stack of a segment; put into the profile when the first sample needs it. */
struct profile_node {
	uint32_t parent, frame; /* of the segment */
	uint32_t stack;         /* in the profile */
};

/* Decodes segment after segment into one profile. */
struct profile_decoder {
	struct profile *out;
	bool first; /* no other segment gave its stacks to out */
	VEC(uint32_t) strings, modules, frames, cgroups; /* id in the segment → in out */
	VEC(struct profile_node) stacks;
	VEC(uint8_t) events;
	VEC(struct profile_task) tasks;
	VEC(uint32_t) leaves;
};

void profile_decoder_reset(struct profile_decoder *d); /* a new segment begins */
void profile_decoder_free(struct profile_decoder *d);
/* -EBADMSG when the bytes are no dictionary; entries before the damage stay. */
int profile_decode_dictionary(struct profile_decoder *d, const void *bytes, size_t len);
/* Adds the samples with from <= time < to, and the accounts of the second. Samples whose
 * dictionary was lost count as meta.damaged. */
int profile_decode_second(struct profile_decoder *d, const void *bytes, size_t len,
			  uint64_t from_ns, uint64_t to_ns);
/* Which second the frame is about, without decoding it. */
int profile_peek_second(const void *bytes, size_t len, uint64_t *ret_second);
/* Only when and on which core (UINT32_MAX = unknown), without dictionaries: for heat maps. */
int profile_decode_times(const void *bytes, size_t len,
			 void (*each)(void *arg, uint64_t time_ns, uint32_t cpu), void *arg);
/* Only the accounts of the second. */
int profile_decode_rows(const void *bytes, size_t len,
			void (*each)(void *arg, const struct profile_cpu_second *row), void *arg);
