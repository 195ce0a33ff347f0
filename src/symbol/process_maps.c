#include "process_maps.h"

#include <string.h>

struct process *process_table_get(const struct process_table *t, uint32_t pid)
{
	uint64_t *slot = map_u64_get(&t->by_pid, pid);
	return slot ? (struct process *)(uintptr_t)*slot : NULL;
}

struct process *process_table_put(struct process_table *t, uint32_t pid)
{
	struct process *p = process_table_get(t, pid);

	if (p || t->by_pid.len >= PROCESS_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	uint64_t *slot = p ? map_u64_put(&t->by_pid, pid, NULL) : NULL;
	if (!slot) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	*slot = (uintptr_t)p;
	return p;
}

static void process_free(struct process *p)
{
	vec_free(&p->maps);
	symtab_free(&p->jit);
	free(p->cgroup);
	free(p);
}

void process_table_inherit(struct process_table *t, struct process *p)
{
	const struct process *parent = process_table_get(t, p->parent);

	if (!p->parent || !parent || parent == p || p->maps.len || !parent->maps.len ||
	    !vec_reserve(&p->maps, parent->maps.len))
		return;
	memcpy(p->maps.items, parent->maps.items, parent->maps.len * sizeof(*p->maps.items));
	p->maps.len = parent->maps.len;
	p->complete = parent->complete;
}

void process_table_fork(struct process_table *t, uint32_t pid, uint32_t parent)
{
	struct process *p = process_table_put(t, pid);

	if (!p)
		return;
	process_clear(p, false); /* a reused pid */
	p->parent = parent;
	p->asked = p->dead = p->asked_cgroup = false;
	free(p->cgroup);
	p->cgroup = NULL;
	p->cgroup_id = 0;
	process_table_inherit(t, p);
}

void process_table_exit(struct process_table *t, uint32_t pid)
{
	struct process *p = process_table_get(t, pid);
	if (p && !p->dead && vec_push(&t->dead, pid)) {
		p->dead = true;
		p->died = t->calls;
	}
}

void process_table_forget_dead(struct process_table *t, uint32_t keep)
{
	size_t kept = 0;

	t->calls++;
	for (size_t i = 0; i < t->dead.len; i++) {
		uint32_t pid = t->dead.items[i];
		struct process *p = process_table_get(t, pid);
		if (!p || !p->dead) /* the pid lives again */
			continue;
		if (t->calls - p->died < keep) {
			t->dead.items[kept++] = pid;
			continue;
		}
		map_u64_remove(&t->by_pid, pid);
		process_free(p);
	}
	t->dead.len = kept;
}

void process_table_forget_maps(struct process_table *t)
{
	size_t at = 0;
	uint64_t pid, *slot;

	while (map_u64_next(&t->by_pid, &at, &pid, &slot)) {
		struct process *p = (struct process *)(uintptr_t)*slot;
		if (p->dead)
			continue;
		process_clear(p, false);
		p->asked = false;
	}
}

void process_table_free(struct process_table *t)
{
	size_t at = 0;
	uint64_t pid, *slot;

	while (map_u64_next(&t->by_pid, &at, &pid, &slot))
		process_free((struct process *)(uintptr_t)*slot);
	map_u64_free(&t->by_pid);
	vec_free(&t->dead);
}

void process_clear(struct process *p, bool complete)
{
	p->maps.len = 0;
	p->complete = complete;
}

/* Index of the first mapping that ends behind address. */
static size_t first_behind(const struct process *p, uint64_t address)
{
	size_t low = 0, high = p->maps.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->maps.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool insert_at(struct process *p, size_t at, struct process_map map)
{
	if (p->maps.len >= PROCESS_MAX_MAPS || !vec_push(&p->maps, map))
		return false;
	memmove(&p->maps.items[at + 1], &p->maps.items[at],
		(p->maps.len - 1 - at) * sizeof(*p->maps.items));
	p->maps.items[at] = map;
	return true;
}

void process_add_map(struct process *p, uint64_t start, uint64_t end, uint64_t file_offset,
		     uint32_t file)
{
	if (start >= end)
		return;
	size_t at = first_behind(p, start);
	struct process_map *m = at < p->maps.len ? &p->maps.items[at] : NULL;
	if (m && m->start < start) { /* its head stays; its tail, too, when it reaches further */
		struct process_map tail = *m;
		m->end = start;
		at++;
		if (tail.end > end) {
			tail.file_offset += end - tail.start;
			tail.start = end;
			insert_at(p, at, tail);
		}
	}
	size_t covered = at;
	while (covered < p->maps.len && p->maps.items[covered].end <= end)
		covered++;
	if (covered > at) {
		memmove(&p->maps.items[at], &p->maps.items[covered],
			(p->maps.len - covered) * sizeof(*p->maps.items));
		p->maps.len -= covered - at;
	}
	if (at < p->maps.len && p->maps.items[at].start < end) {
		p->maps.items[at].file_offset += end - p->maps.items[at].start;
		p->maps.items[at].start = end;
	}
	insert_at(p, at, (struct process_map){ start, end, file_offset, file });
}

const struct process_map *process_find_map(const struct process *p, uint64_t address)
{
	size_t at = first_behind(p, address);
	return at < p->maps.len && p->maps.items[at].start <= address ? &p->maps.items[at] : NULL;
}
