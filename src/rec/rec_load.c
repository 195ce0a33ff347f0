#include "rec_load.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_load, load1_x100, REC_U64, REC_NONE, 0,
		  "load average over 1 minute, hundredths"),
	REC_FIELD(rec_load, load5_x100, REC_U64, REC_NONE, 0,
		  "load average over 5 minutes, hundredths"),
	REC_FIELD(rec_load, load15_x100, REC_U64, REC_NONE, 0,
		  "load average over 15 minutes, hundredths"),
	REC_FIELD(rec_load, runnable, REC_U64, REC_COUNT, 0, "tasks that run or want to run"),
	REC_FIELD(rec_load, tasks, REC_U64, REC_COUNT, 0, "tasks in all"),
	REC_FIELD(rec_load, blocked, REC_U64, REC_COUNT, 0, "tasks that wait for a disk"),
	REC_FIELD(rec_load, ctxt, REC_U64, REC_COUNT, REC_COUNTER, "context switches"),
	REC_FIELD(rec_load, forks, REC_U64, REC_COUNT, REC_COUNTER, "processes and threads made"),
	REC_FIELD(rec_load, intr, REC_U64, REC_COUNT, REC_COUNTER, "interrupts"),
	REC_FIELD(rec_load, btime_s, REC_U64, REC_NONE, 0, "boot time, seconds since the epoch"),
};

const struct rec_desc rec_load_desc = {
	.kind = REC_LOAD,
	.name = "load",
	.size = sizeof(struct rec_load),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
