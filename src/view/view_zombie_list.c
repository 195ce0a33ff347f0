#include "view_zombie_list.h"

#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "numbers.h"
#include "timefmt.h"

static void pin_text(struct buf *out, const struct zombie_pin *p, const struct zombie_files *files)
{
	char a[NUMBERS_MAX];

	buf_addf(out, "    %-9s %8s  ", pin_kind_name(p->kind),
		 p->bytes ? numbers_bytes(a, p->bytes) : "-");
	if (files && zombie_pin_has_file(p))
		view_zombie_file_label(out, &files->list.items[p->file]);
	if (p->kind == PIN_WRITEBACK)
		buf_add_str(out, p->dirty ? ", not yet written" : ", written");
	if (p->kind == PIN_CHILD && p->below)
		buf_addf(out, "%" PRIu64 " zombie%s below it", p->below, p->below == 1 ? "" : "s");
	if (p->pid) {
		buf_addf(out, "pid %d ", p->pid);
		esc_tty(out, p->comm, strlen(p->comm));
		if (p->kind == PIN_PROCESS)
			buf_addf(out, ", child of %d", p->parent_pid);
		if (p->kind == PIN_SOCKET)
			buf_addf(out, ", socket:[%" PRIu64 "]", p->socket_inode);
		if (p->port)
			buf_addf(out, ", port %u", p->port);
	}
	buf_add_char(out, '\n');
}

static void creator_text(struct buf *out, const struct zombie_creator *c)
{
	buf_add_str(out, " by ");
	esc_tty(out, c->comm, strlen(c->comm));
	buf_addf(out, " (pid %d", c->pid);
	if (c->parent_comm[0]) {
		buf_add_str(out, ", child of ");
		esc_tty(out, c->parent_comm, strlen(c->parent_comm));
		buf_addf(out, " %d", c->ppid);
	}
	if (c->cgroup) {
		buf_add_str(out, ", ");
		esc_tty(out, c->cgroup, strlen(c->cgroup));
	}
	buf_add_char(out, ')');
}

static void life_text(struct buf *out, const struct zombie *z)
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
	if (z->creator)
		creator_text(&text, z->creator);
	if (z->have & ZOMBIE_DIED)
		buf_addf(&text, "%sremoved %s", text.len ? ", " : "", timefmt_local(a, z->died_ns));
	if (text.len)
		buf_addf(out, "    %s\n", text.data);
}

static void bytes_cell(struct buf *out, bool known, uint64_t bytes)
{
	char a[NUMBERS_MAX];

	buf_addf(out, " %8s", !known ? "?" : bytes ? numbers_bytes(a, bytes) : "-");
}

static void row_text(struct buf *out, const struct zombie *z, const struct zombie_files *files)
{
	AUTO_BUF struct buf label = { 0 };
	bool lru = z->have & ZOMBIE_LRU, split = lru && z->have & ZOMBIE_SPLIT;
	char refs[24] = "?";

	if (z->have & ZOMBIE_REFS)
		snprintf(refs, sizeof(refs), "%" PRId64, z->refs);
	buf_addf(out, "%10" PRIu64 " %8" PRIu64 " %5s", z->id, z->serial, refs);
	bytes_cell(out, lru, z->bytes);
	bytes_cell(out, lru, z->file_bytes);
	bytes_cell(out, split, z->anon_bytes);
	bytes_cell(out, split, z->shmem_bytes);
	bytes_cell(out, z->have & ZOMBIE_SLAB, z->slab_bytes);
	buf_add_str(out, "  ");
	esc_tty(out, z->path, z->path_len);
	owner_label(&label, &z->owner);
	buf_add_str(out, "  [");
	esc_tty(out, buf_str(&label), label.len);
	buf_add_str(out, "]\n");
	life_text(out, z);
	for (size_t i = 0; i < z->n_pins; i++)
		pin_text(out, &z->pins[i], files);
}

bool view_zombie_list_add(struct view_zombie_list *l, const struct zombie *z,
			  const struct zombie_files *files)
{
	struct view_zombie_row row = { .bytes = z->bytes, .serial = z->serial, .at = l->text.len };

	row_text(&l->text, z, files);
	row.len = l->text.len - row.at;
	return !l->text.failed && vec_push(&l->rows, row);
}

static int largest_first(const void *a, const void *b)
{
	const struct view_zombie_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

void view_zombie_list_print(FILE *out, const struct terminal *term, struct view_zombie_list *l)
{
	if (!l->rows.len)
		return;
	vec_sort(&l->rows, largest_first);
	fprintf(out, "%s%10s %8s %5s %8s %8s %8s %8s %8s  %s%s\n", terminal_on(term, TERM_BOLD),
		"ID", "SERIAL", "REFS", "BYTES", "FILE", "ANON", "SHMEM", "SLAB", "PATH  [OWNER]",
		terminal_off(term));
	vec_foreach (&l->rows, row)
		fwrite(l->text.data + row->at, 1, row->len, out);
	fputc('\n', out);
}

void view_zombie_list_free(struct view_zombie_list *l)
{
	buf_free(&l->text);
	vec_free(&l->rows);
}
