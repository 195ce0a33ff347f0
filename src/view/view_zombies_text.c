#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "numbers.h"
#include "table.h"
#include "timefmt.h"
#include "view_zombies.h"

enum { VIEW_GROUPS = 15, VIEW_NAMES = 5 };

/* "3 zombie memory cgroups below /docker" */
static void count_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	const struct census_summary *s = v->summary;
	char a[NUMBERS_MAX];

	if (s->have & CENSUS_DYING)
		fprintf(out, "%s%s zombie memory cgroup%s%s", terminal_on(term, TERM_BOLD),
			numbers_count(a, s->dying), s->dying == 1 ? "" : "s", terminal_off(term));
	else
		fprintf(out, "zombie memory cgroups");
	if (v->below) {
		fprintf(out, " below ");
		terminal_text(out, v->below);
	}
	if (!(s->have & CENSUS_DYING))
		fprintf(out, ": not known");
}

static void host_text(FILE *out, const struct census_summary *s)
{
	char a[NUMBERS_MAX];

	if (s->have & CENSUS_TRACKED)
		fprintf(out, "; the kernel tracks %s", numbers_count(a, s->tracked));
	if (s->have & CENSUS_LIVE)
		fprintf(out, "%s %s %s in use", s->have & CENSUS_TRACKED ? "," : ";",
			numbers_count(a, s->live), s->live == 1 ? "is" : "are");
}

static void head_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	const struct census_summary *s = v->summary;
	uint64_t dying = s->have & CENSUS_PART ? s->host_dying : s->dying;
	char a[NUMBERS_MAX], b[NUMBERS_MAX], when[TIMEFMT_MAX];

	if (v->kept)
		fprintf(out, "%s, census of %s\n", v->kept, timefmt_local(when, s->time_ns));
	count_text(out, term, v);
	if (!(s->have & CENSUS_PART))
		host_text(out, s);
	if (s->have & CENSUS_BYTES && s->dying)
		fprintf(out, "; %s %s", s->dying == 1 ? "it holds" : "they hold",
			numbers_bytes(a, s->bytes));
	fputc('\n', out);
	if (s->have & CENSUS_PART && s->have & CENSUS_HOST_DYING) {
		fprintf(out, "on the whole host: %s zombie%s", numbers_count(a, s->host_dying),
			s->host_dying == 1 ? "" : "s");
		host_text(out, s);
		fputc('\n', out);
	}
	fprintf(out, "method: %s", census_method_name(s->method));
	if (s->have & CENSUS_KERNEL_COUNT && s->method == CENSUS_BY_BPF)
		fprintf(out, "; the kernel's own count (%s): %s %s, difference %" PRId64,
			s->kernel_counts_dying ? "cgroup.stat" : "/proc/cgroups",
			numbers_count(b, s->kernel_count),
			s->kernel_counts_dying ? "dying" : "tracked",
			(int64_t)s->kernel_count -
				(int64_t)(s->kernel_counts_dying ? dying : s->tracked));
	fputc('\n', out);
}

/* Nobody watched, or none of these came meanwhile: a column of question marks tells nothing. */
static bool knows_every(const struct view_zombies *v)
{
	for (size_t i = 0; i < v->summary->groups.len && i < VIEW_GROUPS; i++)
		if (view_zombies_every(v, v->summary->groups.items[i].owner) > 0)
			return true;
	return false;
}

static void groups_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	static const char *const plain[] = { "COUNT", "SHARE", "BYTES", "KIND", "OWNER" };
	static const char *const watched[] = { "COUNT", "SHARE",      "BYTES",
					       "KIND",  "MADE EVERY", "OWNER" };
	bool show_every = knows_every(v);
	const struct census_summary *s = v->summary;
	char a[NUMBERS_MAX], span[TIMEFMT_MAX];
	AUTO_TABLE struct table t = { 0 };

	if (!s->groups.len)
		return;
	fputc('\n', out);
	if (show_every)
		table_init(&t, watched, "rrrlrl", ARRAY_LEN(watched));
	else
		table_init(&t, plain, "rrrll", ARRAY_LEN(plain));
	for (size_t i = 0; i < s->groups.len && i < VIEW_GROUPS; i++) {
		const struct census_group *g = &s->groups.items[i];
		double every = view_zombies_every(v, g->owner);
		table_cell(&t, TERM_BOLD, "%s", numbers_count(a, g->count));
		table_cell(&t, TERM_PLAIN, "%.1f %%", 100.0 * (double)g->count / (double)s->dying);
		table_cell(&t, TERM_PLAIN, "%s",
			   s->have & CENSUS_BYTES ? numbers_bytes(a, g->bytes) : "?");
		table_cell(&t, TERM_PLAIN, "%s", owner_kind_name(g->kind));
		if (show_every)
			table_cell(&t, TERM_PLAIN, "%s",
				   every > 0 ? timefmt_span(span, (uint64_t)(every * 1e9)) : "-");
		table_cell_bytes(&t, TERM_PLAIN, g->owner, strlen(g->owner));
	}
	table_print(&t, out, term);
	if (s->groups.len > VIEW_GROUPS)
		fprintf(out, "... and %zu more owners (--json)\n", s->groups.len - VIEW_GROUPS);
}

static void pins_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	static const char *const heads[] = { "HELD BY", "ZOMBIES", "BYTES", "FREED BY" };
	const struct census_summary *s = v->summary;
	char a[NUMBERS_MAX];
	AUTO_TABLE struct table t = { 0 };

	fputc('\n', out);
	table_init(&t, heads, "lrrl", ARRAY_LEN(heads));
	for (unsigned k = 0; k < PIN_KIND_END; k++) {
		if (!s->by_pin[k].zombies)
			continue;
		table_cell(&t, TERM_BOLD, "%s", pin_kind_name(k));
		table_cell(&t, TERM_PLAIN, "%s", numbers_count(a, s->by_pin[k].zombies));
		table_cell(&t, TERM_PLAIN, "%s", numbers_bytes(a, s->by_pin[k].bytes));
		table_cell(&t, TERM_PLAIN, "%s", pin_kind_cure(k));
	}
	table_print(&t, out, term);
}

static void holder_label(struct buf *text, const struct zombie_holder *h)
{
	if (!h->processes) {
		buf_add_str(text, ", held by no process");
		return;
	}
	buf_addf(text, ", held by pid %d ", h->pid);
	esc_tty(text, h->comm, strlen(h->comm));
	if (h->owner) {
		buf_add_str(text, " of ");
		esc_tty(text, h->owner, strlen(h->owner));
	}
	if (h->processes > 1)
		buf_addf(text, " and %u more", h->processes - 1);
}

void view_zombie_file_label(struct buf *text, const struct zombie_file *f)
{
	if (f->path)
		esc_tty(text, f->path, strlen(f->path));
	else
		buf_addf(text, "device %u:%u inode %" PRIu64, f->major, f->minor, f->inode);
	if (f->deleted)
		buf_add_str(text, " (deleted)");
	if (f->place == PLACE_OVERLAY)
		buf_add_str(text, " (overlayfs layer)");
	if (f->kind == PIN_TMPFS)
		buf_add_str(text, f->place == PLACE_INTERNAL ? " (shared memory)" : " (tmpfs)");
	if (f->held)
		holder_label(text, &f->holder);
}

static void files_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	static const char *const heads[] = { "ZOMBIES", "BYTES", "FILE" };
	AUTO_FREE size_t *order = view_zombie_files_order(v->files);
	char a[NUMBERS_MAX];
	AUTO_TABLE struct table t = { 0 };

	if (!order)
		return;
	fputc('\n', out);
	table_init(&t, heads, "rrl", ARRAY_LEN(heads));
	for (size_t i = 0; i < v->files->list.len && i < v->most_files; i++) {
		const struct zombie_file *f = &v->files->list.items[order[i]];
		AUTO_BUF struct buf text = { 0 };
		view_zombie_file_label(&text, f);
		table_cell(&t, TERM_BOLD, "%s", numbers_count(a, f->zombies));
		table_cell(&t, TERM_PLAIN, "%s", numbers_bytes(a, f->bytes));
		table_cell(&t, TERM_PLAIN, "%s", buf_str(&text));
	}
	table_print(&t, out, term);
	if (v->files->list.len > v->most_files)
		fprintf(out, "... and %zu more files (--json)\n",
			v->files->list.len - v->most_files);
}

/* The largest by name, which is all that a kept census has of them. */
static void largest_text(FILE *out, const struct terminal *term, const struct census_summary *s)
{
	static const char *const heads[] = { "BYTES", "FILE", "LARGEST" };
	AUTO_TABLE struct table t = { 0 };
	char a[NUMBERS_MAX];

	if (!s->n_names || !(s->have & CENSUS_BYTES))
		return;
	fputc('\n', out);
	table_init(&t, heads, "rrl", ARRAY_LEN(heads));
	for (size_t i = 0; i < s->n_names && i < VIEW_NAMES; i++) {
		const struct census_name *n = &s->names[i];
		table_cell(&t, TERM_BOLD, "%s", numbers_bytes(a, n->bytes));
		table_cell(&t, TERM_PLAIN, "%s", numbers_bytes(a, n->file_bytes));
		table_cell_bytes(&t, TERM_PLAIN, n->path, strlen(n->path));
	}
	table_print(&t, out, term);
}

void view_zombies_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	head_text(out, term, v);
	groups_text(out, term, v);
	if (v->summary->have & CENSUS_PINNED && v->summary->dying)
		pins_text(out, term, v);
	if (v->files)
		files_text(out, term, v);
	if (v->kept)
		largest_text(out, term, v->summary);
}
