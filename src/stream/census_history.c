#include "census_history.h"

#include <errno.h>

#include "census_summary.h"
#include "churn_summary.h"
#include "store_reader.h"

static int take(const struct frame *frame, struct census_history *ret, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };

	if (census_summary_decode(frame->payload, frame->len, &s) < 0 || !(s.have & CENSUS_DYING))
		return 0;
	struct census_point point = {
		.time_ns = frame->time_ns,
		.dying = s.dying,
		.percpu_bytes = s.have & CENSUS_PERCPU ? s.percpu_bytes : 0,
		.slab_bytes = s.have & CENSUS_SLAB ? s.slab_host_bytes : 0,
	};
	return vec_push(&ret->list, point) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int take_reclaim(const struct frame *frame, struct census_history *ret, struct err *err)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary s = { 0 };

	if (reclaim_summary_decode(frame->payload, frame->len, &s) < 0)
		return 0;
	ret->have_reclaim = true;
	vec_foreach (&s.rows, row) {
		struct reclaim_point p = { .cgroup = row->cgroup,
					   .zombies = row->zombies,
					   .p99_ns = reclaim_row_percentile(row, 0.99) };
		/* background work makes nobody wait; who asked for it may have asked for anything
		 */
		if (!row->zombies_known || row->passes < RECLAIM_POINT_PASSES ||
		    row->kind == RECLAIM_KIND_KSWAPD || row->kind == RECLAIM_KIND_ASKED ||
		    ret->reclaim_points.len >= CENSUS_HISTORY_RECLAIM_POINTS)
			continue;
		if (!vec_push(&ret->reclaim_points, p))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return reclaim_summary_merge(&ret->reclaim, &s) ? 0
							: err_set(err, -ENOMEM, "out of memory");
}

static int take_whole(const struct frame *frame, struct census_history *ret, struct err *err)
{
	AUTO_CHURN_SUMMARY struct churn_summary churn = { 0 };

	switch (frame->kind) {
	case FRAME_META:
		buf_clear(&ret->meta);
		buf_add(&ret->meta, frame->payload, frame->len);
		return 0;
	case FRAME_CENSUS:
		census_summary_free(&ret->last);
		ret->last = (struct census_summary){ 0 };
		ret->have_last = census_summary_decode(frame->payload, frame->len, &ret->last) == 0;
		return take(frame, ret, err);
	case FRAME_CHURN:
		if (churn_summary_decode(frame->payload, frame->len, &churn) < 0)
			return 0;
		ret->have_churn = true;
		return churn_summary_merge(&ret->churn, &churn)
			       ? 0
			       : err_set(err, -ENOMEM, "out of memory");
	case FRAME_RECLAIM:
		return take_reclaim(frame, ret, err);
	default:
		return 0;
	}
}

int census_history_read(const char *store_dir, uint64_t to_ns, uint64_t span_ns,
			struct census_history *ret, struct err *err)
{
	struct store_reader *reader;
	struct frame frame;

	int r = store_reader_open(store_dir, &reader, err);
	if (r < 0)
		return r;
	r = store_reader_seek(
		reader, to_ns > span_ns ? to_ns - span_ns : 0, to_ns,
		FRAME_BIT(FRAME_CENSUS) | FRAME_BIT(FRAME_CHURN) | FRAME_BIT(FRAME_RECLAIM), err);
	while (r == 0) {
		int got = store_reader_next(reader, &frame, err);
		if (got <= 0) {
			r = got;
			break;
		}
		r = take_whole(&frame, ret, err);
	}
	churn_summary_sort(&ret->churn);
	reclaim_summary_sort(&ret->reclaim);
	store_reader_close(reader);
	return r;
}

int census_history_window(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			  struct census_history *ret, struct err *err)
{
	struct frame frame;
	int got = 0;

	int r = store_reader_seek(reader, from_ns, to_ns,
				  FRAME_BIT(FRAME_CENSUS) | FRAME_BIT(FRAME_CHURN) |
					  FRAME_BIT(FRAME_RECLAIM) | FRAME_BIT(FRAME_META),
				  err);
	while (r == 0 && (got = store_reader_next(reader, &frame, err)) > 0)
		r = take_whole(&frame, ret, err);
	churn_summary_sort(&ret->churn);
	reclaim_summary_sort(&ret->reclaim);
	return r < 0 ? r : got;
}

static bool take_life(const struct frame *frame, struct cgroup_lives *ret)
{
	if (frame->kind == FRAME_CENSUS) {
		AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
		if (census_summary_decode(frame->payload, frame->len, &s) < 0 ||
		    !(s.have & CENSUS_SERIAL))
			return true;
		return cgroup_lives_add_serial(ret, s.time_ns, frame->time_ns, s.max_serial);
	}
	AUTO_CHURN_SUMMARY struct churn_summary churn = { 0 };
	if (churn_summary_decode(frame->payload, frame->len, &churn) < 0)
		return true;
	vec_foreach (&churn.zombies, life)
		if (!cgroup_lives_add(ret, life))
			return false;
	ret->dropped += churn.zombies_left_out;
	return true;
}

int census_history_lives(const char *store_dir, uint64_t from_ns, uint64_t to_ns,
			 struct cgroup_lives *ret, bool *ret_recorded, struct err *err)
{
	struct store_reader *reader;
	struct frame frame;

	*ret_recorded = false;
	int r = store_reader_open(store_dir, &reader, err);
	if (r < 0)
		return r;
	r = store_reader_seek(reader, from_ns, to_ns,
			      FRAME_BIT(FRAME_CENSUS) | FRAME_BIT(FRAME_CHURN), err);
	while (r == 0) {
		int got = store_reader_next(reader, &frame, err);
		if (got <= 0) {
			r = got;
			break;
		}
		*ret_recorded = true;
		if (!take_life(&frame, ret))
			r = err_set(err, -ENOMEM, "out of memory");
	}
	store_reader_close(reader);
	return r;
}

void census_history_free(struct census_history *h)
{
	vec_free(&h->list);
	vec_free(&h->reclaim_points);
	census_summary_free(&h->last);
	churn_summary_free(&h->churn);
	reclaim_summary_free(&h->reclaim);
	buf_free(&h->meta);
}
