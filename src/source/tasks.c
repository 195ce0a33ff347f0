#include "tasks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "proc_pid.h"
#include "tasks_bpf.h"
#include "tasks_list.h"
#include "text.h"
#include "timefmt.h"

enum {
	TASKS_MOST_SLOTS = 200,      /* kept processes: two files each */
	TASKS_CGROUP_EVERY = 30,     /* ticks for which a cgroup path is believed */
	TASKS_MOST_THREADS = 100,    /* looked at per tick, over all processes */
	TASKS_THREADS_FROM_MS = 200, /* CPU time a process must use before its threads are asked */
	TASKS_MOST_REMEMBERED = 20000, /* threads */
};

struct tasks_slot {
	uint64_t pid, start;
	uint64_t used;      /* n_reads when it was last shown */
	uint64_t cgroup_at; /* n_reads when cgroup was read */
	char *cgroup;
	struct reread stat, schedstat;
	char stat_path[48], schedstat_path[48];
};

void tasks_open(struct tasks *t, const struct root *root, unsigned top, bool bpf)
{
	*t = (struct tasks){ .top = MIN_OF(top ? top : TASKS_TOP, TASKS_MOST_TOP), .opened = true };
	(void)reread_open(&t->loadavg, root, "proc/loadavg", NULL);
	if (bpf)
		(void)task_iter_open(root, &t->iter, NULL); /* else by /proc */
}

static void tasks_slot_free(struct tasks_slot *s)
{
	reread_close(&s->stat);
	reread_close(&s->schedstat);
	free(s->cgroup);
	free(s);
}

void tasks_close(struct tasks *t)
{
	if (!t->opened)
		return;
	vec_foreach (&t->slots, it)
		tasks_slot_free(*it);
	vec_free(&t->slots);
	vec_free(&t->known);
	map_u64_free(&t->threads);
	reread_close(&t->loadavg);
	task_iter_close(t->iter);
	buf_free(&t->iter_now);
	buf_free(&t->iter_before);
	vec_free(&t->recent);
}

/* The kept files of a process; the one unused for longest gives way. */
static struct tasks_slot *tasks_slot(struct tasks *t, uint64_t pid)
{
	struct tasks_slot **oldest = NULL;

	vec_foreach (&t->slots, it) {
		if ((*it)->pid == pid)
			return *it;
		if (!oldest || (*it)->used < (*oldest)->used)
			oldest = it;
	}
	struct tasks_slot *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	s->stat.fd = s->schedstat.fd = -1;
	snprintf(s->stat_path, sizeof(s->stat_path), "proc/%llu/stat", (unsigned long long)pid);
	snprintf(s->schedstat_path, sizeof(s->schedstat_path), "proc/%llu/schedstat",
		 (unsigned long long)pid);
	if (t->slots.len >= TASKS_MOST_SLOTS) {
		tasks_slot_free(*oldest);
		*oldest = s;
	} else if (!vec_push(&t->slots, s)) {
		tasks_slot_free(s);
		return NULL;
	}
	return s;
}

static void tasks_slot_drop(struct tasks *t, struct tasks_slot *s)
{
	vec_foreach (&t->slots, it) {
		if (*it == s) {
			*it = t->slots.items[--t->slots.len];
			break;
		}
	}
	tasks_slot_free(s);
}

static void tasks_cgroup(struct tasks *t, const struct root *root, const struct offer *offer,
			 struct tasks_slot *s, struct buf *text)
{
	const char *path;
	char file[64];
	size_t len;

	if (s->cgroup && t->n_reads - s->cgroup_at < TASKS_CGROUP_EVERY)
		return;
	snprintf(file, sizeof(file), "proc/%llu/cgroup", (unsigned long long)s->pid);
	buf_clear(text);
	if (root_read(root, file, 65536, text, NULL) < 0 ||
	    proc_pid_cgroup_parse(buf_str(text),
				  offer->memory == CGROUP_MEMORY_V1 ? "memory" : NULL, &path,
				  &len) < 0)
		return;
	char *copy = strndup(path, len);
	if (!copy)
		return;
	free(s->cgroup);
	s->cgroup = copy;
	s->cgroup_at = t->n_reads;
}

const char *tasks_cgroup_of(struct tasks *t, const struct root *root, const struct offer *offer,
			    uint64_t pid, struct buf *text)
{
	struct tasks_slot *s = tasks_slot(t, pid);

	if (!s)
		return NULL;
	s->used = t->n_reads;
	tasks_cgroup(t, root, offer, s, text);
	return s->cgroup;
}

/* The row of one process; NULL when it ended or memory is out. */
static struct rec_task *tasks_show(struct tasks *t, const struct root *root,
				   const struct offer *offer, const struct tasks_known *known,
				   struct buf *text, struct tick *ret)
{
	struct tasks_slot *s = tasks_slot(t, known->pid);
	struct rec_task row;

	if (!s)
		return NULL;
	if (s->stat.fd < 0) {
		(void)reread_open(&s->stat, root, s->stat_path, NULL);
		(void)reread_open(&s->schedstat, root, s->schedstat_path, NULL);
	}
	if (s->stat.fd < 0 || reread_text(&s->stat, text, NULL) < 0 ||
	    proc_pid_stat_parse(buf_str(text), text->len, &ret->strings, &row, NULL) < 0) {
		tasks_slot_drop(t, s);
		return NULL;
	}
	s->used = t->n_reads;
	if (s->schedstat.fd >= 0 && reread_text(&s->schedstat, text, NULL) == 0)
		(void)proc_pid_schedstat_parse(buf_str(text), &row, NULL);
	if (!row.kernel_thread) {
		tasks_cgroup(t, root, offer, s, text);
		row.cgroup = s->cgroup ? arena_strdup(&ret->strings, s->cgroup) : NULL;
		if (row.cgroup)
			row.have |= REC_TASK_CGROUP;
	}
	row.tgid = row.pid;
	row.recent = known->recent_ns;
	row.have |= REC_TASK_TGID | (known->first ? 0 : REC_TASK_RECENT);
	struct rec_task *place = tick_add_row(ret, REC_TASK);
	if (place)
		*place = row;
	return place;
}

/* Larger first: by time since the last tick, then by all its time, then the older process. */
static bool tasks_before(const struct tasks_known *a, const struct tasks_known *b)
{
	if (a->recent_ns != b->recent_ns)
		return a->recent_ns > b->recent_ns;
	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns;
	return a->pid < b->pid;
}

static size_t tasks_pick(const struct tasks *t, const struct tasks_known **ret)
{
	size_t n = 0;

	vec_foreach (&t->known, it) {
		if (it->ksoftirqd || (it->recent_ns < TASKS_LEAST_NS && !it->first))
			continue;
		if (n == t->top && !tasks_before(it, ret[n - 1]))
			continue;
		size_t at = n < t->top ? n++ : n - 1;
		for (; at && tasks_before(it, ret[at - 1]); at--)
			ret[at] = ret[at - 1];
		ret[at] = it;
	}
	return n;
}

struct tasks_thread_walk {
	struct tasks *t;
	const struct root *root;
	struct buf *text;
	struct tick *ret;
	struct rec_task process; /* a copy: rows move */
	struct rec_task top[TASKS_TOP_THREADS];
	size_t n_top;
	unsigned left;
};

static void tasks_thread_keep(struct tasks_thread_walk *w, const struct rec_task *row)
{
	size_t at = w->n_top;

	if (at == TASKS_TOP_THREADS) {
		if (row->recent <= w->top[at - 1].recent)
			return;
		at--;
	} else {
		w->n_top++;
	}
	for (; at && row->recent > w->top[at - 1].recent; at--)
		w->top[at] = w->top[at - 1];
	w->top[at] = *row;
}

static int tasks_thread(void *arg, const char *name, unsigned char type)
{
	struct tasks_thread_walk *w = arg;
	struct rec_task row;
	char path[96];
	uint64_t tid;
	bool is_new;

	(void)type;
	if (text_u64(name, &tid) < 0)
		return 0;
	if (!w->left--)
		return 1;
	snprintf(path, sizeof(path), "proc/%llu/task/%s/stat", (unsigned long long)w->process.pid,
		 name);
	buf_clear(w->text);
	if (root_read(w->root, path, 65536, w->text, NULL) < 0 ||
	    proc_pid_stat_parse(buf_str(w->text), w->text->len, &w->ret->strings, &row, NULL) < 0)
		return 0;
	uint64_t *last = map_u64_put(&w->t->threads, tid, &is_new);
	if (!last)
		return 1;
	uint64_t now = row.utime + row.stime;
	if (!is_new && now > *last) {
		row.recent = (now - *last) * 10 * NS_PER_MS;
		row.have |= REC_TASK_RECENT;
	}
	*last = now;
	if (row.have & REC_TASK_RECENT && tid != w->process.pid)
		tasks_thread_keep(w, &row);
	return 0;
}

/* A process of many threads is not on one core: show the threads that are. */
static void tasks_threads(struct tasks *t, const struct root *root, const struct rec_task *process,
			  unsigned *left, struct buf *text, struct tick *ret)
{
	struct tasks_thread_walk w = {
		.t = t, .root = root, .text = text, .ret = ret, .process = *process, .left = *left
	};
	char path[64];

	if (t->threads.len > TASKS_MOST_REMEMBERED)
		map_u64_free(&t->threads);
	snprintf(path, sizeof(path), "proc/%llu/task", (unsigned long long)process->pid);
	(void)root_list(root, path, tasks_thread, &w, NULL);
	*left = w.left > *left ? 0 : w.left;
	for (size_t i = 0; i < w.n_top; i++) {
		struct rec_task *row = tick_add_row(ret, REC_TASK);
		if (!row)
			return;
		*row = w.top[i];
		row->tgid = w.process.pid;
		row->cgroup = w.process.cgroup;
		row->have |= REC_TASK_TGID | (w.process.have & REC_TASK_CGROUP);
	}
}

void tasks_read(struct tasks *t, const struct root *root, const struct offer *offer, bool quick,
		struct buf *text, struct tick *ret, struct unknowns *unknowns)
{
	const struct tasks_known *top[TASKS_MOST_TOP];
	unsigned threads_left = quick ? 0 : TASKS_MOST_THREADS;
	struct err err = { 0 };

	if (t->iter && tasks_bpf_read(t, root, offer, quick, text, ret) == 0) {
		t->n_reads++;
		return;
	}
	if (tasks_list_update(t, root, text, &err) < 0) {
		unknowns_add(unknowns, "processes", "%s", err.text);
		return;
	}
	vec_foreach (&t->known, it)
		if (it->ksoftirqd)
			tasks_show(t, root, offer, it, text, ret);
	size_t n = tasks_pick(t, top);
	for (size_t i = 0; i < n; i++) {
		const struct rec_task *row = tasks_show(t, root, offer, top[i], text, ret);
		if (row && row->threads > 1 && threads_left &&
		    row->recent >= TASKS_THREADS_FROM_MS * NS_PER_MS)
			tasks_threads(t, root, row, &threads_left, text, ret);
	}
	vec_foreach (&t->known, it)
		it->first = false;
	t->n_reads++;
}
