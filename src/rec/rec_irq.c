#include "rec_irq.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_irq, irq, REC_U64, REC_ID, REC_KEY,
		  "interrupt number, or REC_IRQ_NAMED for LOC, TLB, RES ..."),
	REC_FIELD(rec_irq, cpu, REC_U64, REC_ID, REC_KEY, "core number"),
	REC_FIELD(rec_irq, count, REC_U64, REC_COUNT, REC_COUNTER,
		  "interrupts of this line on this core"),
	REC_FIELD(rec_irq, name, REC_STR, REC_NONE, 0,
		  "who asked for the line; only in ticks that read all lines"),
};

const struct rec_desc rec_irq_desc = {
	.kind = REC_IRQ,
	.name = "irq",
	.size = sizeof(struct rec_irq),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
