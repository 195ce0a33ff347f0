#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "episode.h"
#include "events_log.h"
#include "view_events.h"

struct events_cli {
	const char *log, *check_patterns, *patterns, *source, *id, *severity, *event;
	bool follow, histogram, lines;
};

static const struct option options[] = {
	OPTION(events_cli, log, "log", 0, OPTION_TEXT, "FILE",
	       "read a log file instead of the recording: raw kmsg, dmesg, journalctl -k, syslog; "
	       "also .gz and .zst; - = standard input"),
	OPTION(events_cli, source, "source", 's', OPTION_TEXT,
	       "kmsg|unit|container|cgroup|net|lab|note|self", "only events of this source"),
	OPTION(events_cli, id, "id", 'i', OPTION_TEXT, "ID",
	       "only events with this id; * and ? stand for any letters"),
	OPTION(events_cli, severity, "severity", 0, OPTION_TEXT, "info|warn|crit",
	       "only events as severe as this or more"),
	OPTION(events_cli, event, "event", 'e', OPTION_TEXT, "KEY", "only the event with this key"),
	OPTION(events_cli, follow, "follow", 'f', OPTION_FLAG, NULL,
	       "go on as new events come: from the recording, or from /dev/kmsg when nothing "
	       "records"),
	OPTION(events_cli, histogram, "histogram", 0, OPTION_FLAG, NULL, "events per hour"),
	OPTION(events_cli, lines, "lines", 0, OPTION_FLAG, NULL,
	       "instead of events: with --log the matching lines as they stand there, of a "
	       "recording every kernel line in it"),
	OPTION(events_cli, patterns, "patterns", 0, OPTION_TEXT, "FILE",
	       "more rows for the table of known kernel lines"),
	OPTION(events_cli, check_patterns, "check-patterns", 0, OPTION_TEXT, "FILE",
	       "check such a file row by row and do nothing else"),
};

static int events_run(struct invocation *in, struct err *err)
{
	const struct events_cli *cli = in->options;
	struct events_request request = {
		.in = in,
		.follow = cli->follow,
		.histogram = cli->histogram,
		.lines = cli->lines,
		.patterns_file = cli->patterns,
		.filter = { .source = cli->source, .id = cli->id, .key = cli->event },
	};

	if (in->n_args)
		return err_set(err, -EINVAL,
			       "events takes no arguments; a log file goes behind --log");
	if (cli->check_patterns)
		return events_check_patterns(cli->check_patterns, in, err);
	if (cli->severity) {
		request.filter.have_severity = true;
		request.filter.least = strcmp(cli->severity, "crit") == 0   ? EVENT_CRIT
				       : strcmp(cli->severity, "warn") == 0 ? EVENT_WARN
									    : EVENT_INFO;
	}
	if (cli->log)
		return events_from_log(&request, cli->log, err);
	return events_from_store(&request, err);
}

const struct command cmd_events = {
	.name = "events",
	.summary = "the timeline: kernel log, driver resets, units, containers, cgroups, notes",
	.arguments = "",
	.description =
		"Shows what happened, one line per event: a network driver that prints a thousand "
		"lines for one reset gives one event with its queue, cause, length and driver "
		"version. With a recording around it, a reset also tells the queue's interrupt, "
		"the "
		"core it was on, what that core did and which task held it, and ends with the "
		"commands that show those seconds.\n\n"
		"Only lines of facility 0, read from /dev/kmsg or the journal's JSON, are the "
		"kernel's word (\"trusted\"); everything else could have been written by anybody. "
		"Lines that the lab injected are labelled.\n\n"
		"Without a recording the kernel's ring buffer is read instead.",
	.examples = "zscope events --severity warn\n"
		    "zscope events --id net-driver-reset --from -1h --json\n"
		    "zscope events --log /var/log/kern.log.2.gz\n"
		    "journalctl -k -o json | zscope events --log -\n"
		    "zscope events --lines --from 03:00 --to 03:10\n"
		    "zscope events --check-patterns my-lines.tsv\n",
	.common = COMMON_JSON | COMMON_STORE | COMMON_WINDOW | COMMON_ROOT,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct events_cli),
	.run = events_run,
};
