#include <errno.h>
#include <string.h>

#include "auto.h"
#include "flame.h"

void flame_top_free(struct flame_top *t)
{
	vec_free(&t->functions);
	vec_free(&t->processes);
	vec_free(&t->cores);
}

struct top_builder {
	struct profile *p;
	struct flame_top *top;
	struct map_u64 by_function, by_process, by_core;
	/* stack → weight of the samples that end there */
	struct map_u64 stacks;
};

static uint8_t leaf_kind(const struct profile *p, uint32_t stack)
{
	return p->frames.items[p->stacks.items[stack].frame].kind;
}

/* Functions are told apart by name and module. */
static struct flame_function *function_of(struct top_builder *b, uint32_t frame)
{
	struct profile *p = b->p;
	const struct profile_frame *f = &p->frames.items[frame];
	char text[PROFILE_MAX_NAME + 4];
	bool is_new;
	uint32_t name = profile_add_text(p, profile_frame_where(p, frame, text, sizeof(text)));
	uint32_t module = p->modules.items[f->module].name;
	uint64_t *slot = map_u64_put(&b->by_function, (uint64_t)name << 32 | module, &is_new);

	if (!slot)
		return NULL;
	if (is_new) {
		struct flame_function function = { .name = name,
						   .module = module,
						   .kind = f->kind };
		*slot = b->top->functions.len;
		if (!vec_push(&b->top->functions, function))
			return NULL;
	}
	return &b->top->functions.items[*slot];
}

static struct flame_process *process_of(struct top_builder *b, const struct profile_sample *s)
{
	bool is_new;
	uint64_t key = (uint64_t)s->pid << 32 | s->comm;
	uint64_t *slot = map_u64_put(&b->by_process, key, &is_new);

	if (!slot)
		return NULL;
	if (is_new) {
		struct flame_process process = { .pid = s->pid,
						 .comm = s->comm,
						 .cgroup = b->p->cgroups.items[s->cgroup].path };
		*slot = b->top->processes.len;
		if (!vec_push(&b->top->processes, process))
			return NULL;
	}
	return &b->top->processes.items[*slot];
}

static struct flame_core *core_of(struct top_builder *b, uint32_t cpu)
{
	bool is_new;
	uint64_t *slot = map_u64_put(&b->by_core, cpu, &is_new);

	if (!slot)
		return NULL;
	if (is_new) {
		*slot = b->top->cores.len;
		if (!vec_push(&b->top->cores, (struct flame_core){ .cpu = cpu }))
			return NULL;
	}
	return &b->top->cores.items[*slot];
}

static int count_sample(struct top_builder *b, const struct profile_sample *s)
{
	bool kernel = leaf_kind(b->p, s->stack) == PROFILE_KERNEL;
	struct flame_process *process = process_of(b, s);
	uint64_t *weight = map_u64_put(&b->stacks, s->stack, NULL);

	if (!process || !weight)
		return -ENOMEM;
	*weight += s->weight;
	process->samples += s->weight;
	process->kernel += kernel ? s->weight : 0;
	b->top->weight += s->weight;
	*(kernel ? &b->top->kernel : &b->top->user) += s->weight;
	if (!(s->have & PROFILE_HAVE_CPU))
		return 0;
	struct flame_core *core = core_of(b, s->cpu);
	if (!core)
		return -ENOMEM;
	core->samples += s->weight;
	core->kernel += kernel ? s->weight : 0;
	return 0;
}

/* Function of each frame, found once; then per stack once per function. */
static int count_functions(struct top_builder *b)
{
	struct profile *p = b->p;
	size_t n_frames = p->frames.len, at = 0;
	AUTO_FREE uint32_t *function = calloc(n_frames, sizeof(*function));
	AUTO_FREE uint64_t *seen = calloc(n_frames + 1, sizeof(*seen));
	uint64_t stack, *weight, stamp = 0;

	if (!function || !seen)
		return -ENOMEM;
	while (map_u64_next(&b->stacks, &at, &stack, &weight)) {
		stamp++;
		for (uint32_t s = (uint32_t)stack; s; s = p->stacks.items[s].parent) {
			uint32_t frame = p->stacks.items[s].frame;
			if (!function[frame]) {
				struct flame_function *f = function_of(b, frame);
				if (!f)
					return -ENOMEM;
				function[frame] = (uint32_t)(f - b->top->functions.items) + 1;
			}
			uint32_t id = function[frame];
			struct flame_function *f = &b->top->functions.items[id - 1];
			if (s == stack)
				f->self += *weight;
			if (seen[id] != stamp)
				f->total += *weight;
			seen[id] = stamp;
		}
	}
	return 0;
}

static int count_accounts(struct top_builder *b)
{
	for (size_t i = 0; i < b->p->meta.cpu_seconds.len; i++) {
		const struct profile_cpu_second *row = &b->p->meta.cpu_seconds.items[i];
		struct flame_core *core = core_of(b, row->cpu);
		if (!core)
			return -ENOMEM;
		core->accounted = true;
		core->expected += row->expected;
		core->received += row->received;
		core->lost += row->lost;
		core->missing += profile_missing_ticks(row);
	}
	return 0;
}

static int compare_functions(const void *a_, const void *b_)
{
	const struct flame_function *a = a_, *b = b_;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static int compare_processes(const void *a_, const void *b_)
{
	const struct flame_process *a = a_, *b = b_;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int compare_cores(const void *a_, const void *b_)
{
	const struct flame_core *a = a_, *b = b_;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

int flame_top(struct profile *p, struct flame_top *ret)
{
	struct flame_top top = { 0 };
	struct top_builder b = { .p = p, .top = &top };
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->samples.len; i++)
		r = count_sample(&b, &p->samples.items[i]);
	if (r == 0)
		r = count_functions(&b);
	if (r == 0)
		r = count_accounts(&b);
	map_u64_free(&b.by_function);
	map_u64_free(&b.by_process);
	map_u64_free(&b.by_core);
	map_u64_free(&b.stacks);
	if (r < 0) {
		flame_top_free(&top);
		return r;
	}
	vec_sort(&top.functions, compare_functions);
	vec_sort(&top.processes, compare_processes);
	vec_sort(&top.cores, compare_cores);
	*ret = top;
	return 0;
}
