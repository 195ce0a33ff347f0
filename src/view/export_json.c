#include "export_json.h"

#include <errno.h>

#include "export_folded.h"
#include "view_flame.h"

static void json_head(struct json *j, const struct profile *p, const struct envelope *envelope,
		      uint64_t samples, uint64_t now_ns)
{
	struct view_profile_gaps gaps = view_profile_gaps(p);

	gaps.samples = samples;
	json_object(j, NULL);
	envelope_json(j, envelope, "export", now_ns);
	if (p->meta.to_ns) {
		json_time(j, "from", p->meta.from_ns);
		json_time(j, "to", p->meta.to_ns);
	}
	if (p->meta.hz > 0)
		json_f64(j, "hz", p->meta.hz, 3);
	view_profile_gaps_json(j, &gaps);
	json_end_object(j);
}

static void json_known(struct json *j, const char *key, const char *text)
{
	if (text[0])
		json_str(j, key, text);
}

static void json_frame(struct json *j, const struct profile *p, uint32_t frame)
{
	const struct profile_frame *f = &p->frames.items[frame];
	char name[PROFILE_MAX_NAME + 8], address[24];

	json_object(j, NULL);
	json_str(j, "name",
		 f->symbol ? profile_text(p, f->symbol)
			   : profile_frame_name(p, frame, name, sizeof(name)));
	if (f->module < p->modules.len)
		json_known(j, "object", profile_text(p, p->modules.items[f->module].name));
	/* as text: above 2^53 a reader's number may be another one */
	if (!f->symbol && f->address) {
		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)f->address);
		json_str(j, "address", address);
	}
	json_end_object(j);
}

static void json_sample(struct json *j, const struct profile *p, const struct profile_sample *s)
{
	json_object(j, NULL);
	if (s->have & PROFILE_HAVE_TIME)
		json_time(j, "time", s->time_ns);
	if (s->have & PROFILE_HAVE_CPU)
		json_u64(j, "cpu", s->cpu);
	if (s->have & PROFILE_HAVE_PID)
		json_u64(j, "pid", s->pid);
	if (s->have & PROFILE_HAVE_TID)
		json_u64(j, "tid", s->tid);
	json_known(j, "comm", profile_text(p, s->comm));
	if (s->cgroup < p->cgroups.len)
		json_known(j, "cgroup", profile_text(p, p->cgroups.items[s->cgroup].path));
	if (s->event < p->meta.events.len)
		json_known(j, "event", profile_text(p, p->meta.events.items[s->event]));
	if (s->have & PROFILE_HAVE_WEIGHT)
		json_u64(j, "period", s->weight);
	json_array(j, "stack");
	for (uint32_t k = s->stack; k; k = p->stacks.items[k].parent)
		json_frame(j, p, p->stacks.items[k].frame);
	json_end_array(j);
	json_end_object(j);
}

static int print_line(FILE *out, struct buf *line)
{
	buf_add_char(line, '\n');
	if (line->failed)
		return -ENOMEM;
	fwrite(line->data, 1, line->len, out);
	buf_clear(line);
	return 0;
}

int export_json(FILE *out, const struct profile *p, const struct envelope *envelope,
		const char *event, uint64_t now_ns)
{
	int shown = event ? export_folded_event(p, event) : -1;
	AUTO_BUF struct buf line = { 0 };
	uint64_t samples = 0;
	struct json j;

	json_init(&j, &line);
	vec_foreach (&p->samples, s)
		samples += export_folded_shows(p, s, shown);
	json_head(&j, p, envelope, samples, now_ns);
	int r = print_line(out, &line);
	vec_foreach (&p->samples, s) {
		if (r < 0 || ferror(out))
			break;
		if (!export_folded_shows(p, s, shown))
			continue;
		json_sample(&j, p, s);
		r = print_line(out, &line);
	}
	return r;
}
