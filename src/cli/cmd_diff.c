#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "export_svg.h"
#include "profile_read.h"
#include "profile_window.h"
#include "timefmt.h"
#include "view_diff.h"
#include "view_flame.h"

enum {
	DIFF_LINES = 20,
	DIFF_MOST_BASE_S = 900, /* of the rest, so many seconds are read at most */
};

struct diff_options {
	struct profile_window_options window;
	struct option_number base_at, base_length, base_from, base_to, top;
	const char *base_store, *output;
	bool svg, elided;
};

#define DIFF_OPTION(member, name, type, argument, help) \
	OPTION(diff_options, member, name, 0, type, argument, help)

static const struct option options[] = {
	PROFILE_WINDOW_OPTIONS(diff_options, window),
	DIFF_OPTION(base_at, "base-at", OPTION_TIME, "TIME", "the base begins there"),
	DIFF_OPTION(base_length, "base-for", OPTION_DURATION, "DURATION",
		    "and is so long (default: as long as the window)"),
	DIFF_OPTION(base_from, "base-from", OPTION_TIME, "TIME", "the base begins there"),
	DIFF_OPTION(base_to, "base-to", OPTION_TIME, "TIME", "the base ends there"),
	DIFF_OPTION(base_store, "base-store", OPTION_TEXT, "DIR",
		    "the base is in another recording (all of it, unless a time is given)"),
	DIFF_OPTION(top, "top", OPTION_NUMBER, "N", "lines per table (default 20)"),
	DIFF_OPTION(svg, "svg", OPTION_FLAG, NULL,
		    "a flame graph of the window: red grew, blue shrank"),
	DIFF_OPTION(elided, "elided", OPTION_FLAG, NULL,
		    "with --svg: of the base, so that what vanished is seen"),
	DIFF_OPTION(output, "output", OPTION_TEXT, "FILE", "write there, not to stdout"),
};

static void close_stream(struct stream **s)
{
	stream_close(*s);
}

/* What the window is compared with. */
struct diff_base {
	struct profile profile;
	unsigned every_s; /* one second in so many was read */
};

static void free_base(struct diff_base *b)
{
	profile_free(&b->profile);
}

/* One side of the rest; samples are summed as they are read. */
static int read_side(const struct diff_options *o, struct stream *s, uint64_t from_ns,
		     uint64_t to_ns, unsigned every_s, struct profile *ret)
{
	AUTO_FLAME_SUMS struct flame_sums sums = { .filter = profile_window_flame_filter(
							   &o->window) };
	struct profile_read_options read = { .every_s = every_s,
					     .chunk = flame_sums_add,
					     .arg = &sums };
	struct err ignored = { 0 };

	return from_ns < to_ns
		       ? profile_read_chunks(stream_store(s), from_ns, to_ns, &read, ret, &ignored)
		       : -ENODATA;
}

/* Without any base option: the rest of the recording. A long one is read thinly, so that the answer
 * takes a bounded time. */
static int read_rest(const struct diff_options *o, struct stream *s, uint64_t from_ns,
		     uint64_t to_ns, struct diff_base *ret, struct err *err)
{
	uint64_t first_ns, last_ns;
	int r = profile_init(&ret->profile);

	if (r < 0)
		return err_set(err, r, "out of memory");
	r = stream_span(s, &first_ns, &last_ns, err);
	if (r < 0)
		return r;
	ret->every_s = (unsigned)((last_ns - first_ns) / NS_PER_S / DIFF_MOST_BASE_S) + 1;
	int before = read_side(o, s, first_ns, from_ns, ret->every_s, &ret->profile);
	int after = read_side(o, s, to_ns, last_ns + NS_PER_S, ret->every_s, &ret->profile);
	if (before < 0 && after < 0)
		return err_set(err, -ENODATA,
			       "the recording has nothing beside that window to compare with");
	return 0;
}

static bool diff_has_times(const struct diff_options *o)
{
	return o->base_at.set || o->base_from.set || o->base_to.set;
}

static int read_base(const struct diff_options *o, struct stream *s, uint64_t from_ns,
		     uint64_t to_ns, struct diff_base *ret, struct err *err)
{
	AUTO(close_stream) struct stream *other = NULL;
	uint64_t base_from, base_to;
	int r = 0;

	if (o->base_store) {
		r = stream_open_store(o->base_store, &other, err);
		s = other;
	} else if (!diff_has_times(o)) {
		return read_rest(o, s, from_ns, to_ns, ret, err);
	}
	if (r == 0)
		r = stream_span(s, &base_from, &base_to, err);
	if (r < 0)
		return r;
	if (o->base_at.set || o->base_from.set) {
		base_from = o->base_at.set ? o->base_at.value : o->base_from.value;
		base_to = base_from + (o->base_length.set ? o->base_length.value : to_ns - from_ns);
	}
	if (o->base_to.set)
		base_to = o->base_to.value;
	if (base_to <= base_from)
		return err_set(err, -EINVAL, "the base ends before it starts");
	return profile_window_read(&o->window, s, base_from, base_to, &ret->profile, err);
}

static uint64_t base_samples(const struct profile *base)
{
	uint64_t sum = 0;

	vec_foreach (&base->samples, sample)
		sum += sample->weight;
	return sum;
}

static int diff_svg(const struct diff_options *o, const struct profile *window,
		    const struct profile *base, struct err *err)
{
	AUTO_EXPORT_TREE struct export_tree tree = { .differential = true };
	AUTO_BUF struct buf out = { 0 }, subtitle = { 0 };
	AUTO_FCLOSE FILE *f = o->output ? fopen(o->output, "we") : NULL;
	const struct profile *drawn = o->elided ? base : window;
	struct view_profile_gaps gaps = view_profile_gaps(window);

	if (o->output && !f)
		return err_path(err, -errno, o->output);
	if (export_tree_add(&tree, drawn, NULL, false) < 0 ||
	    export_tree_add(&tree, o->elided ? window : base, NULL, true) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	export_tree_sort(&tree);
	buf_addf(&subtitle, "%s; red grew, blue shrank; %llu lost, %llu missing ticks",
		 o->elided ? "widths of the base" : "widths of the window",
		 (unsigned long long)gaps.lost, (unsigned long long)gaps.missing);
	struct svg_options picture = { .title = "Differential flame graph",
				       .subtitle = buf_str(&subtitle) };
	export_svg(&out, &tree, &picture);
	if (out.failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (fwrite(out.data, 1, out.len, f ? f : stdout) != out.len || fflush(f ? f : stdout) != 0)
		return err_path(err, -EIO, o->output ? o->output : "stdout");
	return STATUS_OK;
}

static int diff_json(const struct invocation *in, const struct profile *window,
		     const struct diff_base *base, const struct diff *d, size_t lines,
		     struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct view_profile_gaps gaps = view_profile_gaps(window);
	struct envelope envelope = { 0 };
	struct json j;

	profile_window_envelope(window, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "diff", in->now_ns);
	json_time(&j, "from", window->meta.from_ns);
	json_time(&j, "to", window->meta.to_ns);
	view_profile_gaps_json(&j, &gaps);
	json_u64(&j, "base_samples", base_samples(&base->profile));
	if (base->every_s > 1)
		json_u64(&j, "base_one_second_in", base->every_s);
	view_diff_json(&j, d, lines);
	json_end_object(&j);
	if (out.failed)
		return err_set(err, -ENOMEM, "out of memory");
	puts(buf_str(&out));
	return STATUS_OK;
}

static int diff_show(const struct invocation *in, struct profile *window, struct diff_base *base,
		     struct err *err)
{
	const struct diff_options *o = in->options;
	size_t lines = o->top.set ? o->top.value : DIFF_LINES;
	AUTO_DIFF struct diff d = { 0 };

	if (o->svg)
		return diff_svg(o, window, &base->profile, err);
	if (diff_build(window, &base->profile, &d) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (in->common.json)
		return diff_json(in, window, base, &d, lines, err);
	struct view_profile_gaps gaps = view_profile_gaps(window);
	view_diff_text(stdout, &in->out, &d, lines);
	view_profile_gaps_text(stdout, &gaps);
	if (base->every_s > 1)
		printf("of the rest of the recording, one second in %u was read\n", base->every_s);
	return STATUS_OK;
}

static int diff_run(struct invocation *in, struct err *err)
{
	const struct diff_options *o = in->options;
	const char *dir = in->store;
	AUTO(close_stream) struct stream *s = NULL;
	AUTO_PROFILE struct profile window = { 0 };
	AUTO(free_base) struct diff_base base = { 0 };
	uint64_t from_ns, to_ns;
	int r = stream_open_store(dir, &s, err);

	if (r == 0)
		r = profile_window_resolve(in, &o->window, s, &from_ns, &to_ns, err);
	if (r == 0)
		r = profile_window_read(&o->window, s, from_ns, to_ns, &window, err);
	if (r == 0)
		r = read_base(o, s, from_ns, to_ns, &base, err);
	if (r < 0)
		return r;
	return diff_show(in, &window, &base, err);
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "what a window does that another does not",
	.arguments = "",
	.description =
		"Compares the profile of a window (--at, --from, --before ...) with a base: "
		"another window (--base-at, --base-from), another recording (--base-store), or, "
		"without any of these, the rest of the same recording (of a long one, one second "
		"in "
		"N).\n"
		"\n"
		"Shares of the samples are compared, not counts. Tables show what grew, what "
		"shrank, and what was elided: in the base, but not in the window at all. --svg "
		"draws the window's flame graph, red where it grew and blue where it shrank; what "
		"vanished has no width there, so --elided draws the base's.",
	.examples = "zscope diff --at 00:39:48 --for 5s\n"
		    "zscope diff --at 00:39:48 --for 5s --base-at 00:30 --cpu 5\n"
		    "zscope diff --before net-driver-reset --for 5s --svg --output diff.svg\n",
	.common = COMMON_JSON | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct diff_options),
	.run = diff_run,
};
