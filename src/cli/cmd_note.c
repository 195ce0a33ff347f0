#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "note_spool.h"
#include "timefmt.h"

struct note_cli {
	struct option_number at;
};

static const struct option options[] = {
	OPTION(note_cli, at, "at", 0, OPTION_TIME, "TIME", "when it happened (default: now)"),
};

enum { NOTE_TEXT_MAX = 4000 };

static void note_json(const char *store, const struct rec_event *note)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	envelope_read_live(&envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "note", note->time_ns);
	json_str(&j, "text", note->text);
	json_str(&j, "user", note->fields[0].value);
	json_str(&j, "store", store);
	json_end_object(&j);
	puts(buf_str(&out));
}

static int note_run(struct invocation *in, struct err *err)
{
	const struct note_cli *cli = in->options;
	AUTO_BUF struct buf text = { 0 };
	char uid[24];

	for (size_t i = 0; i < in->n_args; i++)
		buf_addf(&text, "%s%s", i ? " " : "", in->args[i]);
	if (!text.len)
		return err_set(err, -EINVAL, "say what to note: zscope note \"deployed 1.2.3\"");
	if (text.len > NOTE_TEXT_MAX)
		return err_set(err, -E2BIG, "a note has at most %d bytes", NOTE_TEXT_MAX);
	snprintf(uid, sizeof(uid), "%u", getuid());
	const struct passwd *user = getpwuid(getuid());
	struct rec_event_field fields[] = { { "user", user ? user->pw_name : uid } };
	uint64_t time_ns = cli->at.set ? cli->at.value : in->now_ns;
	struct rec_event event = {
		.time_ns = time_ns,
		.end_ns = time_ns,
		.source = EVENT_NOTE,
		.severity = EVENT_INFO,
		.count = 1,
		.id = "note",
		.text = buf_str(&text),
		.fields = fields,
		.n_fields = ARRAY_LEN(fields),
	};
	int r = note_spool_put(in->store, &event, err);
	if (r < 0)
		return r;
	if (in->common.json)
		note_json(in->store, &event);
	return STATUS_OK;
}

const struct command cmd_note = {
	.name = "note",
	.summary = "put a remark into the timeline",
	.arguments = "TEXT...",
	.description = "Adds a remark to the recording, so that what people did stands beside what "
		       "the host did: a deployment, a reboot of a switch, the moment a user "
		       "complained. It is shown by zscope events at once; a running recorder takes "
		       "it into the recording within a second. --json prints the note as it was "
		       "stored.",
	.examples = "zscope note \"moved irqs off core 5\"\n"
		    "zscope note --at -10m \"first complaint\"\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct note_cli),
	.run = note_run,
};
