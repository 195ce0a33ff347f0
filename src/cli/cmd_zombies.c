#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "around.h"
#include "auto.h"
#include "buf.h"
#include "captured.h"
#include "census_history.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "offer.h"
#include "root.h"
#include "text.h"
#include "timefmt.h"
#include "view_around.h"
#include "view_zombie_list.h"
#include "view_zombies.h"
#include "zombies.h"
#include "zombies_below.h"
#include "zombies_recorded.h"
#include "zombies_watch.h"

enum { ZOMBIES_FLUSH_BYTES = 1 << 16, ZOMBIES_FILES = 20, ZOMBIES_FILES_JSON = 1000 };
#define ZOMBIES_HISTORY_S  UINT64_C(86400)
#define ZOMBIES_LIVES_DAYS 30

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
	       "first watch for this long who makes and removes memory cgroups, and what reclaim "
	       "takes"),
	OPTION(zombies_cli, below, "below", 0, OPTION_TEXT, "PATH",
	       "only zombies below this cgroup (path as in /proc/PID/cgroup)"),
};

/* JSON is printed as zombies are found: nothing grows with their number. */
struct printing {
	const struct zombies_cli *options;
	struct reclaim_summary *reclaim; /* NULL = nothing was watched */
	bool json;
	uint64_t now_ns;
	struct buf out, scratch;
	struct view_zombie_list list; /* without JSON */
	struct json j;
};

static int take_zombie(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct printing *p = arg;

	if (p->reclaim)
		reclaim_summary_zombie(p->reclaim, z->path, z->path_len);
	if (!p->options->list)
		return 0;
	if (!p->json)
		return view_zombie_list_add(&p->list, z, files) ? 0 : -ENOMEM;
	view_zombie_json(&p->j, z, files, p->now_ns, &p->scratch);
	if (p->out.len > ZOMBIES_FLUSH_BYTES) {
		fwrite(p->out.data, 1, p->out.len, stdout);
		buf_clear(&p->out);
	}
	return 0;
}

static void print_start(struct printing *p, const struct envelope *envelope)
{
	if (!p->json)
		return;
	json_init(&p->j, &p->out);
	json_object(&p->j, NULL);
	envelope_json(&p->j, envelope, "zombies", p->now_ns);
	if (p->options->list)
		json_array(&p->j, "zombies");
}

static void printing_free(struct printing *p)
{
	buf_free(&p->out);
	buf_free(&p->scratch);
	view_zombie_list_free(&p->list);
}

/* Both may go into one pipe: what was printed comes first, whole. */
static void print_unknown(const struct unknowns *unknowns)
{
	fflush(stdout);
	vec_foreach (&unknowns->list, u)
		if (strcmp(u->what, "shmem_bytes") != 0) /* only JSON has this sum */
			fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
}

/* What the last day of the recording says; silent when there is none. */
static void read_history(const char *dir, uint64_t now_ns, struct around *a,
			 struct census_history *ret)
{
	if (census_history_read(dir, now_ns, ZOMBIES_HISTORY_S * NS_PER_S, ret, NULL) < 0)
		return;
	a->reclaim = ret->reclaim; /* a watch replaces it by what it sees itself */
	a->reclaim_known = ret->have_reclaim;
	ret->reclaim = (struct reclaim_summary){ 0 };
	a->past = ret->churn;
	ret->churn = (struct churn_summary){ 0 };
}

/* When each was made, as far as the recording of this boot goes back. */
static void read_lives(const char *dir, uint64_t now_ns, struct around *a,
		       struct unknowns *unknowns)
{
	uint64_t up = clock_boot_ns(), boot = now_ns > up ? now_ns - up : 0;
	uint64_t most = ZOMBIES_LIVES_DAYS * ZOMBIES_HISTORY_S * NS_PER_S;
	bool recorded;

	if (now_ns - boot > most)
		boot = now_ns - most;
	if (census_history_lives(dir, boot, now_ns, &a->lives, &recorded, NULL) < 0 || !recorded)
		unknowns_add(unknowns, "created, died and creator of zombies",
			     "%s; `zscope record` keeps them",
			     a->lives.list.len ? "only those of the watch were seen"
					       : "nothing was recorded here");
	else if (a->lives.dropped)
		unknowns_add(unknowns, "created, died and creator of some zombies",
			     "%llu came too fast to be recorded one by one",
			     (unsigned long long)a->lives.dropped);
}

static uint64_t host_bytes(const struct root *root)
{
	AUTO_BUF struct buf text = { 0 };
	uint64_t kilobytes;

	if (root_read(root, "proc/meminfo", ROOT_FILE_CAP, &text, NULL) < 0 ||
	    text_key_u64(buf_str(&text), "MemTotal:", &kilobytes) < 0)
		return 0;
	return kilobytes * 1024;
}

static int status_of(const struct census_summary *s)
{
	return s->have & CENSUS_DYING ? STATUS_OK : STATUS_UNKNOWN;
}

static int read_around(struct invocation *in, const struct root *root, const struct offer *offer,
		       const struct envelope *envelope, struct around *ret,
		       struct census_history *ret_history, struct unknowns *unknowns,
		       struct err *err)
{
	const struct zombies_cli *o = in->options;

	const char *dir = in->store;

	ret->verdict_known = zombie_verdict_of(envelope->kernel, offer->memory != CGROUP_MEMORY_V2,
					       offer->n_cpus, &ret->verdict) == 0;
	zombie_cost_read(root, offer, &ret->cost);
	ret->cost_known = true;
	ret->host_bytes = host_bytes(root);
	if (root->live)
		read_history(dir, in->now_ns, ret, ret_history);
	int r = o->watch.set
			? zombies_watch(root, offer, o->watch.value, &in->diag, ret, unknowns, err)
			: 0;
	if (r == 0 && root->live && o->list)
		read_lives(dir, clock_real_ns(), ret, unknowns);
	return r;
}

/* What a captured host brings: the census of its own kernel. false = it has none. */
static bool read_captured(const struct root *root, struct census_summary *ret,
			  struct unknowns *unknowns)
{
	AUTO_BUF struct buf bytes = { 0 };

	if (root->live || root_read(root, CAPTURED_CENSUS, ROOT_FILE_CAP, &bytes, NULL) < 0)
		return false;
	if (census_summary_decode(bytes.data, bytes.len, ret) == 0)
		return true;
	census_summary_free(ret);
	*ret = (struct census_summary){ 0 };
	unknowns_add(unknowns, "census", "/%s is damaged", CAPTURED_CENSUS);
	return false;
}

/* Of the single zombies a capture has the largest only. */
static int list_captured(struct printing *p, const struct census_summary *s,
			 struct unknowns *unknowns)
{
	if (!p->options->list)
		return 0;
	if (p->json)
		view_zombie_names_json(&p->j, s);
	for (size_t i = 0; !p->json && i < s->n_names; i++) {
		const struct census_name *n = &s->names[i];
		struct zombie z = { .have = s->have & CENSUS_BYTES ? ZOMBIE_LRU : 0,
				    .id = n->id,
				    .serial = n->serial,
				    .path = n->path,
				    .path_len = strlen(n->path),
				    .bytes = n->bytes,
				    .file_bytes = n->file_bytes };
		owner_parse(z.path, z.path_len, &z.owner);
		if (!view_zombie_list_add(&p->list, &z, NULL))
			return -ENOMEM;
	}
	if (s->have & CENSUS_DYING && s->dying > s->n_names)
		unknowns_add(unknowns, "names of the other zombies",
			     "a capture keeps the %zu largest", s->n_names);
	return 0;
}

static int print_all(struct printing *p, const struct invocation *in,
		     const struct view_zombies *view, const struct around *around,
		     const char *below, const struct unknowns *unknowns)
{
	const struct census_summary *s = view->summary;

	if (!p->json) {
		view_zombie_list_print(stdout, &in->out, &p->list);
		view_zombies_text(stdout, &in->out, view);
		view_around_text(stdout, &in->out, around, s);
		print_unknown(unknowns);
		return status_of(s);
	}
	if (p->options->list)
		json_end_array(&p->j);
	if (below)
		json_str(&p->j, "below", below);
	view_zombies_json(&p->j, view);
	view_around_json(&p->j, around, s);
	unknowns_json(&p->j, unknowns);
	json_end_object(&p->j);
	puts(buf_str(&p->out));
	return status_of(s);
}

static int zombies_of(struct invocation *in, const struct root *root, const struct offer *offer,
		      struct around *around, struct unknowns *unknowns, struct err *err)
{
	const struct zombies_cli *o = in->options;
	AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO(printing_free) struct printing p = { .options = o, .json = in->common.json };
	AUTO(census_history_free) struct census_history history = { 0 };
	AUTO_BUF struct buf below = { 0 };
	struct zombies_options want = { .live_too = true, .arg = &p };
	struct census_totals totals = { 0 };
	struct envelope envelope;
	int r = o->below ? zombies_below_path(offer, o->below, &below, err) : 0;

	envelope_read(root, &envelope);
	if (r == 0)
		r = read_around(in, root, offer, &envelope, around, &history, unknowns, err);
	if (r < 0)
		return r;
	want.below = o->below && strcmp(buf_str(&below), "/") != 0 ? buf_str(&below) : NULL;
	if (around->reclaim_known) {
		reclaim_summary_count(&around->reclaim, want.below);
		p.reclaim = &around->reclaim;
	}
	want.want = o->pins ? CENSUS_WANT_PINS : o->list ? CENSUS_WANT_SPLIT : 0;
	want.each = o->list || p.reclaim ? take_zombie : NULL;
	want.lives = root->live ? &around->lives : NULL;
	bool captured = read_captured(root, &summary, unknowns);
	if (captured && (want.below || o->pins))
		return err_set(err, -EOPNOTSUPP,
			       "a capture keeps sums by owner: --below and --pins ask the "
			       "running kernel");
	p.now_ns = captured ? summary.time_ns : clock_real_ns();
	print_start(&p, &envelope);
	r = captured ? list_captured(&p, &summary, unknowns)
		     : zombies_read(root, offer, &want, &files, &summary, &totals, unknowns, err);
	if (r < 0)
		return r;
	around_judge(&history, &summary, around);
	struct view_zombies view = {
		.offer = offer,
		.summary = &summary,
		.totals = &totals,
		.files = o->pins && summary.method == CENSUS_BY_BPF ? &files : NULL,
		.below = want.below,
		.kept = captured ? "captured" : NULL,
		.most_files = p.json ? ZOMBIES_FILES_JSON : ZOMBIES_FILES,
		.churn = around->churn_known ? &around->churn : &around->past,
	};
	return print_all(&p, in, &view, around, o->below ? buf_str(&below) : NULL, unknowns);
}

static int zombies_run(struct invocation *in, struct err *err)
{
	const struct zombies_cli *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO(around_free) struct around around = { 0 };
	struct offer offer;

	if (in->common.at.set || in->common.from.set || in->common.to.set || in->common.length.set)
		return zombies_recorded(in, o->list || o->pins || o->watch.set || o->below, err);
	int r = command_root(in, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	return zombies_of(in, &root, &offer, &around, &unknowns, err);
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
		"(cgroup.stat, /proc/cgroups and the directories) and says what it cannot tell.\n\n"
		"With a window (--at, --from, --to, --for) it answers from a recording: the last "
		"census of it, who made cgroups in it, how fast zombies grew and when that will "
		"hurt. "
		"Single zombies are named live only; when they were made, removed and by whom, "
		"comes from the recording too.",
	.examples = "zscope zombies\n"
		    "zscope zombies --list --pins --below /docker\n"
		    "zscope zombies --watch 30s\n"
		    "zscope zombies --from -7d\n"
		    "zscope zombies --json\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct zombies_cli),
	.run = zombies_run,
};
