// SPDX-License-Identifier: GPL-2.0-or-later
/* What /proc/stat tells of the cores, without the kernel writing it as text: on 96 cores that text
 * costs more than twenty times as much.
 *
 * Each core has its own copy of these variables, all at the same distance from each other; the
 * kernel's type description tells the distances (src/source/core_times_kernel.c), and a run queue
 * can be reached from any task. So no address has to be looked up in kallsyms, which has none of
 * variables on kernels without CONFIG_KALLSYMS_ALL. */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
/* after bpf_helpers.h */
#include <bpf/bpf_core_read.h>

#include "core_times_abi.h"

#define SLICE __attribute__((preserve_access_index))

char LICENSE[] SEC("license") = "GPL";

typedef struct {
	int counter;
} SLICE atomic_t;

struct rq {
	int online;
	__u64 nr_switches;
	atomic_t nr_iowait;
} SLICE;

struct cfs_rq {
	struct rq *rq;
} SLICE;

struct task_group {
	struct cfs_rq **cfs_rq; /* one a core */
} SLICE;

struct task_struct {
	struct task_group *sched_task_group;
} SLICE;

struct kernel_cpustat {
	__u64 cpustat[CORE_TIMES_KINDS];
} SLICE;

struct tick_sched {
	unsigned long flags; /* 6.9 */
	__s64 idle_entrytime;
	__s64 idle_sleeptime;
	__s64 iowait_sleeptime;
} SLICE;

struct tick_sched___before_6_9 {
	unsigned int idle_active : 1;
} SLICE;

enum { TS_FLAG_IDLE_ACTIVE = 1 << 2, MOST_TRIES = 4 };

/* from a core's run queue to its other variables */
const volatile __s64 to_cpustat, to_tick_sched;
const volatile __u32 n_cpus;
/* the first core of this run */
__u32 first;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* n_cpus */
	__type(key, __u32);
	__type(value, struct core_times_rec);
} cores SEC(".maps");

static __always_inline struct core_times_rec *core_of(__u32 i)
{
	__u32 cpu = first + i;

	return cpu < n_cpus ? bpf_map_lookup_elem(&cores, &cpu) : NULL;
}

/* Once: run queues stay where they are. */
SEC("syscall")
int find_cores(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cfs_rq **queues = BPF_CORE_READ(task, sched_task_group, cfs_rq);

	for (__u32 i = 0; i < CORE_TIMES_BATCH; i++) {
		struct core_times_rec *core = core_of(i);
		struct cfs_rq *queue = NULL;
		if (!core)
			break;
		if (bpf_probe_read_kernel(&queue, sizeof(queue), queues + first + i) == 0 && queue)
			core->rq = (__u64)BPF_CORE_READ(queue, rq);
	}
	return 0;
}

struct sleep {
	__u64 idles;
	__s64 since, idle, iowait;
};

static __always_inline void read_sleep(struct tick_sched *ts, struct sleep *ret)
{
	ret->since = BPF_CORE_READ(ts, idle_entrytime);
	ret->idle = BPF_CORE_READ(ts, idle_sleeptime);
	ret->iowait = BPF_CORE_READ(ts, iowait_sleeptime);
	if (bpf_core_field_exists(ts->flags))
		ret->idles = BPF_CORE_READ(ts, flags) & TS_FLAG_IDLE_ACTIVE;
	else
		ret->idles = BPF_CORE_READ_BITFIELD_PROBED((struct tick_sched___before_6_9 *)ts,
							   idle_active);
}

static __always_inline bool same_sleep(const struct sleep *a, const struct sleep *b)
{
	return a->since == b->since && a->idle == b->idle && a->iowait == b->iowait &&
	       a->idles == b->idles;
}

/* The clocks of sleep belong together, and each sleep changes them: read twice the same, they were
 * so at the moment in between. */
static __always_inline void read_idle(struct core_times_rec *core, struct tick_sched *ts)
{
	struct sleep before, after;

	read_sleep(ts, &before);
	core->torn = 1;
	for (int i = 0; i < MOST_TRIES && core->torn; i++) {
		core->now_ns = bpf_ktime_get_ns();
		read_sleep(ts, &after);
		core->torn = !same_sleep(&before, &after);
		before = after;
	}
	core->idles = after.idles != 0;
	core->idle_since_ns = after.since;
	core->idle_ns = after.idle;
	core->iowait_ns = after.iowait;
}

SEC("syscall")
int read_cores(void *ctx)
{
	for (__u32 i = 0; i < CORE_TIMES_BATCH; i++) {
		struct core_times_rec *core = core_of(i);
		if (!core)
			break;
		struct rq *rq = (void *)core->rq;
		if (!rq)
			continue;
		struct kernel_cpustat *stat = (void *)rq + to_cpustat;
		core->switches = BPF_CORE_READ(rq, nr_switches);
		core->waiting = BPF_CORE_READ(rq, nr_iowait.counter);
		core->online = BPF_CORE_READ_BITFIELD_PROBED(rq, online) != 0;
		if (!core->online)
			continue;
		bpf_core_read(core->times_ns, sizeof(core->times_ns), &stat->cpustat);
		read_idle(core, (void *)rq + to_tick_sched);
	}
	return 0;
}
