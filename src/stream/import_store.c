#include "import_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "idle_name.h"
#include "profile_codec.h"
#include "profile_footer.h"
#include "store_writer.h"
#include "timefmt.h"
#include "vec.h"

enum { FRAME_SAMPLES = 1 << 18 }; /* in one frame; a hostile second has more */

/* Ids of the profile that is imported → ids of the segment's own dictionary; 0 = not yet. */
struct store_ids {
	uint32_t *ids;
	size_t len;
};

struct import_store {
	struct store_writer *writer;
	struct profile_encoder encoder;
	struct profile segment; /* dictionaries of the present segment */
	struct store_ids strings, modules, frames, stacks, cgroups;
	uint16_t events[256]; /* event of the profile → of the segment + 1 */
	VEC(struct profile_sample) samples;
	struct profile_footer footer;
	struct buf payload;
	char host[256], kernel[128];
	bool wall_time;
};

static void ids_forget(struct import_store *s)
{
	struct store_ids *all[] = { &s->strings, &s->modules, &s->frames, &s->stacks, &s->cgroups };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		free(all[i]->ids);
		*all[i] = (struct store_ids){ 0 };
	}
	memset(s->events, 0, sizeof(s->events));
}

/* The place of an id, made when the dictionary has grown; NULL when out of memory. */
static uint32_t *ids_at(struct store_ids *m, uint32_t id, size_t len)
{
	if (id >= m->len) {
		uint32_t *grown = realloc(m->ids, (len + len / 2 + 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + m->len, 0, (len + len / 2 + 1 - m->len) * sizeof(*grown));
		m->ids = grown;
		m->len = len + len / 2 + 1;
	}
	return &m->ids[id];
}

static uint32_t move_string(struct import_store *s, const struct profile *p, uint32_t id)
{
	uint32_t *at = ids_at(&s->strings, id, p->strings.len);

	if (at && id && !*at)
		*at = profile_add_string(&s->segment, p->strings.items[id].text,
					 p->strings.items[id].len);
	return at ? *at : 0;
}

static uint32_t move_frame(struct import_store *s, const struct profile *p, uint32_t id)
{
	uint32_t *at = ids_at(&s->frames, id, p->frames.len);

	if (!at || !id || *at)
		return at ? *at : 0;
	struct profile_frame f = p->frames.items[id];
	uint32_t *module = ids_at(&s->modules, f.module, p->modules.len);
	if (module && f.module && !*module) {
		const struct profile_module *m = &p->modules.items[f.module];
		*module = profile_add_module(&s->segment, move_string(s, p, m->name), m->build_id,
					     m->build_id_len);
	}
	f.module = module ? *module : 0;
	f.symbol = move_string(s, p, f.symbol);
	*at = profile_add_frame(&s->segment, &f);
	return *at;
}

/* Up to the nearest caller that is known, then down again. */
static uint32_t move_stack(struct import_store *s, const struct profile *p, uint32_t id)
{
	uint32_t path[PROFILE_MAX_DEPTH + 1], parent = 0;
	size_t n = 0;

	for (; id && n <= PROFILE_MAX_DEPTH; id = p->stacks.items[id].parent) {
		const uint32_t *known = ids_at(&s->stacks, id, p->stacks.len);
		if (known && *known) {
			parent = *known;
			break;
		}
		path[n++] = id;
	}
	while (n-- > 0) {
		parent = profile_add_stack(&s->segment, parent,
					   move_frame(s, p, p->stacks.items[path[n]].frame));
		uint32_t *at = ids_at(&s->stacks, path[n], p->stacks.len);
		if (at)
			*at = parent;
	}
	return parent;
}

/* Segments are readable alone: each has only what its own samples need. */
static struct profile_sample move_sample(struct import_store *s, const struct profile *p,
					 const struct profile_sample *from)
{
	struct profile_sample to = *from;

	to.stack = move_stack(s, p, from->stack);
	to.comm = move_string(s, p, from->comm);
	if (from->cgroup) {
		uint32_t *at = ids_at(&s->cgroups, from->cgroup, p->cgroups.len);
		const struct profile_cgroup *c = &p->cgroups.items[from->cgroup];
		if (at && !*at)
			*at = profile_add_cgroup(&s->segment, c->id, move_string(s, p, c->path));
		to.cgroup = at ? *at : 0;
	}
	if (from->event < p->meta.events.len) {
		uint16_t *event = &s->events[from->event];
		if (!*event)
			*event = 1 + profile_add_event(
					     &s->segment,
					     profile_text(p, p->meta.events.items[from->event]));
		to.event = (uint8_t)(*event - 1);
	}
	return to;
}

static int segment_begin(void *arg, struct store_writer *w, struct err *err)
{
	struct import_store *s = arg;
	char text[600];

	profile_encoder_reset(&s->encoder);
	profile_footer_clear(&s->footer);
	profile_free(&s->segment);
	ids_forget(s);
	if (profile_init(&s->segment) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	int n = snprintf(text, sizeof(text),
			 "version=" ZSCOPE_VERSION
			 "\nhost=%s\nkernel=%s\nimported=1\nwall_time=%d\n",
			 s->host, s->kernel, s->wall_time);
	return store_writer_append(w, FRAME_META, 1, store_writer_clock(w)->real_ns, text,
				   MIN_OF((size_t)n, sizeof(text) - 1), err);
}

static int segment_end(void *arg, struct store_writer *w, struct err *err)
{
	struct import_store *s = arg;

	buf_clear(&s->payload);
	profile_footer_encode_heat(&s->payload, &s->footer);
	int r = store_writer_footer_blob(w, FOOTER_HEAT, s->payload.data, s->payload.len, err);
	buf_clear(&s->payload);
	profile_footer_encode_cores(&s->payload, &s->footer);
	if (r == 0)
		r = store_writer_footer_blob(w, FOOTER_PROFILE, s->payload.data, s->payload.len,
					     err);
	return r;
}

int import_store_open(const char *dir, struct import_store **ret, struct err *err)
{
	struct import_store *s = calloc(1, sizeof(*s));
	/* one fsync at the end is enough: the source file is still there */
	struct store_options options = { .ring_bytes = 64 << 20, .sync_ns = 3600 * NS_PER_S };

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	struct store_hooks hooks = { .begin = segment_begin, .end = segment_end, .arg = s };
	int r = store_writer_open(dir, &options, &hooks, &s->writer, err);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void import_store_source(struct import_store *s, const struct import_info *info)
{
	memcpy(s->host, info->host, sizeof(s->host));
	memcpy(s->kernel, info->kernel, sizeof(s->kernel));
	s->wall_time = info->wall != IMPORT_WALL_NONE;
}

/* Idle = pid 0 and an idle function as leaf: stored here, but no heat. */
static bool is_idle(const struct profile *p, const struct profile_sample *sample)
{
	if (sample->tid != 0 || !sample->stack)
		return false;
	const struct profile_frame *leaf = &p->frames.items[p->stacks.items[sample->stack].frame];
	return leaf->symbol && idle_name(profile_text(p, leaf->symbol));
}

static int write_frame(struct import_store *s, const struct profile_second *second, struct err *err)
{
	uint64_t at_ns = store_writer_clock(s->writer)->real_ns;
	struct profile_sample *samples = s->samples.items;
	size_t n = s->samples.len;
	int r = 0;

	buf_clear(&s->payload);
	if (profile_encode_dictionary(&s->encoder, &s->segment, samples, n, &s->payload))
		r = store_writer_append(s->writer, FRAME_STACKS, PROFILE_CODEC_VERSION, at_ns,
					s->payload.data, s->payload.len, err);
	buf_clear(&s->payload);
	profile_encode_second(&s->encoder, &s->segment, second, samples, n, &s->payload);
	if (s->payload.failed || profile_failed(&s->segment))
		return err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = store_writer_append(s->writer, FRAME_PROFILE, PROFILE_CODEC_VERSION, at_ns,
					s->payload.data, s->payload.len, err);
	if (r == 0 && store_writer_degraded(s->writer))
		r = err_set(err, -EIO, "%s", store_writer_degraded(s->writer));
	return r;
}

/* Rows of lost samples of that second: they come in time order, or nearly. */
static void second_rows(const struct profile *p, struct profile_second *second)
{
	const struct profile_cpu_second *rows = p->meta.cpu_seconds.items;
	size_t first = 0, last, n = p->meta.cpu_seconds.len;

	while (first < n && rows[first].second != second->second)
		first++;
	for (last = first; last < n && rows[last].second == second->second;)
		last++;
	second->rows = n ? rows + first : NULL;
	second->n_rows = last - first;
}

static int write_second(struct import_store *s, const struct profile *p, uint64_t second,
			const struct profile_sample *samples, size_t n, struct err *err)
{
	uint64_t at_ns = second * NS_PER_S;
	struct store_clock clock = {
		.real_ns = at_ns, .mono_ns = at_ns, .boot_ns = at_ns, .boot_id = "imported"
	};
	struct profile_second head = { .second = second, .exact_ns = true };
	int r = store_writer_tick(s->writer, &clock, err);

	second_rows(p, &head);
	s->segment.meta.hz = p->meta.hz;
	for (size_t at = 0; r == 0 && at < n; at += FRAME_SAMPLES) {
		s->samples.len = 0;
		for (size_t i = at; i < n && i < at + FRAME_SAMPLES; i++) {
			if (!is_idle(p, &samples[i]))
				profile_footer_count(&s->footer, samples[i].time_ns);
			if (!vec_push(&s->samples, move_sample(s, p, &samples[i])))
				return err_set(err, -ENOMEM, "out of memory");
		}
		r = write_frame(s, &head, err);
		head.n_rows = 0;
	}
	return r;
}

void import_store_new_profile(struct import_store *s)
{
	ids_forget(s);
}

int import_store_write(struct import_store *s, struct profile *p, uint64_t until_ns,
		       struct err *err)
{
	size_t done = 0, n = p->samples.len;

	profile_sort(p);
	if (profile_failed(p))
		return err_set(err, -ENOMEM, "out of memory");
	while (done < n && p->samples.items[done].time_ns < until_ns) {
		uint64_t second = p->samples.items[done].time_ns / NS_PER_S;
		size_t end = done;
		while (end < n && p->samples.items[end].time_ns / NS_PER_S == second)
			end++;
		int r = write_second(s, p, second, p->samples.items + done, end - done, err);
		if (r < 0)
			return r;
		done = end;
	}
	memmove(p->samples.items, p->samples.items + done, (n - done) * sizeof(*p->samples.items));
	p->samples.len = n - done;
	return 0;
}

int import_store_close(struct import_store *s, struct err *err)
{
	int r = 0;

	if (!s)
		return 0;
	store_writer_flush(s->writer);
	if (store_writer_lost_frames(s->writer))
		r = err_set(err, -EIO, "%llu frames could not be written",
			    (unsigned long long)store_writer_lost_frames(s->writer));
	store_writer_close(s->writer);
	profile_encoder_reset(&s->encoder);
	profile_footer_free(&s->footer);
	profile_free(&s->segment);
	ids_forget(s);
	vec_free(&s->samples);
	buf_free(&s->payload);
	free(s);
	return r;
}
