#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "census_history.h"
#include "churn.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "offer.h"
#include "root.h"
#include "timefmt.h"
#include "view_churn.h"
#include "view_zombies.h"
#include "zombie_cost.h"
#include "zombies.h"

enum { ZOMBIES_FLUSH_BYTES = 1 << 16, ZOMBIES_FILES = 20, ZOMBIES_FILES_JSON = 1000 };
#define ZOMBIES_HISTORY_S UINT64_C(86400)

struct zombies_cli {
	bool list, pins;
	const char *below;
	struct option_number watch;
};

static const struct option options[] = {
	OPTION(zombies_cli, list, "list", 'l', OPTION_FLAG, NULL, "name every zombie"),
	OPTION(zombies_cli, pins, "pins", 'p', OPTION_FLAG, NULL,
	       "find what holds them: files, tmpfs, processes, namespaces, swap"),
	OPTION(zombies_cli, watch, "watch", 0, OPTION_DURATION, "DURATION",
	       "first watch for this long who makes and removes memory cgroups"),
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

static void print_start(struct printing *p, struct invocation *in, const struct envelope *envelope)
{
	if (!p->json)
		return;
	json_init(&p->j, &p->out);
	json_object(&p->j, NULL);
	envelope_json(&p->j, envelope, "zombies", in->now_ns);
	if (p->options->list)
		json_array(&p->j, "zombies");
}

static void printing_free(struct printing *p)
{
	buf_free(&p->out);
}

static void print_unknown(const struct unknowns *unknowns)
{
	vec_foreach (&unknowns->list, u)
		fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
}

static void watch_one(void *arg, const struct churn_event *e)
{
	churn_summary_add(arg, e);
}

/* Everything that happens to memory cgroups from now on, for a while. */
static int watch_churn(const struct root *root, const struct offer *offer, uint64_t length_ns,
		       struct churn_summary *ret, struct unknowns *unknowns, struct err *err)
{
	struct churn *churn;
	int r = churn_open(root, offer, &churn, unknowns, err);

	if (r < 0)
		return r;
	uint64_t until = clock_mono_ns() + length_ns;
	ret->from_ns = clock_real_ns();
	for (uint64_t now = clock_mono_ns(); r == 0 && now < until; now = clock_mono_ns()) {
		struct pollfd p = { .fd = churn_fd(churn), .events = POLLIN };
		if (poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) < 0 && errno != EINTR)
			r = err_set(err, -errno, "poll: %s", strerror(errno));
		else
			r = churn_read(churn, watch_one, ret, err);
	}
	ret->to_ns = clock_real_ns();
	ret->lost += churn_lost(churn);
	ret->creators_known = churn_knows_creators(churn);
	churn_summary_sort(ret);
	churn_close(churn);
	return r;
}

/* What the last day of the recording says; silent when there is none. */
static void read_growth(struct invocation *in, const struct zombie_verdict *verdict,
			struct growth *ret)
{
	const char *dir = in->common.store ? in->common.store : STORE_DEFAULT;
	AUTO(census_history_free) struct census_history history = { 0 };
	AUTO_FREE struct growth_point *points = NULL;

	*ret = (struct growth){ 0 };
	if (census_history_read(dir, in->now_ns, ZOMBIES_HISTORY_S * NS_PER_S, &history, NULL) < 0)
		return;
	points = calloc(history.list.len + 1, sizeof(*points));
	for (size_t i = 0; points && i < history.list.len; i++)
		points[i] = (struct growth_point){ history.list.items[i].time_ns,
						   history.list.items[i].dying };
	if (points)
		growth_compute(points, history.list.len,
			       verdict ? verdict->percpu_bytes + verdict->slab_bytes : 0, ret);
}

static int status_of(const struct census_summary *s)
{
	return s->have & CENSUS_DYING ? STATUS_OK : STATUS_UNKNOWN;
}

/* All that is shown beside the zombies themselves. */
struct around {
	struct churn_summary churn;
	struct zombie_cost cost;
	struct zombie_verdict verdict;
	bool verdict_known;
	struct growth growth;
};

static void around_json(struct json *j, const struct zombies_cli *o, const struct around *a,
			const struct census_summary *s)
{
	if (o->watch.set)
		view_churn_json(j, &a->churn);
	view_growth_json(j, &a->growth);
	view_cost_json(j, &a->cost, a->verdict_known ? &a->verdict : NULL, s->percpu_bytes,
		       s->tracked);
}

static void around_text(struct invocation *in, const struct around *a,
			const struct census_summary *s)
{
	const struct zombies_cli *o = in->options;

	if (o->watch.set)
		view_churn_text(stdout, &in->out, &a->churn);
	view_growth_text(stdout, &a->growth);
	if (s->dying)
		view_cost_text(stdout, &a->cost, a->verdict_known ? &a->verdict : NULL,
			       s->percpu_bytes, s->tracked);
}

static int read_around(struct invocation *in, const struct root *root, const struct offer *offer,
		       const struct envelope *envelope, struct around *ret,
		       struct unknowns *unknowns, struct err *err)
{
	const struct zombies_cli *o = in->options;

	ret->verdict_known = zombie_verdict_of(envelope->kernel, offer->memory != CGROUP_MEMORY_V2,
					       offer->n_cpus, &ret->verdict) == 0;
	zombie_cost_read(root, offer, &ret->cost);
	if (root->live || in->common.store)
		read_growth(in, ret->verdict_known ? &ret->verdict : NULL, &ret->growth);
	return o->watch.set ? watch_churn(root, offer, o->watch.value, &ret->churn, unknowns, err)
			    : 0;
}

static void around_free(struct around *a)
{
	churn_summary_free(&a->churn);
}

static int zombies_run(struct invocation *in, struct err *err)
{
	const struct zombies_cli *o = in->options;
	AUTO_ROOT struct root root;
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO(around_free) struct around around = { 0 };
	AUTO(printing_free) struct printing p = { .options = o, .json = in->common.json };
	struct zombies_options want = { .below = o->below, .arg = &p };
	struct census_totals totals;
	struct envelope envelope;
	struct offer offer;

	int r = root_open(in->common.root, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	envelope_read(&root, &envelope);
	r = read_around(in, &root, &offer, &envelope, &around, &unknowns, err);
	if (r < 0)
		return r;
	want.want = o->pins ? CENSUS_WANT_PINS : o->list ? CENSUS_WANT_SPLIT : 0;
	want.each = o->list ? print_zombie : NULL;
	print_start(&p, in, &envelope);
	r = zombies_read(&root, &offer, &want, &files, &summary, &totals, &unknowns, err);
	if (r < 0)
		return r;
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
		around_text(in, &around, &summary);
		print_unknown(&unknowns);
		return status_of(&summary);
	}
	if (o->list)
		json_end_array(&p.j);
	if (o->below)
		json_str(&p.j, "below", o->below);
	view_zombies_json(&p.j, &view);
	around_json(&p.j, o, &around, &summary);
	unknowns_json(&p.j, &unknowns);
	json_end_object(&p.j);
	puts(buf_str(&p.out));
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
		    "zscope zombies --watch 30s\n"
		    "zscope zombies --json\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct zombies_cli),
	.run = zombies_run,
};
