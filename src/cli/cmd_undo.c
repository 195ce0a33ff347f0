#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "manager.h"
#include "undo.h"

struct undo_options {
	const char *state;
};

static const struct option options[] = {
	OPTION(undo_options, state, "state", 0, OPTION_TEXT, "DIR",
	       "where the undo journal is kept (default " STATE_DEFAULT ")"),
};

/* A unit that looped was "active" only in the sense that it ran: it is started once and left to
 * itself. */
static int undo_restart(void *arg, const char *unit, struct err *err)
{
	struct manager *m = arg;

	if (!m)
		return err_set(err, -ENOENT, "%s cannot be started: pid 1 is not systemd here",
			       unit);
	int r = manager_reload(m, err);
	if (r == 0)
		r = manager_start(m, unit, err);
	/* a unit whose file somebody removed since cannot run, and need not */
	return r == -ENOENT ? 0 : r;
}

static void undo_print(const struct invocation *in, const struct root *root, const char *journal,
		       const struct undo_report *report)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	if (!in->common.json) {
		printf("taken back: %u steps%s\n", report->reversed,
		       report->skipped ? "; some had not been done, or somebody changed them since"
				       : "");
		return;
	}
	envelope_read(root, &envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "undo", in->now_ns);
	json_str(&j, "journal", journal);
	json_u64(&j, "taken_back", report->reversed);
	json_u64(&j, "left", report->skipped);
	json_end_object(&j);
	puts(buf_str(&out));
}

static int undo_run(struct invocation *in, struct err *err)
{
	const struct undo_options *o = in->options;
	AUTO_UNDO struct undo u = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_MANAGER struct manager *m = NULL;
	struct undo_report report;
	char name[64];

	int r = root_open(NULL, &root, err);
	if (r == 0)
		r = undo_open(o->state ? o->state : STATE_DEFAULT, &u, err);
	if (r == 0)
		r = undo_newest(&u, name, err);
	if (r < 0)
		return r;
	if (manager_open(&m, NULL) < 0)
		m = NULL;
	r = undo_reverse(&u, &root, name, undo_restart, m, &report, err);
	if (r < 0)
		return r;
	if (m)
		r = manager_reload(m, err);
	undo_print(in, &root, name, &report);
	return r < 0 ? r : STATUS_OK;
}

const struct command cmd_undo = {
	.name = "undo",
	.summary = "take back the last fix, exactly",
	.arguments = "",
	.description = "Reverses the newest journal that was not undone, step by step, last first: "
		       "links and files that the fix made "
		       "are removed, files that it moved come back, units that it stopped are "
		       "started. Works after a fix that "
		       "was interrupted at any point.",
	.examples = "zscope undo\n",
	.common = COMMON_JSON,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct undo_options),
	.run = undo_run,
};
