/* Walks the records of a perf.data file or pipe, through its zstd streams, and gives them out. */
#include "perf_data.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "auto.h"
#include "perf_data_impl.h"

enum {
	WINDOW_LEN = 1 << 20,     /* bytes of the file held at once */
	INFLATE_LEN = 256 << 10,  /* bytes of a zstd stream held at once, beside one record */
	HELD_RECORDS = 128 << 20, /* waiting for the end of their round */
	DIR_WINDOW_LEN = 64 << 10 | PERF_RECORD_BYTES, /* of each file of a directory */
	DIR_TURN = 32 << 10,                           /* read of one file before the next */
	DIR_HELD = 8 << 20,   /* waiting until all files of a directory are that far */
	DIR_FILES_MAX = 8192, /* one per core */
};

enum walk_result {
	WALK_ENDED,
	WALK_ON,
	WALK_STOPPED, /* by the callback, which returned walk.stopped */
};

/* One file: of a directory there are several, each with a zstd stream of its own. */
struct perf_stream {
	const struct perf_input *in;
	uint64_t at, to;
	uint64_t newest; /* time of its records so far */
	bool done;
	uint8_t *window;
	size_t window_size;
	uint64_t window_at;
	size_t window_len;
	ZSTD_DCtx *zstd;
	uint8_t *inflated;
	size_t inflated_len;
};

struct perf_walk {
	const struct perf_data_ops *ops;
	void *arg;
	unsigned flags;
	struct perf_data *d;
	struct perf_decoder *dec;
	struct perf_order order;
	struct perf_stream *streams, *now;
	size_t n_streams;
	uint64_t done_bytes, told;
	int stopped;
};

__attribute__((format(printf, 2, 3))) static void walk_damage(struct perf_walk *w,
							      const char *format, ...)
{
	const char *name = w->now ? w->now->in->name : NULL;
	size_t at = 0;
	va_list args;

	if (w->d->damage[0])
		return; /* the first one tells */
	if (name)
		at = (size_t)snprintf(w->d->damage, 64, "%.40s: ", name);
	va_start(args, format);
	vsnprintf(w->d->damage + at, sizeof(w->d->damage) - at, format, args);
	va_end(args);
}

/* Bytes [at, at + len) of the file; NULL when it ends before. Valid until the next call. */
static const uint8_t *stream_bytes(struct perf_stream *s, uint64_t at, size_t len)
{
	if (at < s->window_at || at + len > s->window_at + s->window_len) {
		int64_t n = s->in->read_at(s->in->arg, at, s->window, s->window_size);
		s->window_at = at;
		s->window_len = n > 0 ? (size_t)n : 0;
	}
	return s->window_len >= len + (at - s->window_at) ? s->window + (at - s->window_at) : NULL;
}

static struct perf_record_header record_header(const uint8_t *bytes, bool swap)
{
	struct perf_bytes b = { .at = bytes, .end = bytes + PERF_HEADER_LEN, .swap = swap };
	struct perf_record_header h;

	h.type = perf_bytes_u32(&b);
	h.misc = perf_bytes_u16(&b);
	h.size = perf_bytes_u16(&b);
	return h;
}

static struct perf_bytes record_body(const uint8_t *record, size_t len, bool swap)
{
	return (struct perf_bytes){ .at = record + PERF_HEADER_LEN,
				    .end = record + len,
				    .swap = swap };
}

/* Decode and hand over; the end of the line for kernel records. */
static int walk_give(void *arg, const void *record, size_t len, struct err *err)
{
	struct perf_walk *w = arg;
	struct perf_record_header h = record_header(record, w->d->swap);
	struct perf_rec rec;

	if (perf_decode(w->d, w->dec, &h, record_body(record, len, w->d->swap), &rec) < 0)
		return err_set(err, -EBADMSG, "perf.data: a record of type %u is malformed",
			       h.type);
	w->d->n_records++;
	if (h.type == PERF_RECORD_SAMPLE)
		w->d->n_samples++;
	return w->ops->record ? w->ops->record(w->arg, w->d, &rec, err) : 0;
}

static int walk_inflate(struct perf_walk *w, const uint8_t *bytes, size_t len, struct err *err);

/* Records of perf itself that say something about the file. */
static int walk_user(struct perf_walk *w, const struct perf_record_header *h, struct perf_bytes b,
		     bool inflated, struct err *err)
{
	switch (h->type) {
	case PERF_USER_ATTR:
		/* a file's header has said it already */
		return w->d->pipe ? perf_attr_record(w->d, &b, err) : 0;
	case PERF_USER_BUILD_ID:
		perf_build_id_record(w->d, h->misc, &b);
		return 0;
	case PERF_USER_EVENT_UPDATE:
		perf_event_update_record(w->d, &b);
		return 0;
	case PERF_USER_FEATURE: {
		uint64_t feature = perf_bytes_u64(&b);
		if (!b.failed && feature < 256)
			perf_feature_parse(w->d, (unsigned)feature, b.at, perf_bytes_left(&b));
		return 0;
	}
	case PERF_USER_FINISHED_ROUND:
		if (w->n_streams > 1)
			return 0; /* of this one file only */
		return perf_order_round(&w->order, walk_give, w, w->d, err);
	case PERF_USER_COMPRESSED:
	case PERF_USER_COMPRESSED2: {
		if (inflated)
			return err_set(err, -EBADMSG, "perf.data: compressed inside compressed");
		uint64_t len = perf_bytes_left(&b);
		if (h->type == PERF_USER_COMPRESSED2)
			len = perf_bytes_u64(&b);
		if (b.failed || len > perf_bytes_left(&b))
			return err_set(err, -EBADMSG, "perf.data: a compressed record is cut");
		return walk_inflate(w, b.at, (size_t)len, err);
	}
	default:
		return 0;
	}
}

static int walk_record(struct perf_walk *w, const uint8_t *record, size_t len, bool inflated,
		       struct err *err)
{
	struct perf_record_header h = record_header(record, w->d->swap);
	struct perf_bytes body = record_body(record, len, w->d->swap);

	if (h.type >= PERF_USER_ATTR) {
		w->d->n_records++;
		return walk_user(w, &h, body, inflated, err);
	}
	if (h.type == 0 || h.type > 32) { /* newer than any known kernel's */
		w->d->n_unknown++;
		return 0;
	}
	if (w->d->attrs.len == 0)
		return err_set(err, -EBADMSG,
			       "perf.data: records come before any event is described");
	uint64_t time = w->flags & PERF_DATA_FILE_ORDER ? 0 : perf_decode_time(w->d, &h, body);
	if (time == 0 || time == UINT64_MAX)
		return walk_give(w, record, len, err);
	w->now->newest = MAX_OF(w->now->newest, time);
	return perf_order_add(&w->order, time, record, len, walk_give, w, w->d, err);
}

static int record_size_check(const struct perf_record_header *h, struct err *err)
{
	if (h->size < PERF_HEADER_LEN)
		return err_set(err, -EBADMSG, "perf.data: a record of type %u and size %u", h->type,
			       h->size);
	return 0;
}

/* Give out the whole records of what is inflated, keep the part of the next one. */
static int walk_inflated(struct perf_walk *w, struct err *err)
{
	struct perf_stream *s = w->now;
	size_t at = 0;

	while (s->inflated_len - at >= PERF_HEADER_LEN) {
		struct perf_record_header h = record_header(s->inflated + at, w->d->swap);
		int r = record_size_check(&h, err);
		if (r < 0)
			return r;
		if (h.size > s->inflated_len - at)
			break;
		r = walk_record(w, s->inflated + at, h.size, true, err);
		if (r)
			return r;
		at += h.size;
	}
	memmove(s->inflated, s->inflated + at, s->inflated_len - at);
	s->inflated_len -= at;
	return 0;
}

/* All compressed records of a file are one stream; records inside straddle them. */
static int walk_inflate(struct perf_walk *w, const uint8_t *bytes, size_t len, struct err *err)
{
	struct perf_stream *s = w->now;
	ZSTD_inBuffer in = { .src = bytes, .size = len };

	if (!s->zstd) {
		s->zstd = ZSTD_createDCtx();
		s->inflated = malloc(INFLATE_LEN + PERF_RECORD_BYTES);
		if (!s->zstd || !s->inflated)
			return err_set(err, -ENOMEM, "out of memory");
	}
	for (;;) {
		ZSTD_outBuffer out = { .dst = s->inflated,
				       .size = INFLATE_LEN + PERF_RECORD_BYTES,
				       .pos = s->inflated_len };
		size_t left = ZSTD_decompressStream(s->zstd, &out, &in);
		if (ZSTD_isError(left))
			return err_set(err, -EBADMSG, "perf.data: its zstd stream is broken: %s",
				       ZSTD_getErrorName(left));
		bool full = out.pos == out.size;
		s->inflated_len = out.pos;
		int r = walk_inflated(w, err);
		if (r)
			return r;
		if (in.pos == in.size && !full)
			return 0;
	}
}

/* Bytes that follow a record without being part of it. */
static uint64_t record_payload(const struct perf_record_header *h, struct perf_bytes b)
{
	uint64_t len = 0;

	if (h->type == PERF_USER_TRACING_DATA)
		len = ((uint64_t)perf_bytes_u32(&b) + 7) & ~UINT64_C(7);
	else if (h->type == PERF_USER_AUXTRACE)
		len = perf_bytes_u64(&b);
	return b.failed ? 0 : len;
}

static void walk_progress(struct perf_walk *w, uint64_t bytes)
{
	w->done_bytes += bytes;
	if (w->ops->progress && w->done_bytes - w->told >= WINDOW_LEN) {
		w->told = w->done_bytes;
		w->ops->progress(w->arg, w->done_bytes);
	}
}

/* Names of tracepoints stand behind the record that announces them. */
static void walk_tracing(struct perf_walk *w, struct perf_stream *s, uint64_t at, uint64_t len)
{
	if (!w->d->pipe || len > PERF_FEATURE_BYTES)
		return;
	AUTO_FREE uint8_t *bytes = malloc(len + 1);
	if (bytes && s->in->read_at(s->in->arg, at, bytes, len) == (int64_t)len)
		perf_tracing_parse(w->d, bytes, len);
}

/* Read one record of a stream: enum walk_result, or a negative errno. */
static int walk_step(struct perf_walk *w, struct perf_stream *s, struct err *err)
{
	uint64_t at = s->at;

	if (s->to - at < PERF_HEADER_LEN) {
		if (s->to != at)
			walk_damage(w, "%llu bytes are left at its end",
				    (unsigned long long)(s->to - at));
		return WALK_ENDED;
	}
	const uint8_t *bytes = stream_bytes(s, at, PERF_HEADER_LEN);
	if (!bytes) {
		walk_damage(w, "it ends after %llu of %llu bytes", (unsigned long long)at,
			    (unsigned long long)s->to);
		return WALK_ENDED;
	}
	struct perf_record_header h = record_header(bytes, w->d->swap);
	int r = record_size_check(&h, err);
	if (r < 0)
		return err_prefix(err, r, "byte %llu", (unsigned long long)at);
	bytes = h.size <= s->to - at ? stream_bytes(s, at, h.size) : NULL;
	if (!bytes) {
		walk_damage(w, "it is cut inside a record at byte %llu", (unsigned long long)at);
		return WALK_ENDED;
	}
	uint64_t payload = record_payload(&h, record_body(bytes, h.size, w->d->swap));
	r = walk_record(w, bytes, h.size, false, err);
	if (r < 0)
		return err_prefix(err, r, "byte %llu", (unsigned long long)at);
	if (r > 0) {
		w->stopped = r;
		return WALK_STOPPED;
	}
	at += h.size;
	if (payload > s->to - at) {
		walk_damage(w, "it is cut inside the data of a record at byte %llu",
			    (unsigned long long)at);
		return WALK_ENDED;
	}
	if (h.type == PERF_USER_TRACING_DATA)
		walk_tracing(w, s, at, payload);
	at += payload;
	walk_progress(w, at - s->at);
	s->at = at;
	return WALK_ON;
}

/* The one that is furthest behind, by the times in it. NULL = all are read. */
static struct perf_stream *walk_next(const struct perf_walk *w)
{
	struct perf_stream *next = NULL;

	for (size_t i = 0; i < w->n_streams; i++) {
		struct perf_stream *s = &w->streams[i];
		if (!s->done && (!next || s->newest < next->newest))
			next = s;
	}
	return next;
}

static int walk_turn(struct perf_walk *w, struct perf_stream *s, struct err *err)
{
	uint64_t from = s->at;
	int r = WALK_ON;

	w->now = s;
	while (r == WALK_ON && (w->n_streams == 1 || s->at - from < DIR_TURN))
		r = walk_step(w, s, err);
	s->done = r != WALK_ON;
	if (r == WALK_ENDED && s->inflated_len)
		walk_damage(w, "its compressed stream ends inside a record");
	return r < 0 ? r : r == WALK_STOPPED ? w->stopped : 0;
}

static int walk_streams(struct perf_walk *w, struct err *err)
{
	struct perf_stream *s;

	while ((s = walk_next(w))) {
		int r = w->n_streams > 1 && w->order.bytes.len > DIR_HELD
				? perf_order_until(&w->order, s->newest, walk_give, w, w->d, err)
				: 0;
		if (r == 0)
			r = walk_turn(w, s, err);
		if (r)
			return r;
	}
	return 0;
}

/* Where the records of the file with the header lie. */
static int walk_header(struct perf_walk *w, struct perf_stream *s, struct err *err)
{
	const struct perf_input *in = s->in;
	struct perf_file file;
	int r = perf_header_read(in, w->d, &file, err);
	if (r < 0)
		return r;
	if (!w->d->pipe) {
		r = perf_header_read_attrs(in, w->d, &file, err);
		if (r < 0)
			return r;
		uint64_t most = in->size - file.data_offset;
		if (file.data_size == 0 && most && !in->n_more) {
			/* perf writes the size when it ends; a killed one never did */
			walk_damage(w, "perf record did not end properly");
			file.data_size = most;
		} else if (file.data_size > most) {
			walk_damage(w, "it is cut: %llu of %llu bytes are there",
				    (unsigned long long)most, (unsigned long long)file.data_size);
			file.data_size = most;
		} else {
			if (!perf_header_read_features(in, w->d, &file))
				walk_damage(w, "it is cut behind its samples: build ids and what "
					       "else it says about itself may be missing");
		}
	}
	if (!in->dir && (file.features[0] >> PERF_FEATURE_DIR_FORMAT & 1))
		walk_damage(w, "it is one file of a directory that perf record wrote: take the "
			       "directory");
	s->at = file.data_offset;
	s->to = file.data_offset + file.data_size;
	return 0;
}

static int walk_open(struct perf_walk *w, const struct perf_input *in, struct err *err)
{
	if (in->n_more > DIR_FILES_MAX)
		return err_set(err, -EFBIG, "perf.data: a directory of %zu files", in->n_more);
	w->streams = calloc(1 + in->n_more, sizeof(*w->streams));
	w->dec = calloc(1, sizeof(*w->dec));
	if (!w->streams || !w->dec)
		return err_set(err, -ENOMEM, "out of memory");
	w->n_streams = 1 + in->n_more;
	for (size_t i = 0; i < w->n_streams; i++) {
		struct perf_stream *s = &w->streams[i];
		s->in = i ? &in->more[i - 1] : in;
		s->to = s->in->size;
		s->window_size = w->n_streams == 1 ? (size_t)WINDOW_LEN : (size_t)DIR_WINDOW_LEN;
		s->window = malloc(s->window_size);
		if (!s->window)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return walk_header(w, &w->streams[0], err);
}

static void walk_close(struct perf_walk *w)
{
	for (size_t i = 0; i < w->n_streams; i++) {
		ZSTD_freeDCtx(w->streams[i].zstd);
		free(w->streams[i].inflated);
		free(w->streams[i].window);
	}
	free(w->streams);
	if (w->dec)
		perf_decoder_free(w->dec);
	free(w->dec);
	perf_order_free(&w->order);
}

int perf_data_read(const struct perf_input *in, unsigned flags, const struct perf_data_ops *ops,
		   void *arg, struct perf_data *data, struct err *err)
{
	struct perf_walk w = { .ops = ops, .arg = arg, .flags = flags, .d = data };

	*data = (struct perf_data){ 0 };
	w.order.most_bytes = HELD_RECORDS;
	int r = walk_open(&w, in, err);
	if (r == 0) {
		r = walk_streams(&w, err);
		/* what was read before an error happened all the same */
		struct err ignored;
		int r2 = r > 0 ? 0
			       : perf_order_end(&w.order, walk_give, &w, data,
						r < 0 ? &ignored : err);
		r = r ? r : r2;
	}
	walk_close(&w);
	return r;
}

void perf_data_free(struct perf_data *data)
{
	if (!data)
		return;
	vec_free(&data->attrs);
	vec_free(&data->build_ids);
	map_u64_free(&data->ids);
	arena_free(&data->arena);
	*data = (struct perf_data){ 0 };
}
