#include <errno.h>
#include <string.h>

#include "auto.h"
#include "profile_codec.h"
#include "profile_wire.h"
#include "wire.h"

enum { DECODE_MOST_LOST_ENTRIES = 1 << 20, DECODE_MOST_CPUS = 65536 };

void profile_decoder_reset(struct profile_decoder *d)
{
	d->strings.len = d->modules.len = d->frames.len = d->stacks.len = 0;
	d->cgroups.len = d->events.len = d->tasks.len = d->leaves.len = 0;
	d->first = d->out && d->out->stacks.len == 1;
}

void profile_decoder_free(struct profile_decoder *d)
{
	vec_free(&d->strings);
	vec_free(&d->modules);
	vec_free(&d->frames);
	vec_free(&d->stacks);
	vec_free(&d->cgroups);
	vec_free(&d->events);
	vec_free(&d->tasks);
	vec_free(&d->leaves);
}

/* Ids that a lost frame would have given stay "nothing"; entry 0 is nothing as well. Wraps the
 * differently typed tables. */
#define PART_BEGIN(d, table, r, ret_n)                                                    \
	({                                                                                \
		uint64_t part_base = wire_get_u64(r);                                     \
		*(ret_n) = wire_get_u64(r);                                               \
		bool part_ok = !(r)->failed && part_base >= (d)->table.len &&             \
			       part_base - (d)->table.len <= DECODE_MOST_LOST_ENTRIES &&  \
			       *(ret_n) <= (uint64_t)((r)->end - (r)->at) &&              \
			       vec_reserve(&(d)->table, part_base + *(ret_n));            \
		if (part_ok && part_base > (d)->table.len) {                              \
			memset(&(d)->table.items[(d)->table.len], 0xff,                   \
			       (part_base - (d)->table.len) * sizeof(*(d)->table.items)); \
			(d)->table.len = part_base;                                       \
		}                                                                         \
		part_ok;                                                                  \
	})

#define LOST       UINT32_MAX /* what the memset above leaves behind */
#define UNRESOLVED (UINT32_MAX - 1)

#define LOOKUP(d, table, id) \
	((id) < (d)->table.len && (d)->table.items[id] != LOST ? (d)->table.items[id] : 0)

static bool get_strings(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n;

	if (!PART_BEGIN(d, strings, r, &n))
		return false;
	for (; n && !r->failed; n--) {
		size_t len;
		const char *text = wire_get_bytes(r, &len);
		if (text)
			d->strings.items[d->strings.len++] = profile_add_string(d->out, text, len);
	}
	return !r->failed;
}

static bool get_modules(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n;

	if (!PART_BEGIN(d, modules, r, &n))
		return false;
	for (; n && !r->failed; n--) {
		size_t len;
		uint64_t name = wire_get_u64(r);
		const void *build_id = wire_get_bytes(r, &len);
		if (build_id)
			d->modules.items[d->modules.len++] =
				profile_add_module(d->out, LOOKUP(d, strings, name), build_id, len);
	}
	return !r->failed;
}

static bool get_frames(struct profile_decoder *d, struct wire_reader *r, uint64_t *ret_first)
{
	uint64_t n;
	uint64_t last_symbol = 0;

	if (!PART_BEGIN(d, frames, r, &n))
		return false;
	*ret_first = d->frames.len;
	for (; n && !r->failed; n--) {
		uint64_t bits = wire_get_u64(r), module = bits >> WIRE_FRAME_SHIFT;
		uint64_t symbol = last_symbol + (uint64_t)wire_get_i64(r);
		struct profile_frame f = {
			.symbol = LOOKUP(d, strings, symbol),
			.module = LOOKUP(d, modules, module),
			.kind = bits & 3,
			.inlined = bits & WIRE_FRAME_INLINED,
			.final = bits & WIRE_FRAME_FINAL,
		};
		if (symbol)
			last_symbol = symbol;
		if (bits & WIRE_FRAME_ADDRESS) {
			f.address = wire_get_u64(r);
			f.symbol_offset = (uint32_t)wire_get_u64(r);
		}
		if (!r->failed)
			d->frames.items[d->frames.len++] = profile_add_frame(d->out, &f);
	}
	return !r->failed;
}

/* next_frame: the first frame that this dictionary brought, for which 0 stands; 0 = plain ids, as
 * dictionaries of the first recordings have them. */
static bool get_stacks(struct profile_decoder *d, struct wire_reader *r, uint64_t next_frame)
{
	bool plain = next_frame == 0;
	uint64_t n;

	if (!PART_BEGIN(d, stacks, r, &n))
		return false;
	/* both columns have to be walked side by side */
	struct wire_reader parents = *r;
	for (uint64_t i = 0; i < n; i++)
		wire_get_u64(r);
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		uint64_t id = d->stacks.len, distance = wire_get_u64(&parents);
		uint64_t frame = wire_get_u64(r);
		if (!plain) {
			frame = frame ? frame - 1 : next_frame;
			next_frame = MAX_OF(next_frame, MIN_OF(frame, (uint64_t)LOST) + 1);
		}
		struct profile_node node = {
			.parent = distance < id ? (uint32_t)(id - 1 - distance) : 0,
			.frame = (uint32_t)MIN_OF(frame, (uint64_t)LOST),
			.stack = UNRESOLVED,
		};
		if (!r->failed)
			d->stacks.items[d->stacks.len++] = node;
	}
	return !r->failed;
}

/* The stack in the profile: from the nearest caller that is there already down to the leaf. */
static uint32_t resolve_stack(struct profile_decoder *d, uint32_t leaf)
{
	uint32_t path[PROFILE_MAX_DEPTH], stack = 0;
	size_t n = 0;

	for (uint32_t at = leaf; at; at = d->stacks.items[at].parent) {
		if (at >= d->stacks.len || d->stacks.items[at].stack == LOST)
			return LOST;
		if (d->stacks.items[at].stack != UNRESOLVED) {
			stack = d->stacks.items[at].stack;
			break;
		}
		if (n == PROFILE_MAX_DEPTH)
			return LOST;
		path[n++] = at;
	}
	while (n-- > 0) {
		struct profile_node *node = &d->stacks.items[path[n]];
		uint32_t frame = LOOKUP(d, frames, node->frame);
		/* a segment has each stack once */
		stack = d->first ? profile_append_stack(d->out, stack, frame)
				 : profile_add_stack(d->out, stack, frame);
		node->stack = stack;
	}
	return stack;
}

static bool get_cgroups(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n;

	if (!PART_BEGIN(d, cgroups, r, &n))
		return false;
	for (; n && !r->failed; n--) {
		uint64_t id = wire_get_u64(r), path = wire_get_u64(r);
		if (!r->failed)
			d->cgroups.items[d->cgroups.len++] =
				profile_add_cgroup(d->out, id, LOOKUP(d, strings, path));
	}
	return !r->failed;
}

static bool get_events(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n;

	if (!PART_BEGIN(d, events, r, &n) || n > 256)
		return false;
	for (; n && !r->failed; n--) {
		uint64_t name = wire_get_u64(r);
		if (!r->failed)
			d->events.items[d->events.len++] = profile_add_event(
				d->out, profile_text(d->out, LOOKUP(d, strings, name)));
	}
	return !r->failed;
}

static bool get_tasks(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n;
	uint32_t last_pid = 0;

	if (!PART_BEGIN(d, tasks, r, &n))
		return false;
	for (; n && !r->failed; n--) {
		uint32_t pid = last_pid + (uint32_t)wire_get_i64(r);
		uint32_t tid = pid + (uint32_t)wire_get_i64(r);
		uint64_t comm = wire_get_u64(r), cgroup = wire_get_u64(r);
		struct profile_task task = { pid, tid, LOOKUP(d, strings, comm),
					     LOOKUP(d, cgroups, cgroup) };
		last_pid = pid;
		if (!r->failed)
			d->tasks.items[d->tasks.len++] = task;
	}
	return !r->failed;
}

static bool get_leaves(struct profile_decoder *d, struct wire_reader *r)
{
	uint64_t n, last = 0;

	if (!PART_BEGIN(d, leaves, r, &n))
		return false;
	for (; n && !r->failed; n--) {
		last += (uint64_t)wire_get_i64(r);
		if (!r->failed)
			d->leaves.items[d->leaves.len++] = last < LOST ? (uint32_t)last : LOST;
	}
	return !r->failed;
}

int profile_decode_dictionary(struct profile_decoder *d, const void *bytes, size_t len)
{
	struct wire_reader r;
	uint64_t first_frame;

	wire_open(&r, bytes, len);
	bool ok = get_strings(d, &r) && get_modules(d, &r) && get_frames(d, &r, &first_frame) &&
		  get_stacks(d, &r, 0) && get_cgroups(d, &r) && get_events(d, &r) &&
		  get_tasks(d, &r) && get_leaves(d, &r) &&
		  (r.at == r.end || get_stacks(d, &r, first_frame));
	return ok ? 0 : -EBADMSG;
}

struct second_head {
	uint64_t second, millihz, period, flags, unit;
};

static bool get_head(struct wire_reader *r, struct second_head *ret)
{
	ret->second = wire_get_u64(r);
	ret->millihz = wire_get_u64(r);
	ret->period = wire_get_u64(r);
	ret->flags = wire_get_u64(r);
	ret->unit = ret->flags & WIRE_EXACT ? 1 : 1000;
	return !r->failed && ret->second < UINT64_MAX / 1000000000;
}

int profile_peek_second(const void *bytes, size_t len, uint64_t *ret_second)
{
	struct second_head head;
	struct wire_reader r;

	wire_open(&r, bytes, len);
	if (!get_head(&r, &head))
		return -EBADMSG;
	*ret_second = head.second;
	return 0;
}

typedef void (*row_fn)(void *arg, const struct profile_cpu_second *row);

static bool get_rows(struct wire_reader *r, const struct second_head *head, row_fn each, void *arg)
{
	uint64_t n = wire_get_u64(r);
	uint64_t next_cpu = 0;

	if (r->failed || n > (uint64_t)(r->end - r->at))
		return false;
	for (; n && !r->failed; n--) {
		uint64_t cpu = next_cpu + (uint64_t)wire_get_i64(r);
		struct profile_cpu_second row = { .second = head->second, .cpu = (uint32_t)cpu };
		row.expected = (uint32_t)wire_get_u64(r);
		row.received = (uint32_t)wire_get_u64(r);
		row.received_idle = (uint32_t)wire_get_u64(r);
		row.lost = (uint32_t)wire_get_u64(r);
		uint64_t idle = wire_get_u64(r);
		row.idle = idle ? (uint32_t)(idle - 1) : PROFILE_IDLE_UNKNOWN;
		if (cpu >= DECODE_MOST_CPUS)
			return false;
		next_cpu = cpu + 1;
		if (!r->failed && each)
			each(arg, &row);
	}
	return !r->failed;
}

typedef bool (*sample_fn)(void *arg, uint64_t i, uint64_t time_ns, uint32_t cpu);

/* Walk cores and times together; *ret_n is the number of samples. */
static bool get_times(struct wire_reader *r, const struct second_head *head, sample_fn each,
		      void *arg, uint64_t *ret_n)
{
	uint64_t cores = wire_get_u64(r), n = 0;
	struct wire_reader counts = *r;

	if (r->failed || cores > (uint64_t)(r->end - r->at))
		return false;
	for (uint64_t i = 0; i < 2 * cores; i++)
		wire_get_u64(r);
	for (uint64_t i = 0; i < cores && !r->failed; i++) {
		uint64_t cpu = wire_get_u64(&counts), of_core = wire_get_u64(&counts);
		uint64_t expected = head->second * 1000000000 / head->unit;
		if (of_core > (uint64_t)(r->end - r->at) || cpu > DECODE_MOST_CPUS)
			return false;
		for (uint64_t k = 0; k < of_core && !r->failed; k++) {
			uint64_t time = expected + (uint64_t)wire_get_i64(r);
			expected = time + head->period;
			if (!each(arg, n++, time * head->unit,
				  cpu ? (uint32_t)cpu - 1 : UINT32_MAX))
				return false;
		}
	}
	*ret_n = n;
	return !r->failed;
}

struct times_arg {
	void (*each)(void *arg, uint64_t time_ns, uint32_t cpu);
	void *arg;
};

static bool pass_time(void *arg, uint64_t i, uint64_t time_ns, uint32_t cpu)
{
	struct times_arg *t = arg;
	(void)i;
	t->each(t->arg, time_ns, cpu);
	return true;
}

int profile_decode_times(const void *bytes, size_t len,
			 void (*each)(void *arg, uint64_t time_ns, uint32_t cpu), void *arg)
{
	struct times_arg pass = { each, arg };
	struct second_head head;
	struct wire_reader r;
	uint64_t n;

	wire_open(&r, bytes, len);
	bool ok = get_head(&r, &head) && get_rows(&r, &head, NULL, NULL) &&
		  get_times(&r, &head, pass_time, &pass, &n);
	return ok ? 0 : -EBADMSG;
}

int profile_decode_rows(const void *bytes, size_t len, row_fn each, void *arg)
{
	struct second_head head;
	struct wire_reader r;

	wire_open(&r, bytes, len);
	return get_head(&r, &head) && get_rows(&r, &head, each, arg) ? 0 : -EBADMSG;
}

struct second_arg {
	struct profile *out;
	size_t first; /* index of the frame's first sample in out */
};

static void take_row(void *arg, const struct profile_cpu_second *row)
{
	struct second_arg *a = arg;

	if (!vec_push(&a->out->meta.cpu_seconds, *row))
		a->out->out_of_memory = true;
	a->out->meta.lost += row->lost;
	a->out->meta.idle += row->received_idle;
}

static bool take_time(void *arg, uint64_t i, uint64_t time_ns, uint32_t cpu)
{
	struct second_arg *a = arg;
	struct profile_sample sample = { .time_ns = time_ns, .weight = 1, .have = WIRE_HAVE_USUAL };

	(void)i;
	if (cpu == UINT32_MAX)
		sample.have &= (uint8_t)~PROFILE_HAVE_CPU;
	else
		sample.cpu = (uint16_t)cpu;
	return profile_add_sample(a->out, &sample);
}

static bool get_tasks_column(struct profile_decoder *d, struct wire_reader *r,
			     struct profile_sample *samples, uint64_t n)
{
	uint64_t task = 0;

	for (uint64_t i = 0; i < n && !r->failed; i++) {
		uint64_t id = wire_get_u64(r);
		if (id)
			task = id - 1;
		if (task >= d->tasks.len || d->tasks.items[task].comm == LOST) {
			samples[i].have &= (uint8_t) ~(PROFILE_HAVE_PID | PROFILE_HAVE_TID);
			continue;
		}
		const struct profile_task *t = &d->tasks.items[task];
		samples[i].pid = t->pid;
		samples[i].tid = t->tid;
		samples[i].comm = t->comm;
		samples[i].cgroup = t->cgroup;
	}
	return !r->failed;
}

static bool get_columns(struct profile_decoder *d, struct wire_reader *r, uint64_t flags,
			struct profile_sample *samples, uint64_t n)
{
	if (!get_tasks_column(d, r, samples, n))
		return false;
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		uint64_t leaf = wire_get_u64(r);
		/* stack 0 (a sample without frames) is fine, a lost one is not */
		samples[i].stack =
			leaf < d->leaves.len ? resolve_stack(d, d->leaves.items[leaf]) : LOST;
	}
	for (uint64_t i = 0; flags & WIRE_WEIGHTS && i < n && !r->failed; i++)
		samples[i].weight = wire_get_u64(r);
	for (uint64_t i = 0; flags & WIRE_EVENTS && i < n && !r->failed; i++) {
		uint64_t event = wire_get_u64(r);
		samples[i].event = event < d->events.len ? d->events.items[event] : 0;
	}
	for (uint64_t i = 0; flags & WIRE_HAVES && i < n && !r->failed; i++)
		samples[i].have = (uint8_t)wire_get_u64(r);
	return !r->failed;
}

/* Drop what lies outside of the window, and what needs a dictionary that was lost. */
static void keep_window(struct profile *p, size_t first, uint64_t from_ns, uint64_t to_ns)
{
	size_t kept = first;

	for (size_t i = first; i < p->samples.len; i++) {
		struct profile_sample *s = &p->samples.items[i];
		if (s->have & PROFILE_HAVE_TIME && (s->time_ns < from_ns || s->time_ns >= to_ns))
			continue;
		if (s->stack == LOST) {
			p->meta.damaged++;
			continue;
		}
		p->samples.items[kept++] = *s;
	}
	p->samples.len = kept;
}

int profile_decode_second(struct profile_decoder *d, const void *bytes, size_t len,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct second_arg arg = { d->out, d->out->samples.len };
	size_t rows = d->out->meta.cpu_seconds.len;
	struct second_head head;
	struct wire_reader r;
	uint64_t n = 0;

	wire_open(&r, bytes, len);
	bool ok = get_head(&r, &head) && get_rows(&r, &head, take_row, &arg) &&
		  get_times(&r, &head, take_time, &arg, &n) &&
		  get_columns(d, &r, head.flags, n ? d->out->samples.items + arg.first : NULL, n);
	if (!ok) {
		d->out->samples.len = arg.first;
		d->out->meta.cpu_seconds.len = rows;
		return -EBADMSG;
	}
	if (head.millihz)
		d->out->meta.hz = (double)head.millihz / 1000;
	keep_window(d->out, arg.first, from_ns, to_ns);
	return 0;
}
