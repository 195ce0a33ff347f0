#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "offer.h"
#include "root.h"
#include "view_zombies.h"
#include "zombies.h"

enum { ZOMBIES_FLUSH_BYTES = 1 << 16, ZOMBIES_FILES = 20, ZOMBIES_FILES_JSON = 1000 };

struct zombies_cli {
	bool list, pins;
	const char *below;
};

static const struct option options[] = {
	OPTION(zombies_cli, list, "list", 'l', OPTION_FLAG, NULL, "name every zombie"),
	OPTION(zombies_cli, pins, "pins", 'p', OPTION_FLAG, NULL,
	       "find what holds them: files, tmpfs, processes, namespaces, swap"),
	OPTION(zombies_cli, below, "below", 0, OPTION_TEXT, "PATH",
	       "only zombies below this cgroup (path as in /proc/PID/cgroup)"),
};

/* Zombies are printed as they are found: nothing grows with their number. */
struct printing {
	const struct zombies_cli *options;
	bool json;
	struct buf out;
	struct json j;
};

static int print_zombie(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct printing *p = arg;

	if (!p->json) {
		view_zombie_text(stdout, z, files);
		return 0;
	}
	view_zombie_json(&p->j, z, files);
	if (p->out.len > ZOMBIES_FLUSH_BYTES) {
		fwrite(p->out.data, 1, p->out.len, stdout);
		buf_clear(&p->out);
	}
	return 0;
}

static void print_unknown(const struct unknowns *unknowns)
{
	vec_foreach (&unknowns->list, u)
		fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
}

static int status_of(const struct census_summary *s)
{
	return s->have & CENSUS_DYING ? STATUS_OK : STATUS_UNKNOWN;
}

static int zombies_run(struct invocation *in, struct err *err)
{
	const struct zombies_cli *o = in->options;
	AUTO_ROOT struct root root;
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	struct printing p = { .options = o, .json = in->common.json };
	struct zombies_options want = { .below = o->below, .arg = &p };
	struct census_totals totals;
	struct envelope envelope;
	struct offer offer;

	int r = root_open(in->common.root, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	envelope_read(&root, &envelope);
	want.want = o->pins ? CENSUS_WANT_PINS : o->list ? CENSUS_WANT_SPLIT : 0;
	want.each = o->list ? print_zombie : NULL;
	if (p.json) {
		json_init(&p.j, &p.out);
		json_object(&p.j, NULL);
		envelope_json(&p.j, &envelope, "zombies", in->now_ns);
		if (o->list)
			json_array(&p.j, "zombies");
	}
	r = zombies_read(&root, &offer, &want, &files, &summary, &totals, &unknowns, err);
	if (r < 0) {
		buf_free(&p.out);
		return r;
	}
	struct view_zombies view = {
		.offer = &offer,
		.summary = &summary,
		.totals = &totals,
		.files = o->pins && summary.method == CENSUS_BY_BPF ? &files : NULL,
		.most_files = p.json ? ZOMBIES_FILES_JSON : ZOMBIES_FILES,
	};
	if (!p.json) {
		if (o->list && summary.dying)
			putchar('\n');
		view_zombies_text(stdout, &in->out, &view);
		print_unknown(&unknowns);
		return status_of(&summary);
	}
	if (o->list)
		json_end_array(&p.j);
	if (o->below)
		json_str(&p.j, "below", o->below);
	view_zombies_json(&p.j, &view);
	unknowns_json(&p.j, &unknowns);
	json_end_object(&p.j);
	puts(buf_str(&p.out));
	buf_free(&p.out);
	return status_of(&summary);
}

const struct command cmd_zombies = {
	.name = "zombies",
	.summary = "zombie memory cgroups: how many, which, whose, what holds each",
	.arguments = "",
	.description =
		"A zombie is a memory cgroup that was removed but that the kernel still holds, "
		"because "
		"something refers to it: page cache of a file, tmpfs, swap, a process that nobody "
		"reaped. "
		"This command walks the kernel's own list with a BPF program, in slices of about a "
		"millisecond, and names every one of them, its owner and what holds it.\n\n"
		"Without BPF (no privilege, no BTF, lockdown) it falls back to the kernel's "
		"counters "
		"(cgroup.stat, /proc/cgroups and the directories) and says what it cannot tell.",
	.examples = "zscope zombies\n"
		    "zscope zombies --list --pins --below /docker\n"
		    "zscope zombies --json\n",
	.common = COMMON_JSON | COMMON_ROOT,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct zombies_cli),
	.run = zombies_run,
};
