#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "esc.h"
#include "import.h"
#include "import_batch.h"
#include "timefmt.h"
#include "view_import.h"

struct import_command_options {
	struct option_number anchor;
	const char *symbols;
	bool no_symbols;
};

static const struct option options[] = {
	OPTION(import_command_options, anchor, "anchor", 0, OPTION_TIME, "TIME",
	       "wall time of the first sample, for files that do not know it"),
	OPTION(import_command_options, symbols, "symbols", 0, OPTION_TEXT, "DIR",
	       "look for ELF files by base name there, too"),
	OPTION(import_command_options, no_symbols, "no-symbols", 0, OPTION_FLAG, NULL,
	       "read no symbol files: frames are module and offset"),
};

struct import_progress {
	const struct terminal *terminal;
	const char *name;
	size_t file, files;
	uint64_t last_ns;
};

static void import_show_progress(void *arg, const char *name, size_t file, size_t files,
				 uint64_t done, uint64_t total)
{
	const struct terminal *terminal = arg;
	static uint64_t last_ns; /* drawn at most ten times a second */
	uint64_t now = clock_mono_ns();

	if (!terminal->tty || now - last_ns < 100 * NS_PER_MS)
		return;
	last_ns = now;
	view_import_progress(stderr, terminal, name, file, files, done, total);
}

static int import_run(struct invocation *in, struct err *err)
{
	const struct import_command_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_IMPORT_BATCH struct import_batch batch = { 0 };

	if (in->n_args == 0)
		return err_set(err, -EINVAL, "import needs at least one FILE or DIR");
	if (!in->common.store)
		return err_set(err, -EINVAL,
			       "import needs --store DIR: the recording to make or to add to");
	int r = command_root(in, &root, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < in->n_args; i++) {
		r = import_batch_add(&batch, in->args[i], err);
		if (r < 0)
			return r;
	}
	struct import_options io = { .root = o->no_symbols ? NULL : &root,
				     .symbols = o->symbols,
				     .have_anchor = o->anchor.set,
				     .anchor_ns = o->anchor.value };
	batch.progress = import_show_progress;
	batch.progress_arg = &in->diag;
	r = import_batch_run(&batch, &io, in->common.store, err);
	view_import_progress_end(stderr, &in->diag);
	if (r < 0)
		return r;
	struct envelope envelope;
	envelope_read(&root, &envelope);
	if (in->common.json)
		view_import_json(stdout, &batch, &envelope, in->common.store, in->now_ns);
	else
		view_import_text(stdout, &batch, in->common.store);
	for (size_t i = 0; i < batch.files.len; i++)
		if (batch.files.items[i].failed)
			return STATUS_UNKNOWN;
	return STATUS_OK;
}

const struct command cmd_import = {
	.name = "import",
	.summary = "perf.data and perf script files into a recording",
	.arguments = "FILE|DIR...",
	.description =
		"Reads what perf has recorded and writes it into a recording on which "
		"flame, heat, diff and the web "
		"page work.\n\n"
		"FILE is a perf.data file (also one of a pipe, of another host, of a newer "
		"perf, zstd-compressed, or "
		"cut), or the text of perf script, also packed with gzip or zstd; - is "
		"standard input. DIR is a "
		"directory of such files, as a shell loop around perf record leaves it, or the "
		"one directory that perf record --threads writes.\n\n"
		"Wall time comes from the file (perf record -k), from its name "
		"(perf-HOST-20261116-003953-120s.data, or seconds since the epoch), or from "
		"--anchor. Without any of "
		"them times are relative to the host's start, and import says so: the "
		"file's change time is never "
		"used.\n\n"
		"Names of functions are read from ELF files whose build id is the recorded "
		"one, and from this host's "
		"kernel when it is the same; all else stays module and offset.",
	.examples =
		"zscope import --store incident perf-host1-20261116-003953-120s.data\n"
		"zscope import --store incident /var/tmp/perf-files/\n"
		"perf script | zscope import --store incident --anchor '2026-11-16 00:39:53' -\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct import_command_options),
	.run = import_run,
};
