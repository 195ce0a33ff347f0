#include "export_speedscope.h"

#include <string.h>

#include "auto.h"
#include "export_folded.h"
#include "json.h"
#include "map.h"
#include "text.h"

/* Frames are numbered: first those of the profile, then one per thread name. */
static void frames_json(struct json *j, const struct profile *p, const struct map_u64 *comms,
			const uint32_t *comm_list)
{
	char name[PROFILE_MAX_NAME + 8];

	json_array(j, "frames");
	for (size_t i = 1; i < p->frames.len; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		json_object(j, NULL);
		json_str(j, "name", profile_frame_name(p, (uint32_t)i, name, sizeof(name)));
		if (f->module && f->module < p->modules.len)
			json_str(j, "file", profile_text(p, p->modules.items[f->module].name));
		json_end_object(j);
	}
	for (size_t i = 0; i < comms->len; i++) {
		json_object(j, NULL);
		json_str(j, "name", profile_text(p, comm_list[i]));
		json_end_object(j);
	}
	json_end_array(j);
}

static void sample_json(struct buf *out, const struct profile *p, const struct profile_sample *s,
			uint64_t comm)
{
	uint32_t frames[PROFILE_MAX_DEPTH];
	size_t n = 0;

	for (uint32_t k = s->stack; k && n < PROFILE_MAX_DEPTH; k = p->stacks.items[k].parent)
		frames[n++] = p->stacks.items[k].frame;
	buf_addf(out, "[%zu", p->frames.len - 1 + (size_t)comm);
	while (n-- > 0)
		buf_addf(out, ",%u", frames[n] - 1);
	buf_add_char(out, ']');
}

struct speedscope {
	struct buf samples, weights;
	struct map_u64 comms; /* string → its number */
	VEC(uint32_t) comm_list;
	uint64_t total;
};

static bool collect(struct speedscope *c, const struct profile *p, int event)
{
	vec_foreach (&p->samples, s) {
		bool fresh;
		if (!export_folded_shows(p, s, event))
			continue;
		uint64_t *comm = map_u64_put(&c->comms, s->comm, &fresh);
		if (!comm)
			return false;
		if (fresh) {
			*comm = c->comm_list.len;
			if (!vec_push(&c->comm_list, s->comm))
				return false;
		}
		if (c->samples.len) {
			buf_add_char(&c->samples, ',');
			buf_add_char(&c->weights, ',');
		}
		uint64_t weight = s->weight ? s->weight : 1;
		sample_json(&c->samples, p, s, *comm);
		buf_addf(&c->weights, "%llu", (unsigned long long)weight);
		c->total += weight;
	}
	return !c->samples.failed && !c->weights.failed;
}

static void profile_json(struct json *j, const struct speedscope *c, const char *name,
			 const char *unit)
{
	AUTO_BUF struct buf list = { 0 };

	json_object(j, NULL);
	json_str(j, "type", "sampled");
	json_str(j, "name", name);
	json_str(j, "unit", unit);
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", c->total);
	buf_addf(&list, "[%s]", buf_str(&c->samples));
	json_raw(j, "samples", buf_str(&list), list.len);
	buf_clear(&list);
	buf_addf(&list, "[%s]", buf_str(&c->weights));
	json_raw(j, "weights", buf_str(&list), list.len);
	json_end_object(j);
}

void export_speedscope(struct buf *out, const struct profile *p, const char *name,
		       const char *event)
{
	struct speedscope c = { 0 };
	int shown = export_folded_event(p, event);
	const char *event_name = shown >= 0 && (size_t)shown < p->meta.events.len
					 ? profile_text(p, p->meta.events.items[shown])
					 : "";
	bool clock = text_starts(event_name, "cpu-clock") || text_starts(event_name, "task-clock");
	struct json j;

	if (!collect(&c, p, shown))
		out->failed = true;
	json_init(&j, out);
	json_object(&j, NULL);
	json_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_str(&j, "exporter", "zombiescope " ZSCOPE_VERSION);
	json_str(&j, "name", name);
	json_u64(&j, "activeProfileIndex", 0);
	json_object(&j, "shared");
	frames_json(&j, p, &c.comms, c.comm_list.items);
	json_end_object(&j);
	json_array(&j, "profiles");
	profile_json(&j, &c, event_name[0] ? event_name : name, clock ? "nanoseconds" : "none");
	json_end_array(&j);
	json_end_object(&j);
	buf_add_char(out, '\n');
	buf_free(&c.samples);
	buf_free(&c.weights);
	map_u64_free(&c.comms);
	vec_free(&c.comm_list);
}
