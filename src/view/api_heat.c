/* The sub-second heat map of a window: from footers, with a filter from samples. */
#include <errno.h>

#include "api_profile.h"
#include "auto.h"
#include "profile_footer.h"
#include "timefmt.h"

enum {
	HEAT_MOST_S = 7 * 86400,
	HEAT_MOST_COLS = 3600, /* of one picture; longer windows get wider columns */
};

/* A picture of equal columns, each of `column_s` whole seconds. */
struct heat_picture {
	uint64_t from_s, column_s;
	size_t cols;
	uint32_t (*counts)[PROFILE_HEAT_ROWS];
	const struct flame_filter *filter;
};

static void heat_add(struct heat_picture *h, uint64_t second, size_t row, uint32_t n)
{
	if (second >= h->from_s && (second - h->from_s) / h->column_s < h->cols)
		h->counts[(second - h->from_s) / h->column_s][row] += n;
}

static void heat_chunk(void *arg, struct profile *p)
{
	struct heat_picture *h = arg;

	flame_filter_apply(p, h->filter);
	vec_foreach (&p->samples, s)
		heat_add(h, s->time_ns / NS_PER_S,
			 s->time_ns % NS_PER_S * PROFILE_HEAT_ROWS / NS_PER_S, 1);
	p->samples.len = 0;
}

static int heat_from_samples(struct api *api, const struct api_window *w, struct heat_picture *h,
			     unsigned *ret_step, struct unknowns *unknown, struct err *err)
{
	struct profile_read_options options = { .chunk = heat_chunk, .arg = h };
	AUTO_PROFILE struct profile p = { 0 };
	int r = profile_init(&p) < 0 ? err_set(err, -ENOMEM, "out of memory")
				     : api_read_chunks(api, w, &options, &p, unknown, err);

	*ret_step = options.every_s;
	return r;
}

static int heat_from_footers(struct api *api, const struct api_window *w, struct heat_picture *h,
			     struct unknowns *unknown, struct err *err)
{
	const uint64_t part_ns =
		6 * 3600 * NS_PER_S; /* a week at once would take too much memory */
	struct store_reader *reader = NULL;
	int r = api_reader(api, &reader, err);
	bool any = false;

	if (r < 0)
		return r;
	for (uint64_t at = w->from_ns; r >= 0 && at < w->to_ns; at += part_ns) {
		struct profile_footer footer = { 0 };
		r = profile_read_heat(reader, at, MIN_OF(at + part_ns, w->to_ns), false, &footer,
				      err);
		vec_foreach (&footer.heat, second)
			for (size_t row = 0; row < PROFILE_HEAT_ROWS; row++)
				heat_add(h, second->second, row, second->rows[row]);
		any = any || footer.heat.len;
		profile_footer_free(&footer);
		r = r == -ENODATA ? 0 : r;
	}
	api_reader_close(api, reader);
	if (!any)
		unknowns_add(unknown, "profile", "the recording has no profile in that window");
	return r;
}

static void write_heat(struct json *j, const struct heat_picture *h)
{
	json_u64(j, "start_ns", h->from_s * NS_PER_S);
	json_u64(j, "seconds", h->cols * h->column_s);
	json_u64(j, "column_s", h->column_s);
	json_u64(j, "rows", PROFILE_HEAT_ROWS);
	json_u64(j, "cols", h->cols);
	json_array(j, "counts");
	for (size_t c = 0; c < h->cols; c++) {
		json_array(j, NULL);
		for (size_t i = 0; i < PROFILE_HEAT_ROWS; i++)
			json_u64(j, NULL, h->counts[c][i]);
		json_end_array(j);
	}
	json_end_array(j);
}

int api_heat(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct heat_picture h = { 0 };
	struct flame_filter filter;
	struct api_window w;
	uint64_t most;
	unsigned step = 1;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = api_take_filter(q->query, &filter, err);
	if (r >= 0)
		r = http_query_u64(q->query, "cols", HEAT_MOST_COLS, 1, HEAT_MOST_COLS, &most, err);
	if (r >= 0 && w.to_ns - w.from_ns > HEAT_MOST_S * NS_PER_S)
		r = err_set(err, -EINVAL, "the window is longer than a week; take a part of it");
	if (r < 0)
		return r;
	if (api_filter_any(&filter)) { /* every column has a second that is read */
		step = api_seconds_step(api, &w);
		most = MAX_OF(MIN_OF(most, (w.to_ns - w.from_ns) / NS_PER_S / step), UINT64_C(1));
	}
	api_grid(&w, most, &h.from_s, &h.column_s, &h.cols);
	AUTO_FREE uint32_t(*counts)[PROFILE_HEAT_ROWS] = calloc(h.cols, sizeof(*counts));
	if (!counts)
		return err_set(err, -ENOMEM, "out of memory");
	h.counts = counts;
	h.filter = &filter;
	if (api_filter_any(&filter))
		r = heat_from_samples(api, &w, &h, &step, &unknown, err);
	else
		r = heat_from_footers(api, &w, &h, &unknown, err);
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "heat");
	api_write_step(&j, step);
	write_heat(&j, &h);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}
