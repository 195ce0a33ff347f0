/* Interrupts of one line on one core since boot; cores that never took one have no row. NIC queue
 * lines every second (/sys/kernel/irq/N/per_cpu_count), all lines every 10 s (/proc/interrupts). */
#pragma once

#include "rec.h"

struct rec_irq {
	uint64_t have;
	uint64_t irq;
	uint64_t cpu;
	uint64_t count;
	const char *name;
};

enum {
	REC_IRQ_IRQ = 1 << 0,
	REC_IRQ_CPU = 1 << 1,
	REC_IRQ_COUNT = 1 << 2,
	REC_IRQ_NAME = 1 << 3,
};

/* Lines without a number: their three or four letters, little-endian, above this bit. */
#define REC_IRQ_NAMED (UINT64_C(1) << 32)

extern const struct rec_desc rec_irq_desc;
