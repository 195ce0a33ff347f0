#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "note_spool.h"
#include "offer.h"
#include "purge.h"
#include "root.h"
#include "timefmt.h"
#include "view_purge.h"

enum { PURGE_BAR = 30 };

struct purge_cli {
	const char *below, *method;
	bool apply, whole_host, restore;
};

static const struct option options[] = {
	OPTION(purge_cli, below, "below", 0, OPTION_TEXT, "PATH",
	       "only zombies below this cgroup (path as in /proc/PID/cgroup)"),
	OPTION(purge_cli, method, "method", 0, OPTION_TEXT, "files|reclaim",
	       "files (default): drop only the pages that zombies hold; reclaim: let the kernel "
	       "reclaim "
	       "below --below PATH"),
	OPTION(purge_cli, apply, "apply", 0, OPTION_FLAG, NULL,
	       "do it; without this it is a dry run"),
	OPTION(purge_cli, whole_host, "whole-host", 0, OPTION_FLAG, NULL,
	       "reclaim at the root of the hierarchy (v2: memory.reclaim; v1, or without that: "
	       "drop_caches, which evicts everybody's cache)"),
	OPTION(purge_cli, restore, "restore", 0, OPTION_FLAG, NULL,
	       "only put back what a killed purge left behind: protections, a cgroup of its own"),
};

static void bar(void *arg, const char *what, double done)
{
	const struct terminal *diag = arg;
	int full = (int)(done * PURGE_BAR);

	if (!diag->tty)
		return;
	fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%%s", what, full, "##############################",
		PURGE_BAR - full, "", done * 100, done >= 1 ? "\n" : "");
}

static int purge_print(struct invocation *in, const struct root *root,
		       const struct purge_options *o, const struct purge_result *result,
		       const struct unknowns *unknowns)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	if (!in->common.json) {
		view_purge_text(stdout, &in->out, o, result);
		vec_foreach (&unknowns->list, u)
			fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
		return STATUS_OK;
	}
	envelope_read(root, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "purge", in->now_ns);
	view_purge_json(&j, o, result);
	unknowns_json(&j, unknowns);
	json_end_object(&j);
	puts(buf_str(&out));
	return STATUS_OK;
}

/* A recording of this host shows it beside what it did; zscope_purges_total counts it. */
static void purge_note(struct invocation *in, const struct purge_options *o,
		       const struct purge_result *result)
{
	const char *store = in->store;
	uint64_t released =
		result->before.dying - MIN_OF(result->before.dying, result->after.dying);
	char number[24], text[200];
	struct rec_event_field fields[] = { { "released", number },
					    { "method", purge_method_name(o->method) },
					    { "below", o->below ? o->below : "/" } };
	struct rec_event event = {
		.time_ns = clock_real_ns(),
		.source = EVENT_CGROUP,
		.count = 1,
		.id = "purge",
		.text = text,
		.fields = fields,
		.n_fields = ARRAY_LEN(fields),
	};
	struct err err = { 0 };

	if (!result->applied || access(store, W_OK) < 0)
		return;
	event.end_ns = event.time_ns;
	snprintf(number, sizeof(number), "%" PRIu64, released);
	snprintf(text, sizeof(text), "zscope purge released %s zombie memory cgroups", number);
	if (note_spool_put(store, &event, &err) < 0)
		fprintf(stderr, "zscope: the recording does not show it: %s\n", err.text);
}

/* Reclaim of the whole host is a method by itself: --whole-host asks for it. */
static int purge_choose(const struct purge_cli *cli, enum purge_method *ret, struct err *err)
{
	bool reclaim = cli->method ? strcmp(cli->method, "reclaim") == 0 : cli->whole_host;

	if (!reclaim && cli->whole_host)
		return err_set(err, -EINVAL, "--whole-host goes with --method reclaim");
	*ret = reclaim ? PURGE_RECLAIM : PURGE_FILES;
	return 0;
}

static int purge_main(struct invocation *in, struct err *err)
{
	const struct purge_cli *cli = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO(purge_result_free) struct purge_result result = { 0 };
	struct purge_options o = {
		.below = cli->below,
		.apply = cli->apply,
		.whole_host = cli->whole_host,
		.progress = bar,
		.arg = &in->diag,
	};
	struct offer offer;
	unsigned restored;

	if (cli->restore) {
		int r = purge_restore(&restored, err);
		if (r == 0)
			printf("%u %s that a killed purge left %s put back\n", restored,
			       restored == 1 ? "thing" : "things", restored == 1 ? "was" : "were");
		return r;
	}
	int r = purge_choose(cli, &o.method, err);
	if (r == 0)
		r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	r = purge_run(&root, &offer, &o, &result, &unknowns, err);
	if (r < 0)
		return r;
	purge_note(in, &o, &result);
	return purge_print(in, &root, &o, &result, &unknowns);
}

const struct command cmd_purge = {
	.name = "purge",
	.summary = "let zombies go without a reboot, without harming anybody else's cache",
	.arguments = "",
	.description =
		"Finds what holds each zombie and frees those that can be freed. The method "
		"'files' writes "
		"back and drops exactly the pages that are charged to zombies, nothing else, until "
		"nothing more goes. The method 'reclaim' lets the kernel reclaim below one named "
		"cgroup: "
		"memory.force_empty on cgroup v1, memory.reclaim on v2, where live children are "
		"protected "
		"by memory.min meanwhile (written down first and put back, also after a crash).\n\n"
		"What cannot be freed is not tried, but named with what would free it: a tmpfs "
		"file or "
		"its holder, an unreaped process and its parent, the holder of a cgroup namespace. "
		"Zombies that only writeback holds (cgroup v2) go when their files are on the disk "
		"and a memory cgroup is removed: their file systems are synced, and an empty "
		"cgroup zscope-purge-PID comes and goes.\n\n"
		"Neither memory.reclaim of the root nor drop_caches is used unless --whole-host "
		"is given; the plan names the file that is written.\n\n"
		"What was applied is noted in the recording of --store, where there is one.",
	.examples = "zscope purge\n"
		    "zscope purge --below /docker --apply\n"
		    "zscope purge --method reclaim --below /system.slice --apply\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct purge_cli),
	.run = purge_main,
};
