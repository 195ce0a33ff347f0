#include "rec_softnet.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_softnet, cpu, REC_U64, REC_ID, REC_KEY, "core number"),
	REC_FIELD(rec_softnet, processed, REC_U64, REC_COUNT, REC_COUNTER, "packets processed"),
	REC_FIELD(rec_softnet, dropped, REC_U64, REC_COUNT, REC_COUNTER,
		  "packets dropped because the backlog was full"),
	REC_FIELD(rec_softnet, squeezed, REC_U64, REC_COUNT, REC_COUNTER,
		  "times the core ran out of budget with work left"),
	REC_FIELD(rec_softnet, rps, REC_U64, REC_COUNT, REC_COUNTER,
		  "times the core was woken by another for packets"),
	REC_FIELD(rec_softnet, flow_limit, REC_U64, REC_COUNT, REC_COUNTER,
		  "packets dropped by the flow limit"),
	REC_FIELD(rec_softnet, backlog, REC_U64, REC_COUNT, 0, "packets waiting now"),
};

const struct rec_desc rec_softnet_desc = {
	.kind = REC_SOFTNET,
	.name = "softnet",
	.size = sizeof(struct rec_softnet),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
