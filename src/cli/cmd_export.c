#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "export_folded.h"
#include "import.h"

struct export_options {
	bool folded, pid, tid, kernel, jit, all, addrs;
	const char *event, *symbols;
	struct option_number anchor;
};

#define EXPORT_OPTION(member, name, type, argument, help) \
	OPTION(export_options, member, name, 0, type, argument, help)

static const struct option options[] = {
	EXPORT_OPTION(folded, "folded", OPTION_FLAG, NULL,
		      "folded stacks, as stackcollapse-perf.pl"),
	EXPORT_OPTION(pid, "pid", OPTION_FLAG, NULL,
		      "with --folded: the process id behind its name"),
	EXPORT_OPTION(tid, "tid", OPTION_FLAG, NULL, "with --folded: process and thread id"),
	EXPORT_OPTION(kernel, "kernel", OPTION_FLAG, NULL,
		      "with --folded: mark kernel functions with _[k]"),
	EXPORT_OPTION(jit, "jit", OPTION_FLAG, NULL, "with --folded: mark JIT functions with _[j]"),
	EXPORT_OPTION(all, "all", OPTION_FLAG, NULL, "with --folded: --kernel and --jit"),
	EXPORT_OPTION(addrs, "addrs", OPTION_FLAG, NULL,
		      "with --folded: addresses of functions without a name"),
	EXPORT_OPTION(event, "event", OPTION_TEXT, "NAME",
		      "only this event; the first one by default"),
	EXPORT_OPTION(symbols, "symbols", OPTION_TEXT, "DIR",
		      "look for ELF files by base name there, too"),
	EXPORT_OPTION(anchor, "anchor", OPTION_TIME, "TIME", "wall time of the first sample"),
};

static int export_run(struct invocation *in, struct err *err)
{
	const struct export_options *o = in->options;
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_BUF struct buf out = { 0 };
	struct import_info info;

	if (in->n_args != 1)
		return err_set(err, -EINVAL, "export takes one FILE");
	int r = root_open(in->common.root, &root, err);
	if (r < 0)
		return r;
	if (profile_init(&p) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	struct import_options io = { .root = &root,
				     .symbols = o->symbols,
				     .have_anchor = o->anchor.set,
				     .anchor_ns = o->anchor.value };
	r = import_path(in->args[0], &io, NULL, NULL, &p, &info, err);
	if (r < 0)
		return r;
	struct folded_options fo = { .pid = o->pid,
				     .tid = o->tid,
				     .kernel = o->kernel || o->all,
				     .jit = o->jit || o->all,
				     .addrs = o->addrs,
				     .event = o->event };
	export_folded(&out, &p, &fo);
	fwrite(buf_str(&out), 1, out.len, stdout);
	return STATUS_OK;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "a profile in the formats of other tools",
	.arguments = "[FILE]",
	.description = "Writes.",
	.examples = "zscope export --folded perf.data\n",
	.common = COMMON_ROOT,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct export_options),
	.run = export_run,
};
