#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "export_folded.h"
#include "profile_window.h"
#include "timefmt.h"
#include "view_flame.h"

enum { FLAME_TOP_LINES = 20, FLAME_TOP_LINES_JSON = 100 };

struct flame_options {
	struct profile_window_options window;
	struct option_number top;
	bool folded;
};

static const struct option options[] = {
	PROFILE_WINDOW_OPTIONS(flame_options, window),
	OPTION(flame_options, top, "top", 0, OPTION_NUMBER, "N",
	       "tables of the top N functions and processes, and of all cores (the default, 20)"),
	OPTION(flame_options, folded, "folded", 0, OPTION_FLAG, NULL,
	       "folded stacks, as stackcollapse-perf.pl prints them"),
};

static int flame_json(const struct invocation *in, struct profile *p, size_t lines,
		      const struct store_losses *losses, struct err *err)
{
	AUTO_FLAME struct flame flame = { 0 };
	AUTO_FLAME_TOP struct flame_top top = { 0 };
	AUTO_BUF struct buf out = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct view_profile_gaps gaps = view_profile_gaps(p);
	struct envelope envelope = { 0 };
	struct json j;

	if (flame_build(p, &flame) < 0 || flame_top(p, &top) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (root_open(NULL, &root, NULL) == 0)
		envelope_read(&root, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "flame", in->now_ns);
	json_time(&j, "from", p->meta.from_ns);
	json_time(&j, "to", p->meta.to_ns);
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

static int flame_show(const struct invocation *in, struct profile *p,
		      const struct store_losses *losses, struct err *err)
{
	const struct flame_options *o = in->options;
	struct view_profile_gaps gaps = view_profile_gaps(p);
	AUTO_FLAME_TOP struct flame_top top = { 0 };
	AUTO_BUF struct buf out = { 0 };

	if (in->common.json)
		return flame_json(in, p, o->top.set ? o->top.value : FLAME_TOP_LINES_JSON, losses,
				  err);
	view_losses_text(stderr, losses);
	if (o->folded) {
		struct folded_options folded = { 0 };
		export_folded(&out, p, &folded);
		fwrite(buf_str(&out), 1, out.len, stdout);
		view_profile_gaps_text(stderr, &gaps);
		return STATUS_OK;
	}
	if (flame_top(p, &top) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	view_flame_top_text(stdout, &in->out, p, &top, o->top.set ? o->top.value : FLAME_TOP_LINES);
	view_profile_gaps_text(stdout, &gaps);
	return STATUS_OK;
}

static void close_stream(struct stream **s)
{
	stream_close(*s);
}

static int flame_run(struct invocation *in, struct err *err)
{
	const struct flame_options *o = in->options;
	const char *dir = in->common.store ? in->common.store : STORE_DEFAULT;
	AUTO(close_stream) struct stream *s = NULL;
	AUTO_PROFILE struct profile p = { 0 };
	uint64_t from_ns, to_ns;

	if (in->n_args > (o->window.before ? 1u : 0u))
		return err_set(err, -EINVAL, "flame takes no argument '%s'", in->args[0]);
	int r = stream_open_store(dir, &s, err);
	if (r == 0)
		r = profile_window_resolve(in, &o->window, s, &from_ns, &to_ns, err);
	if (r == 0)
		r = profile_window_read(&o->window, s, from_ns, to_ns, &p, err);
	if (r < 0)
		return r;
	return flame_show(in, &p, stream_losses(s), err);
}

const struct command cmd_flame = {
	.name = "flame",
	.summary = "where the time of a window went: functions, processes, cores",
	.arguments = "",
	.description =
		"The profile of any window of a recording: by default tables of the top functions "
		"(self and total), processes and cores; as folded stacks, JSON and pictures with "
		"the options below. The window is --at T --for D, --from and --to, or the time "
		"before an event (--before EVENT-ID, with the key that `zscope events` shows, or "
		"an id such as net-driver-reset for the last of its kind).\n"
		"\n"
		"Idle time is not in it: an idle core is one that runs pid 0 in an idle function, "
		"so interrupt work on an idle core is. Lost samples and ticks that never came are "
		"named below every view: a busy core without ticks had its interrupts off, or the "
		"machine did not run.",
	.examples = "zscope flame --at 00:39:48 --for 5s --cpu 5\n"
		    "zscope flame --before net-driver-reset --for 5s --folded\n"
		    "zscope flame --from -1h --unit kubelet.service --top 40\n",
	.common = COMMON_JSON | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct flame_options),
	.run = flame_run,
};
