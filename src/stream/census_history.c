#include "census_history.h"

#include <errno.h>

#include "census_summary.h"
#include "store_reader.h"

static int take(const struct frame *frame, struct census_history *ret, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };

	if (census_summary_decode(frame->payload, frame->len, &s) < 0 || !(s.have & CENSUS_DYING))
		return 0;
	struct census_history_point point = { frame->time_ns, s.dying, s.max_serial };
	return vec_push(&ret->list, point) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int census_history_read(const char *store_dir, uint64_t to_ns, uint64_t span_ns,
			struct census_history *ret, struct err *err)
{
	struct store_reader *reader;
	struct frame frame;

	int r = store_reader_open(store_dir, &reader, err);
	if (r < 0)
		return r;
	r = store_reader_seek(reader, to_ns > span_ns ? to_ns - span_ns : 0, to_ns,
			      FRAME_BIT(FRAME_CENSUS), err);
	while (r == 0) {
		int got = store_reader_next(reader, &frame, err);
		if (got <= 0) {
			r = got;
			break;
		}
		r = take(&frame, ret, err);
	}
	store_reader_close(reader);
	return r;
}

void census_history_free(struct census_history *h)
{
	vec_free(&h->list);
}
