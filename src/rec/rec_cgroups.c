#include "rec_cgroups.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_cgroups, mode, REC_U64, REC_ID, 0,
		  "layout: 1 v1, 2 v2, 3 hybrid (enum cgroup_mode)"),
	REC_FIELD(rec_cgroups, memory, REC_U64, REC_ID, 0,
		  "side that has the memory controller: 1 v1, 2 v2 (enum cgroup_memory)"),
	REC_FIELD(rec_cgroups, tracked, REC_U64, REC_COUNT, 0,
		  "memory cgroups that the kernel holds, dying ones included"),
	REC_FIELD(rec_cgroups, live, REC_U64, REC_COUNT, 0,
		  "memory cgroups that have a directory, the root included"),
	REC_FIELD(rec_cgroups, dying, REC_U64, REC_COUNT, 0,
		  "memory cgroups removed by userspace and still held by the kernel"),
	REC_FIELD(rec_cgroups, descendants, REC_U64, REC_COUNT, 0,
		  "cgroups below the v2 root (cgroup.stat nr_descendants)"),
	REC_FIELD(rec_cgroups, dying_descendants, REC_U64, REC_COUNT, 0,
		  "dying cgroups below the v2 root (cgroup.stat nr_dying_descendants)"),
	REC_FIELD(rec_cgroups, dying_memory, REC_U64, REC_COUNT, 0,
		  "dying memory cgroups (cgroup.stat nr_dying_subsys_memory)"),
};

const struct rec_desc rec_cgroups_desc = {
	.kind = REC_CGROUPS,
	.name = "cgroups",
	.size = sizeof(struct rec_cgroups),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
