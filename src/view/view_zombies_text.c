#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "numbers.h"
#include "table.h"
#include "timefmt.h"
#include "view_zombies.h"

enum { VIEW_GROUPS = 15 };

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

	if (v->recorded)
		fprintf(out, "recorded, census of %s\n", timefmt_local(when, s->time_ns));
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

static void file_label(struct buf *text, const struct zombie_file *f)
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
		file_label(&text, f);
		table_cell(&t, TERM_BOLD, "%s", numbers_count(a, f->zombies));
		table_cell(&t, TERM_PLAIN, "%s", numbers_bytes(a, f->bytes));
		table_cell(&t, TERM_PLAIN, "%s", buf_str(&text));
	}
	table_print(&t, out, term);
	if (v->files->list.len > v->most_files)
		fprintf(out, "... and %zu more files (--json)\n",
			v->files->list.len - v->most_files);
}

void view_zombies_text(FILE *out, const struct terminal *term, const struct view_zombies *v)
{
	head_text(out, term, v);
	groups_text(out, term, v);
	if (v->summary->have & CENSUS_PINNED && v->summary->dying)
		pins_text(out, term, v);
	if (v->files)
		files_text(out, term, v);
}

static void pin_text(FILE *out, const struct zombie_pin *p, const struct zombie_files *files)
{
	AUTO_BUF struct buf text = { 0 };
	char a[NUMBERS_MAX];

	fprintf(out, "    %-9s %8s  ", pin_kind_name(p->kind),
		p->bytes ? numbers_bytes(a, p->bytes) : "-");
	if (files && zombie_pin_has_file(p))
		file_label(&text, &files->list.items[p->file]);
	if (p->kind == PIN_WRITEBACK)
		buf_add_str(&text, p->dirty ? ", not yet written" : ", written");
	if (p->pid) {
		buf_addf(&text, "pid %d ", p->pid);
		esc_tty(&text, p->comm, strlen(p->comm));
		if (p->kind == PIN_PROCESS)
			buf_addf(&text, ", child of %d", p->parent_pid);
		if (p->kind == PIN_SOCKET)
			buf_addf(&text, ", socket:[%" PRIu64 "]", p->socket_inode);
		if (p->port)
			buf_addf(&text, ", port %u", p->port);
	}
	fprintf(out, "%s\n", buf_str(&text));
}

static void life_text(FILE *out, const struct zombie *z)
{
	AUTO_BUF struct buf text = { 0 };
	char a[TIMEFMT_MAX];

	if (z->have & ZOMBIE_CREATED)
		buf_addf(&text, "made %s", timefmt_local(a, z->created_ns));
	if (z->have & ZOMBIE_CREATED_AFTER)
		buf_addf(&text, "made after %s", timefmt_local(a, z->created_after_ns));
	if (z->have & ZOMBIE_CREATED_BEFORE)
		buf_addf(&text, "%s before %s", text.len ? "," : "made",
			 timefmt_local(a, z->created_before_ns));
	if (z->creator) {
		buf_add_str(&text, " by ");
		esc_tty(&text, z->creator->comm, strlen(z->creator->comm));
		buf_addf(&text, " (pid %d", z->creator->pid);
		if (z->creator->parent_comm[0]) {
			buf_add_str(&text, ", child of ");
			esc_tty(&text, z->creator->parent_comm, strlen(z->creator->parent_comm));
			buf_addf(&text, " %d", z->creator->ppid);
		}
		if (z->creator->cgroup) {
			buf_add_str(&text, ", ");
			esc_tty(&text, z->creator->cgroup, strlen(z->creator->cgroup));
		}
		buf_add_char(&text, ')');
	}
	if (z->have & ZOMBIE_DIED)
		buf_addf(&text, "%sremoved %s", text.len ? ", " : "", timefmt_local(a, z->died_ns));
	if (text.len)
		fprintf(out, "    %s\n", text.data);
}

void view_zombie_text(FILE *out, const struct zombie *z, const struct zombie_files *files)
{
	AUTO_BUF struct buf path = { 0 }, owner = { 0 }, label = { 0 };
	char a[NUMBERS_MAX];

	esc_tty(&path, z->path, z->path_len);
	owner_label(&label, &z->owner);
	esc_tty(&owner, buf_str(&label), label.len);
	fprintf(out, "%10" PRIu64 " %9s  %s  [%s]\n", z->id,
		z->have & ZOMBIE_LRU ? numbers_bytes(a, z->bytes) : "?", buf_str(&path),
		buf_str(&owner));
	life_text(out, z);
	for (size_t i = 0; i < z->n_pins; i++)
		pin_text(out, &z->pins[i], files);
}
