#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "export_folded.h"
#include "export_pprof.h"
#include "export_speedscope.h"
#include "export_svg.h"
#include "import.h"
#include "profile_read.h"
#include "profile_window.h"
#include "timefmt.h"
#include "view_flame.h"

enum { FLAME_TOP_LINES = 20, FLAME_TOP_LINES_JSON = 100 };

struct flame_options {
	struct profile_window_options window;
	struct option_number top;
	bool folded, svg, html, pprof, speedscope;
	bool tid, jit, all, addrs; /* of --folded */
	const char *event, *output;
};

#define FLAME_OPTION(member, name, type, argument, help) \
	OPTION(flame_options, member, name, 0, type, argument, help)

static const struct option options[] = {
	PROFILE_WINDOW_OPTIONS(flame_options, window),
	FLAME_OPTION(top, "top", OPTION_NUMBER, "[N]",
		     "tables of the top N functions and processes, and of all cores (the default, "
		     "with N = 20)"),
	FLAME_OPTION(folded, "folded", OPTION_FLAG, NULL,
		     "folded stacks, as stackcollapse-perf.pl prints them"),
	FLAME_OPTION(svg, "svg", OPTION_FLAG, NULL, "an interactive flame graph"),
	FLAME_OPTION(html, "html", OPTION_FLAG, NULL, "the same as a page, with tables"),
	FLAME_OPTION(pprof, "pprof", OPTION_FLAG, NULL, "gzip'd profile.proto, for pprof"),
	FLAME_OPTION(speedscope, "speedscope", OPTION_FLAG, NULL, "JSON for speedscope"),
	FLAME_OPTION(tid, "tid", OPTION_FLAG, NULL, "with --folded: process and thread id"),
	FLAME_OPTION(jit, "jit", OPTION_FLAG, NULL,
		     "with --folded: mark functions of a JIT with _[j]"),
	FLAME_OPTION(all, "all", OPTION_FLAG, NULL, "with --folded: --kernel and --jit"),
	FLAME_OPTION(addrs, "addrs", OPTION_FLAG, NULL,
		     "with --folded: addresses of functions without a name"),
	FLAME_OPTION(event, "event", OPTION_TEXT, "NAME",
		     "only samples of this event (default: the first)"),
	FLAME_OPTION(output, "output", OPTION_TEXT, "FILE", "write there, not to stdout"),
};

static int flame_json(const struct invocation *in, struct profile *p, size_t lines,
		      const struct store_losses *losses, struct err *err)
{
	AUTO_FLAME struct flame flame = { 0 };
	AUTO_FLAME_TOP struct flame_top top = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct view_profile_gaps gaps = view_profile_gaps(p);
	struct envelope envelope = { 0 };
	struct json j;

	if (flame_build(p, &flame) < 0 || flame_top(p, &top) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	profile_window_envelope(p, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "flame", in->now_ns);
	if (p->meta.to_ns) {
		json_time(&j, "from", p->meta.from_ns);
		json_time(&j, "to", p->meta.to_ns);
	}
	json_f64(&j, "hz", p->meta.hz, 3);
	view_profile_gaps_json(&j, &gaps);
	view_losses_json(&j, losses);
	view_flame_json(&j, &flame, false);
	view_flame_top_json(&j, p, &top, lines);
	json_end_object(&j);
	if (out.failed)
		return err_set(err, -ENOMEM, "out of memory");
	puts(buf_str(&out));
	return STATUS_OK;
}

/* "5.0 s from 2026-11-16 00:39:48, 485 samples, 3 lost" under the title of a picture. */
static void flame_subtitle(struct buf *out, const struct profile *p,
			   const struct view_profile_gaps *gaps)
{
	char from[TIMEFMT_MAX], span[TIMEFMT_MAX];

	if (p->meta.to_ns)
		buf_addf(out, "%s from %s, ", timefmt_span(span, p->meta.to_ns - p->meta.from_ns),
			 timefmt_local(from, p->meta.from_ns));
	buf_addf(out, "%zu samples, %llu lost, %llu missing ticks", p->samples.len,
		 (unsigned long long)gaps->lost, (unsigned long long)gaps->missing);
	if (gaps->damaged)
		buf_addf(out, ", %llu damaged", (unsigned long long)gaps->damaged);
}

static int flame_picture(struct buf *out, const struct flame_options *o, const struct profile *p,
			 const struct view_profile_gaps *gaps)
{
	AUTO_EXPORT_TREE struct export_tree tree = { 0 };
	AUTO_BUF struct buf subtitle = { 0 };
	int r = export_tree_add(&tree, p, o->event, false);

	if (r < 0)
		return r;
	export_tree_sort(&tree);
	flame_subtitle(&subtitle, p, gaps);
	struct svg_options picture = { .subtitle = buf_str(&subtitle) };
	if (o->svg)
		export_svg(out, &tree, &picture);
	else
		export_html(out, &tree, &picture);
	return 0;
}

/* One of the forms for other tools. */
static int flame_export(struct buf *out, const struct flame_options *o, struct profile *p,
			const struct view_profile_gaps *gaps)
{
	struct folded_options folded = {
		.pid = o->window.pid.bare,
		.tid = o->tid,
		.kernel = o->window.kernel || o->all,
		.jit = o->jit || o->all,
		.addrs = o->addrs,
		.event = o->event,
	};

	if (o->pprof)
		return export_pprof(out, p, o->event);
	if (o->svg || o->html)
		return flame_picture(out, o, p, gaps);
	if (o->folded)
		export_folded(out, p, &folded);
	else
		export_speedscope(out, p, "zscope flame", o->event);
	return 0;
}

static int flame_write(const char *path, const struct buf *out, struct err *err)
{
	AUTO_FCLOSE FILE *f = path ? fopen(path, "we") : NULL;

	if (path && !f)
		return err_path(err, -errno, path);
	if (fwrite(buf_str(out), 1, out->len, f ? f : stdout) != out->len ||
	    fflush(f ? f : stdout) != 0)
		return err_path(err, -EIO, path ? path : "stdout");
	return STATUS_OK;
}

static int flame_show(const struct invocation *in, struct profile *p,
		      const struct store_losses *losses, struct err *err)
{
	const struct flame_options *o = in->options;
	size_t lines = o->top.set ? o->top.value : FLAME_TOP_LINES;
	struct view_profile_gaps gaps = view_profile_gaps(p);
	AUTO_FLAME_TOP struct flame_top top = { 0 };
	AUTO_BUF struct buf out = { 0 };

	if (in->common.json)
		return flame_json(in, p, o->top.set ? o->top.value : FLAME_TOP_LINES_JSON, losses,
				  err);
	view_losses_text(stderr, losses);
	if (o->folded || o->svg || o->html || o->pprof || o->speedscope) {
		if (flame_export(&out, o, p, &gaps) < 0 || out.failed)
			return err_set(err, -ENOMEM, "out of memory");
		view_profile_gaps_text(stderr, &gaps);
		return flame_write(o->output, &out, err);
	}
	if (flame_top(p, &top) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	view_flame_top_text(stdout, &in->out, p, &top, lines);
	view_profile_gaps_text(stdout, &gaps);
	return STATUS_OK;
}

static void close_stream(struct stream **s)
{
	stream_close(*s);
}

/* With --folded, --kernel marks as stackcollapse-perf.pl does; elsewhere it is a filter. */
static struct profile_window_options flame_filter_options(const struct flame_options *o)
{
	struct profile_window_options w = o->window;
	if (o->folded)
		w.kernel = false;
	return w;
}

static bool flame_window_asked(const struct invocation *in)
{
	return in->common.at.set || in->common.from.set || in->common.to.set ||
	       in->common.length.set;
}

/* The window of a file: samples outside of it, and what was lost outside of it, go. */
static int flame_file_window(const struct invocation *in, const struct import_info *info,
			     struct profile *p, struct err *err)
{
	char asked[TIMEFMT_MAX], span[TIMEFMT_RANGE_MAX];
	uint64_t from_ns, to_ns;
	size_t kept = 0;

	if (!flame_window_asked(in))
		return 0;
	if (!info->last_ns)
		return err_set(err, -ENODATA, "%s: its samples have no times to choose from",
			       in->args[0]);
	int r = command_window(in, info->first_ns, info->last_ns + 1, &from_ns, &to_ns, err);
	if (r < 0)
		return r;
	if (to_ns <= info->first_ns || from_ns > info->last_ns)
		return err_set(err, -ERANGE, "%s: %s is outside its samples (%s)", in->args[0],
			       timefmt_beside(asked, from_ns, info->first_ns),
			       timefmt_range(span, info->first_ns, info->last_ns));
	for (size_t i = 0; i < p->samples.len; i++)
		if (p->samples.items[i].time_ns >= from_ns && p->samples.items[i].time_ns < to_ns)
			p->samples.items[kept++] = p->samples.items[i];
	p->samples.len = kept;
	kept = 0;
	for (size_t i = 0; i < p->meta.cpu_seconds.len; i++) {
		uint64_t at_ns = p->meta.cpu_seconds.items[i].second * NS_PER_S;
		if (at_ns + NS_PER_S > from_ns && at_ns < to_ns)
			p->meta.cpu_seconds.items[kept++] = p->meta.cpu_seconds.items[i];
		else
			p->meta.lost -=
				MIN_OF(p->meta.lost, (uint64_t)p->meta.cpu_seconds.items[i].lost);
	}
	p->meta.cpu_seconds.len = kept;
	p->meta.from_ns = from_ns;
	p->meta.to_ns = to_ns;
	return 0;
}

static int flame_file(const struct invocation *in, const struct profile_window_options *w,
		      struct err *err)
{
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct store_losses none = { 0 };
	struct import_info info;
	int r = command_root(in, &root, err);

	if (r == 0 && profile_init(&p) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	struct import_options import = { .name = in->args[0], .root = &root };
	if (r == 0)
		r = import_path(in->args[0], &import, NULL, NULL, &p, &info, err);
	if (r < 0)
		return r;
	if (info.damage[0])
		fprintf(stderr, "not readable: %s\n", info.damage);
	if (info.n_stack_dumps)
		fprintf(stderr,
			"%llu samples hold copies of user stacks (--call-graph dwarf), which are "
			"not unwound: their callers in user code are missing\n",
			(unsigned long long)info.n_stack_dumps);
	r = flame_file_window(in, &info, &p, err);
	if (r < 0)
		return r;
	profile_window_filter(w, &p);
	profile_demangle(&p);
	if (profile_failed(&p))
		return err_set(err, -ENOMEM, "out of memory");
	return flame_show(in, &p, &none, err);
}

static int flame_run(struct invocation *in, struct err *err)
{
	const struct flame_options *o = in->options;
	const char *dir = in->store;
	struct profile_window_options w = flame_filter_options(o);
	AUTO(close_stream) struct stream *s = NULL;
	AUTO_PROFILE struct profile p = { 0 };
	uint64_t from_ns, to_ns;

	if (in->n_args > 1)
		return err_set(err, -EINVAL, "flame takes one FILE, not '%s' too", in->args[1]);
	if (in->n_args && !w.before)
		return flame_file(in, &w, err);
	int r = stream_open_store(dir, &s, err);
	if (r == 0)
		r = profile_window_resolve(in, &w, s, &from_ns, &to_ns, err);
	if (r == 0)
		r = profile_window_read(&w, s, from_ns, to_ns, &p, err);
	if (r < 0)
		return r;
	return flame_show(in, &p, stream_losses(s), err);
}

const struct command cmd_flame = {
	.name = "flame",
	.summary = "where the time of a window went: functions, processes, cores",
	.arguments = "[FILE]",
	.description =
		"The profile of any window of a recording (or of a perf.data or perf script FILE): "
		"by default tables of the top functions "
		"(self and total), processes and cores; as folded stacks, JSON and pictures with "
		"the options below. The window is --at T --for D, --from and --to, or the time "
		"before an event (--before EVENT-ID, with the key that `zscope events` shows, or "
		"an id such as net-driver-reset for the last of its kind).\n"
		"\n"
		"With --folded, --pid (without a number), --tid, --kernel, --jit, --all and "
		"--addrs mean what they mean for stackcollapse-perf.pl.\n"
		"\n"
		"Idle time is not in it: an idle core is one that runs pid 0 in an idle function, "
		"so interrupt work on an idle core is. Lost samples and ticks that never came are "
		"named below every view: a busy core without ticks had its interrupts off, or the "
		"machine did not run.",
	.examples = "zscope flame --at 00:39:48 --for 5s --cpu 5\n"
		    "zscope flame --at 00:39:48 --for 5s --svg --output spike.svg\n"
		    "zscope flame --before net-driver-reset --for 5s --folded\n"
		    "zscope flame --from -1h --unit kubelet.service --top 40\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct flame_options),
	.run = flame_run,
};
