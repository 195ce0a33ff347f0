#include "profile_read.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "demangle.h"
#include "meta_lines.h"
#include "profile_codec.h"
#include "timefmt.h"

/* A second is written when its symbols are read and its ring was drained: up to 3 s and, on a
 * starved host, as long as a ring holds out later. */
#define WRITTEN_LATER_NS (20 * NS_PER_S)

enum { CHUNK_SAMPLES = 1 << 16 };

struct window {
	uint64_t from_ns, to_ns;
	const struct profile_read_options *options; /* NULL = keep every sample */
	size_t left;                                /* samples that the last chunk left */
	struct profile_decoder decoder;
	uint64_t segment;  /* whose dictionary the decoder has */
	struct buf held;   /* dictionary frames of `reading` that no samples asked for yet */
	VEC(size_t) sizes; /* of the frames in held */
	uint64_t reading;
	bool any;
};

/* Whose recording it is: an imported one is another host's, mostly. */
static void take_meta(const struct frame *f, struct profile *out)
{
	const char *text;
	size_t len;

	if ((len = meta_lines_find(f->payload, f->len, "host", &text)))
		out->meta.host = profile_add_string(out, text, len);
	if ((len = meta_lines_find(f->payload, f->len, "kernel", &text)))
		out->meta.kernel = profile_add_string(out, text, len);
	if (meta_lines_find(f->payload, f->len, "wall_time", &text))
		out->meta.wall_time = *text != '0';
}

/* Dictionaries are decoded only when a frame of their segment is in the window. */
static void window_dictionary(struct window *w, const struct frame *f)
{
	if (w->reading != f->segment) {
		w->reading = f->segment;
		w->held.len = 0;
		w->sizes.len = 0;
	}
	if (w->segment == f->segment) {
		(void)profile_decode_dictionary(&w->decoder, f->payload, f->len);
		return;
	}
	buf_add(&w->held, f->payload, f->len);
	(void)vec_push(&w->sizes, (size_t)f->len);
}

static void window_enter(struct window *w, uint64_t segment)
{
	size_t at = 0;

	if (w->segment == segment)
		return;
	profile_decoder_reset(&w->decoder);
	w->segment = segment;
	if (w->reading != segment)
		return;
	for (size_t i = 0; i < w->sizes.len; i++) {
		(void)profile_decode_dictionary(&w->decoder, w->held.data + at, w->sizes.items[i]);
		at += w->sizes.items[i];
	}
	w->held.len = 0;
	w->sizes.len = 0;
}

static void window_chunk(struct window *w)
{
	struct profile *p = w->decoder.out;

	if (!w->options)
		return;
	w->options->chunk(w->options->arg, p);
	p->meta.cpu_seconds.len = 0; /* their sums are in p->meta */
	w->left = p->samples.len;
}

static void window_second(struct window *w, const struct frame *f)
{
	uint64_t second;

	if (profile_peek_second(f->payload, f->len, &second) < 0)
		return;
	w->any = true;
	/* samples of a second that a clock step made longer may lie one further */
	if ((second + 1) * NS_PER_S <= w->from_ns || second * NS_PER_S >= w->to_ns)
		return;
	window_enter(w, f->segment);
	(void)profile_decode_second(&w->decoder, f->payload, f->len, w->from_ns, w->to_ns);
	if (w->decoder.out->samples.len >= w->left + CHUNK_SAMPLES)
		window_chunk(w);
}

static int window_read(struct window *w, struct store_reader *r, struct err *err)
{
	struct frame f;
	uint64_t end_ns =
		w->to_ns > UINT64_MAX - WRITTEN_LATER_NS ? UINT64_MAX : w->to_ns + WRITTEN_LATER_NS;
	int code = store_reader_seek(
		r, w->from_ns, end_ns,
		FRAME_BIT(FRAME_PROFILE) | FRAME_BIT(FRAME_STACKS) | FRAME_BIT(FRAME_META), err);

	w->decoder.out->meta.wall_time = true;

	if (w->options && w->options->every_s > 1)
		store_reader_thin(r, w->options->every_s);
	while (code >= 0 && (code = store_reader_next(r, &f, err)) > 0) {
		if (f.kind == FRAME_META)
			take_meta(&f, w->decoder.out);
		else if (f.version != PROFILE_CODEC_VERSION)
			continue;
		else if (f.kind == FRAME_STACKS)
			window_dictionary(w, &f);
		else
			window_second(w, &f);
	}
	return code;
}

static int compare_cpu_seconds(const void *a_, const void *b_)
{
	const struct profile_cpu_second *a = a_, *b = b_;

	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* A second that was split over two segments is one second. */
static void merge_cpu_seconds(struct profile *p)
{
	struct profile_cpu_second *rows = p->meta.cpu_seconds.items;
	size_t kept = 0;

	vec_sort(&p->meta.cpu_seconds, compare_cpu_seconds);
	for (size_t i = 0; i < p->meta.cpu_seconds.len; i++) {
		struct profile_cpu_second *last = kept ? &rows[kept - 1] : NULL;
		if (!last || compare_cpu_seconds(last, &rows[i]) != 0) {
			rows[kept++] = rows[i];
			continue;
		}
		last->expected += rows[i].expected;
		last->received += rows[i].received;
		last->received_idle += rows[i].received_idle;
		last->lost += rows[i].lost;
		if (last->idle != PROFILE_IDLE_UNKNOWN && rows[i].idle != PROFILE_IDLE_UNKNOWN)
			last->idle += rows[i].idle;
		else
			last->idle = PROFILE_IDLE_UNKNOWN;
	}
	p->meta.cpu_seconds.len = kept;
}

void profile_demangle(struct profile *p)
{
	char name[1024];

	for (size_t i = 1; i < p->frames.len; i++) {
		struct profile_frame *f = &p->frames.items[i];
		const char *symbol = profile_text(p, f->symbol);
		if (symbol[0] == '_' && !f->final && demangle(symbol, name, sizeof(name)))
			f->symbol = profile_add_text(p, name);
	}
}

int profile_read_window(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct profile *out, struct err *err)
{
	return profile_read_chunks(r, from_ns, to_ns, NULL, out, err);
}

int profile_read_chunks(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			const struct profile_read_options *options, struct profile *out,
			struct err *err)
{
	struct window w = {
		.from_ns = from_ns, .to_ns = to_ns, .options = options, .decoder = { .out = out }
	};
	int code = window_read(&w, r, err);

	if (code >= 0)
		window_chunk(&w);

	profile_decoder_free(&w.decoder);
	buf_free(&w.held);
	vec_free(&w.sizes);
	if (code < 0)
		return code;
	if (profile_failed(out))
		return err_set(err, -ENOMEM, "out of memory");
	if (!w.any)
		return err_set(err, -ENODATA, "the recording has no profile in that window");
	out->meta.from_ns = from_ns;
	out->meta.to_ns = to_ns;
	profile_sort(out);
	merge_cpu_seconds(out);
	profile_demangle(out);
	return 0;
}

struct heat_walk {
	struct store_reader *reader;
	struct profile_footer *out;
	bool cores;
	VEC(struct store_footer) open; /* segments whose frames have to be read */
};

static int heat_footer(void *arg, const struct store_footer *f)
{
	struct heat_walk *walk = arg;
	const struct store_footer_blob *heat = store_footer_blob(f, FOOTER_HEAT);
	const struct store_footer_blob *cores = store_footer_blob(f, FOOTER_PROFILE);

	if (f->sealed) {
		if (heat)
			(void)profile_footer_decode_heat(heat->bytes, heat->len, walk->out);
		if (cores)
			(void)profile_footer_decode_cores(cores->bytes, cores->len, !walk->cores,
							  walk->out);
		return 0;
	}
	return vec_push(&walk->open, *f) ? 0 : -ENOMEM;
}

static void heat_time(void *arg, uint64_t time_ns, uint32_t cpu)
{
	(void)cpu;
	profile_footer_count(arg, time_ns);
}

static void heat_row(void *arg, const struct profile_cpu_second *row)
{
	(void)profile_footer_add_core(arg, row);
}

/* A segment without footer: still being written, or cut off. */
static int heat_frames(struct heat_walk *walk, const struct store_footer *f, struct err *err)
{
	uint64_t end_ns = f->to_ns ? f->to_ns : f->from_ns + 600 * NS_PER_S;
	struct frame frame;
	int code =
		store_reader_seek(walk->reader, f->from_ns, end_ns, FRAME_BIT(FRAME_PROFILE), err);

	while (code >= 0 && (code = store_reader_next(walk->reader, &frame, err)) > 0) {
		if (frame.segment != f->segment || frame.version != PROFILE_CODEC_VERSION)
			continue;
		(void)profile_decode_times(frame.payload, frame.len, heat_time, walk->out);
		(void)profile_decode_rows(frame.payload, frame.len, heat_row, walk->out);
	}
	return code;
}

static int compare_heat(const void *a_, const void *b_)
{
	const struct profile_heat_second *a = a_, *b = b_;
	return a->second < b->second ? -1 : a->second > b->second;
}

static int compare_cores(const void *a_, const void *b_)
{
	const struct profile_core_second *a = a_, *b = b_;

	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Segments come in time order, so that this is nearly always true. */
static bool heat_in_order(const struct profile_footer *f)
{
	for (size_t i = 1; i < f->heat.len; i++)
		if (f->heat.items[i].second < f->heat.items[i - 1].second)
			return false;
	for (size_t i = 1; i < f->cores.len; i++)
		if (compare_cores(&f->cores.items[i - 1], &f->cores.items[i]) > 0)
			return false;
	return true;
}

static void merge_heat(struct profile_footer *f, uint64_t from_s, uint64_t to_s)
{
	size_t kept = 0;

	if (!heat_in_order(f)) {
		vec_sort(&f->heat, compare_heat);
		vec_sort(&f->cores, compare_cores);
	}
	for (size_t i = 0; i < f->heat.len; i++) {
		const struct profile_heat_second *h = &f->heat.items[i];
		if (h->second < from_s || h->second >= to_s)
			continue;
		if (kept && f->heat.items[kept - 1].second == h->second)
			for (unsigned row = 0; row < PROFILE_HEAT_ROWS; row++)
				f->heat.items[kept - 1].rows[row] += h->rows[row];
		else
			f->heat.items[kept++] = *h;
	}
	f->heat.len = kept;
	kept = 0;
	for (size_t i = 0; i < f->cores.len; i++) {
		const struct profile_core_second *c = &f->cores.items[i];
		struct profile_core_second *last = kept ? &f->cores.items[kept - 1] : NULL;
		if (c->second < from_s || c->second >= to_s)
			continue;
		if (last && compare_cores(last, c) == 0) {
			last->busy += c->busy;
			last->lost += c->lost;
			last->missing += c->missing;
			last->expected += c->expected;
		} else {
			f->cores.items[kept++] = *c;
		}
	}
	f->cores.len = kept;
}

int profile_read_heat(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, bool cores,
		      struct profile_footer *out, struct err *err)
{
	struct heat_walk walk = { .reader = r, .out = out, .cores = cores };
	uint64_t end_ns =
		to_ns > UINT64_MAX - WRITTEN_LATER_NS ? UINT64_MAX : to_ns + WRITTEN_LATER_NS;
	int code = store_reader_footers(r, from_ns, end_ns, heat_footer, &walk, err);

	for (size_t i = 0; code >= 0 && i < walk.open.len; i++)
		code = heat_frames(&walk, &walk.open.items[i], err);
	vec_free(&walk.open);
	if (code < 0)
		return code;
	merge_heat(out, from_ns / NS_PER_S, to_ns / NS_PER_S + (to_ns % NS_PER_S != 0));
	return 0;
}

int profile_read_source(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct profile *out, struct err *err)
{
	struct frame f;
	int code = store_reader_seek(r, from_ns, to_ns, FRAME_BIT(FRAME_META), err);

	out->meta.wall_time = true;
	while (code >= 0 && (code = store_reader_next(r, &f, err)) > 0) {
		take_meta(&f, out);
		if (out->meta.host)
			return 0;
	}
	return code;
}
