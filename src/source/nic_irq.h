/* Interrupts of network queues, every second: /sys/kernel/irq/N/per_cpu_count of the lines that a
 * network device owns (device/msi_irqs). */
#pragma once

#include "err.h"
#include "root.h"
#include "tick.h"
#include "vec.h"

struct nic_irq_line {
	uint64_t irq;
	struct reread file;
	char path[64];
};

struct nic_irq {
	VEC(struct nic_irq_line *) lines;
};

enum { NIC_IRQ_MOST = 1024 };

/* "0,16\n": adds a REC_IRQ row for every core that took one. Pure. */
int nic_irq_parse(const char *text, uint64_t irq, struct tick *ret, struct err *err);

/* Find the lines of all network devices; call again from time to time, interfaces come and go. */
int nic_irq_open(struct nic_irq *n, const struct root *root, struct err *err);
int nic_irq_read(struct nic_irq *n, struct buf *text, struct tick *ret, struct err *err);
void nic_irq_close(struct nic_irq *n);
