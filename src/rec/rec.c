#include "rec.h"

#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_irq.h"
#include "rec_load.h"
#include "rec_meminfo.h"
#include "rec_netdev.h"
#include "rec_netqueue.h"
#include "rec_pressure.h"
#include "rec_quota.h"
#include "rec_self.h"
#include "rec_softirq.h"
#include "rec_softnet.h"
#include "rec_task.h"
#include "rec_vmstat.h"
#include "tick_path.h"

static const struct rec_desc *const descs[REC_KIND_END] = {
	[REC_CPU] = &rec_cpu_desc,           [REC_CGROUPS] = &rec_cgroups_desc,
	[REC_VMSTAT] = &rec_vmstat_desc,     [REC_MEMINFO] = &rec_meminfo_desc,
	[REC_PRESSURE] = &rec_pressure_desc, [REC_LOAD] = &rec_load_desc,
	[REC_IRQ] = &rec_irq_desc,           [REC_SOFTIRQ] = &rec_softirq_desc,
	[REC_SOFTNET] = &rec_softnet_desc,   [REC_TASK] = &rec_task_desc,
	[REC_QUOTA] = &rec_quota_desc,       [REC_NETDEV] = &rec_netdev_desc,
	[REC_NETQUEUE] = &rec_netqueue_desc, [REC_SELF] = &rec_self_desc,
};

EVERY_TICK const struct rec_desc *rec_desc(unsigned kind)
{
	return kind < REC_KIND_END ? descs[kind] : NULL;
}
