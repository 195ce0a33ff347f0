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
};

struct perf_walk {
	const struct perf_input *in;
	const struct perf_data_ops *ops;
	void *arg;
	unsigned flags;
	struct perf_data *d;
	struct perf_decoder *dec;
	struct perf_order order;
	uint8_t *window;
	uint64_t window_at;
	size_t window_len;
	ZSTD_DCtx *zstd;
	uint8_t *inflated;
	size_t inflated_len;
};

__attribute__((format(printf, 2, 3))) static void walk_damage(struct perf_walk *w,
							      const char *format, ...)
{
	va_list args;

	if (w->d->damage[0])
		return; /* the first one tells */
	va_start(args, format);
	vsnprintf(w->d->damage, sizeof(w->d->damage), format, args);
	va_end(args);
}

/* Bytes [at, at + len) of the file; NULL when it ends before. Valid until the next call. */
static const uint8_t *walk_bytes(struct perf_walk *w, uint64_t at, size_t len)
{
	if (at < w->window_at || at + len > w->window_at + w->window_len) {
		int64_t n = w->in->read_at(w->in->arg, at, w->window, WINDOW_LEN);
		w->window_at = at;
		w->window_len = n > 0 ? (size_t)n : 0;
	}
	return w->window_len >= len + (at - w->window_at) ? w->window + (at - w->window_at) : NULL;
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
	size_t at = 0;

	while (w->inflated_len - at >= PERF_HEADER_LEN) {
		struct perf_record_header h = record_header(w->inflated + at, w->d->swap);
		int r = record_size_check(&h, err);
		if (r < 0)
			return r;
		if (h.size > w->inflated_len - at)
			break;
		r = walk_record(w, w->inflated + at, h.size, true, err);
		if (r)
			return r;
		at += h.size;
	}
	memmove(w->inflated, w->inflated + at, w->inflated_len - at);
	w->inflated_len -= at;
	return 0;
}

/* All compressed records of a file are one stream; records inside straddle them. */
static int walk_inflate(struct perf_walk *w, const uint8_t *bytes, size_t len, struct err *err)
{
	ZSTD_inBuffer in = { .src = bytes, .size = len };

	if (!w->zstd) {
		w->zstd = ZSTD_createDCtx();
		w->inflated = malloc(INFLATE_LEN + PERF_RECORD_BYTES);
		if (!w->zstd || !w->inflated)
			return err_set(err, -ENOMEM, "out of memory");
	}
	for (;;) {
		ZSTD_outBuffer out = { .dst = w->inflated,
				       .size = INFLATE_LEN + PERF_RECORD_BYTES,
				       .pos = w->inflated_len };
		size_t left = ZSTD_decompressStream(w->zstd, &out, &in);
		if (ZSTD_isError(left))
			return err_set(err, -EBADMSG, "perf.data: its zstd stream is broken: %s",
				       ZSTD_getErrorName(left));
		bool full = out.pos == out.size;
		w->inflated_len = out.pos;
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

static int walk_data(struct perf_walk *w, uint64_t from, uint64_t to, struct err *err)
{
	uint64_t at = from, told = from;

	while (to - at >= PERF_HEADER_LEN) {
		const uint8_t *bytes = walk_bytes(w, at, PERF_HEADER_LEN);
		if (!bytes) {
			walk_damage(w, "it ends after %llu of %llu bytes", (unsigned long long)at,
				    (unsigned long long)to);
			return 0;
		}
		struct perf_record_header h = record_header(bytes, w->d->swap);
		int r = record_size_check(&h, err);
		if (r < 0)
			return err_prefix(err, r, "byte %llu", (unsigned long long)at);
		bytes = h.size <= to - at ? walk_bytes(w, at, h.size) : NULL;
		if (!bytes) {
			walk_damage(w, "it is cut inside a record at byte %llu",
				    (unsigned long long)at);
			return 0;
		}
		uint64_t payload = record_payload(&h, record_body(bytes, h.size, w->d->swap));
		r = walk_record(w, bytes, h.size, false, err);
		if (r)
			return r < 0 ? err_prefix(err, r, "byte %llu", (unsigned long long)at) : r;
		at += h.size;
		if (payload > to - at) {
			walk_damage(w, "it is cut inside the data of a record at byte %llu",
				    (unsigned long long)at);
			return 0;
		}
		at += payload;
		if (w->ops->progress && at - told >= WINDOW_LEN) {
			told = at;
			w->ops->progress(w->arg, at);
		}
	}
	if (to != at)
		walk_damage(w, "%llu bytes are left at its end", (unsigned long long)(to - at));
	return 0;
}

static int walk_file(struct perf_walk *w, struct err *err)
{
	struct perf_file file;
	int r = perf_header_read(w->in, w->d, &file, err);
	if (r < 0)
		return r;
	if (!w->d->pipe) {
		r = perf_header_read_attrs(w->in, w->d, &file, err);
		if (r < 0)
			return r;
		uint64_t most = w->in->size - file.data_offset;
		if (file.data_size == 0 && most) {
			/* perf writes the size when it ends; a killed one never did */
			walk_damage(w, "perf record did not end properly");
			file.data_size = most;
		} else if (file.data_size > most) {
			walk_damage(w, "it is cut: %llu of %llu bytes are there",
				    (unsigned long long)most, (unsigned long long)file.data_size);
			file.data_size = most;
		} else {
			perf_header_read_features(w->in, w->d, &file);
		}
	}
	r = walk_data(w, file.data_offset, file.data_offset + file.data_size, err);
	/* what was read before an error happened all the same */
	struct err ignored;
	int r2 = r > 0 ? 0 : perf_order_end(&w->order, walk_give, w, w->d, r < 0 ? &ignored : err);
	if (r == 0 && w->inflated_len)
		walk_damage(w, "its compressed stream ends inside a record");
	return r ? r : r2;
}

int perf_data_read(const struct perf_input *in, unsigned flags, const struct perf_data_ops *ops,
		   void *arg, struct perf_data *data, struct err *err)
{
	struct perf_walk w = { .in = in, .ops = ops, .arg = arg, .flags = flags, .d = data };
	int r;

	*data = (struct perf_data){ 0 };
	w.order.most_bytes = HELD_RECORDS;
	w.window = malloc(WINDOW_LEN);
	w.dec = calloc(1, sizeof(*w.dec));
	if (w.window && w.dec)
		r = walk_file(&w, err);
	else
		r = err_set(err, -ENOMEM, "out of memory");
	if (w.dec)
		perf_decoder_free(w.dec);
	perf_order_free(&w.order);
	ZSTD_freeDCtx(w.zstd);
	free(w.inflated);
	free(w.window);
	free(w.dec);
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
