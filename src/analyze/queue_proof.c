#include "queue_proof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "rec_cpu.h"
#include "rec_irq.h"
#include "rec_netqueue.h"
#include "rec_softirq.h"
#include "rec_task.h"
#include "text.h"
#include "timefmt.h"

static const struct {
	uint64_t default_stall_ms; /* the kernel's and most drivers' Tx watchdog */
	uint64_t least_stall_ms, most_stall_ms;
	double flat_per_s;    /* interrupts or softirqs a second that still count as none */
	double busy_percent;  /* of a core without time */
	double waiting_share; /* of the stall that ksoftirqd waited to run */
	double steal_percent; /* taken by the hypervisor */
} limits = { 5000, 1000, 120000, 1.0, 95.0, 0.5, 50.0 };

const char *queue_verdict_name(enum queue_verdict verdict)
{
	static const char *const names[] = {
		[QUEUE_CANNOT_TELL] = "cannot tell",
		[QUEUE_STARVED_CORE] = "starved core",
		[QUEUE_LOST_INTERRUPT] = "lost interrupt",
		[QUEUE_DEVICE_FAULT] = "device fault",
	};
	return names[verdict];
}

void queue_proof_add_evidence(struct queue_proof *p, const char *what, const char *source,
			      const char *format, ...)
{
	va_list args;

	if (p->n_evidence == QUEUE_PROOF_EVIDENCE)
		return;
	struct queue_evidence *e = &p->evidence[p->n_evidence++];
	e->what = what;
	text_copy(e->source, sizeof(e->source), source);
	va_start(args, format);
	vsnprintf(e->value, sizeof(e->value), format, args);
	va_end(args);
}

static bool proof_field(const struct rec_event *event, const char *key, uint64_t *ret)
{
	const char *value = rec_event_field(event, key);
	return value && text_u64(value, ret) == 0;
}

void queue_proof_window(const struct rec_event *event, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			bool *ret_reported)
{
	uint64_t ms = limits.default_stall_ms, start;

	*ret_reported = proof_field(event, "stall_ms", &ms);
	ms = MAX_OF(limits.least_stall_ms, MIN_OF(limits.most_stall_ms, ms));
	*ret_to_ns = event->time_ns;
	*ret_from_ns = event->time_ns - MIN_OF(event->time_ns, ms * NS_PER_MS);
	if (proof_field(event, "stall_start_ns", &start) && start < event->time_ns &&
	    event->time_ns - start <= limits.most_stall_ms * NS_PER_MS)
		*ret_from_ns = start;
}

/* The two ticks that lie farthest apart inside the stall; at its edges others may be served. */
static bool proof_pair(const struct queue_proof *p, const struct tick *const *ticks, size_t n,
		       const struct tick **ret_a, const struct tick **ret_b)
{
	const struct tick *a = NULL, *b = NULL;

	for (size_t i = 0; i < n; i++) {
		if (ticks[i]->real_ns + NS_PER_S / 2 < p->from_ns)
			continue;
		if (ticks[i]->real_ns > p->to_ns + NS_PER_S / 2)
			break;
		a = a ? a : ticks[i];
		b = ticks[i];
	}
	*ret_a = a;
	*ret_b = b;
	return a && b && b->mono_ns > a->mono_ns;
}

/* The queue's row nearest before the end of the stall: where its interrupt went at that second. */
static const struct rec_netqueue *proof_queue_row(const struct tick *t, const char *iface,
						  uint64_t queue)
{
	for (size_t i = 0; i < t->rows[REC_NETQUEUE].len; i++) {
		const struct rec_netqueue *q = TICK_ROW(t, REC_NETQUEUE, rec_netqueue, i);
		if (q->have & REC_NETQUEUE_IFACE && q->queue == queue &&
		    strcmp(q->iface, iface) == 0)
			return q;
	}
	return NULL;
}

static void proof_find_core(const struct rec_event *event, const struct tick *const *ticks,
			    size_t n, struct queue_proof *p)
{
	const char *iface = rec_event_field(event, "iface");
	const struct rec_netqueue *row = NULL;
	uint64_t queue;

	if (iface && proof_field(event, "queue", &queue)) {
		for (size_t i = 0; i < n && (!row || ticks[i]->real_ns <= p->to_ns); i++) {
			const struct rec_netqueue *q = proof_queue_row(ticks[i], iface, queue);
			row = q ? q : row;
		}
	}
	if (row && row->have & REC_NETQUEUE_IRQ) {
		p->irq = row->irq;
		p->have_irq = true;
	}
	if (row && row->have & REC_NETQUEUE_EFFECTIVE_CPU) {
		char source[80];
		p->cpu = row->effective_cpu;
		p->have_cpu = true;
		snprintf(source, sizeof(source), "/proc/irq/%" PRIu64 "/effective_affinity_list",
			 p->irq);
		queue_proof_add_evidence(p, "core of the queue's interrupt", source, "%" PRIu64,
					 p->cpu);
	} else if (proof_field(event, "napi_cpu", &p->cpu)) {
		p->have_cpu = true;
		queue_proof_add_evidence(p, "core that last polled the queue",
					 "the driver's own line: napi CPU", "%" PRIu64, p->cpu);
	}
}

static bool proof_irq_count(const struct tick *t, const struct queue_proof *p, uint64_t *ret)
{
	uint64_t sum = 0;
	bool any = false;

	for (size_t i = 0; i < t->rows[REC_IRQ].len; i++) {
		const struct rec_irq *r = TICK_ROW(t, REC_IRQ, rec_irq, i);
		if (r->irq == p->irq && r->have & REC_IRQ_COUNT) {
			sum += r->count;
			any = true;
		}
	}
	for (size_t i = 0; !any && i < t->rows[REC_NETQUEUE].len; i++) {
		const struct rec_netqueue *q = TICK_ROW(t, REC_NETQUEUE, rec_netqueue, i);
		if (q->have & REC_NETQUEUE_IRQ && q->irq == p->irq &&
		    q->have & REC_NETQUEUE_IRQ_COUNT) {
			sum = q->irq_count;
			any = true;
		}
	}
	*ret = sum;
	return any;
}

static bool proof_net_rx(const struct tick *t, uint64_t cpu, uint64_t *ret)
{
	for (size_t i = 0; i < t->rows[REC_SOFTIRQ].len; i++) {
		const struct rec_softirq *r = TICK_ROW(t, REC_SOFTIRQ, rec_softirq, i);
		if (r->cpu != cpu)
			continue;
		*ret = r->net_rx;
		return true;
	}
	return false;
}

static const struct rec_cpu *proof_cpu(const struct tick *t, uint64_t cpu)
{
	for (size_t i = 0; i < t->rows[REC_CPU].len; i++) {
		const struct rec_cpu *c = TICK_ROW(t, REC_CPU, rec_cpu, i);
		if (c->cpu == cpu)
			return c;
	}
	return NULL;
}

static const struct rec_task *proof_task(const struct tick *t, uint64_t pid, uint64_t start)
{
	for (size_t i = 0; i < t->rows[REC_TASK].len; i++) {
		const struct rec_task *r = TICK_ROW(t, REC_TASK, rec_task, i);
		if (r->pid == pid && r->start == start)
			return r;
	}
	return NULL;
}

static uint64_t proof_less(uint64_t b, uint64_t a)
{
	return b > a ? b - a : 0; /* a counter that was reset is no negative rate */
}

static void proof_busy(struct queue_proof *p, const struct tick *a, const struct tick *b)
{
	const struct rec_cpu *x = proof_cpu(a, p->cpu), *y = proof_cpu(b, p->cpu);

	if (!x || !y)
		return;
	double usr = (double)proof_less(y->usr + y->nice, x->usr + x->nice);
	double sys = (double)proof_less(y->sys, x->sys);
	double soft = (double)proof_less(y->softirq + y->irq, x->softirq + x->irq);
	double idle = (double)proof_less(y->idle + y->iowait, x->idle + x->iowait);
	double steal = (double)proof_less(y->steal, x->steal);
	double all = usr + sys + soft + idle + steal;
	if (all <= 0)
		return;
	p->usr = 100 * usr / all;
	p->sys = 100 * sys / all;
	p->soft = 100 * soft / all;
	p->idle = 100 * idle / all;
	p->steal = 100 * steal / all;
	p->have_busy = true;
	char source[40];
	snprintf(source, sizeof(source), "/proc/stat cpu%" PRIu64, p->cpu);
	queue_proof_add_evidence(p, "core in the kernel", source, "%.1f %%", p->sys);
}

static void proof_insert_task(struct queue_proof *p, const struct queue_task *task)
{
	size_t at = p->n_tasks;

	while (at > 0 && p->tasks[at - 1].percent < task->percent)
		at--;
	if (at == QUEUE_PROOF_TASKS)
		return;
	if (p->n_tasks < QUEUE_PROOF_TASKS)
		p->n_tasks++;
	for (size_t i = p->n_tasks - 1; i > at; i--)
		p->tasks[i] = p->tasks[i - 1];
	p->tasks[at] = *task;
}

enum { PROOF_MOST_TASKS = 64 };

/* CPU time of a task between two ticks: its own meter, else the difference to the tick before. */
static double proof_task_ran_s(const struct rec_task *y, const struct tick *before)
{
	if (y->have & REC_TASK_RECENT)
		return (double)y->recent / 1e9;
	const struct rec_task *x = proof_task(before, y->pid, y->start);
	return x ? (double)proof_less(y->utime + y->stime, x->utime + x->stime) / 100 : 0;
}

static void proof_add_ran(struct queue_task *tasks, size_t *n, const struct rec_task *y,
			  double ran_s)
{
	for (size_t i = 0; i < *n; i++) {
		if (tasks[i].pid == y->pid) {
			tasks[i].percent += ran_s;
			return;
		}
	}
	if (*n == PROOF_MOST_TASKS)
		return;
	struct queue_task *task = &tasks[(*n)++];
	*task = (struct queue_task){ .pid = y->pid, .percent = ran_s };
	text_copy(task->comm, sizeof(task->comm), y->comm);
	if (y->have & REC_TASK_CGROUP)
		text_copy(task->cgroup, sizeof(task->cgroup), y->cgroup);
}

/* Tasks whose last core was this one, by CPU time over the stall. A tick lists only the busiest: a
 * task may come late or go early, so that every tick is asked and not the first and last alone. */
static void proof_tasks(struct queue_proof *p, const struct tick *const *ticks, size_t n,
			const struct tick *a, const struct tick *b)
{
	struct queue_task ran[PROOF_MOST_TASKS];
	double seconds = (double)(b->mono_ns - a->mono_ns) / 1e9;
	size_t n_ran = 0;

	for (size_t k = 1; k < n; k++) {
		if (ticks[k]->mono_ns <= a->mono_ns || ticks[k]->mono_ns > b->mono_ns)
			continue;
		for (size_t i = 0; i < ticks[k]->rows[REC_TASK].len; i++) {
			const struct rec_task *y = TICK_ROW(ticks[k], REC_TASK, rec_task, i);
			if (!(y->have & REC_TASK_COMM) || !(y->have & REC_TASK_CPU) ||
			    y->cpu != p->cpu || strncmp(y->comm, "ksoftirqd/", 10) == 0)
				continue;
			double s = proof_task_ran_s(y, ticks[k - 1]);
			if (s > 0)
				proof_add_ran(ran, &n_ran, y, s);
		}
	}
	for (size_t i = 0; i < n_ran; i++) {
		ran[i].percent = 100 * ran[i].percent / seconds;
		proof_insert_task(p, &ran[i]);
	}
}

/* How long ksoftirqd of the core waited to run. */
static bool proof_wait(const struct queue_proof *p, const struct tick *a, const struct tick *b,
		       double seconds, double *ret_share)
{
	char ksoftirqd[32];

	snprintf(ksoftirqd, sizeof(ksoftirqd), "ksoftirqd/%" PRIu64, p->cpu);
	for (size_t i = 0; i < b->rows[REC_TASK].len; i++) {
		const struct rec_task *y = TICK_ROW(b, REC_TASK, rec_task, i);
		const struct rec_task *x = proof_task(a, y->pid, y->start);
		if (!(y->have & REC_TASK_COMM) || strcmp(y->comm, ksoftirqd) != 0 || !x ||
		    !(y->have & x->have & REC_TASK_RUN_DELAY))
			continue;
		*ret_share = (double)proof_less(y->run_delay, x->run_delay) / 1e9 / seconds;
		return true;
	}
	return false;
}

struct proof_signs {
	bool have_irq, irq_flat, have_rx, rx_flat, have_wait, waiting;
};

static struct proof_signs proof_signs(struct queue_proof *p, const struct tick *const *ticks,
				      size_t n, const struct tick *a, const struct tick *b)
{
	double seconds = (double)(b->mono_ns - a->mono_ns) / 1e9, share = 0;
	struct proof_signs s = { 0 };
	uint64_t x, y;
	char source[100];

	if (p->have_irq && proof_irq_count(a, p, &x) && proof_irq_count(b, p, &y)) {
		s.have_irq = true;
		s.irq_flat = (double)proof_less(y, x) / seconds <= limits.flat_per_s;
		snprintf(source, sizeof(source), "/proc/interrupts line %" PRIu64, p->irq);
		queue_proof_add_evidence(p, "interrupts of the queue", source,
					 "%" PRIu64 " in %.1f s", proof_less(y, x), seconds);
	}
	if (proof_net_rx(a, p->cpu, &x) && proof_net_rx(b, p->cpu, &y)) {
		s.have_rx = true;
		s.rx_flat = (double)proof_less(y, x) / seconds <= limits.flat_per_s;
		snprintf(source, sizeof(source), "/proc/softirqs NET_RX CPU%" PRIu64, p->cpu);
		queue_proof_add_evidence(p, "NET_RX of the core", source, "%" PRIu64 " in %.1f s",
					 proof_less(y, x), seconds);
	}
	proof_busy(p, a, b);
	proof_tasks(p, ticks, n, a, b);
	s.have_wait = proof_wait(p, a, b, seconds, &share);
	if (s.have_wait) {
		s.waiting = share >= limits.waiting_share;
		queue_proof_add_evidence(p, "ksoftirqd of the core waited to run",
					 "/proc/PID/schedstat, second number",
					 "%.0f %% of the time", 100 * share);
	}
	if (p->n_tasks)
		queue_proof_add_evidence(p, "task on the core",
					 "/proc/PID/stat utime, stime, processor",
					 "%.40s (pid %" PRIu64 ") %.0f %%", p->tasks[0].comm,
					 p->tasks[0].pid, p->tasks[0].percent);
	return s;
}

static void proof_decide(struct queue_proof *p, const struct proof_signs *s)
{
	bool busy = p->have_busy && 100 - p->idle >= limits.busy_percent;
	const char *why;

	if (!p->have_busy || !s->have_irq || !s->have_rx) {
		why = "the recording lacks interrupts, softirqs or cores of the stall";
	} else if (busy && (s->waiting || (s->irq_flat && s->rx_flat))) {
		p->verdict = QUEUE_STARVED_CORE;
		why = p->steal >= limits.steal_percent
			      ? "the hypervisor took the core; neither interrupt nor softirq ran"
			      : "the core had no time: neither the interrupt nor NET_RX ran on it";
	} else if (s->irq_flat && !s->rx_flat) {
		p->verdict = QUEUE_LOST_INTERRUPT;
		why = "the core served other softirqs, only this queue's interrupt did not come";
	} else if (!s->irq_flat && !s->rx_flat) {
		p->verdict = QUEUE_DEVICE_FAULT;
		why = "interrupts and softirqs of the queue's core went on: the device did not "
		      "complete";
	} else {
		why = "the core had time, and nothing moved on it: no traffic, or no interrupt";
	}
	text_copy(p->why, sizeof(p->why), why);
}

void queue_proof_judge(const struct rec_event *event, const struct tick *const *ticks, size_t n,
		       struct queue_proof *ret)
{
	const struct tick *a, *b;

	*ret = (struct queue_proof){ 0 };
	queue_proof_window(event, &ret->from_ns, &ret->to_ns, &ret->window_reported);
	proof_find_core(event, ticks, n, ret);
	if (!proof_pair(ret, ticks, n, &a, &b)) {
		text_copy(ret->why, sizeof(ret->why), "nothing was recorded around the stall");
		return;
	}
	if (!ret->have_cpu) {
		text_copy(ret->why, sizeof(ret->why),
			  rec_event_field(event, "queue")
				  ? "the queue's interrupt is not in the recording"
				  : "the lines do not name the queue");
		return;
	}
	struct proof_signs signs = proof_signs(ret, ticks, n, a, b);
	proof_decide(ret, &signs);
}
