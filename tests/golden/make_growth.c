/* A recording of five days on the original incident's kind of host: a census every minute, six
 * zombies more each time, 252,000 bytes of per-core memory and 9,400 of slab each.
 *
 *   make-growth DIR LAST_EPOCH_S [PER_MINUTE]: the last census is at LAST_EPOCH_S. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "census_summary.h"
#include "churn_summary.h"
#include "store_writer.h"
#include "timefmt.h"

enum { MINUTES = 5 * 24 * 60, FIRST = 10000, PERCPU = 252000, SLAB = 9400, LIVE = 240 };

static int begin(void *arg, struct store_writer *w, struct err *err)
{
	static const char meta[] =
		"version=gen\nhost=invented\nkernel=5.4.0-1146-aws\nuser_hz=100\ncores=96\n";

	(void)arg;
	return store_writer_append(w, FRAME_META, 1, store_writer_clock(w)->real_ns, meta,
				   sizeof(meta) - 1, err);
}

static int put_census(struct store_writer *w, uint64_t now, uint64_t dying, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { .time_ns = now, .method = CENSUS_BY_BPF };
	AUTO_BUF struct buf bytes = { 0 };

	s.dying = dying;
	s.live = LIVE;
	s.tracked = s.kernel_count = dying + LIVE;
	s.percpu_bytes = 50000000 + dying * PERCPU;
	s.slab_host_bytes = 900000000 + dying * SLAB;
	s.have = CENSUS_COUNT_KNOWN | CENSUS_KERNEL_COUNT | CENSUS_PERCPU | CENSUS_SLAB;
	census_summary_encode(&bytes, &s, 100);
	return store_writer_append(w, FRAME_CENSUS, 1, now, bytes.data, bytes.len, err);
}

static int put_churn(struct store_writer *w, uint64_t now, unsigned n, struct err *err)
{
	AUTO_CHURN_SUMMARY struct churn_summary s = { .from_ns = now - 60 * NS_PER_S,
						      .to_ns = now,
						      .creators_known = true };
	AUTO_BUF struct buf bytes = { 0 };

	for (unsigned i = 0; i < 2 * n; i++) {
		struct churn_event e = { .what = i % 2 ? CHURN_REMOVED : CHURN_MADE,
					 .mono_ns = i + 1,
					 .id = i / 2 + 1,
					 .path = "/docker/"
						 "0123456789abcdef0123456789abcdef0123456789abcdef0"
						 "123456789abcdef",
					 .comm = "runc",
					 .own_cgroup = "/system.slice/docker.service",
					 .pid = 4711 };
		churn_summary_add(&s, &e);
	}
	churn_summary_sort(&s);
	churn_summary_encode(&bytes, &s, 100);
	return store_writer_append(w, FRAME_CHURN, 1, now, bytes.data, bytes.len, err);
}

int main(int argc, char **argv)
{
	struct store_options options = { .segment_ns = 3600 * NS_PER_S, .sync_ns = UINT64_MAX };
	struct store_hooks hooks = { .begin = begin };
	struct store_clock clock = { .mono_ns = 100 * NS_PER_S,
				     .boot_ns = 100 * NS_PER_S,
				     .boot_id = "11111111-2222-3333-4444-555555555555" };
	struct store_writer *w;
	struct err err = { 0 };

	if (argc < 3)
		return 2;
	long per_minute = argc > 3 ? atol(argv[3]) : 6;
	uint64_t dying = FIRST + (per_minute < 0 ? MINUTES : 0);
	clock.real_ns = ((uint64_t)atoll(argv[2]) - MINUTES * 60) * NS_PER_S;
	int r = store_writer_open(argv[1], &options, &hooks, &w, &err);
	for (unsigned i = 0; r == 0 && i <= MINUTES; i++) {
		r = store_writer_tick(w, &clock, &err);
		if (r == 0)
			r = put_census(w, clock.real_ns, dying, &err);
		if (r == 0 && per_minute > 0)
			r = put_churn(w, clock.real_ns, (unsigned)per_minute, &err);
		dying = (uint64_t)((long)dying + per_minute);
		clock.real_ns += 60 * NS_PER_S;
		clock.mono_ns += 60 * NS_PER_S;
		clock.boot_ns += 60 * NS_PER_S;
	}
	if (r < 0)
		fprintf(stderr, "make-growth: %s\n", err.text);
	else
		store_writer_close(w);
	return r < 0;
}
