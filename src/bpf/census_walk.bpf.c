// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk (census_step.h) where the verifier allows no plain loads: before 6.2. */
#include "census_copies.h"
/* needs what is above */
#include "census_step.h"

char LICENSE[] SEC("license") = "GPL";

static long walk_callback(__u32 i, void *ctx)
{
	return walk_step(WITH_LOOPS);
}

SEC("syscall")
int census_walk(void *ctx)
{
	walk_slice_start();
	bpf_loop(st.ctl.budget, walk_callback, 0, 0);
	return 0;
}

/* Fewer steps per call, written out. */
SEC("raw_tp/sys_enter")
int census_walk_chunk(void *ctx)
{
	if (!census_is_meant(&st.ctl))
		return 0;
	walk_slice_start();
	EIGHT_TIMES(walk_step(WITHOUT_LOOPS));
	return 0;
}
