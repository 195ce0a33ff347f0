#include "rec_quota.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_quota, cgroup, REC_STR, REC_NONE, REC_KEY,
		  "path below the hierarchy's root, hostile bytes"),
	REC_FIELD(rec_quota, quota, REC_U64, REC_US, 0, "core time that it may use in each period"),
	REC_FIELD(rec_quota, period, REC_U64, REC_US, 0, "length of a period"),
	REC_FIELD(rec_quota, periods, REC_U64, REC_COUNT, REC_COUNTER,
		  "periods in which it had something to run"),
	REC_FIELD(rec_quota, throttled, REC_U64, REC_COUNT, REC_COUNTER,
		  "periods in which it was stopped"),
	REC_FIELD(rec_quota, throttled_time, REC_U64, REC_US, REC_COUNTER,
		  "time in which it was stopped, added over cores"),
};

const struct rec_desc rec_quota_desc = {
	.kind = REC_QUOTA,
	.name = "quota",
	.size = sizeof(struct rec_quota),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
