#include "export_perf_script.h"

#include "export_folded.h"
#include "timefmt.h"

/* Names are hostile: a newline would be a new line. */
static void add_name(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		buf_add_char(out, c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
}

static void add_header(struct buf *out, const struct profile *p, const struct profile_sample *s)
{
	const char *comm = profile_text(p, s->comm);

	add_name(out, comm[0] ? comm : ":-1");
	/* a task that is just ending has none: -1, as perf shows it */
	if (s->have & PROFILE_HAVE_PID)
		buf_addf(out, " %d/%d", (int)s->pid, (int)s->tid);
	else
		buf_addf(out, " %d", (int)s->tid);
	if (s->have & PROFILE_HAVE_CPU)
		buf_addf(out, " [%03u]", s->cpu);
	if (s->have & PROFILE_HAVE_TIME)
		buf_addf(out, " %llu.%09llu:", (unsigned long long)(s->time_ns / NS_PER_S),
			 (unsigned long long)(s->time_ns % NS_PER_S));
	if (s->have & PROFILE_HAVE_WEIGHT)
		buf_addf(out, " %10llu", (unsigned long long)s->weight);
	const char *event = s->event < p->meta.events.len
				    ? profile_text(p, p->meta.events.items[s->event])
				    : "";
	buf_add_char(out, ' ');
	add_name(out, event[0] ? event : "samples");
	buf_add_str(out, ": \n");
}

static void add_frame(struct buf *out, const struct profile *p, const struct profile_frame *f)
{
	const char *module =
		f->module < p->modules.len ? profile_text(p, p->modules.items[f->module].name) : "";

	buf_addf(out, "\t%16llx ", (unsigned long long)f->address);
	add_name(out, f->symbol ? profile_text(p, f->symbol) : "[unknown]");
	if (f->symbol && f->symbol_offset)
		buf_addf(out, "+0x%x", f->symbol_offset);
	buf_add_str(out, " (");
	add_name(out, module[0] ? module : "[unknown]");
	buf_add_str(out, ")\n");
}

void export_perf_script(struct buf *out, const struct profile *p, const char *event)
{
	int only = event ? export_folded_event(p, event) : -1;

	vec_foreach (&p->samples, s) {
		if (!export_folded_shows(p, s, only))
			continue;
		add_header(out, p, s);
		for (uint32_t k = s->stack; k; k = p->stacks.items[k].parent)
			add_frame(out, p, &p->frames.items[p->stacks.items[k].frame]);
		buf_add_char(out, '\n');
	}
}
