#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "offer.h"
#include "purge.h"
#include "root.h"
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
	       "allow reclaim at the root of the hierarchy: evicts everybody's cache"),
	OPTION(purge_cli, restore, "restore", 0, OPTION_FLAG, NULL,
	       "only put back protections that a killed purge left behind"),
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

static int purge_main(struct invocation *in, struct err *err)
{
	const struct purge_cli *cli = in->options;
	AUTO_ROOT struct root root;
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO(purge_result_free) struct purge_result result = { 0 };
	struct purge_options o = {
		.below = cli->below,
		.method = cli->method && strcmp(cli->method, "reclaim") == 0 ? PURGE_RECLAIM
									     : PURGE_FILES,
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
			printf("%u protections put back\n", restored);
		return r;
	}
	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	const char *below = cli->below ? cli->below + strspn(cli->below, "/") : "";
	if (o.method == PURGE_RECLAIM && !*below && !o.whole_host)
		return err_set(
			err, -EPERM,
			"reclaim works below a named cgroup: give --below PATH (or --whole-host)");
	r = purge_run(&root, &offer, &o, &result, &unknowns, err);
	return r < 0 ? r : purge_print(in, &root, &o, &result, &unknowns);
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
		"The root's force_empty and drop_caches are never used unless --whole-host is "
		"given.",
	.examples = "zscope purge\n"
		    "zscope purge --below /docker --apply\n"
		    "zscope purge --method reclaim --below /system.slice --apply\n",
	.common = COMMON_JSON,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct purge_cli),
	.run = purge_main,
};
