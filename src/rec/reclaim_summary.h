/* What memory reclaim took over a time: in which cgroup, how long its passes were, who paid for
 * them. FRAME_RECLAIM in a recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "vec.h"

enum reclaim_kind {
	RECLAIM_KIND_LIMIT,  /* a cgroup was at its limit */
	RECLAIM_KIND_ASKED,  /* in a cgroup, but none above the payer was at its limit: somebody
				wrote  to memory.reclaim or memory.force_empty */
	RECLAIM_KIND_DIRECT, /* the host was short of memory; whoever wanted some had to look for it
			      */
	RECLAIM_KIND_KSWAPD, /* the host was short; in the background. Times are CPU times */
	RECLAIM_KIND_END,
};

/* Durations fall into 8 buckets per power of two, from 512 ns to 68 s. */
enum {
	RECLAIM_HIST_SUB_BITS = 3,
	RECLAIM_HIST_LOW_BIT = 9,
	RECLAIM_HIST_HIGH_BIT = 36,
	RECLAIM_HIST = (RECLAIM_HIST_HIGH_BIT - RECLAIM_HIST_LOW_BIT) << RECLAIM_HIST_SUB_BITS,
	RECLAIM_MOST_ROWS = 256,
	RECLAIM_MOST_PAYER_ROWS = 1024,
};

struct reclaim_row {
	enum reclaim_kind kind;
	uint64_t cgroup;  /* id of the one at its limit; 0 = none */
	const char *path; /* NULL = none, or not known */
	uint64_t passes, total_ns, max_ns;
	uint64_t bytes; /* freed; kswapd does not tell */
	uint32_t hist[RECLAIM_HIST];
	uint64_t zombies; /* below the cgroup; in all, where it is the host */
	bool zombies_known;
};

struct reclaim_payer_row {
	size_t row; /* index in rows */
	int pid;
	char comm[16];
	const char *cgroup; /* its own: "/system.slice/app.service"; NULL = not known */
	uint64_t passes, total_ns;
	uint64_t max_ns; /* 0 = not known: a longer one came before this stretch */
};

/* How long passes were among so many zombies, in one stretch of a recording. */
struct reclaim_point {
	uint64_t cgroup; /* id of the one at its limit; 0 = the host */
	uint64_t zombies, p99_ns;
};

/* A percentile of fewer passes than this is that of single ones. */
enum { RECLAIM_POINT_PASSES = 100 };

struct reclaim_summary {
	uint64_t from_ns, to_ns; /* wall clock */
	uint64_t lost;           /* passes that could not be counted */
	uint64_t lost_payers;    /* passes whose payer is not listed */
	VEC(struct reclaim_row) rows;
	VEC(struct reclaim_payer_row) payers;
	struct arena strings;
};

const char *reclaim_kind_name(enum reclaim_kind kind);
uint64_t reclaim_summary_passes(const struct reclaim_summary *s);
/* The least duration that falls into the bucket. */
uint64_t reclaim_hist_ns(unsigned bucket);
/* Of which that share of the passes (0 to 1) was shorter: never below the truth, and above it by
 * less than 13 %. */
uint64_t reclaim_row_percentile(const struct reclaim_row *row, double share);
/* Names of a cgroup and all above it, the innermost first, each with its NUL, the last one empty:
 * to "/a/b". NULL = the names do not reach up to the root. */
const char *reclaim_path(struct arena *strings, const char *names, size_t len);

/* Before a census: forget the numbers of zombies. below: the census sees these only; NULL = all. */
void reclaim_summary_count(struct reclaim_summary *s, const char *below);
void reclaim_summary_zombie(struct reclaim_summary *s, const char *path, size_t len);

/* Rows and payers by time taken, most first. */
void reclaim_summary_sort(struct reclaim_summary *s);
/* What came between `before` and `s`, both counted from the same start; s becomes that. */
void reclaim_summary_subtract(struct reclaim_summary *s, const struct reclaim_summary *before);
bool reclaim_summary_merge(struct reclaim_summary *s, const struct reclaim_summary *from);
bool reclaim_summary_copy(struct reclaim_summary *ret, const struct reclaim_summary *from);
void reclaim_summary_encode(struct buf *out, const struct reclaim_summary *s);
int reclaim_summary_decode(const void *bytes, size_t len, struct reclaim_summary *ret);
void reclaim_summary_free(struct reclaim_summary *s);

#define AUTO_RECLAIM_SUMMARY __attribute__((cleanup(reclaim_summary_free)))
