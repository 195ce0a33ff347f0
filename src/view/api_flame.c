/* Flame graph and difference of a window: read from the store when they are asked for. */
#include <errno.h>
#include <string.h>

#include "api_profile.h"
#include "auto.h"
#include "diff.h"
#include "timefmt.h"

enum { FLAME_MOST_NODES = 150000 }; /* smaller ones are left out, and said to be */

/* What was read beside the stacks: how much ran on each core and in each cgroup. */
struct read_sums {
	struct flame_sums flame;
	struct map_u64 cpus, cgroups; /* → weight */
	unsigned step;
};

static void read_sums_free(struct read_sums *s)
{
	flame_sums_free(&s->flame);
	map_u64_free(&s->cpus);
	map_u64_free(&s->cgroups);
}

static void count_one(struct map_u64 *map, uint64_t key, uint64_t weight)
{
	uint64_t *slot = map_u64_put(map, key, NULL);

	if (slot)
		*slot += weight;
}

static void sums_chunk(void *arg, struct profile *p)
{
	struct read_sums *s = arg;

	flame_filter_apply(p, &s->flame.filter);
	for (size_t i = s->flame.summed; i < p->samples.len; i++) {
		const struct profile_sample *one = &p->samples.items[i];
		if (one->have & PROFILE_HAVE_CPU)
			count_one(&s->cpus, one->cpu, one->weight);
		if (one->cgroup)
			count_one(&s->cgroups, one->cgroup, one->weight);
	}
	flame_sums_add(&s->flame, p);
}

/* The same, summed by process and stack. */
static int read_sums(struct api *api, const struct api_window *w, const struct flame_filter *f,
		     struct profile *ret, struct read_sums *sums, struct unknowns *unknown,
		     struct err *err)
{
	struct profile_read_options options = { .chunk = sums_chunk, .arg = sums };
	int r;

	sums->flame.filter = *f;
	r = api_read_chunks(api, w, &options, ret, unknown, err);
	sums->step = options.every_s;
	return r;
}

static bool ends_with(const char *text, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && memcmp(text + len - n, suffix, n) == 0;
}

/* The part of a cgroup's path that people know: its service or scope, else its last. */
static const char *unit_of(const char *path, size_t *ret_len)
{
	const char *best = path;
	bool known = false;

	*ret_len = 0;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		bool unit = ends_with(p, len, ".service") || ends_with(p, len, ".scope");
		if (len && (unit || !known)) {
			best = p;
			*ret_len = len;
			known = unit;
		}
		p += len + (p[len] == '/');
	}
	return best;
}

static void write_counts(struct json *j, const struct read_sums *s, const struct profile *p)
{
	AUTO_MAP_STR struct map_str units = { 0 };
	uint64_t key, *weight;
	const char *name;
	size_t at = 0, len;

	json_array(j, "cpus");
	while (map_u64_next(&s->cpus, &at, &key, &weight)) {
		json_object(j, NULL);
		json_u64(j, "cpu", key);
		json_u64(j, "samples", *weight);
		json_end_object(j);
	}
	json_end_array(j);
	for (at = 0; map_u64_next(&s->cgroups, &at, &key, &weight);) {
		name = unit_of(profile_text(p, p->cgroups.items[key].path), &len);
		uint64_t *slot = len ? map_str_put(&units, name, len, NULL) : NULL;
		if (slot)
			*slot += *weight;
	}
	json_array(j, "units");
	for (at = 0; map_str_next(&units, &at, &name, &len, &weight);) {
		json_object(j, NULL);
		json_str_n(j, "name", name, len);
		json_u64(j, "samples", *weight);
		json_end_object(j);
	}
	json_end_array(j);
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
	AUTO(read_sums_free) struct read_sums sums = { 0 };
	struct flame_filter filter;
	struct api_window w;
	struct json j;
	int r = profile_init(&p) < 0 ? err_set(err, -ENOMEM, "out of memory")
				     : api_window(api, q->query, &w, err);

	if (r >= 0)
		r = api_take_filter(q->query, &filter, err);
	if (r >= 0)
		r = read_sums(api, &w, &filter, &p, &sums, &unknown, err);
	if (r >= 0 && flame_build(&p, &flame) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "flame");
	json_u64(&j, "from_ns", w.from_ns);
	json_u64(&j, "to_ns", w.to_ns);
	api_write_step(&j, sums.step);
	json_u64(&j, "lost", p.meta.lost);
	write_counts(&j, &sums, &p);
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
	AUTO(read_sums_free) struct read_sums sums = { 0 }, base_sums = { 0 };
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = take_base(api, q->query, &w, &base, err);
	if (r >= 0)
		r = api_take_filter(q->query, &filter, err);
	if (r >= 0 && (profile_init(&now) < 0 || profile_init(&before) < 0))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r >= 0)
		r = read_sums(api, &w, &filter, &now, &sums, &unknown, err);
	if (r >= 0)
		r = read_sums(api, &base, &filter, &before, &base_sums, &unknown, err);
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
	api_write_step(&j, MAX_OF(sums.step, base_sums.step));
	write_flame(&j, &diff.flame, true);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}
