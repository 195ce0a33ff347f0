/* One thread, as the task iterator writes it. Both sides of task_iter.bpf.c. */
#pragma once

#include <linux/types.h>

struct task_iter_rec {
	__u32 pid, tgid, ppid;
	__u32 cpu; /* it last ran on */
	__u32 flags;
	__u32 state;
	__u32 policy;
	__u32 spare;
	__u64 start_ns; /* since boot */
	__u64 utime_ns, stime_ns;
	__u64 run_ns;   /* exact sum of both */
	__u64 delay_ns; /* runnable without a core; ~0 = this kernel does not count it */
	char comm[16];
};
