/* One core's time since boot, from /proc/stat. Guest time is inside usr, gnice inside nice, as the
 * kernel counts. */
#pragma once

#include "rec.h"

struct rec_cpu {
	uint64_t have;
	uint64_t cpu;
	uint64_t usr, nice, sys, idle, iowait, irq, softirq, steal, guest, guest_nice;
};

enum {
	REC_CPU_ID = 1 << 0,
	REC_CPU_USR = 1 << 1,
	REC_CPU_NICE = 1 << 2,
	REC_CPU_SYS = 1 << 3,
	REC_CPU_IDLE = 1 << 4,
	REC_CPU_IOWAIT = 1 << 5,
	REC_CPU_IRQ = 1 << 6,
	REC_CPU_SOFTIRQ = 1 << 7,
	REC_CPU_STEAL = 1 << 8,
	REC_CPU_GUEST = 1 << 9,
	REC_CPU_GUEST_NICE = 1 << 10,
};

extern const struct rec_desc rec_cpu_desc;
