/* What a segment's footer says of its profile: heat-map rows and per-core accounts of each second,
 * so that the heat map of a day reads no samples. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "profile.h"
#include "vec.h"

enum { PROFILE_HEAT_ROWS = 50 }; /* parts of a second: 20 ms each */

struct profile_heat_second {
	uint64_t second;
	uint32_t rows[PROFILE_HEAT_ROWS]; /* samples of all cores, idle left out */
};

struct profile_core_second {
	uint64_t second;
	uint32_t cpu;
	uint32_t busy;    /* samples, idle left out */
	uint32_t lost;    /* by the kernel's count */
	uint32_t missing; /* profile_missing_ticks() */
	uint32_t expected;
};

struct profile_footer {
	VEC(struct profile_heat_second) heat;
	VEC(struct profile_core_second) cores;
	/* of segments whose cores were not decoded one by one */
	uint64_t lost, missing;
};

void profile_footer_clear(struct profile_footer *f); /* keeps the memory */
void profile_footer_free(struct profile_footer *f);
/* The entry of that second, made when absent (seconds come in order, or nearly); NULL = no memory.
 */
struct profile_heat_second *profile_footer_heat(struct profile_footer *f, uint64_t second);
void profile_footer_count(struct profile_footer *f, uint64_t time_ns);
/* What the recorder counted of a core in a second. false = no memory. */
bool profile_footer_add_core(struct profile_footer *f, const struct profile_cpu_second *row);

void profile_footer_encode_heat(struct buf *out, const struct profile_footer *f);
void profile_footer_encode_cores(struct buf *out, const struct profile_footer *f);
/* Append; -EBADMSG when the bytes are none. */
int profile_footer_decode_heat(const void *bytes, size_t len, struct profile_footer *f);
/* totals_only: only lost and missing of the whole segment, which is much cheaper. */
int profile_footer_decode_cores(const void *bytes, size_t len, bool totals_only,
				struct profile_footer *f);
