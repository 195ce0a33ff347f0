#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "lab.h"
#include "table.h"
#include "timefmt.h"
#include "unknowns.h"

enum { LAB_SIGNALLED = 128 }; /* exit status of what a signal ended, as shells have it */

struct lab_cli {
	struct option_number count, length, size, cpu, interval;
	const char *mode, *target;
	bool keep;
};

static const struct option options[] = {
	OPTION(lab_cli, count, "count", 'n', OPTION_NUMBER, "N",
	       "how many (zombies, restarts ...)"),
	OPTION(lab_cli, length, "for", 0, OPTION_DURATION, "DURATION",
	       "how long the incident lasts; then it is removed"),
	OPTION(lab_cli, size, "size", 0, OPTION_NUMBER, "BYTES", "bytes per thing"),
	OPTION(lab_cli, interval, "interval", 0, OPTION_DURATION, "DURATION", "time between two"),
	OPTION(lab_cli, cpu, "cpu", 0, OPTION_NUMBER, "N", "the core to hold (default: the last)"),
	OPTION(lab_cli, mode, "mode", 0, OPTION_TEXT, "MODE",
	       "the scenario's variant, see zscope lab list"),
	OPTION(lab_cli, target, "target", 0, OPTION_TEXT, "NAME",
	       "the unit, container or interface to use"),
	OPTION(lab_cli, keep, "keep", 0, OPTION_FLAG, NULL,
	       "return when the incident stands; lab clean, or the end of --for, removes it"),
};

static void lab_print(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "%s\n", line);
}

static void lab_json_start(struct json *j, struct buf *out, struct invocation *in)
{
	struct envelope envelope;

	envelope_read_live(&envelope);
	json_init(j, out);
	json_object(j, NULL);
	envelope_json(j, &envelope, "lab", in->now_ns);
}

static void lab_runs_json(struct json *j, const struct lab_runs *runs)
{
	json_array(j, "runs");
	vec_foreach (&runs->list, r) {
		json_object(j, NULL);
		json_str(j, "id", r->id);
		if (*r->scenario) {
			json_str(j, "scenario", r->scenario);
			json_time(j, "since", r->since_ns);
			json_time(j, "until", r->until_ns);
		}
		json_u64(j, "processes", r->processes);
		json_u64(j, "cgroups", r->cgroups);
		json_u64(j, "units", r->units);
		json_u64(j, "containers", r->containers);
		json_u64(j, "mounts", r->mounts);
		json_end_object(j);
	}
	json_end_array(j);
}

/* "3 processes, 1 cgroup": what is 0 is left out, unless nothing is there. */
static void lab_count(struct buf *out, unsigned n, const char *one, const char *many)
{
	if (n)
		buf_addf(out, "%s%u %s", out->len ? ", " : "", n, n == 1 ? one : many);
}

static void lab_print_runs(const struct invocation *in, const struct lab_runs *runs)
{
	static const char *const heads[] = { "RUN", "SCENARIO", "SINCE", "UNTIL", "WHAT IS THERE" };
	char since[TIMEFMT_MAX], until[TIMEFMT_MAX];
	AUTO_TABLE struct table t;

	table_init(&t, heads, "lllll", ARRAY_LEN(heads));
	vec_foreach (&runs->list, r) {
		AUTO_BUF struct buf there = { 0 };
		lab_count(&there, r->processes, "process", "processes");
		lab_count(&there, r->cgroups, "cgroup", "cgroups");
		lab_count(&there, r->units, "unit", "units");
		lab_count(&there, r->containers, "container", "containers");
		lab_count(&there, r->mounts, "mount", "mounts");
		table_cell(&t, TERM_BOLD, "%s", r->id);
		table_cell(&t, TERM_PLAIN, "%s", *r->scenario ? r->scenario : "?");
		table_cell(&t, TERM_PLAIN, "%s",
			   *r->scenario ? timefmt_local(since, r->since_ns) : "?");
		table_cell(&t, TERM_PLAIN, "%s",
			   *r->scenario ? timefmt_clock(until, r->until_ns) : "?");
		table_cell(&t, TERM_PLAIN, "%s", there.len ? buf_str(&there) : "its journal");
	}
	putchar('\n');
	table_print(&t, stdout, &in->out);
	puts("zscope lab clean RUN removes one of them, zscope lab clean all of them");
}

static void lab_list_json(struct invocation *in, const struct lab_scenario *const *all, size_t n,
			  const struct lab_runs *runs, const struct unknowns *unknown)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	lab_json_start(&j, &out, in);
	json_array(&j, "scenarios");
	for (size_t i = 0; i < n; i++) {
		json_object(&j, NULL);
		json_str(&j, "name", all[i]->name);
		json_str(&j, "summary", all[i]->summary);
		if (all[i]->modes)
			json_str(&j, "modes", all[i]->modes);
		json_u64(&j, "most_count", all[i]->most_count);
		json_u64(&j, "most_ns", all[i]->most_ns);
		json_end_object(&j);
	}
	json_end_array(&j);
	if (!unknown->list.len)
		lab_runs_json(&j, runs);
	unknowns_json(&j, unknown);
	json_end_object(&j);
	puts(buf_str(&out));
}

static int lab_list(struct invocation *in)
{
	static const char *const heads[] = { "SCENARIO", "MODES", "MOST", "WHAT" };
	AUTO_LAB_RUNS struct lab_runs runs = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct err why = { 0 };
	size_t n;
	const struct lab_scenario *const *all = lab_scenarios(&n);

	if (lab_runs_read(&runs, &why) < 0)
		unknowns_add(&unknown, "runs", "%s", why.text);
	if (in->common.json) {
		lab_list_json(in, all, n, &runs, &unknown);
		return STATUS_OK;
	}
	AUTO_TABLE struct table t;
	table_init(&t, heads, "llrl", ARRAY_LEN(heads));
	for (size_t i = 0; i < n; i++) {
		table_cell(&t, TERM_BOLD, "%s", all[i]->name);
		table_cell(&t, TERM_PLAIN, "%s", all[i]->modes ? all[i]->modes : "-");
		if (all[i]->most_count)
			table_cell(&t, TERM_PLAIN, "%llu", (unsigned long long)all[i]->most_count);
		else
			table_cell(&t, TERM_PLAIN, "-");
		table_cell(&t, TERM_PLAIN, "%s", all[i]->summary);
	}
	table_print(&t, stdout, &in->out);
	if (runs.list.len)
		lab_print_runs(in, &runs);
	if (unknown.list.len)
		printf("\nnot known: runs that stand: %s\n", why.text);
	return STATUS_OK;
}

/* 0 would silently become the scenario's default. */
static int lab_refuse_zero(const struct lab_cli *o, struct err *err)
{
	const struct {
		const char *name;
		const struct option_number *number;
	} all[] = { { "--count", &o->count },
		    { "--for", &o->length },
		    { "--size", &o->size },
		    { "--interval", &o->interval } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].number->set && !all[i].number->value)
			return err_set(err, -EINVAL, "%s must be more than 0", all[i].name);
	return 0;
}

static int lab_run_named(struct invocation *in, struct err *err)
{
	const struct lab_cli *o = in->options;
	AUTO_BUF struct buf out = { 0 };
	struct lab_options run = {
		.count = o->count.value,
		.length_ns = o->length.value,
		.size_bytes = o->size.value,
		.interval_ns = o->interval.value,
		.cpu = (unsigned)o->cpu.value,
		.cpu_set = o->cpu.set,
		.mode = o->mode,
		.target = o->target,
		.keep = o->keep,
	};
	char id[32];
	struct json j;

	if (in->n_args != 2)
		return err_set(err, -EINVAL, "lab run needs one scenario: see 'zscope lab list'");
	int r = lab_refuse_zero(o, err);
	if (r == 0)
		r = lab_start(in->args[1], &run, lab_print, NULL, id, err);
	if (r < 0)
		return r;
	int status = r ? LAB_SIGNALLED + r : STATUS_OK;
	if (!in->common.json) {
		if (r)
			printf("%s was ended by %s: everything is removed\n", id,
			       r == SIGINT    ? "SIGINT"
			       : r == SIGTERM ? "SIGTERM"
					      : "SIGHUP");
		else if (o->keep)
			printf("%s stands: zscope lab clean %s removes it\n", id, id);
		else
			printf("%s is over\n", id);
		return status;
	}
	lab_json_start(&j, &out, in);
	json_str(&j, "id", id);
	json_str(&j, "scenario", in->args[1]);
	json_bool(&j, "standing", o->keep && !r);
	if (r)
		json_i64(&j, "ended_by_signal", r);
	json_end_object(&j);
	puts(buf_str(&out));
	return status;
}

static int lab_clean_all(struct invocation *in, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct lab_cleaned cleaned = { 0 };
	struct json j;

	int r = lab_clean(in->n_args > 1 ? in->args[1] : NULL, &cleaned, err);
	if (r < 0)
		return r;
	if (!in->common.json) {
		AUTO_BUF struct buf what = { 0 };
		lab_count(&what, cleaned.processes, "process", "processes");
		lab_count(&what, cleaned.units, "unit", "units");
		lab_count(&what, cleaned.cgroups, "cgroup", "cgroups");
		lab_count(&what, cleaned.files, "file", "files");
		lab_count(&what, cleaned.mounts, "mount", "mounts");
		printf("%u %s removed%s%s\n", cleaned.runs, cleaned.runs == 1 ? "run" : "runs",
		       what.len ? ": " : "", buf_str(&what));
		return STATUS_OK;
	}
	lab_json_start(&j, &out, in);
	json_u64(&j, "runs", cleaned.runs);
	json_u64(&j, "processes", cleaned.processes);
	json_u64(&j, "units", cleaned.units);
	json_u64(&j, "cgroups", cleaned.cgroups);
	json_u64(&j, "files", cleaned.files);
	json_u64(&j, "mounts", cleaned.mounts);
	json_end_object(&j);
	puts(buf_str(&out));
	return STATUS_OK;
}

static int lab_main(struct invocation *in, struct err *err)
{
	const char *verb = in->n_args ? in->args[0] : "";

	size_t most = strcmp(verb, "list") == 0 ? 1 : 2;
	if (in->n_args > most)
		return err_set(err, -EINVAL, "unexpected argument '%s': see 'zscope lab --help'",
			       in->args[most]);
	if (strcmp(verb, "list") == 0)
		return lab_list(in);
	if (strcmp(verb, "run") == 0)
		return lab_run_named(in, err);
	if (strcmp(verb, "clean") == 0)
		return lab_clean_all(in, err);
	return err_set(err, -EINVAL, "lab takes run, clean or list: see 'zscope lab --help'");
}

const struct command cmd_lab = {
	.name = "lab",
	.summary = "make a real, bounded incident on a reserved host, and remove every trace of it",
	.arguments = "run SCENARIO | clean [ID] | list",
	.description = "Makes a real incident on this host, so that tests, demos and training "
		       "stand on real "
		       "kernel behaviour. Every run is bounded in count and time, works only below "
		       "its own "
		       "cgroup directory (zscope-lab-ID) and its own scratch directories, and "
		       "writes down what "
		       "it makes before it makes it.\n\n"
		       "Without --keep the command lasts as long as the incident and then removes "
		       "it. With "
		       "--keep it returns when the incident stands; zscope lab clean removes it, "
		       "or a dead-man "
		       "process does when --for is over. Ctrl-C, SIGTERM and SIGHUP end the "
		       "command and remove everything. lab clean also removes what a killed run "
		       "left behind: "
		       "processes (by pid and start time), units, containers, cgroups, files and "
		       "mounts. Without an ID it removes the runs of everybody on this host: "
		       "lab list shows those that stand, with their IDs, beside the scenarios.",
	.examples = "zscope lab run busy-core --mode sys --for 10s\n"
		    "zscope lab run zombies --count 1000 --mode mix --keep --for 10m\n"
		    "zscope lab list\n"
		    "zscope lab clean 4711-0a1b2c3d\n",
	.common = COMMON_JSON,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct lab_cli),
	.run = lab_main,
};
