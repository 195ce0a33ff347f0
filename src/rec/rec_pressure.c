#include "rec_pressure.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_pressure, resource, REC_U64, REC_ID, REC_KEY, "enum pressure_resource"),
	REC_FIELD(rec_pressure, some_avg10, REC_U64, REC_PERCENT_X100, 0,
		  "share of 10 s in which some task stalled"),
	REC_FIELD(rec_pressure, some_avg60, REC_U64, REC_PERCENT_X100, 0,
		  "share of 60 s in which some task stalled"),
	REC_FIELD(rec_pressure, some_avg300, REC_U64, REC_PERCENT_X100, 0,
		  "share of 300 s in which some task stalled"),
	REC_FIELD(rec_pressure, some_total, REC_U64, REC_US, REC_COUNTER,
		  "time in which some task stalled"),
	REC_FIELD(rec_pressure, full_avg10, REC_U64, REC_PERCENT_X100, 0,
		  "share of 10 s in which all tasks stalled"),
	REC_FIELD(rec_pressure, full_avg60, REC_U64, REC_PERCENT_X100, 0,
		  "share of 60 s in which all tasks stalled"),
	REC_FIELD(rec_pressure, full_avg300, REC_U64, REC_PERCENT_X100, 0,
		  "share of 300 s in which all tasks stalled"),
	REC_FIELD(rec_pressure, full_total, REC_U64, REC_US, REC_COUNTER,
		  "time in which all tasks stalled"),
};

const struct rec_desc rec_pressure_desc = {
	.kind = REC_PRESSURE,
	.name = "pressure",
	.size = sizeof(struct rec_pressure),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
