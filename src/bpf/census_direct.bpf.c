// SPDX-License-Identifier: GPL-2.0-or-later
/* The walk (census_step.h) with plain loads. An object of its own: what older kernels need would
 * be relocated with it at every start. */
#include "census_loads.h"
/* needs what is above */
#include "census_step.h"

char LICENSE[] SEC("license") = "GPL";

static long walk_callback(__u32 i, void *ctx)
{
	return walk_step(WITH_LOOPS);
}

SEC(DIRECT_SECTION)
int census_direct(void *ctx)
{
	walk_slice_start();
	bpf_loop(st.ctl.budget, walk_callback, 0, 0);
	return 0;
}
