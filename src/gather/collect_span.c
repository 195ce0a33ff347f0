#include "collect_span.h"

#include <errno.h>
#include <sched.h>

#include "rec_task.h"
#include "text.h"

enum { SPAN_DEADLINE = 6 }; /* SCHED_DEADLINE, which sched.h has only from glibc 2.41 on */

static struct collect_span *span_open(struct collect_spans *s, uint64_t cpu)
{
	vec_foreach (&s->open, span)
		if (span->cpu == cpu)
			return span;
	return NULL;
}

static void span_add(struct collect_span *span, const struct rate_cpu *c, const struct rates *r)
{
	span->to_ns = r->to_ns;
	span->usr += c->usr + c->nice;
	span->sys += c->sys;
	span->soft += c->soft;
	span->irq += c->irq;
	span->steal += c->steal;
	span->host_busy += rate_cpu_busy(&r->all);
	span->n++;
}

/* Two seconds under the limit end a stretch; a single one is the sampling's own blur. */
static bool span_is_over(struct collect_span *span, bool hot)
{
	span->below = hot ? 0 : span->below + 1;
	return span->below > 1;
}

int collect_spans_feed(struct collect_spans *s, const struct rates *r)
{
	vec_foreach (&r->cpus, c) {
		bool hot = rate_cpu_busy(c) >= RATE_SATURATED_PERCENT;
		struct collect_span *span = span_open(s, c->cpu);
		if (span && span_is_over(span, hot)) {
			if (!vec_push(&s->done, *span))
				return -ENOMEM;
			*span = s->open.items[--s->open.len];
		} else if (hot && !span) {
			struct collect_span fresh = { .cpu = (unsigned)c->cpu,
						      .from_ns = r->from_ns };
			span_add(&fresh, c, r);
			if (!vec_push(&s->open, fresh))
				return -ENOMEM;
		} else if (hot) {
			span_add(span, c, r);
		}
	}
	return 0;
}

/* As in sched.h; the numbers are the kernel's. */
static bool task_is_realtime(const struct rec_task *t)
{
	return t->have & REC_TASK_POLICY &&
	       (t->policy == SCHED_FIFO || t->policy == SCHED_RR || t->policy == SPAN_DEADLINE);
}

static struct collect_holder *span_holder(struct collect_span *span, uint64_t pid)
{
	for (unsigned i = 0; i < COLLECT_SPAN_TASKS; i++)
		if (span->tasks[i].pid == pid)
			return &span->tasks[i];
	return NULL;
}

/* The place of the one that ran least. */
static struct collect_holder *span_least(struct collect_span *span)
{
	struct collect_holder *least = &span->tasks[0];

	for (unsigned i = 0; i < COLLECT_SPAN_TASKS; i++) {
		struct collect_holder *h = &span->tasks[i];
		if (!h->pid)
			return h;
		if (h->ran_ns < least->ran_ns)
			least = h;
	}
	return least;
}

/* A process's row has the time of all its threads; the rows of its threads only tell which of them
 * are real-time. */
static void span_add_task(struct collect_span *span, const struct rec_task *t)
{
	uint64_t pid = t->have & REC_TASK_TGID ? t->tgid : t->pid;
	struct collect_holder *h = span_holder(span, pid);
	bool thread = pid != t->pid;

	if (h && task_is_realtime(t))
		h->realtime_ns += t->recent;
	if (h && !thread)
		h->ran_ns += t->recent;
	if (h || thread)
		return;
	h = span_least(span);
	if (h->pid && h->ran_ns > t->recent)
		return;
	*h = (struct collect_holder){ .pid = pid,
				      .ran_ns = t->recent,
				      .realtime_ns = task_is_realtime(t) ? t->recent : 0 };
	text_copy(h->comm, sizeof(h->comm), t->have & REC_TASK_COMM && t->comm ? t->comm : "");
	text_copy(h->cgroup, sizeof(h->cgroup),
		  t->have & REC_TASK_CGROUP && t->cgroup ? t->cgroup : "");
}

void collect_spans_tasks(struct collect_spans *s, const struct tick *t)
{
	static const uint64_t needed = REC_TASK_PID | REC_TASK_CPU | REC_TASK_RECENT;

	for (size_t i = 0; i < t->rows[REC_TASK].len; i++) {
		const struct rec_task *task = TICK_ROW(t, REC_TASK, rec_task, i);
		if ((task->have & needed) != needed)
			continue;
		s->tasks_known = true;
		struct collect_span *span = span_open(s, task->cpu);
		if (span && !span->below && task->recent)
			span_add_task(span, task);
	}
}

int collect_spans_end(struct collect_spans *s)
{
	vec_foreach (&s->open, span)
		if (!vec_push(&s->done, *span))
			return -ENOMEM;
	s->open.len = 0;
	return 0;
}

void collect_spans_free(struct collect_spans *s)
{
	vec_free(&s->open);
	vec_free(&s->done);
}

const struct collect_holder *collect_span_holder(const struct collect_span *span)
{
	const struct collect_holder *best = &span->tasks[0];

	for (unsigned i = 1; i < COLLECT_SPAN_TASKS; i++)
		if (span->tasks[i].ran_ns > best->ran_ns)
			best = &span->tasks[i];
	return best->pid ? best : NULL;
}
