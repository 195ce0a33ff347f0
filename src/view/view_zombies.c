#include "view_zombies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"

double view_zombies_every(const struct view_zombies *v, const char *owner)
{
	const struct churn_summary *c = v->churn;

	if (!c || c->to_ns <= c->from_ns)
		return 0;
	vec_foreach (&c->groups, g)
		if (g->made > 1 && strcmp(g->owner, owner) == 0)
			return (double)(c->to_ns - c->from_ns) / 1e9 / (double)g->made;
	return 0;
}

static void groups_json(struct json *j, const struct view_zombies *v)
{
	const struct census_summary *s = v->summary;

	json_array(j, "groups");
	vec_foreach (&s->groups, g) {
		json_object(j, NULL);
		json_str(j, "owner", g->owner);
		json_str(j, "kind", owner_kind_name(g->kind));
		if (g->unit)
			json_str(j, "unit", g->unit);
		if (g->container)
			json_str(j, "container", g->container);
		if (g->pod)
			json_str(j, "pod", g->pod);
		if (g->task)
			json_str(j, "task", g->task);
		json_str(j, "parent", g->parent);
		json_u64(j, "count", g->count);
		if (s->have & CENSUS_BYTES)
			json_u64(j, "bytes", g->bytes);
		json_f64(j, "share", s->dying ? (double)g->count / (double)s->dying : 0, 4);
		double every = view_zombies_every(v, g->owner);
		if (every > 0)
			json_f64(j, "created_every_s", every, 3);
		json_end_object(j);
	}
	json_end_array(j);
	if (s->other_groups)
		json_u64(j, "other_groups", s->other_groups);
}

static void pins_json(struct json *j, const struct census_summary *s)
{
	json_object(j, "held_by");
	for (unsigned k = 0; k < PIN_KIND_END; k++) {
		if (!s->by_pin[k].zombies)
			continue;
		json_object(j, pin_kind_name(k));
		json_u64(j, "zombies", s->by_pin[k].zombies);
		json_u64(j, "bytes", s->by_pin[k].bytes);
		json_str(j, "freed_by", pin_kind_cure(k));
		json_end_object(j);
	}
	json_end_object(j);
}

static void bytes_json(struct json *j, const struct census_summary *s)
{
	json_u64(j, "bytes", s->bytes);
	json_u64(j, "file_bytes", s->file_bytes);
	if (s->have & CENSUS_SPLIT) {
		json_u64(j, "anon_bytes", s->anon_bytes);
		json_u64(j, "shmem_bytes", s->shmem_bytes);
	}
	if (s->have & CENSUS_SLAB_SUM)
		json_u64(j, "slab_bytes", s->slab_bytes);
	if (s->have & CENSUS_SWAP_SUM)
		json_u64(j, "swap_bytes", s->swap_bytes);
	json_u64(j, "unevictable_bytes", s->unevictable_bytes);
	json_u64(j, "without_pages", s->empty);
}

static void check_json(struct json *j, const struct census_summary *s)
{
	uint64_t dying = s->have & CENSUS_PART ? s->host_dying : s->dying;
	uint64_t ours = s->kernel_counts_dying ? dying : s->tracked;

	json_object(j, "kernel_count");
	json_str(j, "source", s->kernel_counts_dying ? "cgroup.stat" : "/proc/cgroups");
	json_str(j, "counts", s->kernel_counts_dying ? "dying" : "tracked");
	json_u64(j, "value", s->kernel_count);
	if (s->method == CENSUS_BY_BPF)
		json_i64(j, "difference", (int64_t)s->kernel_count - (int64_t)ours);
	json_end_object(j);
}

static void scope_json(struct json *j, const struct census_summary *s, bool part)
{
	if (s->have & CENSUS_TRACKED)
		json_u64(j, "tracked", s->tracked);
	if (s->have & CENSUS_LIVE)
		json_u64(j, "live", s->live);
	if (s->have & (part ? CENSUS_HOST_DYING : CENSUS_DYING))
		json_u64(j, "dying", part ? s->host_dying : s->dying);
	if (s->have & CENSUS_TRACKED && s->have & CENSUS_LIVE && s->live)
		json_f64(j, "ratio", (double)s->tracked / (double)s->live, 2);
}

/* What is known of the whole host only does not stand beside the numbers of a part of it. */
static void counts_json(struct json *j, const struct census_summary *s)
{
	if (!(s->have & CENSUS_PART)) {
		scope_json(j, s, false);
		return;
	}
	if (s->have & CENSUS_DYING)
		json_u64(j, "dying", s->dying);
	json_object(j, "whole_host");
	scope_json(j, s, true);
	json_end_object(j);
}

void view_zombies_json(struct json *j, const struct view_zombies *v)
{
	const struct census_summary *s = v->summary;

	if (v->offer) {
		json_object(j, "cgroup");
		if (v->offer->mode_known)
			json_str(j, "mode", cgroup_mode_name(v->offer->mode));
		if (v->offer->memory_known)
			json_str(j, "memory", cgroup_memory_name(v->offer->memory));
		json_end_object(j);
	}
	counts_json(j, s);
	json_str(j, "method", census_method_name(s->method));
	if (s->have & CENSUS_KERNEL_COUNT)
		check_json(j, s);
	if (s->have & CENSUS_BYTES)
		bytes_json(j, s);
	if (s->have & CENSUS_GROUPS)
		groups_json(j, v);
	if (s->have & CENSUS_PINNED)
		pins_json(j, s);
	if (v->files)
		view_zombie_files_json(j, v->files, v->most_files);
	if (v->kept && s->n_names) {
		json_array(j, "largest");
		view_zombie_names_json(j, s);
		json_end_array(j);
	}
	if (s->have & CENSUS_SERIAL)
		json_u64(j, "max_serial", s->max_serial);
	if (v->totals && v->totals->slices) {
		json_object(j, "walk");
		json_str(j, "how", v->totals->how);
		json_u64(j, "slices", v->totals->slices);
		json_u64(j, "steps", v->totals->steps);
		json_u64(j, "kernel_ns", v->totals->kernel_ns);
		json_u64(j, "longest_slice_ns", v->totals->longest_slice_ns);
		json_u64(j, "restarts", v->totals->restarts);
		json_bool(j, "complete", v->totals->complete);
		json_end_object(j);
	}
}

/* Indexes of the files, those that hold most zombies first, then by bytes. */
static int most_zombies_first(const void *a, const void *b, void *arg)
{
	const struct zombie_files *files = arg;
	const struct zombie_file *x = &files->list.items[*(const size_t *)a];
	const struct zombie_file *y = &files->list.items[*(const size_t *)b];

	if (x->zombies != y->zombies)
		return x->zombies > y->zombies ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

size_t *view_zombie_files_order(const struct zombie_files *files)
{
	size_t *order = files->list.len ? calloc(files->list.len, sizeof(*order)) : NULL;

	for (size_t i = 0; order && i < files->list.len; i++)
		order[i] = i;
	if (order)
		qsort_r(order, files->list.len, sizeof(*order), most_zombies_first, (void *)files);
	return order;
}

static void holder_json(struct json *j, const struct zombie_holder *h)
{
	json_object(j, "holder");
	json_u64(j, "processes", h->processes);
	if (h->processes) {
		json_i64(j, "pid", h->pid);
		json_str(j, "comm", h->comm);
	}
	if (h->owner)
		json_str(j, "owner", h->owner);
	if (h->unit)
		json_str(j, "unit", h->unit);
	json_end_object(j);
}

static void file_json(struct json *j, const struct zombie_file *f)
{
	char device[32];

	if (f->path)
		json_str(j, "file", f->path);
	snprintf(device, sizeof(device), "%u:%u", f->major, f->minor);
	json_str(j, "device", device);
	json_u64(j, "inode", f->inode);
	json_bool(j, "deleted", f->deleted);
	if (f->place == PLACE_OVERLAY || f->place == PLACE_INTERNAL || f->place == PLACE_DEVICE)
		json_str(j, "place", pin_place_name(f->place));
	if (f->held)
		holder_json(j, &f->holder);
}

void view_zombie_files_json(struct json *j, const struct zombie_files *files, size_t most)
{
	AUTO_FREE size_t *order = view_zombie_files_order(files);

	json_array(j, "files");
	for (size_t i = 0; order && i < files->list.len && i < most; i++) {
		const struct zombie_file *f = &files->list.items[order[i]];
		json_object(j, NULL);
		json_str(j, "kind", pin_kind_name(f->kind));
		file_json(j, f);
		json_u64(j, "zombies", f->zombies);
		json_u64(j, "bytes", f->bytes);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "files_in_all", files->list.len);
}

static void pin_json(struct json *j, const struct zombie_pin *p, const struct zombie_files *files)
{
	json_object(j, NULL);
	json_str(j, "kind", pin_kind_name(p->kind));
	if (files && zombie_pin_has_file(p))
		file_json(j, &files->list.items[p->file]);
	if (p->kind == PIN_WRITEBACK)
		json_bool(j, "dirty", p->dirty);
	if (p->kind == PIN_CHILD && p->below)
		json_u64(j, "zombies_below", p->below);
	if (p->pid) {
		json_i64(j, "pid", p->pid);
		json_str(j, "comm", p->comm);
		if (p->kind != PIN_SOCKET)
			json_i64(j, "parent_pid", p->parent_pid);
	}
	if (p->kind == PIN_SOCKET) {
		json_u64(j, "socket", p->socket_inode);
		json_u64(j, "family", p->family);
		json_u64(j, "protocol", p->protocol);
		if (p->port)
			json_u64(j, "port", p->port);
	}
	json_u64(j, "bytes", p->bytes);
	json_end_object(j);
}

static void life_json(struct json *j, const struct zombie *z, uint64_t now_ns)
{
	struct owner o;

	if (z->have & ZOMBIE_CREATED)
		json_time(j, "created", z->created_ns);
	if (z->have & ZOMBIE_CREATED && now_ns > z->created_ns)
		json_f64(j, "age_s", (double)(now_ns - z->created_ns) / 1e9, 3);
	if (z->have & ZOMBIE_CREATED_AFTER)
		json_time(j, "created_after", z->created_after_ns);
	if (z->have & ZOMBIE_CREATED_BEFORE)
		json_time(j, "created_before", z->created_before_ns);
	if (z->have & ZOMBIE_DIED)
		json_time(j, "died", z->died_ns);
	if (!z->creator)
		return;
	json_object(j, "creator");
	json_i64(j, "pid", z->creator->pid);
	json_str(j, "comm", z->creator->comm);
	if (z->creator->ppid)
		json_i64(j, "ppid", z->creator->ppid);
	if (z->creator->parent_comm[0])
		json_str(j, "parent_comm", z->creator->parent_comm);
	if (z->creator->cgroup) {
		json_str(j, "cgroup", z->creator->cgroup);
		owner_parse(z->creator->cgroup, strlen(z->creator->cgroup), &o);
		if (o.unit.at)
			json_str_n(j, "unit", o.unit.at, o.unit.len);
	}
	json_end_object(j);
}

/* What every zombie has: this is most of a list. kept: only the sum and its files are known. */
static void row_json(struct json *j, const struct zombie *z, bool kept, struct buf *scratch)
{
	const char *kind = owner_kind_name(z->owner.kind);
	struct json_row row;

	json_row_begin(&row, j);
	json_row_u64(&row, "id", z->id);
	json_row_str(&row, "path", z->path, z->path_len);
	owner_label(scratch, &z->owner);
	json_row_str(&row, "owner", buf_str(scratch), scratch->len);
	json_row_str(&row, "kind", kind, strlen(kind));
	if (z->owner.unit.at)
		json_row_str(&row, "unit", z->owner.unit.at, z->owner.unit.len);
	if (z->owner.container.at)
		json_row_str(&row, "container", z->owner.container.at, z->owner.container.len);
	if (z->owner.pod.at) {
		buf_clear(scratch);
		owner_pod_uid(scratch, &z->owner);
		json_row_str(&row, "pod", buf_str(scratch), scratch->len);
	}
	if (z->owner.task.at)
		json_row_str(&row, "task", z->owner.task.at, z->owner.task.len);
	if (z->have & ZOMBIE_LRU) {
		json_row_u64(&row, "bytes", z->bytes);
		json_row_u64(&row, "file_bytes", z->file_bytes);
		if (z->have & ZOMBIE_SPLIT) {
			json_row_u64(&row, "anon_bytes", z->anon_bytes);
			json_row_u64(&row, "shmem_bytes", z->shmem_bytes);
		}
		if (!kept)
			json_row_u64(&row, "unevictable_bytes", z->unevictable_bytes);
	}
	if (z->have & ZOMBIE_SLAB)
		json_row_u64(&row, "slab_bytes", z->slab_bytes);
	if (z->have & ZOMBIE_SWAP)
		json_row_u64(&row, "swap_bytes", z->swap_bytes);
	if (z->have & ZOMBIE_REFS)
		json_row_u64(&row, "refs", (uint64_t)z->refs);
	json_row_u64(&row, "serial", z->serial);
	json_row_end(&row);
}

void view_zombie_json(struct json *j, const struct zombie *z, const struct zombie_files *files,
		      uint64_t now_ns, struct buf *scratch)
{
	json_object(j, NULL);
	row_json(j, z, false, scratch);
	life_json(j, z, now_ns);
	if (z->have & ZOMBIE_PINS) {
		json_array(j, "pins");
		for (size_t i = 0; i < z->n_pins; i++)
			pin_json(j, &z->pins[i], files);
		json_end_array(j);
	}
	json_end_object(j);
}

void view_zombie_names_json(struct json *j, const struct census_summary *s)
{
	AUTO_BUF struct buf scratch = { 0 };

	for (size_t i = 0; i < s->n_names; i++) {
		const struct census_name *n = &s->names[i];
		struct zombie z = { .id = n->id,
				    .serial = n->serial,
				    .path = n->path,
				    .path_len = strlen(n->path),
				    .bytes = n->bytes,
				    .file_bytes = n->file_bytes };
		if (s->have & CENSUS_BYTES)
			z.have |= ZOMBIE_LRU;
		owner_parse(z.path, z.path_len, &z.owner);
		json_object(j, NULL);
		row_json(j, &z, true, &scratch);
		json_end_object(j);
	}
}
