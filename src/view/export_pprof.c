#include "export_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "auto.h"
#include "esc.h"
#include "export_folded.h"
#include "map.h"
#include "text.h"
#include "wire.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

struct pprof {
	struct buf *out;
	const struct profile *p;
	struct map_str strings;
	struct buf string_table; /* encoded, in order of their numbers */
	struct buf message;
	uint64_t n_strings;
};

static void put_varint(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return; /* proto3: absent is 0 */
	wire_put_u64(out, field << 3);
	wire_put_u64(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t len)
{
	wire_put_u64(out, field << 3 | 2);
	wire_put_bytes(out, bytes, len);
}

/* protobuf strings are UTF-8; names are hostile bytes */
static void put_text(struct buf *out, unsigned field, const char *text)
{
	AUTO_BUF struct buf clean = { 0 };
	size_t len = strlen(text);

	for (size_t i = 0; i < len;) {
		size_t n = esc_utf8_len(text + i, len - i);
		if (n)
			buf_add(&clean, text + i, n);
		else
			buf_add_str(&clean, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	put_bytes(out, field, buf_str(&clean), clean.len);
}

static uint64_t string_id(struct pprof *w, const char *text)
{
	bool fresh;
	uint64_t *id = map_str_put(&w->strings, text, strlen(text), &fresh);

	if (!id) {
		w->out->failed = true;
		return 0;
	}
	if (fresh) {
		*id = w->n_strings++;
		put_text(&w->string_table, PROFILE_STRING_TABLE, text);
	}
	return *id;
}

static void put_value_type(struct pprof *w, unsigned field, const char *type, const char *unit)
{
	buf_clear(&w->message);
	put_varint(&w->message, 1, string_id(w, type));
	put_varint(&w->message, 2, string_id(w, unit));
	put_bytes(w->out, field, w->message.data, w->message.len);
}

static void put_mappings(struct pprof *w)
{
	for (size_t i = 1; i < w->p->modules.len; i++) {
		const struct profile_module *m = &w->p->modules.items[i];
		char id[2 * PROFILE_MAX_BUILD_ID + 1] = "";
		for (size_t k = 0; k < m->build_id_len; k++)
			snprintf(id + 2 * k, 3, "%02x", m->build_id[k]);
		buf_clear(&w->message);
		put_varint(&w->message, 1, i);
		put_varint(&w->message, 5, string_id(w, profile_text(w->p, m->name)));
		put_varint(&w->message, 6, string_id(w, id));
		put_varint(&w->message, 7, 1); /* has_functions: names are final */
		put_bytes(w->out, PROFILE_MAPPING, w->message.data, w->message.len);
	}
}

/* A location and a function per frame: both have the frame's number. */
static void put_frames(struct pprof *w, const uint8_t *used)
{
	AUTO_BUF struct buf line = { 0 };
	char name[PROFILE_MAX_NAME + 8];

	for (size_t i = 1; i < w->p->frames.len; i++) {
		const struct profile_frame *f = &w->p->frames.items[i];
		if (!used[i])
			continue;
		buf_clear(&line);
		put_varint(&line, 1, i);
		buf_clear(&w->message);
		put_varint(&w->message, 1, i);
		put_varint(&w->message, 2, f->module);
		put_varint(&w->message, 3, f->address);
		put_bytes(&w->message, 4, line.data, line.len);
		put_bytes(w->out, PROFILE_LOCATION, w->message.data, w->message.len);

		profile_frame_name(w->p, (uint32_t)i, name, sizeof(name));
		uint64_t id = string_id(w, name);
		const char *file = f->module < w->p->modules.len
					   ? profile_text(w->p, w->p->modules.items[f->module].name)
					   : "";
		buf_clear(&w->message);
		put_varint(&w->message, 1, i);
		put_varint(&w->message, 2, id);
		put_varint(&w->message, 3, id);
		put_varint(&w->message, 4, string_id(w, file));
		put_bytes(w->out, PROFILE_FUNCTION, w->message.data, w->message.len);
	}
}

struct pprof_key {
	uint32_t stack, comm, pid;
};

struct pprof_count {
	struct pprof_key key;
	uint64_t samples, weight;
};

struct pprof_counts {
	VEC(struct pprof_count) list;
};

static void put_label(struct pprof *w, struct buf *out, const char *key, uint64_t str, uint64_t num)
{
	AUTO_BUF struct buf label = { 0 };

	put_varint(&label, 1, string_id(w, key));
	put_varint(&label, 2, str);
	put_varint(&label, 3, num);
	put_bytes(out, 3, label.data, label.len);
}

static void put_sample(struct pprof *w, const struct pprof_count *c)
{
	AUTO_BUF struct buf packed = { 0 };
	const struct profile *p = w->p;

	buf_clear(&w->message);
	for (uint32_t s = c->key.stack; s; s = p->stacks.items[s].parent)
		wire_put_u64(&packed, p->stacks.items[s].frame); /* leaf first */
	put_bytes(&w->message, 1, buf_str(&packed), packed.len);
	buf_clear(&packed);
	wire_put_u64(&packed, c->samples);
	wire_put_u64(&packed, c->weight);
	put_bytes(&w->message, 2, packed.data, packed.len);
	put_label(w, &w->message, "comm", string_id(w, profile_text(p, c->key.comm)), 0);
	if (c->key.pid)
		put_label(w, &w->message, "pid", 0, c->key.pid);
	put_bytes(w->out, PROFILE_SAMPLE, w->message.data, w->message.len);
}

static bool count_samples(const struct profile *p, int event, struct pprof_counts *ret,
			  uint8_t *used, uint64_t *ret_first, uint64_t *ret_last)
{
	AUTO_MAP_STR struct map_str at = { 0 };
	uint64_t first = UINT64_MAX, last = 0;

	vec_foreach (&p->samples, s) {
		struct pprof_key key = { s->stack, s->comm, s->pid };
		bool fresh;
		if (!export_folded_shows(p, s, event))
			continue;
		uint64_t *i = map_str_put(&at, (const char *)&key, sizeof(key), &fresh);
		if (!i)
			return false;
		if (fresh) {
			*i = ret->list.len;
			if (!vec_push(&ret->list, ((struct pprof_count){ .key = key })))
				return false;
			for (uint32_t k = s->stack; k; k = p->stacks.items[k].parent)
				used[p->stacks.items[k].frame] = 1;
		}
		ret->list.items[*i].samples++;
		ret->list.items[*i].weight += s->weight ? s->weight : 1;
		if (s->have & PROFILE_HAVE_TIME) {
			first = MIN_OF(first, s->time_ns);
			last = MAX_OF(last, s->time_ns);
		}
	}
	*ret_first = first == UINT64_MAX ? 0 : first;
	*ret_last = last;
	return true;
}

static int gzip(struct buf *out, const struct buf *plain)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	size_t bound = deflateBound(&z, plain->len);
	if (!buf_reserve(out, bound)) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = (uint8_t *)plain->data;
	z.avail_in = (unsigned)plain->len;
	z.next_out = (uint8_t *)out->data + out->len;
	z.avail_out = (unsigned)bound;
	int status = deflate(&z, Z_FINISH);
	out->len += z.total_out;
	deflateEnd(&z);
	return status == Z_STREAM_END ? 0 : -ENOMEM;
}

/* Clock events count nanoseconds. */
static bool is_clock(const char *event)
{
	return text_starts(event, "cpu-clock") || text_starts(event, "task-clock");
}

int export_pprof(struct buf *out, const struct profile *p, const char *event)
{
	AUTO_BUF struct buf plain = { 0 };
	AUTO_FREE uint8_t *used = calloc(p->frames.len + 1, 1);
	struct pprof w = { .out = &plain, .p = p };
	struct pprof_counts counts = { 0 };
	int shown = export_folded_event(p, event);
	const char *name = shown >= 0 && (size_t)shown < p->meta.events.len
				   ? profile_text(p, p->meta.events.items[shown])
				   : "";
	const char *type = is_clock(name) ? "cpu" : name[0] ? name : "weight";
	const char *unit = is_clock(name) ? "nanoseconds" : "count";
	uint64_t first, last;
	int r = -ENOMEM;

	string_id(&w, ""); /* number 0 by the format */
	if (used && count_samples(p, shown, &counts, used, &first, &last)) {
		put_value_type(&w, PROFILE_SAMPLE_TYPE, "samples", "count");
		put_value_type(&w, PROFILE_SAMPLE_TYPE, type, unit);
		vec_foreach (&counts.list, c)
			put_sample(&w, c);
		put_mappings(&w);
		put_frames(&w, used);
		if (p->meta.wall_time)
			put_varint(&plain, PROFILE_TIME_NANOS, first);
		put_varint(&plain, PROFILE_DURATION_NANOS, last - first);
		put_value_type(&w, PROFILE_PERIOD_TYPE, type, unit);
		put_varint(&plain, PROFILE_PERIOD,
			   is_clock(name) && p->meta.hz > 0 ? (uint64_t)(1e9 / p->meta.hz) : 1);
		put_varint(&plain, PROFILE_DEFAULT_SAMPLE_TYPE, string_id(&w, "samples"));
		buf_add(&plain, w.string_table.data, w.string_table.len);
		if (!plain.failed && !w.string_table.failed && !w.message.failed &&
		    plain.len < UINT32_MAX)
			r = gzip(out, &plain);
	}
	vec_free(&counts.list);
	map_str_free(&w.strings);
	buf_free(&w.string_table);
	buf_free(&w.message);
	return r;
}
