#include "rec_self.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_self, cpu_ns, REC_U64, REC_NS, REC_COUNTER,
		  "CPU time of the recorder, read every tenth tick"),
	REC_FIELD(rec_self, rss_bytes, REC_U64, REC_BYTES, 0, "resident memory of the recorder"),
	REC_FIELD(rec_self, major_faults, REC_U64, REC_COUNT, REC_COUNTER,
		  "page faults of the recorder that needed the disk"),
	REC_FIELD(rec_self, ticks, REC_U64, REC_COUNT, REC_COUNTER, "ticks taken"),
	REC_FIELD(rec_self, missed_ticks, REC_U64, REC_COUNT, REC_COUNTER,
		  "seconds in which no tick could be taken"),
	REC_FIELD(rec_self, lateness_ns, REC_U64, REC_NS, 0, "how late this tick began"),
	REC_FIELD(rec_self, tick_cpu_ns, REC_U64, REC_NS, 0,
		  "CPU time of a tick and what lies between two, mean of the last ten"),
	REC_FIELD(rec_self, shed_level, REC_U64, REC_NONE, 0, "detail left out, 0 = none"),
	REC_FIELD(rec_self, store_bytes, REC_U64, REC_BYTES, 0, "size of the whole recording"),
	REC_FIELD(rec_self, lost_frames, REC_U64, REC_COUNT, REC_COUNTER,
		  "frames that could not be kept, on disk or in memory"),
};

const struct rec_desc rec_self_desc = {
	.kind = REC_SELF,
	.name = "self",
	.size = sizeof(struct rec_self),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
