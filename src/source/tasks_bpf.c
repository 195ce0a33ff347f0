#include "tasks_bpf.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

enum {
	TASKS_BPF_KTHREAD = 0x00200000, /* PF_KTHREAD */
	TASKS_BPF_TICK_NS = 10000000,   /* USER_HZ */
};

char tasks_bpf_state(uint32_t state)
{
	if (state & 0x20)
		return 'Z';
	if (state & 0x10)
		return 'X';
	if ((state & 0x402) == 0x402)
		return 'I'; /* waits, but is no load */
	return state & 2 ? 'D' : state & 1 ? 'S' : state & 4 ? 'T' : state & 8 ? 't' : 'R';
}

void tasks_bpf_recent(const struct task_iter_rec *before, size_t n_before,
		      const struct task_iter_rec *now, size_t n_now, uint64_t *recent_ns)
{
	size_t at = 0; /* first record of `before` that belongs to the present process or a later */

	for (size_t i = 0; i < n_now; i++) {
		recent_ns[i] = n_before ? now[i].run_ns : UINT64_MAX; /* new: all its time */
		while (at < n_before && before[at].tgid < now[i].tgid)
			at++;
		for (size_t k = at; k < n_before && before[k].tgid == now[i].tgid; k++) {
			if (before[k].pid != now[i].pid)
				continue;
			bool same = before[k].start_ns == now[i].start_ns &&
				    now[i].run_ns >= before[k].run_ns;
			recent_ns[i] = same ? now[i].run_ns - before[k].run_ns : now[i].run_ns;
			/* threads keep their order: the next one stands right behind */
			if (k == at)
				at++;
			break;
		}
	}
}

void tasks_bpf_row(const struct task_iter_rec *rec, struct rec_task *ret)
{
	/* the two are counted by ticks, their sum exactly: share it out, as /proc does */
	uint64_t ticked = rec->utime_ns + rec->stime_ns;
	double user = ticked ? (double)rec->utime_ns / (double)ticked : 0;
	uint64_t total = rec->run_ns / TASKS_BPF_TICK_NS;

	*ret = (struct rec_task){
		.pid = rec->pid,
		.start = rec->start_ns / TASKS_BPF_TICK_NS,
		.ppid = rec->ppid,
		.cpu = rec->cpu,
		.state = (unsigned char)tasks_bpf_state(rec->state),
		.utime = (uint64_t)((double)total * user),
		.run_delay = rec->delay_ns,
		.kernel_thread = (rec->flags & TASKS_BPF_KTHREAD) != 0,
		.tgid = rec->tgid,
		.policy = rec->policy,
	};
	ret->stime = total - ret->utime;
	ret->have = REC_TASK_PID | REC_TASK_START | REC_TASK_PPID | REC_TASK_CPU | REC_TASK_STATE |
		    REC_TASK_UTIME | REC_TASK_STIME | REC_TASK_KERNEL_THREAD | REC_TASK_TGID |
		    REC_TASK_POLICY;
	if (rec->delay_ns != UINT64_MAX)
		ret->have |= REC_TASK_RUN_DELAY;
}

/* One process: its records stand together. */
struct tasks_bpf_group {
	size_t first, n;
	uint64_t recent_ns, run_ns;
};

struct tasks_bpf {
	struct tasks *t;
	const struct root *root;
	const struct offer *offer;
	struct buf *text;
	struct tick *ret;
	const struct task_iter_rec *recs;
	size_t n;
	bool first; /* nothing to compare with */
	struct tasks_bpf_group top[TASKS_MOST_TOP];
	size_t n_top;
};

static bool tasks_bpf_before(const struct tasks_bpf_group *a, const struct tasks_bpf_group *b)
{
	return a->recent_ns != b->recent_ns ? a->recent_ns > b->recent_ns : a->run_ns > b->run_ns;
}

static void tasks_bpf_keep(struct tasks_bpf *b, const struct tasks_bpf_group *g)
{
	if (!b->first && g->recent_ns < TASKS_LEAST_NS)
		return;
	if (b->n_top == b->t->top && !tasks_bpf_before(g, &b->top[b->n_top - 1]))
		return;
	size_t at = b->n_top < b->t->top ? b->n_top++ : b->n_top - 1;
	for (; at && tasks_bpf_before(g, &b->top[at - 1]); at--)
		b->top[at] = b->top[at - 1];
	b->top[at] = *g;
}

static struct rec_task *tasks_bpf_add(struct tasks_bpf *b, size_t i, uint64_t recent_ns)
{
	const struct task_iter_rec *rec = &b->recs[i];
	struct rec_task row;

	tasks_bpf_row(rec, &row);
	row.comm =
		arena_strndup(&b->ret->strings, rec->comm, strnlen(rec->comm, sizeof(rec->comm)));
	if (!row.comm)
		return NULL;
	row.have |= REC_TASK_COMM;
	if (!b->first) {
		row.recent = recent_ns;
		row.have |= REC_TASK_RECENT;
	}
	struct rec_task *place = tick_add_row(b->ret, REC_TASK);
	if (place)
		*place = row;
	return place;
}

static void tasks_bpf_threads(struct tasks_bpf *b, const struct tasks_bpf_group *g,
			      const char *cgroup)
{
	const uint64_t *recent = b->t->recent.items;
	size_t top[TASKS_TOP_THREADS], n = 0;

	for (size_t i = g->first; i < g->first + g->n; i++) {
		if (b->recs[i].pid == b->recs[i].tgid || recent[i] < TASKS_LEAST_NS)
			continue;
		if (n == TASKS_TOP_THREADS && recent[i] <= recent[top[n - 1]])
			continue;
		size_t at = n < TASKS_TOP_THREADS ? n++ : n - 1;
		for (; at && recent[i] > recent[top[at - 1]]; at--)
			top[at] = top[at - 1];
		top[at] = i;
	}
	for (size_t k = 0; k < n; k++) {
		struct rec_task *row = tasks_bpf_add(b, top[k], recent[top[k]]);
		if (row && cgroup) {
			row->cgroup = cgroup;
			row->have |= REC_TASK_CGROUP;
		}
	}
}

static void tasks_bpf_process(struct tasks_bpf *b, const struct tasks_bpf_group *g, bool quick)
{
	struct rec_task *row = tasks_bpf_add(b, g->first, g->recent_ns);
	const char *cgroup = NULL;
	size_t busiest = g->first;

	if (!row)
		return;
	for (size_t i = g->first; i < g->first + g->n; i++) {
		struct rec_task part;
		if (b->t->recent.items[i] > b->t->recent.items[busiest])
			busiest = i;
		if (i == g->first)
			continue;
		tasks_bpf_row(&b->recs[i], &part);
		row->utime += part.utime;
		row->stime += part.stime;
	}
	row->pid = row->tgid;
	row->cpu = b->recs[busiest].cpu; /* where most of it happens */
	row->threads = g->n;
	row->have |= REC_TASK_THREADS;
	if (!row->kernel_thread) {
		cgroup = tasks_cgroup_of(b->t, b->root, b->offer, row->tgid, b->text);
		cgroup = cgroup ? arena_strdup(&b->ret->strings, cgroup) : NULL;
	}
	if (cgroup) {
		row->cgroup = cgroup;
		row->have |= REC_TASK_CGROUP;
	}
	if (g->n > 1 && !quick && !b->first)
		tasks_bpf_threads(b, g, cgroup);
}

static void tasks_bpf_groups(struct tasks_bpf *b)
{
	const uint64_t *recent = b->t->recent.items;

	for (size_t i = 0; i < b->n;) {
		struct tasks_bpf_group g = { .first = i };
		for (; i < b->n && b->recs[i].tgid == b->recs[g.first].tgid; i++, g.n++) {
			g.recent_ns += b->first ? 0 : recent[i];
			g.run_ns += b->recs[i].run_ns;
		}
		const struct task_iter_rec *leader = &b->recs[g.first];
		if (leader->flags & TASKS_BPF_KTHREAD && text_starts(leader->comm, "ksoftirqd/"))
			(void)tasks_bpf_add(b, g.first, g.recent_ns);
		else
			tasks_bpf_keep(b, &g);
	}
}

int tasks_bpf_read(struct tasks *t, const struct root *root, const struct offer *offer, bool quick,
		   struct buf *text, struct tick *ret)
{
	struct tasks_bpf b = { .t = t, .root = root, .offer = offer, .text = text, .ret = ret };
	size_t size = sizeof(struct task_iter_rec);

	int r = task_iter_read(t->iter, &t->iter_now, NULL);
	if (r < 0)
		return r;
	b.recs = (const void *)t->iter_now.data;
	b.n = t->iter_now.len / size;
	b.first = !t->iter_before.len;
	if (!b.n || !vec_reserve(&t->recent, b.n))
		return -ENODATA;
	tasks_bpf_recent((const void *)t->iter_before.data, t->iter_before.len / size, b.recs, b.n,
			 t->recent.items);
	tasks_bpf_groups(&b);
	for (size_t i = 0; i < b.n_top; i++)
		tasks_bpf_process(&b, &b.top[i], quick);
	struct buf swap = t->iter_before;
	t->iter_before = t->iter_now;
	t->iter_now = swap;
	return 0;
}
