#include "rec_netdev.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_netdev, iface, REC_STR, REC_NONE, REC_KEY, "name"),
	REC_FIELD(rec_netdev, rx_packets, REC_U64, REC_COUNT, REC_COUNTER, "packets received"),
	REC_FIELD(rec_netdev, tx_packets, REC_U64, REC_COUNT, REC_COUNTER, "packets sent"),
	REC_FIELD(rec_netdev, rx_bytes, REC_U64, REC_BYTES, REC_COUNTER, "bytes received"),
	REC_FIELD(rec_netdev, tx_bytes, REC_U64, REC_BYTES, REC_COUNTER, "bytes sent"),
	REC_FIELD(rec_netdev, rx_errors, REC_U64, REC_COUNT, REC_COUNTER, "receive errors"),
	REC_FIELD(rec_netdev, tx_errors, REC_U64, REC_COUNT, REC_COUNTER, "send errors"),
	REC_FIELD(rec_netdev, rx_dropped, REC_U64, REC_COUNT, REC_COUNTER,
		  "received packets dropped"),
	REC_FIELD(rec_netdev, tx_dropped, REC_U64, REC_COUNT, REC_COUNTER,
		  "packets dropped before sending"),
	REC_FIELD(rec_netdev, tx_timeout, REC_U64, REC_COUNT, REC_COUNTER,
		  "transmit watchdog hits, all queues"),
	REC_FIELD(rec_netdev, carrier_changes, REC_U64, REC_COUNT, REC_COUNTER,
		  "times the link went up or down"),
	REC_FIELD(rec_netdev, resets, REC_U64, REC_COUNT, REC_COUNTER,
		  "resets that the driver counts itself"),
	REC_FIELD(rec_netdev, up, REC_U64, REC_NONE, 0, "1 = carrier is up"),
};

const struct rec_desc rec_netdev_desc = {
	.kind = REC_NETDEV,
	.name = "netdev",
	.size = sizeof(struct rec_netdev),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
