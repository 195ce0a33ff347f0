#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "profile_read.h"
#include "profile_window.h"
#include "timefmt.h"
#include "view_flame.h"
#include "view_heat.h"

#define HEAT_CORES_NS (3600 * NS_PER_S)

struct heat_options {
	struct profile_window_options window;
	bool cores, svg;
	const char *select, *output;
};

static const struct option options[] = {
	PROFILE_WINDOW_OPTIONS(heat_options, window),
	OPTION(heat_options, cores, "cores", 0, OPTION_FLAG, NULL,
	       "cores by seconds instead of seconds by their parts; in JSON (\"cores\") beside "
	       "them, up to an hour also without this"),
	OPTION(heat_options, svg, "svg", 0, OPTION_FLAG, NULL, "both maps as a picture"),
	OPTION(heat_options, select, "select", 0, OPTION_TEXT, "FROM,TO",
	       "print the flame command for that range (times, or +SECONDS from the start)"),
	OPTION(heat_options, output, "output", 0, OPTION_TEXT, "FILE",
	       "write there, not to stdout"),
};

static bool heat_filtered(const struct profile_window_options *w)
{
	return w->cpu.set || w->pid.set || w->comm || w->cgroup || w->unit || w->kernel ||
	       w->user || w->only;
}

/* A time, or "+12.5" seconds behind the map's start. */
static int heat_take_time(const char *text, uint64_t now_ns, uint64_t start_ns, uint64_t *ret_ns,
			  struct err *err)
{
	uint64_t offset_ns;

	if (text[0] != '+')
		return timefmt_parse(text, now_ns, ret_ns, err);
	int r = timefmt_parse_duration(text + 1, &offset_ns, err);
	if (r == 0)
		*ret_ns = start_ns + offset_ns;
	return r;
}

static void heat_print_command(const struct invocation *in, uint64_t from_ns, uint64_t to_ns)
{
	printf("zscope flame");
	if (in->common.store)
		printf(" --store %s", in->common.store);
	char mark = timefmt_is_relative(from_ns) ? '+' : '@';
	printf(" --from %c%" PRIu64 ".%09" PRIu64 " --to %c%" PRIu64 ".%09" PRIu64 "\n", mark,
	       from_ns / NS_PER_S, from_ns % NS_PER_S, mark, to_ns / NS_PER_S, to_ns % NS_PER_S);
}

static int heat_select(const struct invocation *in, const char *range, uint64_t start_ns,
		       struct err *err)
{
	const char *comma = strchr(range, ',');
	AUTO_FREE char *first = comma ? strndup(range, (size_t)(comma - range)) : NULL;
	uint64_t from_ns, to_ns;

	if (!first)
		return err_set(err, -EINVAL, "--select takes FROM,TO");
	int r = heat_take_time(first, in->now_ns, start_ns, &from_ns, err);
	if (r == 0)
		r = heat_take_time(comma + 1, in->now_ns, start_ns, &to_ns, err);
	if (r < 0)
		return r;
	if (to_ns <= from_ns)
		return err_set(err, -EINVAL, "--select ends before it starts");
	heat_print_command(in, from_ns, to_ns);
	return STATUS_OK;
}

static int heat_read(const struct heat_options *o, struct stream *s, uint64_t from_ns,
		     uint64_t to_ns, struct heat *ret, struct err *err)
{
	struct profile_footer footer = { 0 };
	uint64_t from_s = from_ns / NS_PER_S, to_s = (to_ns + NS_PER_S - 1) / NS_PER_S;
	int r;

	if (heat_filtered(&o->window)) {
		AUTO_PROFILE struct profile p = { 0 };
		r = profile_window_read(&o->window, s, from_ns, to_ns, &p, err);
		if (r == 0)
			r = heat_build_samples(&p, from_s, to_s, ret);
	} else {
		/* cores one by one are many numbers: for the map that shows them, and for an hour
		 */
		bool cores = o->cores || o->svg || to_ns - from_ns <= HEAT_CORES_NS;
		r = profile_read_heat(stream_store(s), from_ns, to_ns, cores, &footer, err);
		if (r == 0)
			r = heat_build(&footer, from_s, to_s, ret);
		profile_footer_free(&footer);
	}
	if (r == -ERANGE)
		return err_set(err, r, "a heat map shows at most seven days");
	return r;
}

static int heat_json(const struct invocation *in, struct stream *s, uint64_t from_ns,
		     uint64_t to_ns, const struct heat *h, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	AUTO_PROFILE struct profile source = { 0 };
	struct envelope envelope;
	struct json j;

	if (profile_init(&source) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	(void)profile_read_source(stream_store(s), from_ns, to_ns, &source, NULL);
	profile_window_envelope(&source, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "heat", in->now_ns);
	view_heat_json(&j, h);
	json_end_object(&j);
	if (out.failed)
		return err_set(err, -ENOMEM, "out of memory");
	puts(buf_str(&out));
	return STATUS_OK;
}

static int heat_svg(const char *path, const struct heat *h, struct err *err)
{
	AUTO_FCLOSE FILE *f = path ? fopen(path, "we") : NULL;
	AUTO_BUF struct buf out = { 0 };

	if (path && !f)
		return err_path(err, -errno, path);
	if (!view_heat_svg_fits(h))
		return err_set(
			err, -ERANGE,
			"%zu seconds of %zu cores are too much for a picture: take a shorter "
			"window (two hours), or --json",
			h->seconds, h->n_cores);
	view_heat_svg(&out, h);
	if (out.failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (fwrite(out.data, 1, out.len, f ? f : stdout) != out.len || fflush(f ? f : stdout) != 0)
		return err_path(err, -EIO, path ? path : "stdout");
	return STATUS_OK;
}

static void heat_text(const struct invocation *in, const struct heat *h)
{
	const struct heat_options *o = in->options;
	struct view_profile_gaps gaps = { .lost = h->lost, .missing = h->missing };
	size_t hottest = 0;
	uint64_t most = 0;

	if (o->cores)
		view_heat_cores_text(stdout, &in->out, h);
	else
		view_heat_text(stdout, &in->out, h);
	for (size_t second = 0; second < h->seconds; second++) {
		uint64_t sum = 0;
		for (unsigned row = 0; row < h->rows; row++)
			sum += h->counts[second * h->rows + row];
		if (sum > most) {
			most = sum;
			hottest = second;
		}
	}
	for (size_t cell = 0; cell < h->n_cores * h->seconds; cell++)
		if (h->core_holes[cell] > gaps.worst_missing) {
			gaps.worst_missing = h->core_holes[cell];
			gaps.worst_cpu = h->core_ids[cell / h->seconds];
		}
	view_profile_gaps_text(stdout, &gaps);
	if (!most)
		return;
	printf("the hottest second: ");
	heat_print_command(in, (h->start_s + hottest) * NS_PER_S,
			   (h->start_s + hottest + 1) * NS_PER_S);
}

static void close_stream(struct stream **s)
{
	stream_close(*s);
}

static int heat_run(struct invocation *in, struct err *err)
{
	const struct heat_options *o = in->options;
	const char *dir = in->store;
	AUTO(close_stream) struct stream *s = NULL;
	AUTO_HEAT struct heat h = { 0 };
	uint64_t from_ns, to_ns;
	int r = stream_open_store(dir, &s, err);

	if (r == 0)
		r = profile_window_resolve(in, &o->window, s, &from_ns, &to_ns, err);
	if (r == 0 && o->select)
		return heat_select(in, o->select, from_ns, err);
	if (r == 0)
		r = heat_read(o, s, from_ns, to_ns, &h, err);
	if (r < 0)
		return r;
	if (in->common.json)
		return heat_json(in, s, from_ns, to_ns, &h, err);
	if (o->svg)
		return heat_svg(o->output, &h, err);
	heat_text(in, &h);
	return STATUS_OK;
}

const struct command cmd_heat = {
	.name = "heat",
	.summary = "a recording at a glance: what happened inside of the seconds",
	.arguments = "",
	.description =
		"The sub-second-offset heat map: a column is a second, its rows are 20 ms parts of "
		"it (bottom to top), colour is the number of samples that were not idle. Bursts, "
		"periods and stalls have shapes that no average shows. With --cores, cores by "
		"seconds; ! marks a second in which samples were lost or ticks never came.\n"
		"\n"
		"It is read from the footers of the recording alone, unless a filter asks for "
		"samples. It prints the flame command for the hottest second, or for a range that "
		"--select names.",
	.examples = "zscope heat --from -10m\n"
		    "zscope heat --from -1h --cores\n"
		    "zscope heat --from 00:39 --for 2m --svg --output heat.svg\n"
		    "zscope heat --from 00:39 --select +48,+53\n",
	.common = COMMON_JSON | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct heat_options),
	.run = heat_run,
};
