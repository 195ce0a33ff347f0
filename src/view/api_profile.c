/* Heat map, flame graph and difference of a window: read from the store when they are asked for. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "diff.h"
#include "flame.h"
#include "profile_read.h"
#include "timefmt.h"
#include "unknowns.h"

enum {
	HEAT_MOST_S = 3600,       /* columns of one picture */
	PROFILE_MOST_S = 900,     /* samples are read one by one */
	FLAME_MOST_NODES = 150000 /* smaller ones are left out, and said to be */
};

static int take_filter(const struct http_query *q, struct flame_filter *f, struct err *err)
{
	uint64_t cpu;
	int r = http_query_u64(q, "cpu", UINT32_MAX, 0, UINT32_MAX - 1, &cpu, err);

	if (r < 0)
		return r;
	*f = (struct flame_filter){ .comm = http_query_get(q, "comm"),
				    .unit = http_query_get(q, "unit") };
	f->by_cpu = http_query_get(q, "cpu") != NULL;
	f->cpu = (uint32_t)cpu;
	return 0;
}

static bool filter_any(const struct flame_filter *f)
{
	return f->by_cpu || f->comm || f->unit;
}

static int check_length(const struct api_window *w, uint64_t most_s, struct err *err)
{
	if (w->to_ns - w->from_ns > most_s * NS_PER_S)
		return err_set(err, -EINVAL,
			       "the window is longer than %" PRIu64 " min; take a part of it",
			       most_s / 60);
	return 0;
}

/* The samples of a window that pass the filter. No profile in it is an empty one. */
static int read_profile(struct api *api, const struct api_window *w, const struct flame_filter *f,
			struct profile *ret, struct unknowns *unknown, struct err *err)
{
	struct store_reader *reader = NULL;
	int r = check_length(w, PROFILE_MOST_S, err);

	if (r >= 0)
		r = api_reader(api, &reader, err);
	if (r < 0)
		return r;
	r = profile_read_window(reader, w->from_ns, w->to_ns, ret, err);
	if (r == -ENODATA) {
		unknowns_add(unknown, "profile", "%s", err->text);
		r = 0;
	}
	api_reader_close(api, reader);
	if (r >= 0)
		flame_filter_apply(ret, f);
	return r;
}

static void heat_from_samples(const struct profile *p, uint64_t from_s, size_t cols,
			      uint32_t (*ret)[PROFILE_HEAT_ROWS])
{
	vec_foreach (&p->samples, s) {
		uint64_t second = s->time_ns / NS_PER_S;
		if (second >= from_s && second - from_s < cols)
			ret[second - from_s]
			   [s->time_ns % NS_PER_S * PROFILE_HEAT_ROWS / NS_PER_S]++;
	}
}

static int heat_from_footers(struct api *api, const struct api_window *w, uint64_t from_s,
			     size_t cols, uint32_t (*ret)[PROFILE_HEAT_ROWS],
			     struct unknowns *unknown, struct err *err)
{
	struct profile_footer footer = { 0 };
	struct store_reader *reader = NULL;
	int r = api_reader(api, &reader, err);

	if (r < 0)
		return r;
	r = profile_read_heat(reader, w->from_ns, w->to_ns, false, &footer, err);
	api_reader_close(api, reader);
	if (r == -ENODATA) {
		unknowns_add(unknown, "profile", "%s", err->text);
		r = 0;
	}
	vec_foreach (&footer.heat, h)
		if (h->second >= from_s && h->second - from_s < cols)
			memcpy(ret[h->second - from_s], h->rows, sizeof(h->rows));
	profile_footer_free(&footer);
	return r;
}

static void write_heat(struct json *j, uint64_t from_s, size_t cols,
		       uint32_t (*counts)[PROFILE_HEAT_ROWS])
{
	json_u64(j, "start_ns", from_s * NS_PER_S);
	json_u64(j, "seconds", cols);
	json_u64(j, "rows", PROFILE_HEAT_ROWS);
	json_u64(j, "cols", cols);
	json_array(j, "counts");
	for (size_t c = 0; c < cols; c++) {
		json_array(j, NULL);
		for (size_t i = 0; i < PROFILE_HEAT_ROWS; i++)
			json_u64(j, NULL, counts[c][i]);
		json_end_array(j);
	}
	json_end_array(j);
}

int api_heat(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct flame_filter filter;
	struct api_window w;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = take_filter(q->query, &filter, err);
	if (r >= 0)
		r = check_length(&w, HEAT_MOST_S, err);
	if (r < 0)
		return r;
	uint64_t from_s = w.from_ns / NS_PER_S;
	size_t cols = (w.to_ns + NS_PER_S - 1) / NS_PER_S - from_s;
	AUTO_FREE uint32_t(*counts)[PROFILE_HEAT_ROWS] = calloc(cols, sizeof(*counts));
	if (!counts)
		return err_set(err, -ENOMEM, "out of memory");
	if (filter_any(&filter)) {
		AUTO_PROFILE struct profile p;
		if (profile_init(&p) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		r = read_profile(api, &w, &filter, &p, &unknown, err);
		if (r >= 0)
			heat_from_samples(&p, from_s, cols, counts);
	} else {
		r = heat_from_footers(api, &w, from_s, cols, counts, &unknown, err);
	}
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "heat");
	write_heat(&j, from_s, cols, counts);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

/* The weight below which a node is left out, so that at most FLAME_MOST_NODES stay. */
static uint64_t least_weight(const struct flame *f)
{
	uint64_t least = 1;

	for (;;) {
		size_t n = 0;
		vec_foreach (&f->nodes, node)
			n += node->total >= least || node->base_total >= least;
		if (n <= FLAME_MOST_NODES)
			return least;
		least *= 2;
	}
}

struct flame_names {
	struct map_u64 ids; /* name and kind → place in the list */
	VEC(uint64_t) list;
};

static uint64_t name_key(const struct flame_node *n)
{
	return (uint64_t)n->name << 1 | (n->kind == PROFILE_KERNEL);
}

static uint64_t name_id(struct flame_names *names, const struct flame_node *n)
{
	bool is_new = false;
	uint64_t *slot = map_u64_put(&names->ids, name_key(n), &is_new);

	if (slot && is_new) {
		*slot = names->list.len;
		(void)vec_push(&names->list, name_key(n));
	}
	return slot ? *slot : 0;
}

/* Preorder: name, depth, value (and value in the baseline) of each node, as one flat array. */
static void write_nodes(struct json *j, const struct flame *f, bool diff, uint64_t least,
			struct flame_names *names)
{
	const struct flame_node *all = f->nodes.items;
	uint32_t at = 0;

	json_array(j, "nodes");
	while (f->nodes.len) {
		bool shown = all[at].total >= least || all[at].base_total >= least;
		if (shown) {
			json_u64(j, NULL, name_id(names, &all[at]));
			json_u64(j, NULL, all[at].depth);
			json_u64(j, NULL, all[at].total);
			if (diff)
				json_u64(j, NULL, all[at].base_total);
		}
		if (shown && all[at].first_child) {
			at = all[at].first_child;
			continue;
		}
		while (at && !all[at].next_sibling)
			at = all[at].parent;
		if (!at)
			break;
		at = all[at].next_sibling;
	}
	json_end_array(j);
	json_array(j, "names");
	vec_foreach (&names->list, key)
		json_str(j, NULL, profile_text(f->profile, (uint32_t)(*key >> 1)));
	json_end_array(j);
	json_array(j, "in_kernel"); /* beside names: 1 = a kernel function */
	vec_foreach (&names->list, key)
		json_u64(j, NULL, *key & 1);
	json_end_array(j);
}

static void write_flame(struct json *j, const struct flame *f, bool diff)
{
	struct flame_names names = { 0 };
	const struct flame_node *all = f->nodes.items;
	uint64_t least = least_weight(f);

	json_u64(j, "samples", f->nodes.len ? all[0].total : 0);
	if (diff)
		json_u64(j, "base_samples", f->nodes.len ? all[0].base_total : 0);
	if (least > 1)
		json_u64(j, "least", least); /* frames with fewer samples are left out */
	json_array(j, "comms");
	for (uint32_t c = f->nodes.len ? all[0].first_child : 0; c; c = all[c].next_sibling) {
		json_object(j, NULL);
		json_str(j, "name", profile_text(f->profile, all[c].name));
		json_u64(j, "samples", all[c].total);
		json_end_object(j);
	}
	json_end_array(j);
	write_nodes(j, f, diff, least, &names);
	map_u64_free(&names.ids);
	vec_free(&names.list);
}

int api_flame(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	AUTO_FLAME struct flame flame = { 0 };
	AUTO_PROFILE struct profile p;
	struct flame_filter filter;
	struct api_window w;
	struct json j;
	int r = profile_init(&p) < 0 ? err_set(err, -ENOMEM, "out of memory")
				     : api_window(api, q->query, &w, err);

	if (r >= 0)
		r = take_filter(q->query, &filter, err);
	if (r >= 0)
		r = read_profile(api, &w, &filter, &p, &unknown, err);
	if (r >= 0 && flame_build(&p, &flame) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "flame");
	json_u64(&j, "from_ns", w.from_ns);
	json_u64(&j, "to_ns", w.to_ns);
	json_u64(&j, "lost", p.meta.lost);
	write_flame(&j, &flame, false);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

/* base_from and base_to; without them the minute before the window. */
static int take_base(struct api *api, const struct http_query *q, const struct api_window *w,
		     struct api_window *ret, struct err *err)
{
	uint64_t now = clock_real_ns(), span_from, span_to;
	int r;

	pthread_mutex_lock(&api->lock);
	span_from = api->from_ns;
	span_to = api->to_ns;
	pthread_mutex_unlock(&api->lock);
	r = http_query_time(q, "base_from", MAX_OF(w->from_ns - 60 * NS_PER_S, span_from), now,
			    &ret->from_ns, err);
	if (r >= 0)
		r = http_query_time(q, "base_to", w->from_ns, now, &ret->to_ns, err);
	if (r < 0)
		return r;
	if (ret->to_ns <= ret->from_ns)
		return err_set(err, -EINVAL, "the baseline ends before it begins");
	if (ret->from_ns >= span_to || ret->to_ns <= span_from)
		return err_set(err, -ENODATA, "the baseline lies outside the recording");
	return 0;
}

int api_diff(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	AUTO_PROFILE struct profile now = { 0 };
	AUTO_PROFILE struct profile before = { 0 };
	AUTO_DIFF struct diff diff = { 0 };
	struct api_window w, base;
	struct flame_filter filter;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = take_base(api, q->query, &w, &base, err);
	if (r >= 0)
		r = take_filter(q->query, &filter, err);
	if (r >= 0 && (profile_init(&now) < 0 || profile_init(&before) < 0))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r >= 0)
		r = read_profile(api, &w, &filter, &now, &unknown, err);
	if (r >= 0)
		r = read_profile(api, &base, &filter, &before, &unknown, err);
	if (r >= 0 && diff_build(&now, &before, &diff) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "diff");
	json_u64(&j, "from_ns", w.from_ns);
	json_u64(&j, "to_ns", w.to_ns);
	json_u64(&j, "base_from_ns", base.from_ns);
	json_u64(&j, "base_to_ns", base.to_ns);
	json_u64(&j, "base_weight", diff.base_weight);
	write_flame(&j, &diff.flame, true);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}
