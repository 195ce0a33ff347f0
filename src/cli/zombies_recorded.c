#include "zombies_recorded.h"

#include <errno.h>
#include <stdio.h>

#include "around.h"
#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "view_around.h"
#include "view_zombies.h"

static int recorded_print(struct invocation *in, const struct census_history *h,
			  const struct around *a)
{
	struct view_zombies view = { .summary = &h->last,
				     .kept = "recorded",
				     .churn = a->churn_known ? &a->churn : NULL };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope = { 0 };
	struct json j;

	around_add_unknown(a, h, &unknowns);
	if (!in->common.json) {
		view_zombies_text(stdout, &in->out, &view);
		view_around_text(stdout, &in->out, a, &h->last);
		fflush(stdout);
		vec_foreach (&unknowns.list, u)
			fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
		return STATUS_OK;
	}
	envelope_parse_meta(h->meta.data, h->meta.len, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "zombies", h->last.time_ns);
	json_bool(&j, "recorded", true);
	view_zombies_json(&j, &view);
	view_around_json(&j, a, &h->last);
	unknowns_json(&j, &unknowns);
	json_end_object(&j);
	puts(buf_str(&out));
	return STATUS_OK;
}

static int recorded_read(struct invocation *in, struct census_history *ret_history,
			 struct around *ret, struct err *err)
{
	uint64_t from = 0, to = 0;
	struct stream *stream;

	int r = stream_open_store(in->store, &stream, err);
	if (r < 0)
		return r;
	r = stream_span(stream, &from, &to, err);
	if (r == 0)
		r = command_window(in, from, to, &from, &to, err);
	if (r == 0)
		r = store_reader_check_window(stream_store(stream), from, to, err);
	if (r == 0) {
		struct around_window w = { .trend_from_ns = from, .from_ns = from, .to_ns = to };
		r = around_read_recorded(stream, &w, ret_history, ret, err);
	}
	stream_close(stream);
	if (r == 0 && !ret_history->have_last)
		r = err_set(err, -ENODATA, "%s: no census was recorded in this window", in->store);
	return r;
}

int zombies_recorded(struct invocation *in, bool asks_live, struct err *err)
{
	AUTO(census_history_free) struct census_history h = { 0 };
	AUTO(around_free) struct around a = { 0 };

	if (asks_live)
		return err_set(err, -EINVAL,
			       "a recording keeps sums by owner: --list, --pins, --below and "
			       "--watch ask the running kernel");
	int r = recorded_read(in, &h, &a, err);
	return r < 0 ? r : recorded_print(in, &h, &a);
}
