#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "audit_read.h"
#include "commands.h"
#include "view_audit.h"

struct audit_options {
	const char *shape;
	const char *format;
	const char *knowledge;
	bool all;
};

static const struct option audit_option_table[] = {
	OPTION(audit_options, shape, "shape", 's', OPTION_TEXT, "auto|k8s|ecs|nomad|batch|raw",
	       "what kind of host it is (default: told by evidence)"),
	OPTION(audit_options, format, "format", 'f', OPTION_TEXT, "text|json|junit|sarif",
	       "how to print (default: text)"),
	OPTION(audit_options, knowledge, "knowledge", 'k', OPTION_TEXT, "FILE",
	       "rows to add in front of the built-in knowledge base"),
	OPTION(audit_options, all, "all", 'a', OPTION_FLAG, NULL,
	       "list units without a finding too"),
};

static int audit_print(const struct invocation *in, const struct root *root, const struct audit *a,
		       struct unknowns *unknowns, const char *format)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	json_init(&j, &out);
	envelope_read(root, &envelope);
	if (strcmp(format, "json") == 0)
		envelope_unknowns(&envelope, unknowns);
	if (strcmp(format, "json") == 0)
		view_audit_json(&j, a, unknowns, &envelope, in->now_ns);
	else if (strcmp(format, "sarif") == 0)
		view_audit_sarif(&j, a, unknowns);
	else if (strcmp(format, "junit") == 0)
		view_audit_junit(&out, a, unknowns, root->live ? envelope.host : root->path);
	else
		view_audit_text(stdout, a, unknowns, &in->out);
	fputs(buf_str(&out), stdout);
	if (out.len && out.data[out.len - 1] != '\n')
		putchar('\n');
	return fflush(stdout) == 0 && !out.failed ? 0 : -EIO;
}

static int audit_command(struct invocation *in, struct err *err)
{
	const struct audit_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_AUDIT_READ struct audit_read read = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };
	enum host_shape shape = SHAPE_UNKNOWN;

	int r = command_root(in, &root, err);
	if (r < 0)
		return r;
	if (o->shape && strcmp(o->shape, "auto") != 0)
		(void)host_shape_parse(o->shape, &shape);
	r = audit_read_all(&root, o->knowledge, &read, err);
	if (r < 0)
		return r;
	struct audit_input input =
		audit_read_input(&read, read.captured_ns ? read.captured_ns : in->now_ns);
	input.forced = shape;
	input.captured = read.booted && !root.live;
	input.all = o->all;
	r = audit_run(&input, &audit, err);
	if (r < 0)
		return r;
	audit.machine_id = read.tree ? machine_id_state_name(read.tree->machine_id) : NULL;
	audit_read_zombies(&root, &audit, in->now_ns);
	r = audit_print(in, &root, &audit, &read.set.unknowns,
			in->common.json ? "json"
			: o->format     ? o->format
					: "text");
	if (r < 0)
		return err_set(err, r, "cannot print");
	if (audit_has_finding(&audit))
		return STATUS_FINDING;
	return read.partial ? STATUS_UNKNOWN : STATUS_OK;
}

const struct command cmd_audit = {
	.name = "audit",
	.summary = "which units crash-loop, failed, or do not belong on this kind of host",
	.arguments = "",
	.description = "Lists units that restart again and again (also those that recreate a "
		       "container inside "
		       "one activation and look healthy to systemctl), units that failed, and "
		       "units that do not "
		       "belong on this kind of host, each with its evidence, what every restart "
		       "leaks, the safe "
		       "action and the line to bake into an image.\n"
		       "With --root DIR it reads an image that is not booted (mounted disk, "
		       "container root file "
		       "system, debootstrap tree): what will be enabled and started at first boot, "
		       "and why. "
		       "Nothing outside DIR is read. What 'zscope capture' wrote is a host, as "
		       "it ran then.\n"
		       "Exit status 0: nothing found; 1: a finding; 2: could not tell. It serves "
		       "as a gate in an "
		       "image pipeline with --format junit or sarif.",
	.examples = "zscope audit\n"
		    "zscope audit --shape k8s --root /mnt/image --format junit\n"
		    "zscope audit --all --json\n",
	.common = COMMON_JSON | COMMON_ROOT,
	.options = audit_option_table,
	.n_options = sizeof(audit_option_table) / sizeof(audit_option_table[0]),
	.options_size = sizeof(struct audit_options),
	.run = audit_command,
};
