#include "rec_softirq.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_softirq, cpu, REC_U64, REC_ID, REC_KEY, "core number"),
	REC_FIELD(rec_softirq, hi, REC_U64, REC_COUNT, REC_COUNTER, "high-priority tasklets"),
	REC_FIELD(rec_softirq, timer, REC_U64, REC_COUNT, REC_COUNTER, "timers"),
	REC_FIELD(rec_softirq, net_tx, REC_U64, REC_COUNT, REC_COUNTER, "packets sent"),
	REC_FIELD(rec_softirq, net_rx, REC_U64, REC_COUNT, REC_COUNTER, "packets received"),
	REC_FIELD(rec_softirq, block, REC_U64, REC_COUNT, REC_COUNTER, "block device completions"),
	REC_FIELD(rec_softirq, irq_poll, REC_U64, REC_COUNT, REC_COUNTER,
		  "polled block completions"),
	REC_FIELD(rec_softirq, tasklet, REC_U64, REC_COUNT, REC_COUNTER, "tasklets"),
	REC_FIELD(rec_softirq, sched, REC_U64, REC_COUNT, REC_COUNTER, "load balancing"),
	REC_FIELD(rec_softirq, hrtimer, REC_U64, REC_COUNT, REC_COUNTER, "high-resolution timers"),
	REC_FIELD(rec_softirq, rcu, REC_U64, REC_COUNT, REC_COUNTER, "RCU callbacks"),
};

const struct rec_desc rec_softirq_desc = {
	.kind = REC_SOFTIRQ,
	.name = "softirq",
	.size = sizeof(struct rec_softirq),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
