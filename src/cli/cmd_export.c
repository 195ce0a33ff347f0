#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "export_folded.h"
#include "export_json.h"
#include "export_perf_script.h"
#include "export_pprof.h"
#include "export_speedscope.h"
#include "export_svg.h"
#include "folded.h"
#include "import.h"
#include "profile_read.h"
#include "profile_window.h"
#include "store_reader.h"
#include "view_flame.h"

struct export_options {
	bool perf_script, folded, svg, html, pprof, speedscope;
	bool pid, tid, kernel, jit, all, addrs;
	bool diff, normalize, strip_hex;
	const char *event, *symbols, *title;
	struct option_number anchor;
};

#define EXPORT_OPTION(member, name, letter, type, argument, help) \
	OPTION(export_options, member, name, letter, type, argument, help)
#define EXPORT_FLAG(member, name, help) EXPORT_OPTION(member, name, 0, OPTION_FLAG, NULL, help)

static const struct option options[] = {
	EXPORT_FLAG(perf_script, "perf-script", "perf script text, for FlameScope (the default)"),
	EXPORT_FLAG(folded, "folded", "folded stacks, as stackcollapse-perf.pl gives them"),
	EXPORT_FLAG(svg, "svg", "an interactive flame graph"),
	EXPORT_FLAG(html, "html", "the same in a page with the hottest functions"),
	EXPORT_FLAG(pprof, "pprof", "profile.proto, gzip'd, for pprof and Pyroscope"),
	EXPORT_FLAG(speedscope, "speedscope", "speedscope's JSON"),
	EXPORT_FLAG(pid, "pid", "with --folded: the process id behind its name"),
	EXPORT_FLAG(tid, "tid", "with --folded: process and thread id behind its name"),
	EXPORT_FLAG(kernel, "kernel", "with --folded: mark kernel functions with _[k]"),
	EXPORT_FLAG(jit, "jit", "with --folded: mark JIT-compiled functions with _[j]"),
	EXPORT_FLAG(all, "all", "with --folded: both marks"),
	EXPORT_FLAG(addrs, "addrs", "with --folded: the address of functions without a name"),
	EXPORT_FLAG(diff, "diff", "compare two files of folded stacks, as difffolded.pl does"),
	EXPORT_OPTION(normalize, "normalize", 'n', OPTION_FLAG, NULL,
		      "with --diff: scale the first file to the total of the second"),
	EXPORT_OPTION(strip_hex, "strip-hex", 's', OPTION_FLAG, NULL,
		      "with --diff: hex numbers in names become 0x..."),
	EXPORT_OPTION(event, "event", 0, OPTION_TEXT, "NAME",
		      "only this event; by default the first one, with --perf-script all"),
	EXPORT_OPTION(title, "title", 0, OPTION_TEXT, "TEXT", "of the flame graph"),
	EXPORT_OPTION(symbols, "symbols", 0, OPTION_TEXT, "DIR",
		      "with FILE: look for ELF files by base name there, too"),
	EXPORT_OPTION(anchor, "anchor", 0, OPTION_TIME, "TIME",
		      "with FILE: wall time of its first sample"),
};

static int export_read_file(const struct invocation *in, struct profile *p, struct err *err)
{
	const struct export_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	struct import_info info;
	int r = command_root(in, &root, err);

	if (r < 0)
		return r;
	struct import_options io = { .root = &root,
				     .symbols = o->symbols,
				     .have_anchor = o->anchor.set,
				     .anchor_ns = o->anchor.value };
	r = import_path(in->args[0], &io, NULL, NULL, p, &info, err);
	if (r < 0)
		return r;
	if (info.damage[0])
		fprintf(stderr, "zscope: %s: %s\n", in->args[0], info.damage);
	profile_sort(p);
	profile_demangle(p);
	return profile_failed(p) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static void close_reader(struct store_reader **r)
{
	store_reader_close(*r);
}

static int export_read_store(const struct invocation *in, struct profile *p, struct err *err)
{
	const char *dir = in->store;
	AUTO(close_reader) struct store_reader *reader = NULL;
	uint64_t span_from, span_to, from, to;
	int r = store_reader_open(dir, &reader, err);

	if (r == 0)
		r = store_reader_span(reader, &span_from, &span_to, err);
	if (r == 0)
		r = command_window(in, span_from, span_to, &from, &to, err);
	if (r == 0)
		r = store_reader_check_window(reader, from, to, err);
	if (r == 0)
		r = profile_read_window(reader, from, to, p, err);
	if (r < 0)
		return r;
	view_losses_text(stderr, store_reader_losses(reader));
	profile_sort(p);
	return 0;
}

/* A mistyped event would give an empty answer, which reads like an idle machine. */
static int export_check_event(const struct profile *p, const char *wanted, struct err *err)
{
	AUTO_BUF struct buf known = { 0 };

	if (!wanted || export_folded_event(p, wanted) < (int)p->meta.events.len)
		return 0;
	vec_foreach (&p->meta.events, it)
		buf_addf(&known, "%s%s", known.len ? ", " : "", profile_text(p, *it));
	return err_set(err, -ENODATA, "no sample of an event '%s'; there are: %s", wanted,
		       known.len ? buf_str(&known) : "none with a name");
}

static int export_picture(struct buf *out, const struct profile *p, const struct export_options *o,
			  struct err *err)
{
	AUTO_EXPORT_TREE struct export_tree tree = { 0 };
	char subtitle[200];

	if (export_tree_add(&tree, p, o->event, false) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	export_tree_sort(&tree);
	snprintf(subtitle, sizeof(subtitle), "%zu samples%s%s%s%s", p->samples.len,
		 tree.event[0] ? " of " : "", tree.event, p->meta.host ? " on " : "",
		 profile_text(p, p->meta.host));
	struct svg_options so = { .title = o->title, .subtitle = subtitle };
	if (o->html)
		export_html(out, &tree, &so);
	else
		export_svg(out, &tree, &so);
	return 0;
}

static int export_write(struct buf *out, const struct profile *p, const struct export_options *o,
			struct err *err)
{
	if (o->folded) {
		struct folded_options fo = { .pid = o->pid,
					     .tid = o->tid,
					     .kernel = o->kernel || o->all,
					     .jit = o->jit || o->all,
					     .addrs = o->addrs,
					     .event = o->event };
		export_folded(out, p, &fo);
	} else if (o->svg || o->html) {
		return export_picture(out, p, o, err);
	} else if (o->pprof) {
		if (export_pprof(out, p, o->event) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	} else if (o->speedscope) {
		export_speedscope(out, p, o->title ? o->title : "zombiescope", o->event);
	} else {
		export_perf_script(out, p, o->event);
	}
	return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int export_print_json(const struct invocation *in, const struct profile *p, struct err *err)
{
	const struct export_options *o = in->options;
	struct envelope envelope;

	profile_window_envelope(p, &envelope);
	int r = export_json(stdout, p, &envelope, o->event, in->now_ns);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int export_diff(const struct invocation *in, struct buf *out, struct err *err)
{
	const struct export_options *o = in->options;
	AUTO_FOLDED struct folded before = { 0 }, after = { 0 };
	struct folded_diff_options fo = { .normalize = o->normalize, .strip_hex = o->strip_hex };

	if (in->n_args != 2)
		return err_set(err, -EINVAL, "--diff takes two files of folded stacks");
	int r = folded_read(in->args[0], &before, err);
	if (r == 0)
		r = folded_read(in->args[1], &after, err);
	if (r == 0)
		r = folded_diff(out, &before, &after, &fo, err);
	return r;
}

static int export_run(struct invocation *in, struct err *err)
{
	const struct export_options *o = in->options;
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_BUF struct buf out = { 0 };
	int formats = o->perf_script + o->folded + o->svg + o->html + o->pprof + o->speedscope +
		      o->diff + in->common.json;
	int r;

	if (formats > 1)
		return err_set(err, -EINVAL, "export writes one format at a time");
	if (o->diff) {
		r = export_diff(in, &out, err);
	} else {
		if (in->n_args > 1)
			return err_set(err, -EINVAL, "export takes one FILE");
		if (profile_init(&p) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		r = in->n_args ? export_read_file(in, &p, err) : export_read_store(in, &p, err);
		if (r == 0)
			r = export_check_event(&p, o->event, err);
		if (r == 0)
			r = in->common.json ? export_print_json(in, &p, err)
					    : export_write(&out, &p, o, err);
	}
	if (r < 0)
		return r;
	if (fwrite(buf_str(&out), 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return err_set(err, -errno, "writing: %s", strerror(errno));
	return STATUS_OK;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "a profile in the formats of other tools",
	.arguments = "[FILE]",
	.description =
		"Writes the profile of a window of a recording, or of a perf.data or perf script "
		"FILE, in the format "
		"of another tool: perf script text (FlameScope, Firefox Profiler, "
		"stackcollapse-perf.pl), folded "
		"stacks, an interactive flame graph as SVG or HTML, pprof, or speedscope.\n\n"
		"Folded stacks have the very form that FlameGraph's stackcollapse-perf.pl gives "
		"them, with its "
		"options. When samples of several events were recorded, all formats but perf "
		"script and JSON show one of "
		"them: the first, or --event.\n\n"
		"--json is for programs that want every sample: the first line tells host, window "
		"and how many samples follow, then each is an object on a line of its own, in "
		"time order: time, time_ns, cpu, pid, tid, comm, cgroup, event, period (each "
		"where it was recorded) and stack, from the leaf to the root, its frames with "
		"name and object (the file they are in), and the address where the name is that of "
		"the object only. Of all events, or of --event.\n\n"
		"--diff BEFORE AFTER compares two files of folded stacks, as difffolded.pl does.",
	.examples = "zscope export --at 00:39:48 --for 5s > window.txt\n"
		    "zscope export --folded --kernel perf.data | flamegraph.pl > flame.svg\n"
		    "zscope export --pprof --from -1h > hour.pb.gz\n"
		    "zscope export --json --from -1m | jq -r 'select(.cpu == 5).stack[0].name'\n"
		    "zscope export --diff -n before.folded after.folded\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct export_options),
	.run = export_run,
};
