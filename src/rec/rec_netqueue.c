#include "rec_netqueue.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_netqueue, iface, REC_STR, REC_NONE, REC_KEY, "name of the interface"),
	REC_FIELD(rec_netqueue, queue, REC_U64, REC_ID, REC_KEY, "queue number"),
	REC_FIELD(rec_netqueue, irq, REC_U64, REC_ID, 0, "interrupt of the queue"),
	REC_FIELD(rec_netqueue, effective_cpu, REC_U64, REC_ID, 0,
		  "core that takes the interrupt (effective_affinity_list)"),
	REC_FIELD(rec_netqueue, irq_count, REC_U64, REC_COUNT, REC_COUNTER,
		  "interrupts of the queue, all cores"),
	REC_FIELD(rec_netqueue, tx_timeout, REC_U64, REC_COUNT, REC_COUNTER,
		  "transmit watchdog hits"),
	REC_FIELD(rec_netqueue, tx_packets, REC_U64, REC_COUNT, REC_COUNTER, "packets sent"),
	REC_FIELD(rec_netqueue, rx_packets, REC_U64, REC_COUNT, REC_COUNTER, "packets received"),
};

const struct rec_desc rec_netqueue_desc = {
	.kind = REC_NETQUEUE,
	.name = "netqueue",
	.size = sizeof(struct rec_netqueue),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
