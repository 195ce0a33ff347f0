#include <errno.h>
#include <stdio.h>

#include "api.h"
#include "commands.h"
#include "metrics.h"
#include "whole_file.h"

struct metrics_cli {
	const char *textfile;
	bool openmetrics;
};

static const struct option options[] = {
	OPTION(metrics_cli, textfile, "textfile", 0, OPTION_TEXT, "FILE",
	       "write to FILE in one step, as node_exporter's textfile collector wants it"),
	OPTION(metrics_cli, openmetrics, "openmetrics", 0, OPTION_FLAG, NULL,
	       "OpenMetrics instead of the Prometheus text format"),
};

static void metrics_print_json(struct api *api)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	api_begin(api, &j, &out, "metrics");
	api_metrics_json(api, &j);
	api_end(&j);
	fputs(buf_str(&out), stdout);
}

static int metrics_print(struct api *api, const struct metrics_cli *cli, struct err *err)
{
	struct http_request request = { .accept = cli->openmetrics ? "application/openmetrics-text"
								   : NULL };
	struct http_answer answer = { 0 };
	int r = api_metrics(api, &request, &answer, err);

	if (r >= 0 && cli->textfile)
		r = whole_file_write(cli->textfile, 0644, &answer.body, err);
	else if (r >= 0)
		fputs(buf_str(&answer.body), stdout);
	buf_free(&answer.body);
	return r;
}

static int metrics_run(struct invocation *in, struct err *err)
{
	const struct metrics_cli *cli = in->options;
	struct api *api = NULL;

	if (in->common.json && (cli->textfile || cli->openmetrics))
		return err_set(err, -EINVAL, "--json and %s exclude each other",
			       cli->textfile ? "--textfile" : "--openmetrics");
	int r = api_open_once(in->store, &api, err);
	if (r < 0)
		return r;
	if (in->common.json)
		metrics_print_json(api);
	else
		r = metrics_print(api, cli, err);
	api_close(api);
	return r < 0 ? r : STATUS_OK;
}

const struct command cmd_metrics = {
	.name = "metrics",
	.summary = "print a recording's numbers for Prometheus",
	.arguments = "",
	.description =
		"Prints what zscope serve gives at /metrics: memory cgroups, saturated seconds of "
		"every core (counters, integrated at 1 Hz by the recorder), resets, restarts, "
		"reclaim, pressure and the recorder's own health. Reads the recording only; "
		"nothing "
		"of the host is looked at. With --textfile it replaces FILE in one step, for "
		"node_exporter's textfile collector. With --json the same numbers are the list "
		"metrics, each with name, type, help, labels and value; what is unknown is "
		"absent.",
	.examples = "zscope metrics\nzscope metrics --textfile "
		    "/var/lib/prometheus/node-exporter/zscope.prom\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.options_size = sizeof(struct metrics_cli),
	.run = metrics_run,
};
