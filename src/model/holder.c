#include "holder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "map.h"
#include "text.h"

static const char *frame_symbol(const struct profile *p, uint32_t stack)
{
	const struct profile_frame *f = &p->frames.items[p->stacks.items[stack].frame];
	return f->kind == PROFILE_KERNEL ? profile_text(p, f->symbol) : "";
}

static bool on_core(const struct profile_sample *s, unsigned cpu, uint64_t from_ns, uint64_t to_ns)
{
	return s->have & PROFILE_HAVE_CPU && s->cpu == cpu && s->have & PROFILE_HAVE_TIME &&
	       s->time_ns >= from_ns && s->time_ns < to_ns;
}

static const char *sample_cgroup(const struct profile *p, const struct profile_sample *s)
{
	return s->cgroup < p->cgroups.len ? profile_text(p, p->cgroups.items[s->cgroup].path) : "";
}

/* The key with the largest count. */
static bool map_most(const struct map_u64 *m, uint64_t *ret_key, uint64_t *ret_count)
{
	size_t at = 0;
	uint64_t key, *count, most = 0;

	while (map_u64_next(m, &at, &key, &count)) {
		if (*count > most || (*count == most && most && key < *ret_key)) {
			most = *count;
			*ret_key = key;
		}
	}
	*ret_count = most;
	return most > 0;
}

static void map_count(struct map_u64 *m, uint64_t key)
{
	uint64_t *count = map_u64_put(m, key, NULL);
	if (count)
		++*count;
}

/* Entry glue says nothing: what it entered does. */
static bool is_glue(const char *symbol)
{
	static const char *const glue[] = {
		"entry_SYSCALL_64", "do_syscall_64", "x64_sys_call",   "asm_", "ret_from_fork",
		"syscall_enter",    "syscall_exit",  "invoke_syscall", "el0",  "el1"
	};
	for (size_t i = 0; i < ARRAY_LEN(glue); i++)
		if (text_starts(symbol, glue[i]))
			return true;
	return !*symbol;
}

static void holder_function(const struct profile *p, unsigned cpu, uint64_t from_ns, uint64_t to_ns,
			    struct holder *h)
{
	AUTO_MAP_U64 struct map_u64 leaves = { 0 };
	uint64_t symbol = 0, count;

	vec_foreach (&p->samples, s) {
		if (!on_core(s, cpu, from_ns, to_ns) || s->pid != h->pid)
			continue;
		uint32_t at = s->stack;
		while (at && is_glue(frame_symbol(p, at)))
			at = p->stacks.items[at].parent;
		if (at)
			map_count(&leaves, p->frames.items[p->stacks.items[at].frame].symbol);
	}
	if (!map_most(&leaves, &symbol, &count))
		return;
	h->function = profile_text(p, (uint32_t)symbol);
	uint64_t inside = 0;
	vec_foreach (&p->samples, s) {
		if (!on_core(s, cpu, from_ns, to_ns) || s->pid != h->pid)
			continue;
		for (uint32_t at = s->stack; at; at = p->stacks.items[at].parent)
			if (p->frames.items[p->stacks.items[at].frame].symbol == symbol) {
				inside++;
				break;
			}
	}
	h->function_share = 100.0 * (double)inside / (double)h->samples;
}

bool holder_of_core(const struct profile *p, unsigned cpu, uint64_t from_ns, uint64_t to_ns,
		    struct holder *ret)
{
	AUTO_MAP_U64 struct map_u64 pids = { 0 };
	uint64_t pid = 0, count;
	struct holder h = { .comm = "", .cgroup = "" };

	vec_foreach (&p->samples, s) {
		if (!on_core(s, cpu, from_ns, to_ns))
			continue;
		h.samples++;
		map_count(&pids, s->pid);
	}
	if (!map_most(&pids, &pid, &count))
		return false;
	h.pid = (uint32_t)pid;
	h.share = 100.0 * (double)count / (double)h.samples;
	vec_foreach (&p->samples, s) {
		if (on_core(s, cpu, from_ns, to_ns) && s->pid == pid) {
			h.comm = profile_text(p, s->comm);
			h.cgroup = sample_cgroup(p, s);
			break;
		}
	}
	holder_function(p, cpu, from_ns, to_ns, &h);
	*ret = h;
	return true;
}

bool walker_is_walk(const char *symbol)
{
	static const char *const functions[] = {
		"mem_cgroup_nr_lru_pages",
		"memcg_stat_show",
		"memcg_numa_stat_show",
		"memcg_stat_format",
		"mem_cgroup_iter",
		"mem_cgroup_iter_break",
		"shrink_slab_memcg",
		"cgroup_rstat_flush",
		"cgroup_rstat_flush_locked",
		"mem_cgroup_css_rstat_flush",
		"css_rstat_flush",
		"mem_cgroup_flush_stats",
		"do_flush_stats",
		"__mem_cgroup_flush_stats",
		"css_next_descendant_pre",
		"memory_numa_stat_show",
		"mem_cgroup_node_nr_lru_pages",
		"flush_memcg_stats_dwork",
	};
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (strcmp(symbol, functions[i]) == 0)
			return true;
	/* compilers add .isra.0, .constprop.0 */
	const char *dot = strchr(symbol, '.');
	if (dot && dot != symbol) {
		char plain[128];
		return text_copy_n(plain, sizeof(plain), symbol, (size_t)(dot - symbol)) &&
		       walker_is_walk(plain);
	}
	return false;
}

/* The walking function nearest the root of the stack, 0 = none. */
static uint32_t sample_walk(const struct profile *p, const struct profile_sample *s)
{
	uint32_t found = 0;

	for (uint32_t at = s->stack; at; at = p->stacks.items[at].parent)
		if (walker_is_walk(frame_symbol(p, at)))
			found = p->frames.items[p->stacks.items[at].frame].symbol;
	return found;
}

static void walker_fill(const struct profile *p, struct walker *w)
{
	AUTO_MAP_U64 struct map_u64 functions = { 0 }, cpus = { 0 };
	uint64_t symbol = 0, cpu = 0, count;

	vec_foreach (&p->samples, s) {
		uint32_t walk = s->pid == w->pid ? sample_walk(p, s) : 0;
		if (!walk)
			continue;
		map_count(&functions, walk);
		map_count(&cpus, s->cpu);
		w->from_ns = w->from_ns ? MIN_OF(w->from_ns, s->time_ns) : s->time_ns;
		w->to_ns = MAX_OF(w->to_ns, s->time_ns);
		w->comm = profile_text(p, s->comm);
		w->cgroup = sample_cgroup(p, s);
	}
	if (map_most(&functions, &symbol, &count))
		w->function = profile_text(p, (uint32_t)symbol);
	if (map_most(&cpus, &cpu, &count))
		w->cpu = (unsigned)cpu;
}

static int walker_compare(const void *a, const void *b)
{
	const struct walker *x = a, *y = b;
	return x->walking != y->walking ? (x->walking < y->walking ? 1 : -1) : 0;
}

int walkers_find(const struct profile *p, struct walkers *ret)
{
	AUTO_MAP_U64 struct map_u64 all = { 0 }, walking = { 0 };
	struct walkers found = { 0 };
	size_t at = 0;
	uint64_t pid, *count;

	vec_foreach (&p->samples, s) {
		map_count(&all, s->pid);
		if (sample_walk(p, s))
			map_count(&walking, s->pid);
	}
	while (map_u64_next(&walking, &at, &pid, &count)) {
		struct walker w = { .pid = (uint32_t)pid,
				    .comm = "",
				    .cgroup = "",
				    .function = "",
				    .walking = *count,
				    .samples = *map_u64_get(&all, pid) };
		walker_fill(p, &w);
		if (!vec_push(&found.list, w)) {
			walkers_free(&found);
			return -ENOMEM;
		}
	}
	vec_sort(&found.list, walker_compare);
	*ret = found;
	return 0;
}

void walkers_free(struct walkers *w)
{
	vec_free(&w->list);
}
