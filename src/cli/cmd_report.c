#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "report.h"
#include "whole_file.h"

struct report_cli {
	const char *output;
	struct option_number cpu;
};

static const struct option options[] = {
	OPTION(report_cli, output, "output", 'o', OPTION_TEXT, "FILE",
	       "where to write (default: zscope-report.html; - for stdout)"),
	OPTION(report_cli, cpu, "cpu", 0, OPTION_NUMBER, "N",
	       "whose flame graph (default: the hottest core of the incident)"),
};

static void report_json(struct api *api, const char *path, size_t bytes,
			const struct api_window *shown)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	api_begin(api, &j, &out, "report");
	json_str(&j, "file", path);
	json_u64(&j, "bytes", bytes);
	json_time(&j, "from", shown->from_ns);
	json_time(&j, "to", shown->to_ns);
	api_end(&j);
	fputs(buf_str(&out), stdout);
}

static int report_run(struct invocation *in, struct err *err)
{
	const struct report_cli *cli = in->options;
	const char *path = cli->output ? cli->output : "zscope-report.html";
	bool to_stdout = strcmp(path, "-") == 0;
	struct report_options o = { .by_cpu = cli->cpu.set, .cpu = (uint32_t)cli->cpu.value };
	AUTO_BUF struct buf out = { 0 };
	struct api_window shown;
	struct api *api = NULL;

	if (in->common.json && to_stdout)
		return err_set(err, -EINVAL,
			       "--json and the report itself cannot both go to stdout");
	int r = api_open_once(in->store, &api, err);
	if (r < 0)
		return r;
	/* --at names the moment in focus, --from and --to what is shown around it */
	if (in->common.from.set)
		o.from_ns = in->common.from.value;
	if (in->common.to.set)
		o.to_ns = in->common.to.value;
	if (in->common.at.set)
		o.at_ns = in->common.at.value;
	r = report_write(api, &o, &out, &shown, err);
	if (r >= 0 && to_stdout)
		fwrite(out.data, 1, out.len, stdout);
	else if (r >= 0)
		r = whole_file_write(path, 0600, &out, err);
	if (r >= 0 && in->common.json)
		report_json(api, path, out.len, &shown);
	else if (r >= 0 && !to_stdout)
		fprintf(stderr, "%s: %zu KiB\n", path, out.len / 1024);
	api_close(api);
	return r < 0 ? r : STATUS_OK;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "write one self-contained HTML file for the ticket",
	.arguments = "",
	.description =
		"Writes one HTML file that opens from disk without network: verdict, chain and "
		"evidence, resets, timeline, every core, heat map and flame graph of the incident, "
		"zombies, what was unknown. The data lies inside as inert JSON; at most 5 MB; it "
		"prints well.\n"
		"The incident is the last critical event of the window, else its hottest second; "
		"--at names another moment. --json says what was written: file, bytes, and from "
		"and to of the window that is shown.",
	.examples = "zscope report\nzscope report --at 03:12:07 -o incident.html\nzscope report "
		    "--from -30m --to now -o - | gzip > report.html.gz\n",
	.common = COMMON_JSON | COMMON_STORE | COMMON_WINDOW | COMMON_MOMENT,
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.options_size = sizeof(struct report_cli),
	.run = report_run,
};
