#include "queue_proof.h"

#include <string.h>

#include "auto.h"
#include "check.h"
#include "rec_cpu.h"
#include "rec_irq.h"
#include "rec_netqueue.h"
#include "rec_softirq.h"
#include "rec_task.h"
#include "timefmt.h"

#define T0 (UINT64_C(1794000000) * NS_PER_S)

/* What moves per second on the queue's core (5); everything else stands still. */
struct world {
	uint64_t irqs, net_rx, sys, idle, hog_ticks, wait_ms;
	bool no_queue;
};

static void world_tick(struct tick *t, const struct world *w, uint64_t second)
{
	t->real_ns = T0 + second * NS_PER_S;
	t->mono_ns = 1000 * NS_PER_S + second * NS_PER_S;
	if (!w->no_queue) {
		struct rec_netqueue *q = tick_add_row(t, REC_NETQUEUE);
		*q = (struct rec_netqueue){ .have = REC_NETQUEUE_IFACE | REC_NETQUEUE_QUEUE |
						    REC_NETQUEUE_IRQ | REC_NETQUEUE_EFFECTIVE_CPU,
					    .iface = "eth0",
					    .queue = 5,
					    .irq = 71,
					    .effective_cpu = 5 };
	}
	struct rec_irq *irq = tick_add_row(t, REC_IRQ);
	*irq = (struct rec_irq){ .have = 7, .irq = 71, .cpu = 5, .count = 1000 + w->irqs * second };
	struct rec_softirq *soft = tick_add_row(t, REC_SOFTIRQ);
	soft->have = ~UINT64_C(0);
	soft->cpu = 5;
	soft->net_rx = 5000 + w->net_rx * second;
	struct rec_cpu *cpu = tick_add_row(t, REC_CPU);
	*cpu = (struct rec_cpu){
		.have = ~UINT64_C(0), .cpu = 5, .sys = w->sys * second, .idle = w->idle * second
	};
	struct rec_task *hog = tick_add_row(t, REC_TASK);
	*hog = (struct rec_task){ .have = REC_TASK_PID | REC_TASK_START | REC_TASK_CPU |
					  REC_TASK_STIME | REC_TASK_COMM | REC_TASK_CGROUP,
				  .pid = 4242,
				  .start = 9,
				  .cpu = 5,
				  .stime = w->hog_ticks * second,
				  .comm = "kubelet",
				  .cgroup = "/system.slice/kubelet.service" };
	struct rec_task *ksoftirqd = tick_add_row(t, REC_TASK);
	*ksoftirqd = (struct rec_task){ .have = REC_TASK_PID | REC_TASK_START | REC_TASK_CPU |
						REC_TASK_COMM | REC_TASK_RUN_DELAY,
					.pid = 40,
					.cpu = 5,
					.run_delay = w->wait_ms * NS_PER_MS * second,
					.comm = "ksoftirqd/5" };
}

static struct queue_proof judge(const struct world *w)
{
	struct rec_event_field fields[] = { { "iface", "eth0" },
					    { "queue", "5" },
					    { "stall_ms", "6000" },
					    /* the timer's core must not be blamed */
					    { "timer_cpu", "56" } };
	struct rec_event event = { .time_ns = T0 + 8 * NS_PER_S,
				   .end_ns = T0 + 9 * NS_PER_S,
				   .id = "net-driver-reset",
				   .text = "",
				   .fields = fields,
				   .n_fields = ARRAY_LEN(fields) };
	struct tick ticks[10] = { 0 };
	const struct tick *list[10];
	struct queue_proof proof;
	for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
		world_tick(&ticks[i], w, i);
		list[i] = &ticks[i];
	}
	queue_proof_judge(&event, list, ARRAY_LEN(list), &proof);
	for (size_t i = 0; i < ARRAY_LEN(ticks); i++)
		tick_free(&ticks[i]);
	return proof;
}

TEST(a_core_without_time_starved_its_queue)
{
	struct queue_proof p =
		judge(&(struct world){ .sys = 100, .hog_ticks = 99, .wait_ms = 990 });
	CHECK_EQ(p.verdict, QUEUE_STARVED_CORE);
	CHECK_EQ(p.irq, 71);
	CHECK_EQ(p.cpu, 5);
	CHECK_EQ(p.from_ns, T0 + 2 * NS_PER_S);
	CHECK_EQ(p.to_ns, T0 + 8 * NS_PER_S);
	CHECK_NEAR(p.sys, 100.0, 0.1);
	CHECK_STR(p.tasks[0].comm, "kubelet");
	CHECK_STR(p.tasks[0].cgroup, "/system.slice/kubelet.service");
	CHECK_NEAR(p.tasks[0].percent, 99.0, 0.5);
	CHECK(p.n_evidence >= 5);
	for (size_t i = 0; i < p.n_evidence; i++)
		CHECK(*p.evidence[i].source);
}

TEST(softirqs_without_the_interrupt_are_a_lost_interrupt)
{
	CHECK_EQ(judge(&(struct world){ .net_rx = 500, .sys = 10, .idle = 90 }).verdict,
		 QUEUE_LOST_INTERRUPT);
}

TEST(everything_moving_is_the_device)
{
	CHECK_EQ(
		judge(&(struct world){ .irqs = 800, .net_rx = 900, .sys = 10, .idle = 90 }).verdict,
		QUEUE_DEVICE_FAULT);
}

TEST(an_idle_core_with_nothing_moving_proves_nothing)
{
	CHECK_EQ(judge(&(struct world){ .idle = 100 }).verdict, QUEUE_CANNOT_TELL);
}

TEST(without_the_queues_interrupt_no_core_is_named)
{
	struct queue_proof p = judge(&(struct world){ .sys = 100, .no_queue = true });
	CHECK_EQ(p.verdict, QUEUE_CANNOT_TELL);
	CHECK(!p.have_cpu);
	CHECK(*p.why);
}

TEST(the_window_is_what_the_driver_reports_within_reason)
{
	struct rec_event_field field = { "stall_ms", "80692736" };
	struct rec_event event = { .time_ns = T0, .fields = &field, .n_fields = 1 };
	uint64_t from, to;
	bool reported;
	queue_proof_window(&event, &from, &to, &reported);
	CHECK(reported);
	CHECK_EQ(to - from, 120 * NS_PER_S);
	event.n_fields = 0;
	queue_proof_window(&event, &from, &to, &reported);
	CHECK(!reported);
	CHECK_EQ(to - from, 5 * NS_PER_S);
}

TEST_MAIN
