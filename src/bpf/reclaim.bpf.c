// SPDX-License-Identifier: GPL-2.0-or-later
/* How long memory reclaim takes, in which cgroup, and who paid for it. Counted here, so that a host
 * that reclaims a hundred thousand times a second does not also have to tell each time. */
#include "own_cgroup.h"
#include "reclaim_abi.h"

char LICENSE[] SEC("license") = "GPL";

unsigned long long lost;        /* passes that no map had room for */
unsigned long long lost_payers; /* passes whose payer is not listed */

struct open_pass {
	unsigned long long start_ns;
	struct reclaim_key key;
};

/* All allocated beforehand: this runs where memory is short. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RECLAIM_MOST_OPEN);
	__type(key, unsigned int); /* thread */
	__type(value, struct open_pass);
} open_passes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RECLAIM_MOST_GROUPS);
	__type(key, struct reclaim_key);
	__type(value, struct reclaim_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RECLAIM_MOST_PAYERS);
	__type(key, struct reclaim_payer_key);
	__type(value, struct reclaim_payer);
} payers SEC(".maps");

/* New entries are too large for the stack. Their counters are never written here. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, unsigned int);
	__type(value, struct reclaim_group);
} blank_group SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, unsigned int);
	__type(value, struct reclaim_payer);
} blank_payer SEC(".maps");

struct page_counter___limits {
	atomic_long_t usage;
	unsigned long max;
} SLICE;

/* since 5.8; before, memory.high was elsewhere */
struct page_counter___high {
	unsigned long high;
} SLICE;

struct sched_entity {
	__u64 sum_exec_runtime;
} SLICE;

struct task_struct___reclaim {
	struct task_struct *group_leader;
	struct sched_entity se;
} SLICE;

/* Pages that may be free again below a limit that was just hit: others reclaim at the same time,
 * and charges come in batches. */
static __always_inline bool is_full(unsigned long usage, unsigned long limit)
{
	return usage + 512 + limit / 32 >= limit;
}

/* The tracepoint does not tell which cgroup: the nearest one above the task that is at its limit.
 */
static __always_inline struct cgroup_subsys_state *at_limit(struct cgroup_subsys_state *css)
{
	for (int i = 0; i < CLIMB && css; i++) {
		struct mem_cgroup *memcg = (void *)css;
		struct page_counter___limits *c = (void *)&memcg->memory;
		struct page_counter___high *h = (void *)&memcg->memory;
		unsigned long usage = BPF_CORE_READ(c, usage.counter), high;

		if (is_full(usage, BPF_CORE_READ(c, max)))
			return css;
		if (bpf_core_field_exists(h->high)) {
			high = BPF_CORE_READ(h, high);
			if (is_full(usage, high))
				return css;
		}
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}

static __always_inline void ensure_group(const struct reclaim_key *key,
					 struct cgroup_subsys_state *css)
{
	unsigned int zero = 0;

	if (bpf_map_lookup_elem(&groups, key))
		return;
	struct reclaim_group *g = bpf_map_lookup_elem(&blank_group, &zero);
	if (!g)
		return;
	g->names_len = css ? cgroup_names(css, g->names, RECLAIM_NAMES, RECLAIM_NAME) : 0;
	bpf_map_update_elem(&groups, key, g, BPF_NOEXIST);
}

static __always_inline int begin(const struct reclaim_key *key, struct cgroup_subsys_state *css,
				 unsigned long long start)
{
	unsigned int tid = bpf_get_current_pid_tgid();
	struct open_pass pass = { .start_ns = start, .key = *key };

	ensure_group(key, css);
	if (bpf_map_update_elem(&open_passes, &tid, &pass, BPF_ANY) < 0)
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

static __always_inline unsigned int bucket_of(unsigned long long ns)
{
	unsigned int bit = 0;
	unsigned long long rest = ns;

	if (ns < 1ULL << RECLAIM_LOW_BIT)
		return 0;
	if (ns >= 1ULL << RECLAIM_HIGH_BIT)
		return RECLAIM_BUCKETS - 1;
	for (int step = 32; step; step /= 2)
		if (rest >> step) {
			bit += step;
			rest >>= step;
		}
	return ((bit - RECLAIM_LOW_BIT) << RECLAIM_SUB_BITS) +
	       ((ns >> (bit - RECLAIM_SUB_BITS)) & ((1 << RECLAIM_SUB_BITS) - 1));
}

static __always_inline void charge_payer(const struct reclaim_key *key, unsigned long long ns)
{
	struct reclaim_payer_key who = { .group = *key, .pid = bpf_get_current_pid_tgid() >> 32 };
	struct reclaim_payer *p = bpf_map_lookup_elem(&payers, &who);
	unsigned int zero = 0;

	if (!p) {
		struct reclaim_payer *blank = bpf_map_lookup_elem(&blank_payer, &zero);
		struct task_struct___reclaim *task = (void *)bpf_get_current_task();
		struct task_struct *leader = BPF_CORE_READ(task, group_leader);

		if (!blank)
			return;
		bpf_probe_read_kernel_str(blank->comm, sizeof(blank->comm), leader->comm);
		blank->names_len = cgroup_names(own_css(leader), blank->names, RECLAIM_OWN_NAMES,
						RECLAIM_NAME);
		bpf_map_update_elem(&payers, &who, blank, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&payers, &who);
	}
	if (!p) {
		__sync_fetch_and_add(&lost_payers, 1);
		return;
	}
	__sync_fetch_and_add(&p->passes, 1);
	__sync_fetch_and_add(&p->total_ns, ns);
	if (ns > p->max_ns)
		p->max_ns = ns;
}

static __always_inline int end(unsigned long long now, unsigned long pages)
{
	unsigned int tid = bpf_get_current_pid_tgid();
	const struct open_pass *open = bpf_map_lookup_elem(&open_passes, &tid);

	if (!open)
		return 0; /* began before we watched */
	struct open_pass pass = *open;
	bpf_map_delete_elem(&open_passes, &tid);
	unsigned long long ns = now > pass.start_ns ? now - pass.start_ns : 0;
	struct reclaim_group *g = bpf_map_lookup_elem(&groups, &pass.key);
	if (!g) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	unsigned int at = bucket_of(ns);
	if (at < RECLAIM_BUCKETS)
		__sync_fetch_and_add(&g->buckets[at], 1);
	__sync_fetch_and_add(&g->passes, 1);
	__sync_fetch_and_add(&g->total_ns, ns);
	__sync_fetch_and_add(&g->pages, pages);
	if (ns > g->max_ns)
		g->max_ns = ns;
	charge_payer(&pass.key, ns);
	return 0;
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int reclaim_memcg_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cgroup_subsys_state *css = at_limit(own_css(task));
	struct reclaim_key key = { .how = css ? RECLAIM_AT_LIMIT : RECLAIM_ASKED };

	if (css)
		key.cgroup = BPF_CORE_READ(css, cgroup, kn, id);
	return begin(&key, css, bpf_ktime_get_ns());
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int reclaim_memcg_end(struct bpf_raw_tracepoint_args *ctx)
{
	return end(bpf_ktime_get_ns(), ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int reclaim_direct_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct reclaim_key key = { .how = RECLAIM_DIRECT };

	return begin(&key, 0, bpf_ktime_get_ns());
}

SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int reclaim_direct_end(struct bpf_raw_tracepoint_args *ctx)
{
	return end(bpf_ktime_get_ns(), ctx->args[0]);
}

/* From waking to sleeping kswapd also naps: its CPU time is what it costs. */
static __always_inline unsigned long long own_cpu_ns(void)
{
	struct task_struct___reclaim *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, se.sum_exec_runtime);
}

SEC("raw_tp/mm_vmscan_kswapd_wake")
int reclaim_kswapd_wake(struct bpf_raw_tracepoint_args *ctx)
{
	struct reclaim_key key = { .how = RECLAIM_KSWAPD };
	unsigned int tid = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(&open_passes, &tid))
		return 0; /* went on without having slept */
	return begin(&key, 0, own_cpu_ns());
}

SEC("raw_tp/mm_vmscan_kswapd_sleep")
int reclaim_kswapd_sleep(struct bpf_raw_tracepoint_args *ctx)
{
	return end(own_cpu_ns(), 0);
}
