#include "view_events.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "auto.h"
#include "esc.h"
#include "timefmt.h"

/* The command that shows the seconds in question. */
static void view_window_command(char *ret, size_t size, const char *command,
				const struct rec_event *event, const struct queue_proof *proof)
{
	uint64_t from = event->time_ns - 5 * NS_PER_S, to = event->end_ns + NS_PER_S;

	if (event->time_ns < 5 * NS_PER_S)
		from = 0;
	if (proof) {
		from = proof->from_ns;
		to = proof->to_ns;
	}
	size_t n = (size_t)snprintf(
		ret, size,
		"zscope %s --from @%" PRIu64 ".%03" PRIu64 " --to @%" PRIu64 ".%03" PRIu64, command,
		from / NS_PER_S, from / NS_PER_MS % 1000, to / NS_PER_S, to / NS_PER_MS % 1000);
	if (proof && proof->have_cpu && n < size && strcmp(command, "flame") == 0)
		snprintf(ret + n, size - n, " --cpu %" PRIu64, proof->cpu);
}

static bool view_is_reset(const struct rec_event *event)
{
	const char *clock = rec_event_field(event, "clock");

	return (strcmp(event->id, "net-driver-reset") == 0 ||
		strcmp(event->id, "net-tx-timeout") == 0 ||
		strcmp(event->id, "soft-lockup") == 0) &&
	       event->time_ns && !clock;
}

static void view_proof_json(struct json *j, const struct queue_proof *p)
{
	json_object(j, "queue_proof");
	json_str(j, "verdict", queue_verdict_name(p->verdict));
	json_str(j, "why", p->why);
	if (p->have_irq)
		json_u64(j, "irq", p->irq);
	if (p->have_cpu)
		json_u64(j, "cpu", p->cpu);
	json_time(j, "from", p->from_ns);
	json_time(j, "to", p->to_ns);
	if (p->have_busy) {
		json_f64(j, "usr", p->usr, 2);
		json_f64(j, "sys", p->sys, 2);
		json_f64(j, "soft", p->soft, 2);
		json_f64(j, "steal", p->steal, 2);
		json_f64(j, "idle", p->idle, 2);
	}
	json_array(j, "tasks");
	for (size_t i = 0; i < p->n_tasks; i++) {
		json_object(j, NULL);
		json_u64(j, "pid", p->tasks[i].pid);
		json_str(j, "comm", p->tasks[i].comm);
		if (*p->tasks[i].cgroup)
			json_str(j, "cgroup", p->tasks[i].cgroup);
		json_f64(j, "percent", p->tasks[i].percent, 1);
		json_end_object(j);
	}
	json_end_array(j);
	if (*p->kernel_path)
		json_str(j, "kernel_path", p->kernel_path);
	json_array(j, "evidence");
	for (size_t i = 0; i < p->n_evidence; i++)
		evidence_json(j, p->evidence[i].what, p->evidence[i].value, NULL,
			      p->evidence[i].source, p->to_ns);
	json_end_array(j);
	json_end_object(j);
}

void view_event_json(struct json *j, const struct envelope *envelope, const struct rec_event *event,
		     const struct queue_proof *proof)
{
	char command[200];

	json_object(j, NULL);
	json_str(j, "schema", "zombiescope/events/1");
	if (*envelope->host)
		json_str(j, "host", envelope->host);
	if (*envelope->kernel)
		json_str(j, "kernel", envelope->kernel);
	rec_event_json(j, event);
	if (proof)
		view_proof_json(j, proof);
	if (view_is_reset(event)) {
		json_array(j, "commands");
		view_window_command(command, sizeof(command), "cores", event, proof);
		json_str(j, NULL, command);
		view_window_command(command, sizeof(command), "flame", event, proof);
		json_str(j, NULL, command);
		json_end_array(j);
	}
	if (!event->time_ns) {
		json_array(j, "unknown");
		json_object(j, NULL);
		json_str(j, "what", "time");
		json_str(j, "why", "the lines of the log carry no time");
		json_end_object(j);
		json_end_array(j);
	}
	json_end_object(j);
}

static void view_time(const struct rec_event *event, char *ret, size_t size)
{
	char text[TIMEFMT_MAX];
	const char *clock = rec_event_field(event, "clock");

	if (!event->time_ns)
		snprintf(ret, size, "%19s", "no time");
	else if (clock && strcmp(clock, "boot") == 0)
		snprintf(ret, size, "[%10" PRIu64 ".%06" PRIu64 "]", event->time_ns / NS_PER_S,
			 event->time_ns % NS_PER_S / 1000);
	else
		snprintf(ret, size, "%s", timefmt_local(text, event->time_ns));
}

static void view_proof_text(FILE *out, const struct queue_proof *p)
{
	AUTO_BUF struct buf line = { 0 };

	fprintf(out, "    %s: %s\n", queue_verdict_name(p->verdict), p->why);
	if (p->have_irq)
		fprintf(out, "    IRQ %" PRIu64, p->irq);
	if (p->have_cpu)
		fprintf(out, "%son core %" PRIu64, p->have_irq ? " " : "    ", p->cpu);
	if (p->have_busy)
		fprintf(out, ": usr %.1f %%, sys %.1f %%, soft %.1f %%, idle %.1f %%", p->usr,
			p->sys, p->soft, p->idle);
	if (p->have_irq || p->have_cpu || p->have_busy)
		fputc('\n', out);
	for (size_t i = 0; i < p->n_tasks; i++) {
		buf_clear(&line);
		esc_tty(&line, p->tasks[i].comm, strlen(p->tasks[i].comm));
		buf_addf(&line, " (pid %" PRIu64 ") %.0f %% ", p->tasks[i].pid,
			 p->tasks[i].percent);
		esc_tty(&line, p->tasks[i].cgroup, strlen(p->tasks[i].cgroup));
		fprintf(out, "    task %s\n", buf_str(&line));
	}
	if (*p->kernel_path) {
		buf_clear(&line);
		esc_tty(&line, p->kernel_path, strlen(p->kernel_path));
		fprintf(out, "    kernel path %s\n", buf_str(&line));
	}
	for (size_t i = 0; i < p->n_evidence; i++)
		fprintf(out, "      %s: %s  (%s)\n", p->evidence[i].what, p->evidence[i].value,
			p->evidence[i].source);
}

void view_event_text(FILE *out, const struct terminal *term, const struct rec_event *event,
		     const struct queue_proof *proof)
{
	static const enum term_color colors[] = { TERM_PLAIN, TERM_YELLOW, TERM_RED };
	AUTO_BUF struct buf text = { 0 };
	char when[64], command[200], key[16];

	view_time(event, when, sizeof(when));
	esc_tty(&text, event->text, strlen(event->text));
	fprintf(out, "%s  %s%-4s%s  %-9s  %-18s  %s%s", when,
		terminal_on(term, colors[event->severity]), event_severity_name(event->severity),
		terminal_off(term), event_source_name(event->source), event->id,
		event->injected ? "[injected by the lab] " : "", buf_str(&text));
	if (event->count > 1)
		fprintf(out, "  (%" PRIu64 " lines)", event->count);
	if (event->source == EVENT_KMSG && !event->trusted && !event->injected)
		fputs("  [not proven to be the kernel's word]", out);
	/* the key is what --event and flame --before take */
	rec_event_key(event, key);
	fprintf(out, "  %s%s%s\n", terminal_on(term, TERM_DIM), key, terminal_off(term));
	if (proof)
		view_proof_text(out, proof);
	if (view_is_reset(event)) {
		view_window_command(command, sizeof(command), "cores", event, proof);
		fprintf(out, "    %s\n", command);
		view_window_command(command, sizeof(command), "flame", event, proof);
		fprintf(out, "    %s\n", command);
	}
}

struct view_hour {
	uint64_t start_ns;
	uint64_t counts[EVENT_CRIT + 1];
};

static size_t view_hours(const struct event_list *list, struct view_hour *hours, size_t most)
{
	size_t n = 0;

	vec_foreach (&list->list, entry) {
		uint64_t start = entry->event.time_ns / (3600 * NS_PER_S) * (3600 * NS_PER_S);
		if (!entry->event.time_ns)
			continue;
		if (!n || hours[n - 1].start_ns != start) {
			if (n == most)
				break;
			hours[n++] = (struct view_hour){ .start_ns = start };
		}
		hours[n - 1].counts[entry->event.severity]++;
	}
	return n;
}

enum { VIEW_MOST_HOURS = 24 * 366 };

void view_events_histogram_text(FILE *out, const struct terminal *term,
				const struct event_list *list)
{
	AUTO_FREE struct view_hour *hours = calloc(VIEW_MOST_HOURS, sizeof(*hours));
	size_t n = hours ? view_hours(list, hours, VIEW_MOST_HOURS) : 0;
	uint64_t most = 1;

	for (size_t i = 0; i < n; i++)
		most = MAX_OF(most, hours[i].counts[0] + hours[i].counts[1] + hours[i].counts[2]);
	for (size_t i = 0; i < n; i++) {
		static const enum term_color colors[] = { TERM_PLAIN, TERM_YELLOW, TERM_RED };
		char when[TIMEFMT_MAX];
		const uint64_t *c = hours[i].counts;
		fprintf(out, "%.16s  %6" PRIu64 " info %6" PRIu64 " warn %6" PRIu64 " crit  ",
			timefmt_local(when, hours[i].start_ns), c[0], c[1], c[2]);
		for (int s = EVENT_CRIT; s >= 0; s--) {
			fputs(terminal_on(term, colors[s]), out);
			for (uint64_t k = 0; k < c[s] * 40 / most; k++)
				fputc("-=#"[s], out);
			fputs(terminal_off(term), out);
		}
		fputc('\n', out);
	}
}

void view_events_histogram_json(struct json *j, const struct envelope *envelope,
				const struct event_list *list, uint64_t now_ns)
{
	AUTO_FREE struct view_hour *hours = calloc(VIEW_MOST_HOURS, sizeof(*hours));
	size_t n = hours ? view_hours(list, hours, VIEW_MOST_HOURS) : 0;

	json_object(j, NULL);
	envelope_json(j, envelope, "events-histogram", now_ns);
	json_array(j, "hours");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_time(j, "start", hours[i].start_ns);
		for (unsigned s = 0; s <= EVENT_CRIT; s++)
			json_u64(j, event_severity_name(s), hours[i].counts[s]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
