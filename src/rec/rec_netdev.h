/* One network interface: its counters since it came up. */
#pragma once

#include "rec.h"

struct rec_netdev {
	uint64_t have;
	const char *iface;
	uint64_t rx_packets;
	uint64_t tx_packets;
	uint64_t rx_bytes;
	uint64_t tx_bytes;
	uint64_t rx_errors;
	uint64_t tx_errors;
	uint64_t rx_dropped;
	uint64_t tx_dropped;
	uint64_t tx_timeout;
	uint64_t carrier_changes;
	uint64_t resets;
	uint64_t up;
};

enum {
	REC_NETDEV_IFACE = 1 << 0,
	REC_NETDEV_RX_PACKETS = 1 << 1,
	REC_NETDEV_TX_PACKETS = 1 << 2,
	REC_NETDEV_RX_BYTES = 1 << 3,
	REC_NETDEV_TX_BYTES = 1 << 4,
	REC_NETDEV_RX_ERRORS = 1 << 5,
	REC_NETDEV_TX_ERRORS = 1 << 6,
	REC_NETDEV_RX_DROPPED = 1 << 7,
	REC_NETDEV_TX_DROPPED = 1 << 8,
	REC_NETDEV_TX_TIMEOUT = 1 << 9,
	REC_NETDEV_CARRIER_CHANGES = 1 << 10,
	REC_NETDEV_RESETS = 1 << 11,
	REC_NETDEV_UP = 1 << 12,
};

extern const struct rec_desc rec_netdev_desc;
