#include "view_purge.h"

#include <string.h>

#include "auto.h"
#include "esc.h"
#include "numbers.h"
#include "timefmt.h"

enum { VIEW_HOLDERS = 5, VIEW_UNREACHABLE_JSON = 1000, VIEW_FOOTPRINT_LEAST = 500 };

static const char *zombies_word(uint64_t n)
{
	return n == 1 ? "zombie" : "zombies";
}

static void side_json(struct json *j, const char *key, const struct purge_side *s)
{
	json_object(j, key);
	json_u64(j, "tracked", s->tracked);
	json_u64(j, "dying", s->dying);
	json_u64(j, "bytes", s->bytes);
	json_u64(j, "live_cache_bytes", s->live_cache_bytes);
	json_u64(j, "percpu_bytes", s->percpu_bytes);
	json_u64(j, "slab_bytes", s->slab_bytes);
	json_end_object(j);
}

static void unreachable_json(struct json *j, const struct purge_result *r)
{
	json_u64(j, "unreachable_files", r->unreachable.len);
	json_array(j, "unreachable");
	for (size_t i = 0; i < r->unreachable.len && i < VIEW_UNREACHABLE_JSON; i++) {
		const struct zombie_file *f = &r->files.list.items[r->unreachable.items[i].file];
		char device[32];
		snprintf(device, sizeof(device), "%u:%u", f->major, f->minor);
		json_object(j, NULL);
		if (f->path)
			json_str(j, "file", f->path);
		json_str(j, "device", device);
		json_u64(j, "inode", f->inode);
		json_u64(j, "zombies", f->zombies);
		json_u64(j, "bytes", f->bytes);
		json_str(j, "why", r->unreachable.items[i].why);
		json_end_object(j);
	}
	json_end_array(j);
}

static void unreachable_text(FILE *out, const struct purge_result *r)
{
	char a[NUMBERS_MAX];

	for (size_t i = 0; i < r->unreachable.len && i < VIEW_HOLDERS; i++) {
		const struct zombie_file *f = &r->files.list.items[r->unreachable.items[i].file];
		AUTO_BUF struct buf text = { 0 };
		if (f->path)
			esc_tty(&text, f->path, strlen(f->path));
		else
			buf_addf(&text, "device %u:%u inode %llu", f->major, f->minor,
				 (unsigned long long)f->inode);
		fprintf(out, "  out of reach: %s (%s %s): %s\n", buf_str(&text),
			numbers_count(a, f->zombies), zombies_word(f->zombies),
			r->unreachable.items[i].why);
	}
	if (r->unreachable.len > VIEW_HOLDERS)
		fprintf(out, "  ... and %zu more files out of reach (--json)\n",
			r->unreachable.len - VIEW_HOLDERS);
}

/* How to remove a segment: its id counts in its own IPC namespace only. */
static void segment_command(struct buf *text, const struct purge_holder *h)
{
	if (h->ipc_pid)
		buf_addf(text, "nsenter -t %d -i ", h->ipc_pid);
	buf_addf(text, "ipcrm -m %lld", (long long)h->shmid);
}

static void holder_json(struct json *j, const struct purge_holder *h)
{
	AUTO_BUF struct buf command = { 0 };

	json_object(j, NULL);
	if (h->pid)
		json_i64(j, "pid", h->pid);
	if (*h->comm)
		json_str(j, "comm", h->comm);
	if (h->not_known)
		json_bool(j, "not_known", true);
	if (h->file)
		json_str(j, "file", h->file);
	if (h->owner)
		json_str(j, "owner", h->owner);
	if (h->shmid >= 0) {
		segment_command(&command, h);
		json_i64(j, "shmid", h->shmid);
		json_u64(j, "ipc_namespace", h->ipc_ns);
		json_str(j, "remove", buf_str(&command));
	}
	if (h->locked_bytes) {
		json_bool(j, "candidate", true);
		json_u64(j, "locked_bytes", h->locked_bytes);
		json_bool(j, "recorder", h->recorder);
	} else {
		json_u64(j, "zombies", h->zombies);
	}
	json_end_object(j);
}

static void stuck_json(struct json *j, const struct purge_result *r)
{
	json_array(j, "not_freeable");
	for (unsigned k = 0; k < PIN_KIND_END; k++) {
		if (!r->plan.stuck[k])
			continue;
		json_object(j, NULL);
		json_str(j, "kind", pin_kind_name(k));
		json_u64(j, "zombies", r->plan.stuck[k]);
		json_str(j, "freed_by", pin_kind_cure(k));
		json_array(j, "holders");
		vec_foreach (&r->holders, h)
			if (h->kind == k)
				holder_json(j, h);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void mapped_json(struct json *j, const struct purge_result *r)
{
	json_array(j, "mapped");
	vec_foreach (&r->mapped, h) {
		json_object(j, NULL);
		if (h->file)
			json_str(j, "file", h->file);
		json_i64(j, "pid", h->pid);
		json_str(j, "comm", h->comm);
		json_u64(j, "zombies", h->zombies);
		json_end_object(j);
	}
	json_end_array(j);
}

static void left_json(struct json *j, const struct purge_result *r)
{
	json_array(j, "left");
	vec_foreach (&r->left_why, l) {
		json_object(j, NULL);
		json_u64(j, "zombies", l->zombies);
		if (l->kind != PIN_KIND_END)
			json_str(j, "kind", pin_kind_name(l->kind));
		json_str(j, "why", l->why);
		if (l->cure)
			json_str(j, "freed_by", l->cure);
		json_end_object(j);
	}
	json_end_array(j);
}

void view_purge_json(struct json *j, const struct purge_options *o, const struct purge_result *r)
{
	json_bool(j, "applied", r->applied);
	json_str(j, "method", purge_method_name(o->method));
	if (o->below)
		json_str(j, "below", o->below);
	json_object(j, "plan");
	json_u64(j, "zombies", r->plan.zombies);
	json_u64(j, "bytes", r->plan.bytes);
	json_u64(j, "freeable", r->plan.freeable);
	json_u64(j, "freeable_bytes", r->plan.freeable_bytes);
	json_u64(j, "may_stay", r->plan.may_stay);
	json_u64(j, "may_stay_bytes", r->plan.may_stay_bytes);
	json_u64(j, "files", r->plan.files);
	json_u64(j, "writeback", r->plan.writeback);
	json_u64(j, "inodes", r->plan.inodes);
	if (*r->writes)
		json_str(j, "writes", r->writes);
	json_u64(j, "deleted_files_without_holder", r->plan.deleted_unreachable);
	json_end_object(j);
	stuck_json(j, r);
	unreachable_json(j, r);
	mapped_json(j, r);
	side_json(j, "before", &r->before);
	if (!r->applied)
		return;
	side_json(j, "after", &r->after);
	left_json(j, r);
	json_i64(j, "freed", (int64_t)r->before.dying - (int64_t)r->after.dying);
	json_i64(j, "freed_bytes", (int64_t)r->before.bytes - (int64_t)r->after.bytes);
	/* what a zombie costs here, as far as this purge shows it */
	if (r->before.dying >= r->after.dying + VIEW_FOOTPRINT_LEAST &&
	    r->before.percpu_bytes > r->after.percpu_bytes)
		json_u64(j, "percpu_bytes_per_zombie",
			 (r->before.percpu_bytes - r->after.percpu_bytes) /
				 (r->before.dying - r->after.dying));
	json_u64(j, "rounds", r->rounds);
	json_u64(j, "cpu_ns", r->cpu_ns);
	json_u64(j, "wall_ns", r->wall_ns);
}

/* Locked memory: who it may be. */
static void locked_text(FILE *out, const struct purge_holder *h)
{
	AUTO_BUF struct buf text = { 0 };
	char bytes[NUMBERS_MAX];

	esc_tty(&text, h->comm, strlen(h->comm));
	numbers_bytes(bytes, h->locked_bytes);
	if (h->recorder)
		fprintf(out,
			"    may be pid %d zscope record: it locks its memory (%s) to work on a "
			"sick "
			"host, and pages of its program and libraries may be a zombie's; restart "
			"it\n",
			h->pid, bytes);
	else
		fprintf(out, "    may be pid %d %s, which locks %s\n", h->pid, buf_str(&text),
			bytes);
}

static void holder_text(FILE *out, const struct purge_holder *h)
{
	AUTO_BUF struct buf text = { 0 };
	char n[NUMBERS_MAX];

	if (h->locked_bytes) {
		locked_text(out, h);
		return;
	}
	if (h->file)
		esc_tty(&text, h->file, strlen(h->file));
	if (h->pid) {
		buf_addf(&text, "%spid %d ", h->file ? ", held by " : "", h->pid);
		esc_tty(&text, h->comm, strlen(h->comm));
	}
	if (h->pid && h->owner) {
		buf_add_str(&text, " of ");
		esc_tty(&text, h->owner, strlen(h->owner));
	}
	if (h->not_known)
		buf_addf(&text, "%sby whom is not known", text.len ? ", " : "");
	if (h->shmid >= 0) {
		buf_add_str(&text, " (");
		segment_command(&text, h);
		buf_add_str(&text, ")");
	}
	fprintf(out, "    %s: %s %s\n", text.len ? text.data : "a file without a name",
		numbers_count(n, h->zombies), zombies_word(h->zombies));
}

/* Whether both would be told in the same words: an agent makes a memfd of one name again and again.
 */
static bool reads_alike(const struct purge_holder *a, const struct purge_holder *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->shmid == b->shmid &&
	       a->ipc_ns == b->ipc_ns &&
	       strcmp(a->file ? a->file : "", b->file ? b->file : "") == 0;
}

/* Those of a kind, the ones that read alike in one line, those that hold most first. */
static void holders_text(FILE *out, const struct purge_result *r, enum pin_kind kind)
{
	VEC(struct purge_holder) groups = { 0 };

	vec_foreach (&r->holders, h) {
		struct purge_holder *same = NULL;
		if (h->kind != kind)
			continue;
		vec_foreach (&groups, g)
			if (reads_alike(g, h))
				same = g;
		if (same)
			same->zombies += h->zombies;
		else if (!vec_push(&groups, *h))
			break;
	}
	vec_sort(&groups, purge_most_zombies_first);
	for (size_t i = 0; i < groups.len && i < VIEW_HOLDERS; i++)
		holder_text(out, &groups.items[i]);
	if (groups.len > VIEW_HOLDERS)
		fprintf(out, "    ... and %zu more (--json)\n", groups.len - VIEW_HOLDERS);
	vec_free(&groups);
}

static void stuck_text(FILE *out, const struct purge_result *r)
{
	char a[NUMBERS_MAX];

	for (unsigned k = 0; k < PIN_KIND_END; k++) {
		if (!r->plan.stuck[k])
			continue;
		fprintf(out, "  stays: %s held by %s; %s\n", numbers_count(a, r->plan.stuck[k]),
			pin_kind_name(k), pin_kind_cure(k));
		holders_text(out, r, k);
	}
	if (r->holders.len >= PURGE_MOST_HOLDERS)
		fprintf(out, "  only the first %s that hold some were looked at one by one\n",
			numbers_count(a, PURGE_MOST_HOLDERS));
}

static void mapped_text(FILE *out, const struct purge_result *r)
{
	unsigned shown = 0;

	if (!r->mapped.len)
		return;
	fprintf(out, "  %s: files that processes have mapped; pages that they use stay\n",
		r->applied ? "of these" : "may stay");
	vec_foreach (&r->mapped, h)
		if (shown++ < VIEW_HOLDERS)
			holder_text(out, h);
	if (r->mapped.len > VIEW_HOLDERS)
		fprintf(out, "    ... and %zu more (--json)\n", r->mapped.len - VIEW_HOLDERS);
}

static void left_text(FILE *out, const struct purge_result *r)
{
	char a[NUMBERS_MAX];

	vec_foreach (&r->left_why, l) {
		bool held = l->kind != PIN_KIND_END && l->kind != PIN_PAGES;
		fprintf(out, "  left: %s because %s%s%s%s\n", numbers_count(a, l->zombies),
			held ? "held by " : "", l->why, l->cure ? "; " : "",
			l->cure ? l->cure : "");
	}
	mapped_text(out, r);
}

static void plan_text(FILE *out, const struct terminal *term, const struct purge_options *o,
		      const struct purge_result *r)
{
	const struct purge_plan *plan = &r->plan;
	char a[NUMBERS_MAX], b[NUMBERS_MAX], c[NUMBERS_MAX], d[NUMBERS_MAX];

	fprintf(out, "%s%s%s %s %s %s; %s of them can be freed by method %s (%s %s)\n",
		terminal_on(term, TERM_BOLD), numbers_count(a, plan->zombies), terminal_off(term),
		zombies_word(plan->zombies), plan->zombies == 1 ? "holds" : "hold",
		numbers_bytes(b, plan->bytes), numbers_count(c, plan->freeable),
		purge_method_name(o->method), numbers_count(d, plan->files),
		plan->files == 1 ? "file" : "files");
	if (plan->may_stay)
		fprintf(out,
			"  may stay: %s more, held by file system metadata that may be in use; "
			"they "
			"are tried\n",
			numbers_count(a, plan->may_stay));
	if (plan->writeback)
		fprintf(out, "  %s of these wait for writeback: the file systems are synced\n",
			numbers_count(a, plan->writeback));
	if (plan->inodes)
		fprintf(out,
			"  %s of these need inodes out of the cache: dentries and inodes go, "
			"too\n",
			numbers_count(a, plan->inodes));
	if (*r->writes && (plan->freeable_bytes || plan->may_stay_bytes || plan->inodes))
		fprintf(out, "  writes to %s\n", r->writes);
	stuck_text(out, r);
	unreachable_text(out, r);
}

void view_purge_text(FILE *out, const struct terminal *term, const struct purge_options *o,
		     const struct purge_result *r)
{
	char a[NUMBERS_MAX], b[NUMBERS_MAX], c[NUMBERS_MAX], span[TIMEFMT_MAX];
	uint64_t freed = r->before.dying - MIN_OF(r->before.dying, r->after.dying);
	uint64_t bytes = r->before.bytes - MIN_OF(r->before.bytes, r->after.bytes);
	bool tries = r->plan.freeable || r->plan.may_stay;

	plan_text(out, term, o, r);
	if (!r->applied) {
		mapped_text(out, r);
		fprintf(out, "dry run: nothing was changed; %s\n",
			tries             ? "--apply does it"
			: r->plan.zombies ? "there is nothing that --apply could free"
					  : "there are none");
		return;
	}
	if (!r->rounds) {
		fprintf(out, "nothing was changed: %s\n",
			r->plan.zombies ? "none of them can be freed" : "there are none");
		return;
	}
	fprintf(out, "freed %s %s and %s in %s", numbers_count(a, freed), zombies_word(freed),
		numbers_bytes(b, bytes), timefmt_span(span, r->wall_ns));
	fprintf(out, " (CPU %s, %u %s)\n", timefmt_span(span, r->cpu_ns), r->rounds,
		r->rounds == 1 ? "round" : "rounds");
	fprintf(out, "zombies: %s before, %s after; everybody else's page cache: %s before, ",
		numbers_count(a, r->before.dying), numbers_count(b, r->after.dying),
		numbers_bytes(c, r->before.live_cache_bytes));
	fprintf(out, "%s after\n", numbers_bytes(c, r->after.live_cache_bytes));
	left_text(out, r);
}
