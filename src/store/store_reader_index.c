#include "auto.h"
#include "store_reader_impl.h"
#include "text.h"
#include "timefmt.h"
#include "wire.h"

int store_reader_span(struct store_reader *r, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
		      struct err *err)
{
	const struct store_segments *s = &r->segments;
	struct err why = { 0 };
	int code = store_reader_list(r, err);

	r->open = false;
	for (size_t i = s->list.len; code >= 0 && i-- > 0;) {
		char name[SEGMENT_NAME_MAX];
		int opened = segment_file_open(&r->file, r->dir_fd, &s->list.items[i].name, r->zstd,
					       &r->payload, &why);
		if (opened == -EPROTONOSUPPORT)
			return err_set(err, opened, "%s", why.text);
		if (opened == 0 && r->file.index.seconds.len) {
			*ret_from_ns =
				MIN_OF(s->list.items[0].name.start_ns, r->file.index.from_ns);
			*ret_to_ns = r->file.index.to_ns;
			return 0;
		}
		segment_name_print(name, &s->list.items[i].name);
		if (opened == 0)
			err_set(&why, 0, "%s: %s", name, segment_file_tell_empty(&r->file));
	}
	if (code < 0)
		return code;
	if (store_dir_is_locked(r->dir_fd)) /* it has no frame yet */
		return err_set(err, -ENODATA,
			       "%s: the recording is empty: its recorder has just begun, try again "
			       "in a second",
			       r->dir);
	if (!s->list.len)
		return err_set(err, -ENODATA,
			       "%s: the recording is empty: fill it with 'zscope record', or give "
			       "another --store",
			       r->dir);
	return err_set(err, -ENODATA, "%s: no readable segment; %zu damaged: %s%s", r->dir,
		       s->list.len, why.text, s->list.len > 1 ? ", ..." : "");
}

int store_reader_check_window(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			      struct err *err)
{
	char span[TIMEFMT_RANGE_MAX], asked[TIMEFMT_MAX];
	uint64_t first_ns, end_ns;
	int code = store_reader_span(r, &first_ns, &end_ns, err);

	if (code < 0 || (to_ns > first_ns && from_ns < end_ns))
		return code;
	return err_set(err, -ERANGE, "%s: %s is outside the recording (%s)", r->dir,
		       timefmt_beside(asked, from_ns, first_ns),
		       timefmt_range(span, first_ns, end_ns));
}

static int reader_clock_at(struct store_reader *r, const struct segment_second *second,
			   struct store_clock *ret)
{
	uint8_t bytes[FRAME_HEAD_MOST + 32];
	struct frame_head head;
	struct wire_reader w;

	ssize_t n = pread(r->file.fd, bytes, sizeof(bytes), (off_t)second->offset);
	const struct segment_index *index = &r->file.index;
	if (n <= 0 || frame_wire_get(bytes, (size_t)n, &r->file.name, &head) < 0 || head.zstd ||
	    !index->start_boot_ns)
		return -EBADMSG;
	uint64_t passed = head.time_ns - r->file.name.start_ns;
	wire_open(&w, head.stored, head.stored_len);
	ret->real_ns = head.time_ns;
	ret->mono_ns = index->start_mono_ns + passed + (uint64_t)wire_get_i64(&w);
	ret->boot_ns = index->start_boot_ns + passed + (uint64_t)wire_get_i64(&w);
	text_copy(ret->boot_id, sizeof(ret->boot_id), r->file.index.boot_id);
	return w.failed ? -EBADMSG : 0;
}

int store_reader_clock(struct store_reader *r, uint64_t time_ns, struct store_clock *ret,
		       struct err *err)
{
	int code = store_reader_list(r, err);

	if (code < 0)
		return code;
	r->open = false;
	for (size_t at = store_segments_after(&r->segments, time_ns), i = 0; at-- > 0 && i < 3;
	     i++) {
		if (segment_file_open(&r->file, r->dir_fd, &r->segments.list.items[at].name,
				      r->zstd, &r->payload, NULL) < 0)
			continue;
		for (size_t k = r->file.index.seconds.len; k-- > 0;) {
			const struct segment_second *second = &r->file.index.seconds.items[k];
			if (second->time_ns <= time_ns && reader_clock_at(r, second, ret) == 0)
				return 0;
		}
	}
	return err_set(err, -ENODATA, "%s: no clock is recorded for that time", r->dir);
}

const struct store_footer_blob *store_footer_blob(const struct store_footer *footer,
						  enum footer_kind kind)
{
	for (size_t i = 0; i < footer->n_blobs; i++)
		if (footer->blobs[i].kind == kind)
			return &footer->blobs[i];
	return NULL;
}

static int reader_footer(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			 int (*each)(void *arg, const struct store_footer *footer), void *arg)
{
	const struct segment_file *f = &r->file;
	struct store_footer_blob blobs[FOOTER_KIND_END];
	struct store_footer footer = { .segment = f->name.start_ns,
				       .from_ns = f->name.start_ns,
				       .to_ns = f->index.to_ns,
				       .sealed = f->sealed,
				       .blobs = blobs };

	if ((f->index.to_ns && f->index.to_ns <= from_ns) || f->name.start_ns >= to_ns)
		return 0;
	vec_foreach (&f->index.blobs, blob)
		if (footer.n_blobs < ARRAY_LEN(blobs))
			blobs[footer.n_blobs++] = (struct store_footer_blob){
				blob->kind, f->index.bytes.data + blob->offset, blob->len
			};
	return each(arg, &footer);
}

int store_reader_footers(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			 int (*each)(void *arg, const struct store_footer *footer), void *arg,
			 struct err *err)
{
	uint64_t first = from_ns > SEGMENT_MOST_NS ? from_ns - SEGMENT_MOST_NS : 0;
	int code = store_reader_list(r, err);

	r->open = false;
	for (size_t at = store_segments_after(&r->segments, first); code >= 0; at++) {
		if (at >= r->segments.list.len || r->segments.list.items[at].name.start_ns >= to_ns)
			return 0;
		if (segment_file_open(&r->file, r->dir_fd, &r->segments.list.items[at].name,
				      r->zstd, &r->payload, NULL) < 0)
			continue;
		int stop = reader_footer(r, from_ns, to_ns, each, arg);
		if (stop)
			return stop;
	}
	return code;
}
