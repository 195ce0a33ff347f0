/* One queue of a network interface and the core that serves it. */
#pragma once

#include "rec.h"

struct rec_netqueue {
	uint64_t have;
	const char *iface;
	uint64_t queue;
	uint64_t irq;
	uint64_t effective_cpu;
	uint64_t irq_count;
	uint64_t tx_timeout;
	uint64_t tx_packets;
	uint64_t rx_packets;
};

enum {
	REC_NETQUEUE_IFACE = 1 << 0,
	REC_NETQUEUE_QUEUE = 1 << 1,
	REC_NETQUEUE_IRQ = 1 << 2,
	REC_NETQUEUE_EFFECTIVE_CPU = 1 << 3,
	REC_NETQUEUE_IRQ_COUNT = 1 << 4,
	REC_NETQUEUE_TX_TIMEOUT = 1 << 5,
	REC_NETQUEUE_TX_PACKETS = 1 << 6,
	REC_NETQUEUE_RX_PACKETS = 1 << 7,
};

extern const struct rec_desc rec_netqueue_desc;
