#include <string.h>

#include "auto.h"
#include "profile_codec.h"
#include "profile_wire.h"
#include "wire.h"

void profile_encoder_reset(struct profile_encoder *e)
{
	vec_free(&e->tasks);
	vec_free(&e->leaves);
	map_str_free(&e->task_ids);
	map_u64_free(&e->leaf_ids);
	*e = (struct profile_encoder){ 0 };
}

static uint32_t task_id(struct profile_encoder *e, const struct profile_sample *s)
{
	struct profile_task task = { s->pid, s->tid, s->comm, s->cgroup };
	bool is_new;
	uint64_t *slot = map_str_put(&e->task_ids, (char *)&task, sizeof(task), &is_new);

	if (!slot)
		return 0;
	if (is_new) {
		*slot = e->tasks.len;
		(void)vec_push(&e->tasks, task);
	}
	return (uint32_t)*slot;
}

static uint32_t leaf_id(struct profile_encoder *e, uint32_t stack)
{
	bool is_new;
	uint64_t *slot = map_u64_put(&e->leaf_ids, stack, &is_new);

	if (!slot)
		return 0;
	if (is_new) {
		*slot = e->leaves.len;
		(void)vec_push(&e->leaves, stack);
	}
	return (uint32_t)*slot;
}

/* Base id and count of a part; entry 0 of a profile's dictionary is implied. */
static bool part_begin(struct buf *out, size_t *written, size_t len, size_t least)
{
	if (*written < least)
		*written = MIN_OF(least, len);
	wire_put_u64(out, *written);
	wire_put_u64(out, len - *written);
	return *written < len;
}

static void put_strings(struct profile_encoder *e, const struct profile *p, struct buf *out)
{
	if (part_begin(out, &e->strings, p->strings.len, 1))
		for (size_t i = e->strings; i < p->strings.len; i++)
			wire_put_bytes(out, p->strings.items[i].text, p->strings.items[i].len);
	e->strings = p->strings.len;
}

static void put_modules(struct profile_encoder *e, const struct profile *p, struct buf *out)
{
	part_begin(out, &e->modules, p->modules.len, 1);
	for (size_t i = e->modules; i < p->modules.len; i++) {
		const struct profile_module *m = &p->modules.items[i];
		wire_put_u64(out, m->name);
		wire_put_bytes(out, m->build_id, m->build_id_len);
	}
	e->modules = p->modules.len;
}

static void put_frames(struct profile_encoder *e, const struct profile *p, struct buf *out)
{
	uint32_t last_symbol = 0;

	part_begin(out, &e->frames, p->frames.len, 1);
	for (size_t i = e->frames; i < p->frames.len; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		bool address = f->address || f->symbol_offset;
		wire_put_u64(out, (uint64_t)f->module << WIRE_FRAME_SHIFT | (unsigned)f->kind |
					  (f->inlined ? WIRE_FRAME_INLINED : 0) |
					  (f->final ? WIRE_FRAME_FINAL : 0) |
					  (address ? WIRE_FRAME_ADDRESS : 0));
		wire_put_i64(out, (int64_t)f->symbol - last_symbol);
		if (f->symbol)
			last_symbol = f->symbol;
		if (address) {
			wire_put_u64(out, f->address);
			wire_put_u64(out, f->symbol_offset);
		}
	}
	e->frames = p->frames.len;
}

/* Stacks and frames are new in the same order, mostly: 0 = the next new frame of this dictionary,
 * else the frame's id + 1. */
static void put_stacks(struct profile_encoder *e, const struct profile *p, size_t next_frame,
		       struct buf *out)
{
	part_begin(out, &e->stacks, p->stacks.len, 1);
	/* a new chain grows by its own last node: distance 0 */
	for (size_t i = e->stacks; i < p->stacks.len; i++)
		wire_put_u64(out, i - 1 - p->stacks.items[i].parent);
	for (size_t i = e->stacks; i < p->stacks.len; i++) {
		uint32_t frame = p->stacks.items[i].frame;
		wire_put_u64(out, frame == next_frame ? 0 : (uint64_t)frame + 1);
		if (frame >= next_frame)
			next_frame = (size_t)frame + 1;
	}
	e->stacks = p->stacks.len;
}

static void put_cgroups(struct profile_encoder *e, const struct profile *p, struct buf *out)
{
	part_begin(out, &e->cgroups, p->cgroups.len, 1);
	for (size_t i = e->cgroups; i < p->cgroups.len; i++) {
		wire_put_u64(out, p->cgroups.items[i].id);
		wire_put_u64(out, p->cgroups.items[i].path);
	}
	e->cgroups = p->cgroups.len;
}

static void put_tasks(struct profile_encoder *e, struct buf *out)
{
	uint32_t last_pid = 0;

	part_begin(out, &e->tasks_written, e->tasks.len, 0);
	for (size_t i = e->tasks_written; i < e->tasks.len; i++) {
		const struct profile_task *t = &e->tasks.items[i];
		wire_put_i64(out, (int64_t)t->pid - last_pid);
		wire_put_i64(out, (int64_t)t->tid - t->pid);
		wire_put_u64(out, t->comm);
		wire_put_u64(out, t->cgroup);
		last_pid = t->pid;
	}
	e->tasks_written = e->tasks.len;
}

static void put_leaves(struct profile_encoder *e, struct buf *out)
{
	uint32_t last = 0;

	part_begin(out, &e->leaves_written, e->leaves.len, 0);
	for (size_t i = e->leaves_written; i < e->leaves.len; i++) {
		wire_put_i64(out, (int64_t)e->leaves.items[i] - last);
		last = e->leaves.items[i];
	}
	e->leaves_written = e->leaves.len;
}

static bool anything_new(const struct profile_encoder *e, const struct profile *p)
{
	return e->strings < p->strings.len || e->modules < p->modules.len ||
	       e->frames < p->frames.len || e->stacks < p->stacks.len ||
	       e->cgroups < p->cgroups.len || e->events < p->meta.events.len ||
	       e->tasks_written < e->tasks.len || e->leaves_written < e->leaves.len;
}

bool profile_encode_dictionary(struct profile_encoder *e, const struct profile *p,
			       const struct profile_sample *samples, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		task_id(e, &samples[i]);
		leaf_id(e, samples[i].stack);
	}
	if (!anything_new(e, p))
		return false;
	size_t first_frame = MAX_OF(e->frames, (size_t)1);
	put_strings(e, p, out);
	put_modules(e, p, out);
	put_frames(e, p, out);
	wire_put_u64(out, MAX_OF(e->stacks, (size_t)1)); /* where stacks once stood: none */
	wire_put_u64(out, 0);
	put_cgroups(e, p, out);
	part_begin(out, &e->events, p->meta.events.len, 0);
	for (size_t i = e->events; i < p->meta.events.len; i++)
		wire_put_u64(out, p->meta.events.items[i]);
	e->events = p->meta.events.len;
	put_tasks(e, out);
	put_leaves(e, out);
	put_stacks(e, p, first_frame, out);
	return true;
}

static int compare_samples(const void *a_, const void *b_)
{
	const struct profile_sample *a = a_, *b = b_;
	int a_has = a->have & PROFILE_HAVE_CPU, b_has = b->have & PROFILE_HAVE_CPU;

	if (a_has != b_has)
		return a_has - b_has;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void put_rows(const struct profile_second *second, struct buf *out)
{
	uint32_t next_cpu = 0;

	wire_put_u64(out, second->n_rows);
	for (size_t i = 0; i < second->n_rows; i++) {
		const struct profile_cpu_second *r = &second->rows[i];
		wire_put_i64(out, (int64_t)r->cpu - next_cpu);
		wire_put_u64(out, r->expected);
		wire_put_u64(out, r->received);
		wire_put_u64(out, r->received_idle);
		wire_put_u64(out, r->lost);
		wire_put_u64(out, r->idle == PROFILE_IDLE_UNKNOWN ? 0 : (uint64_t)r->idle + 1);
		next_cpu = r->cpu + 1;
	}
}

/* Samples [from, to) are of one core. */
static size_t core_end(const struct profile_sample *samples, size_t n, size_t from)
{
	size_t to = from + 1;
	while (to < n && samples[to].cpu == samples[from].cpu &&
	       (samples[to].have & PROFILE_HAVE_CPU) == (samples[from].have & PROFILE_HAVE_CPU))
		to++;
	return to;
}

static void put_cores(const struct profile_sample *samples, size_t n, struct buf *out)
{
	size_t cores = 0;

	for (size_t i = 0; i < n; i = core_end(samples, n, i))
		cores++;
	wire_put_u64(out, cores);
	for (size_t i = 0, end; i < n; i = end) {
		end = core_end(samples, n, i);
		wire_put_u64(out, samples[i].have & PROFILE_HAVE_CPU ? samples[i].cpu + 1u : 0);
		wire_put_u64(out, end - i);
	}
}

static void put_times(const struct profile_sample *samples, size_t n, uint64_t second_ns,
		      uint64_t unit, uint64_t period, struct buf *out)
{
	for (size_t i = 0, end; i < n; i = end) {
		end = core_end(samples, n, i);
		int64_t expected = (int64_t)(second_ns / unit);
		for (size_t at = i; at < end; at++) {
			int64_t time = (int64_t)(samples[at].time_ns / unit);
			wire_put_i64(out, time - expected);
			expected = time + (int64_t)period;
		}
	}
}

static unsigned columns_of(const struct profile_sample *samples, size_t n)
{
	unsigned flags = 0;

	for (size_t i = 0; i < n; i++) {
		if (samples[i].weight != 1)
			flags |= WIRE_WEIGHTS;
		if (samples[i].event)
			flags |= WIRE_EVENTS;
		if (samples[i].have != WIRE_HAVE_USUAL)
			flags |= WIRE_HAVES;
	}
	return flags;
}

void profile_encode_second(struct profile_encoder *e, const struct profile *p,
			   const struct profile_second *second, struct profile_sample *samples,
			   size_t n, struct buf *out)
{
	uint64_t unit = second->exact_ns ? 1 : 1000, second_ns = second->second * 1000000000;
	uint64_t period = p->meta.hz > 0 ? (uint64_t)(1e9 / p->meta.hz) / unit : 0;
	unsigned flags = columns_of(samples, n) | (second->exact_ns ? WIRE_EXACT : 0);

	if (n)
		qsort(samples, n, sizeof(*samples), compare_samples);
	wire_put_u64(out, second->second);
	wire_put_u64(out, (uint64_t)(p->meta.hz * 1000));
	wire_put_u64(out, period);
	wire_put_u64(out, flags);
	put_rows(second, out);
	put_cores(samples, n, out);
	put_times(samples, n, second_ns, unit, period, out);
	uint32_t last = UINT32_MAX;
	for (size_t i = 0; i < n; i++) { /* 0 = the task before goes on */
		uint32_t id = task_id(e, &samples[i]);
		wire_put_u64(out, id == last ? 0 : (uint64_t)id + 1);
		last = id;
	}
	for (size_t i = 0; i < n; i++)
		wire_put_u64(out, leaf_id(e, samples[i].stack));
	for (size_t i = 0; flags & WIRE_WEIGHTS && i < n; i++)
		wire_put_u64(out, samples[i].weight);
	for (size_t i = 0; flags & WIRE_EVENTS && i < n; i++)
		wire_put_u64(out, samples[i].event);
	for (size_t i = 0; flags & WIRE_HAVES && i < n; i++)
		wire_put_u64(out, samples[i].have);
}
