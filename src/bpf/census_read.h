/* How the census programs read kernel memory, and how they are run in slices. */
#pragma once

#include "kernel_slices.h"

#include "census_abi.h"
#include "direct_abi.h"

#define READ(ret, ptr) bpf_core_read(&(ret), sizeof(ret), (ptr))

#define OFFSET(type, field) bpf_core_field_offset(((struct type *)0)->field)
#define EXISTS(type, field) bpf_core_field_exists(((struct type *)0)->field)
#define SIZE(type, field)   bpf_core_field_size(((struct type *)0)->field)

/* direct_abi.h: the verifier turns the call into a move. */
#define DIRECT_CAST(address, type)                                   \
	({                                                           \
		void *_ptr;                                          \
		asm("r1 = %1\n"                                      \
		    "r2 = %2\n"                                      \
		    "call %3\n"                                      \
		    "%0 = r0"                                        \
		    : "=r"(_ptr)                                     \
		    : "r"(address), "i"(type), "i"(DIRECT_CAST_CALL) \
		    : "r0", "r1", "r2", "r3", "r4", "r5");           \
		_ptr;                                                \
	})

/* Verifiers before 6.x refuse loops of the shape that clang gives these: CENSUS_CHUNK steps,
 * written out. */
#define EIGHT_TIMES(step) \
	(void)((step) || (step) || (step) || (step) || (step) || (step) || (step) || (step))

/* Without bpf_loop (before 5.17): by test run, or by any system call of ours, where a program on
 * sys_enter must tell the calls that mean it. */
static __always_inline bool census_is_meant(struct census_ctl *ctl)
{
	if (ctl->own_pid != (__u32)(bpf_get_current_pid_tgid() >> 32) || !ctl->armed)
		return false;
	ctl->armed = 0;
	return true;
}

static __always_inline void slice_start(struct census_ctl *ctl)
{
	ctl->ran++;
	ctl->out_n = 0;
}

/* The two ways in which a job whose state is st is run: NAME in a bpf_loop, NAME_chunk without. */
#define CENSUS_PROGRAMS(job, step)                              \
	static long step##_callback(__u32 i, void *ctx)         \
	{                                                       \
		return step();                                  \
	}                                                       \
                                                                \
	SEC("syscall")                                          \
	int job(void *ctx)                                      \
	{                                                       \
		slice_start(&st.ctl);                           \
		bpf_loop(st.ctl.budget, step##_callback, 0, 0); \
		return 0;                                       \
	}                                                       \
                                                                \
	SEC("raw_tp/sys_enter")                                 \
	int job##_chunk(void *ctx)                              \
	{                                                       \
		if (!census_is_meant(&st.ctl))                  \
			return 0;                               \
		slice_start(&st.ctl);                           \
		EIGHT_TIMES(step());                            \
		return 0;                                       \
	}
