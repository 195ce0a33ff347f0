/* Soft interrupts per core since boot, from /proc/softirqs. */
#pragma once

#include "rec.h"

struct rec_softirq {
	uint64_t have;
	uint64_t cpu;
	uint64_t hi;
	uint64_t timer;
	uint64_t net_tx;
	uint64_t net_rx;
	uint64_t block;
	uint64_t irq_poll;
	uint64_t tasklet;
	uint64_t sched;
	uint64_t hrtimer;
	uint64_t rcu;
};

enum {
	REC_SOFTIRQ_CPU = 1 << 0,
	REC_SOFTIRQ_HI = 1 << 1,
	REC_SOFTIRQ_TIMER = 1 << 2,
	REC_SOFTIRQ_NET_TX = 1 << 3,
	REC_SOFTIRQ_NET_RX = 1 << 4,
	REC_SOFTIRQ_BLOCK = 1 << 5,
	REC_SOFTIRQ_IRQ_POLL = 1 << 6,
	REC_SOFTIRQ_TASKLET = 1 << 7,
	REC_SOFTIRQ_SCHED = 1 << 8,
	REC_SOFTIRQ_HRTIMER = 1 << 9,
	REC_SOFTIRQ_RCU = 1 << 10,
};

extern const struct rec_desc rec_softirq_desc;
