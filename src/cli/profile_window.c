#include "profile_window.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "profile_read.h"
#include "text.h"
#include "timefmt.h"

struct event_search {
	const char *wanted;
	uint64_t found_ns;
	bool found;
};

/* By key, or the last one of that id. */
static int match_event(void *arg, const struct rec_event *event)
{
	struct event_search *search = arg;
	char key[16];

	rec_event_key(event, key);
	bool exact = strcmp(key, search->wanted) == 0;
	if (exact || strcmp(event->id, search->wanted) == 0) {
		search->found = true;
		search->found_ns = event->time_ns;
	}
	return exact;
}

static int window_by_time(const struct invocation *in, struct stream *s, uint64_t span_from_ns,
			  uint64_t span_to_ns, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			  struct err *err)
{
	uint64_t from_ns, to_ns;
	int r = command_window(in, span_from_ns, span_to_ns, &from_ns, &to_ns, err);

	if (r == 0)
		r = store_reader_check_window(stream_store(s), from_ns, to_ns, err);
	if (r < 0)
		return r;
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return 0;
}

int profile_window_resolve(const struct invocation *in, const struct profile_window_options *o,
			   struct stream *s, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			   struct err *err)
{
	struct event_search search = { .wanted = o->before };
	uint64_t from_ns, to_ns, length_ns = 5 * NS_PER_S;
	int r = stream_span(s, &from_ns, &to_ns, err);

	if (r < 0)
		return r;
	if (!o->before)
		return window_by_time(in, s, from_ns, to_ns, ret_from_ns, ret_to_ns, err);
	if (in->common.length.set)
		length_ns = in->common.length.value;
	if (in->n_args == 1) { /* --before EVENT-ID 5s */
		r = timefmt_parse_duration(in->args[0], &length_ns, err);
		if (r < 0)
			return r;
	}
	r = stream_each_event(s, from_ns, to_ns, match_event, &search, err);
	if (r < 0)
		return r;
	if (!search.found)
		return err_set(err, -ENODATA, "the recording has no event '%s'", o->before);
	*ret_from_ns = search.found_ns > length_ns ? search.found_ns - length_ns : 0;
	*ret_to_ns = search.found_ns;
	return 0;
}

void profile_window_envelope(const struct profile *p, struct envelope *ret)
{
	*ret = (struct envelope){ 0 };
	text_copy(ret->host, sizeof(ret->host), profile_text(p, p->meta.host));
	text_copy(ret->kernel, sizeof(ret->kernel), profile_text(p, p->meta.kernel));
}

struct flame_filter profile_window_flame_filter(const struct profile_window_options *o)
{
	return (struct flame_filter){
		.by_cpu = o->cpu.set,
		.by_pid = o->pid.set,
		.cpu = (uint32_t)o->cpu.value,
		.pid = (uint32_t)o->pid.value,
		.comm = o->comm,
		.cgroup = o->cgroup,
		.unit = o->unit,
		.kernel = o->kernel || (o->only && strcmp(o->only, "kernel") == 0),
		.user = o->user || (o->only && strcmp(o->only, "user") == 0),
	};
}

void profile_window_filter(const struct profile_window_options *o, struct profile *p)
{
	struct flame_filter filter = profile_window_flame_filter(o);

	flame_filter_apply(p, &filter);
}

int profile_window_read(const struct profile_window_options *o, struct stream *s, uint64_t from_ns,
			uint64_t to_ns, struct profile *ret, struct err *err)
{
	int r = profile_init(ret);

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = profile_read_window(stream_store(s), from_ns, to_ns, ret, err);
	if (r == 0)
		profile_window_filter(o, ret);
	return r;
}
