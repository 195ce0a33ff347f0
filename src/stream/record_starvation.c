#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "cpu_weight.h"
#include "rec_cpu.h"
#include "record_events_impl.h"
#include "text.h"
#include "timefmt.h"

enum { EVENTS_WEIGHT_EVERY = 600 };

#define EVENTS_STARVED_NS     NS_PER_S
#define EVENTS_STEAL_PERCENT  25.0 /* of a core, over a second */
#define EVENTS_PODS_RATIO     10.0
#define EVENTS_STEAL_QUIET_NS (60 * NS_PER_S)

/* The queues whose interrupts go to a core: "eth0:3 eth0:7". */
static void events_queues_of(const struct events_state *s, uint64_t cpu, char *ret, size_t size)
{
	size_t n = 0;

	*ret = '\0';
	vec_foreach (&s->net.devices, d)
		vec_foreach (&(*d)->queues, q)
			if ((*q)->have_cpu && (*q)->cpu == cpu && n < size)
				n += (size_t)snprintf(ret + n, size - n, "%s%s:%u", n ? " " : "",
						      (*d)->name, (*q)->queue);
}

static void events_starved(void *arg, const struct kthread *k)
{
	struct events_state *s = arg;
	char text[400], pid[24], waited[24], queues[200] = "";
	const char *slash = strrchr(k->comm, '/');
	uint64_t cpu;
	struct rec_event_field fields[5] = { { "comm", k->comm },
					     { "pid", pid },
					     { "waited_ms", waited } };
	size_t n = 3;

	if (slash && text_u64(slash + 1, &cpu) == 0) { /* one per core */
		fields[n++] = (struct rec_event_field){ "cpu", slash + 1 };
		events_queues_of(s, cpu, queues, sizeof(queues));
	}
	if (*queues)
		fields[n++] = (struct rec_event_field){ "queues", queues };
	snprintf(pid, sizeof(pid), "%" PRIu64, k->pid);
	snprintf(waited, sizeof(waited), "%" PRIu64, k->starved_ns / NS_PER_MS);
	snprintf(text, sizeof(text), "kernel thread %s waited %.1f s to run%s%s", k->comm,
		 (double)k->starved_ns / 1e9,
		 *queues ? "; interrupts of these queues go to its core: " : "", queues);
	events_tell(s, EVENT_SELF, k->matters ? EVENT_CRIT : EVENT_WARN, "kthread-starved", text,
		    fields, n);
}

/* A core whose clock stood still: it took no timer interrupt, or the hypervisor did not run it. */
static void events_core_stood(struct events_state *s, uint64_t cpu, uint64_t stood_ns)
{
	char text[400], number[24], waited[24], queues[200];
	struct rec_event_field fields[3] = { { "cpu", number }, { "stood_ms", waited } };
	size_t n = 2;

	events_queues_of(s, cpu, queues, sizeof(queues));
	if (*queues)
		fields[n++] = (struct rec_event_field){ "queues", queues };
	snprintf(number, sizeof(number), "%" PRIu64, cpu);
	snprintf(waited, sizeof(waited), "%" PRIu64, stood_ns / NS_PER_MS);
	snprintf(text, sizeof(text), "core %s did not run for %.1f s%s%s", number,
		 (double)stood_ns / 1e9, *queues ? "; interrupts of these queues go to it: " : "",
		 queues);
	events_tell(s, EVENT_SELF, *queues ? EVENT_CRIT : EVENT_WARN, "core-stood-still", text,
		    fields, n);
}

/* Cores that the hypervisor took, and cores that stood still. */
static void events_cores(struct events_state *s)
{
	double most = 0;
	uint64_t cpu = 0;

	tick_clear(&s->cpu_tick);
	if (core_times_read(s->cores, &s->cpu_tick, NULL) < 0)
		return; /* the ticks say what cannot be read */
	for (size_t i = 0; i < s->cpu_tick.rows[REC_CPU].len; i++) {
		const struct rec_cpu *c = TICK_ROW(&s->cpu_tick, REC_CPU, rec_cpu, i);
		if (c->cpu >= EVENTS_MOST_CPUS)
			continue;
		struct events_cpu *was = &s->cpus[c->cpu];
		uint64_t total = c->usr + c->nice + c->sys + c->idle + c->iowait + c->irq +
				 c->softirq + c->steal;
		if (was->known && total > was->total && c->steal > was->steal) {
			double share = 100.0 * (double)(c->steal - was->steal) /
				       (double)(total - was->total);
			if (share > most) {
				most = share;
				cpu = c->cpu;
			}
		}
		bool moved = !was->known || total != was->total;
		*was = (struct events_cpu){ .steal = c->steal,
					    .total = total,
					    .moved_ns = moved ? s->now_mono_ns : was->moved_ns,
					    .known = true,
					    .told = !moved && was->told };
		if (s->now_mono_ns - was->moved_ns > EVENTS_STARVED_NS && !was->told) {
			was->told = true;
			events_core_stood(s, c->cpu, s->now_mono_ns - was->moved_ns);
		}
	}
	if (most < EVENTS_STEAL_PERCENT || s->now_ns < s->steal_told_ns + EVENTS_STEAL_QUIET_NS)
		return;
	s->steal_told_ns = s->now_ns;
	char text[120], number[24], percent[24];
	struct rec_event_field fields[] = { { "cpu", number }, { "steal_percent", percent } };
	snprintf(number, sizeof(number), "%" PRIu64, cpu);
	snprintf(percent, sizeof(percent), "%.1f", most);
	snprintf(text, sizeof(text), "the hypervisor took %.0f %% of core %s", most, number);
	events_tell(s, EVENT_SELF, EVENT_WARN, "cpu-steal", text, fields, ARRAY_LEN(fields));
}

static void events_weights(struct events_state *s)
{
	struct cpu_weight w;
	char text[160], ratio[24], pods[24], rest[24];

	if (!cpu_weight_read(s->root, &w) || w.ratio < EVENTS_PODS_RATIO ||
	    w.ratio == s->told_ratio)
		return;
	s->told_ratio = w.ratio;
	struct rec_event_field fields[] = { { "ratio", ratio },
					    { "kubepods", pods },
					    { "system_slice", rest },
					    { "kubepods_file", w.pods_path },
					    { "system_slice_file", w.rest_path } };
	snprintf(ratio, sizeof(ratio), "%.1f", w.ratio);
	snprintf(pods, sizeof(pods), "%" PRIu64, w.pods);
	snprintf(rest, sizeof(rest), "%" PRIu64, w.rest);
	snprintf(text, sizeof(text),
		 "pods weigh %s times as much as all system services: %s against %s", ratio, pods,
		 rest);
	events_tell(s, EVENT_CGROUP, EVENT_WARN, "kubepods-weight", text, fields,
		    ARRAY_LEN(fields));
}

void events_starvation(struct events_state *s)
{
	kthread_wait_read(&s->kthreads, &s->text, EVENTS_STARVED_NS, events_starved, s);
	events_cores(s);
	if (s->ticks % EVENTS_WEIGHT_EVERY == 0)
		events_weights(s);
}
