#include "record_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "perf_sampler.h"
#include "profile_account.h"
#include "profile_codec.h"
#include "profile_cores.h"
#include "profile_footer.h"
#include "profile_queue.h"
#include "rec_cpu.h"
#include "symbolizer.h"
#include "text.h"
#include "timefmt.h"

enum {
	WAIT_FOR_SYMBOLS_S = 3,   /* so long a second may wait for its symbol files */
	FOLLOW_CORES_TICKS = 5,   /* hotplug is looked for so often */
	MISSING_SHARE = 2,        /* an event when 1/2 of a busy core's ticks never came */
	MISSING_QUIET_S = 10,     /* and not again for so long */
	MAX_THREADS = 1 << 17,    /* names kept; beyond, all are forgotten and read again */
	MAX_DICTIONARY = 1 << 20, /* call-tree nodes per segment; beyond, stacks are cut off */
};

#define FLUSH_WAIT_NS (100 * NS_PER_MS)

enum shed_level {
	SHED_SYMBOLS = 1, /* no new symbol files are read */
	SHED_USER = 2,    /* kernel frames only */
	SHED_SAMPLES = 3, /* accounts only */
};

struct thread_name {
	char comm[16];
};

struct profiler {
	const struct root *root;
	struct perf_sampler *sampler;
	struct symbolizer *symbolizer;
	struct unknowns unknowns;
	struct profile_queue queue;
	struct profile_account account;
	struct profile_footer footer;
	struct profile dictionary; /* of the segment; samples of the second in progress */
	struct profile_encoder encoder;
	struct buf payload;
	struct core_times *core_times; /* the recorder's */
	struct tick stat_tick;
	struct map_u64 names; /* tid → index in pool */
	VEC(struct thread_name) pool;
	struct profile_cores cores;
	struct profile_rows rows;
	uint64_t real_minus_mono; /* of the drain in progress */
	uint64_t drained_ns;      /* wall clock up to which rings were read */
	uint64_t refused;         /* samples that found no room in the queue */
	bool cores_changed;       /* hotplug */
	unsigned shed, ticks;
};

static void forget_names(struct profiler *p)
{
	map_u64_free(&p->names);
	p->pool.len = 0;
}

static struct thread_name *name_slot(struct profiler *p, uint32_t tid)
{
	bool is_new;

	if (p->pool.len >= MAX_THREADS)
		forget_names(p);
	uint64_t *slot = map_u64_put(&p->names, tid, &is_new);
	if (!slot)
		return NULL;
	if (is_new) {
		if (!vec_push(&p->pool, (struct thread_name){ "" })) {
			map_u64_remove(&p->names, tid);
			return NULL;
		}
		*slot = p->pool.len - 1;
	}
	return &p->pool.items[*slot];
}

/* The thread's name; of one that was there before us it is read from /proc. */
static const char *name_of(struct profiler *p, uint32_t tid)
{
	AUTO_BUF struct buf text = { 0 };
	struct thread_name *name = name_slot(p, tid);
	char path[64];

	if (!tid)
		return "swapper";
	if (!name || name->comm[0])
		return name ? name->comm : "";
	snprintf(path, sizeof(path), "proc/%u/comm", tid);
	if (root_read(p->root, path, 256, &text, NULL) == 0)
		text_copy_n(name->comm, sizeof(name->comm), buf_str(&text),
			    text_line_len(buf_str(&text)));
	if (!name->comm[0])
		snprintf(name->comm, sizeof(name->comm), ":%u", tid);
	return name->comm;
}

static bool is_idle(struct profiler *p, const struct perf_ring_record *r)
{
	bool kernel = false;

	if (r->pid)
		return false;
	for (uint32_t i = 0; i < r->sample.n; i++) {
		uint64_t address = perf_ring_chain(r, i);
		if (address >= PERF_CONTEXT_MAX)
			kernel = address == PERF_CONTEXT_KERNEL;
		else
			return kernel && symbolizer_is_idle(p->symbolizer, address);
	}
	return false;
}

static void take_sample(struct profiler *p, const struct perf_ring_record *r)
{
	uint64_t time_ns = r->time_ns + p->real_minus_mono;
	bool idle = is_idle(p, r), kernel = false;

	profile_account_sample(&p->account, time_ns, r->cpu, idle);
	if (idle || p->shed >= SHED_SAMPLES)
		return;
	profile_footer_count(&p->footer, time_ns);
	struct profile_queued *q = profile_queue_add(&p->queue, r->sample.n);
	if (!q) {
		p->refused++;
		return;
	}
	q->time_ns = time_ns;
	q->cgroup = r->sample.cgroup;
	q->pid = r->pid;
	q->tid = r->tid;
	q->cpu = r->cpu;
	text_copy(q->comm, sizeof(q->comm), name_of(p, r->tid));
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->sample.n; i++) {
		uint64_t address = perf_ring_chain(r, i);
		if (address >= PERF_CONTEXT_MAX) {
			kernel = address == PERF_CONTEXT_KERNEL;
			continue;
		}
		struct symbolizer_place place = { address, SYMBOLIZER_KERNEL };
		if (!kernel && p->shed >= SHED_USER)
			continue;
		if (!kernel)
			place = symbolizer_locate(p->symbolizer, r->pid, address,
						  p->shed >= SHED_SYMBOLS);
		q->chain[n++] = place;
	}
	for (; n < q->n; n++)
		q->chain[n] = (struct symbolizer_place){ 0, SYMBOLIZER_NOWHERE };
	symbolizer_cgroup(p->symbolizer, r->pid, r->sample.cgroup);
}

static void take_comm(struct profiler *p, const struct perf_ring_record *r)
{
	struct thread_name *name = name_slot(p, r->tid);

	if (name)
		text_copy(name->comm, sizeof(name->comm), r->comm.name);
	if (r->comm.exec)
		symbolizer_exec(p->symbolizer, r->pid);
}

static void take_fork(struct profiler *p, const struct perf_ring_record *r)
{
	struct thread_name parent = { "" };
	uint64_t *known = map_u64_get(&p->names, r->task.parent_tid);

	if (known)
		parent = p->pool.items[*known];
	struct thread_name *name = name_slot(p, r->tid);
	if (name)
		*name = parent;
	symbolizer_fork(p->symbolizer, r->pid, r->task.parent_pid);
}

static void take_record(void *arg, const struct perf_ring_record *r)
{
	struct profiler *p = arg;
	struct symbolizer_map map;

	switch (r->kind) {
	case PERF_RING_SAMPLE:
		take_sample(p, r);
		break;
	case PERF_RING_MMAP:
		map =
			(struct symbolizer_map){ r->mmap.start,       r->mmap.len,
						 r->mmap.file_offset, r->mmap.path,
						 r->mmap.build_id,    r->mmap.build_id_len };
		if (r->mmap.executable)
			symbolizer_mmap(p->symbolizer, r->pid, &map);
		break;
	case PERF_RING_COMM:
		take_comm(p, r);
		break;
	case PERF_RING_FORK:
		take_fork(p, r);
		break;
	case PERF_RING_EXIT:
		if (r->pid == r->tid)
			symbolizer_exit(p->symbolizer, r->pid);
		break;
	case PERF_RING_KSYMBOL:
		if (!r->ksymbol.unregister)
			symbolizer_ksymbol(p->symbolizer, r->ksymbol.start, r->ksymbol.len,
					   r->ksymbol.name, r->ksymbol.bpf);
		break;
	default:
		break;
	}
}

static void account_core(struct profiler *p, size_t i, uint64_t now_ns)
{
	struct perf_sampler_core s = perf_sampler_core(p->sampler, i);
	struct profile_core *core = profile_cores_of(&p->cores, s.cpu);
	unsigned hz = perf_sampler_hz(p->sampler);

	if (!core)
		return;
	struct profile_core_use use = profile_core_use(core, &p->stat_tick);
	uint64_t from = MAX_OF(p->drained_ns, s.opened_mono_ns + p->real_minus_mono);
	uint64_t records = s.records - MIN_OF(core->records, s.records);
	/* nobody may expect samples of a core that went, or went and is back */
	bool gone = use.offline || (profile_core_is_doubtful(&use, records, hz) &&
				    perf_sampler_check_dead(p->sampler, i));
	if (!gone)
		profile_account_span(&p->account, s.cpu, from, now_ns, hz, use.idle_share);
	if (s.lost > core->lost)
		profile_account_lost(&p->account, now_ns - 1, s.cpu, s.lost - core->lost);
	core->lost = s.lost;
	core->records = s.records;
	p->cores_changed |= gone;
}

/* What was expected of every core since the last drain, and what the kernel lost. */
static void account_cores(struct profiler *p, uint64_t now_ns)
{
	size_t cores = perf_sampler_cores(p->sampler);

	tick_clear(&p->stat_tick);
	(void)core_times_read(p->core_times, &p->stat_tick, NULL);
	for (size_t i = 0; i < cores; i++)
		account_core(p, i, now_ns);
	p->cores_changed |= p->stat_tick.rows[REC_CPU].len > cores;
}

static void drain(struct profiler *p)
{
	uint64_t mono_ns = clock_mono_ns(), now_ns = clock_real_ns();

	p->real_minus_mono = now_ns - mono_ns;
	perf_sampler_drain(p->sampler, mono_ns, take_record, p);
	account_cores(p, now_ns);
	p->drained_ns = now_ns;
}

/* Name the first sample of the queue and put it into the dictionary's samples. */
static void resolve_first(struct profiler *p)
{
	const struct profile_queued *q = profile_queue_first(&p->queue);
	struct profile *d = &p->dictionary;
	uint32_t stack = 0;

	if (d->stacks.len < MAX_DICTIONARY)
		for (uint32_t i = q->n; i-- > 0;) {
			uint32_t frame = symbolizer_frame(p->symbolizer, q->pid, q->chain[i]);
			if (frame)
				stack = profile_add_stack(d, stack, frame);
		}
	const char *cgroup = symbolizer_cgroup(p->symbolizer, q->pid, q->cgroup);
	struct profile_sample sample = {
		.time_ns = q->time_ns,
		.weight = 1,
		.stack = stack,
		.comm = profile_add_text(d, q->comm),
		.pid = q->pid,
		.tid = q->tid,
		.cgroup = profile_add_cgroup(d, q->cgroup, profile_add_text(d, cgroup)),
		.cpu = (uint16_t)q->cpu,
		.have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID | PROFILE_HAVE_TID,
	};
	profile_add_sample(d, &sample);
	profile_queue_drop(&p->queue);
}

/* A core whose ticks stopped coming although it was busy is a diagnosis in itself. */
static void tell_missing(struct profiler *p, const struct profile_cpu_second *row,
			 struct store_writer *w)
{
	uint32_t missing = profile_missing_ticks(row);
	struct profile_core *core = profile_cores_of(&p->cores, row->cpu);
	char text[160], cpu[16], came[16], expected[16];

	if (!core ||
	    missing * MISSING_SHARE < row->expected || /* a rest of a second, until its event was
							  found to be dead, tells nothing */
	    row->expected * 2 < perf_sampler_hz(p->sampler) ||
	    row->second < core->told_s + MISSING_QUIET_S)
		return;
	core->told_s = row->second;
	snprintf(cpu, sizeof(cpu), "%u", row->cpu);
	snprintf(came, sizeof(came), "%u", row->received);
	snprintf(expected, sizeof(expected), "%u", row->expected);
	snprintf(text, sizeof(text),
		 "core %u was busy and missed %u of %u sampling ticks: interrupts off, steal or a "
		 "paused hypervisor",
		 row->cpu, missing, row->expected);
	struct rec_event_field fields[] = { { "cpu", cpu },
					    { "received", came },
					    { "expected", expected } };
	struct rec_event event = {
		.time_ns = row->second * NS_PER_S,
		.end_ns = (row->second + 1) * NS_PER_S,
		.source = EVENT_SELF,
		.severity = EVENT_WARN,
		.trusted = true,
		.count = 1,
		.id = "profile-missing-ticks",
		.text = text,
		.fields = fields,
		.n_fields = ARRAY_LEN(fields),
	};
	(void)recorder_put_event(w, &event, NULL);
}

/* The kernel's rings were full: what the profile lacks, in one event a second. */
static void tell_lost(struct profiler *p, uint64_t second, struct store_writer *w)
{
	char lost[24], text[120];
	struct rec_event_field fields[] = { { "lost", lost } };
	uint64_t sum = 0;

	vec_foreach (&p->rows.list, row)
		sum += row->lost;
	if (!sum)
		return;
	snprintf(lost, sizeof(lost), "%" PRIu64, sum);
	snprintf(text, sizeof(text), "%s profile samples were lost: the kernel's rings were full",
		 lost);
	struct rec_event event = {
		.time_ns = second * NS_PER_S,
		.end_ns = (second + 1) * NS_PER_S,
		.source = EVENT_SELF,
		.severity = EVENT_WARN,
		.trusted = true,
		.count = 1,
		.id = "profile-lost-samples",
		.text = text,
		.fields = fields,
		.n_fields = ARRAY_LEN(fields),
	};
	(void)recorder_put_event(w, &event, NULL);
}

static void footer_rows(struct profiler *p)
{
	for (size_t i = 0; i < p->rows.list.len; i++)
		(void)profile_footer_add_core(&p->footer, &p->rows.list.items[i]);
}

/* One frame for the second: dictionary entries first, then the samples. */
static int write_second(struct profiler *p, uint64_t second, struct store_writer *w,
			struct err *err)
{
	struct profile *d = &p->dictionary;
	uint64_t at_ns = store_writer_clock(w)->real_ns;
	int r = 0;

	p->rows.list.len = 0;
	profile_account_take(&p->account, second, &p->rows);
	if (!d->samples.len && !p->rows.list.len)
		return 0;
	footer_rows(p);
	vec_foreach (&p->rows.list, row)
		tell_missing(p, row, w);
	tell_lost(p, second, w);
	buf_clear(&p->payload);
	if (profile_encode_dictionary(&p->encoder, d, d->samples.items, d->samples.len,
				      &p->payload))
		r = store_writer_append(w, FRAME_STACKS, PROFILE_CODEC_VERSION, at_ns,
					p->payload.data, p->payload.len, err);
	struct profile_second head = { second, false, p->rows.list.items, p->rows.list.len };
	buf_clear(&p->payload);
	profile_encode_second(&p->encoder, d, &head, d->samples.items, d->samples.len, &p->payload);
	d->samples.len = 0;
	if (r == 0)
		r = store_writer_append(w, FRAME_PROFILE, PROFILE_CODEC_VERSION, at_ns,
					p->payload.data, p->payload.len, err);
	return r;
}

/* Write all whole seconds before `until`. */
static int write_seconds(struct profiler *p, uint64_t until_s, struct store_writer *w,
			 struct err *err)
{
	for (;;) {
		const struct profile_queued *q = profile_queue_first(&p->queue);
		uint64_t second = profile_account_first(&p->account);
		if (q)
			second = MIN_OF(second, q->time_ns / NS_PER_S);
		if (second >= until_s)
			return 0;
		/* samples come in time order; a clock that was set back makes the second longer */
		while ((q = profile_queue_first(&p->queue)) && q->time_ns / NS_PER_S <= second)
			resolve_first(p);
		int r = write_second(p, second, w, err);
		if (r < 0)
			return r;
	}
}

static int profiler_begin_segment(void *state, const struct store_clock *clock,
				  struct store_writer *w, struct err *err)
{
	struct profiler *p = state;

	(void)clock, (void)w;
	profile_free(&p->dictionary);
	if (profile_init(&p->dictionary) < 0)
		return err_set(err, -ENOMEM, "profile: out of memory");
	p->dictionary.meta.hz = perf_sampler_hz(p->sampler);
	profile_add_event(&p->dictionary, perf_sampler_event(p->sampler));
	profile_encoder_reset(&p->encoder);
	profile_footer_clear(&p->footer);
	symbolizer_use(p->symbolizer, &p->dictionary);
	return 0;
}

/* After a drain. What happened on a core while it had no ring is known to nobody: names and
 * mappings of processes are read again. */
static void follow_cores(struct profiler *p)
{
	bool look = p->cores_changed || p->ticks % FOLLOW_CORES_TICKS == 0;

	p->ticks++;
	p->cores_changed = false;
	if (!look || perf_sampler_follow_cores(p->sampler, &p->unknowns) <= 0)
		return;
	forget_names(p);
	symbolizer_forget_maps(p->symbolizer);
}

static int profiler_tick(void *state, const struct store_clock *clock, struct store_writer *w,
			 struct err *err)
{
	struct profiler *p = state;

	symbolizer_collect(p->symbolizer);
	drain(p);
	follow_cores(p);
	bool settled = symbolizer_collect(p->symbolizer);
	uint64_t now_s = clock->real_ns / NS_PER_S;
	int r = write_seconds(p, settled ? now_s : now_s - WAIT_FOR_SYMBOLS_S, w, err);
	symbolizer_forget_dead(p->symbolizer);
	return r;
}

static int profiler_end_segment(void *state, const struct store_clock *clock,
				struct store_writer *w, struct err *err)
{
	struct profiler *p = state;

	(void)clock;
	drain(p);
	symbolizer_wait(p->symbolizer, FLUSH_WAIT_NS);
	symbolizer_collect(p->symbolizer);
	int r = write_seconds(p, UINT64_MAX, w, err);
	buf_clear(&p->payload);
	profile_footer_encode_heat(&p->payload, &p->footer);
	if (r == 0)
		r = store_writer_footer_blob(w, FOOTER_HEAT, p->payload.data, p->payload.len, err);
	buf_clear(&p->payload);
	profile_footer_encode_cores(&p->payload, &p->footer);
	if (r == 0)
		r = store_writer_footer_blob(w, FOOTER_PROFILE, p->payload.data, p->payload.len,
					     err);
	return r;
}

static int profiler_fd(void *state)
{
	const struct profiler *p = state;
	return perf_sampler_fd(p->sampler);
}

/* A ring is half full before its second is over: take it over into the queue. */
static int profiler_ready(void *state, struct store_writer *w, struct err *err)
{
	(void)w, (void)err;
	drain(state);
	return 0;
}

static void profiler_shed(void *state, unsigned level)
{
	struct profiler *p = state;
	p->shed = level;
}

static void profiler_close(void *state)
{
	struct profiler *p = state;

	if (!p)
		return;
	perf_sampler_close(p->sampler);
	symbolizer_close(p->symbolizer);
	unknowns_free(&p->unknowns);
	profile_queue_free(&p->queue);
	profile_account_free(&p->account);
	profile_footer_free(&p->footer);
	profile_free(&p->dictionary);
	profile_encoder_reset(&p->encoder);
	buf_free(&p->payload);
	tick_free(&p->stat_tick);
	map_u64_free(&p->names);
	vec_free(&p->pool);
	profile_cores_free(&p->cores);
	vec_free(&p->rows.list);
	free(p);
}

static int profiler_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	const struct record_profile_options *options = context->options;
	struct perf_sampler_options sampling = {
		.hz = options && options->hz ? options->hz : RECORD_PROFILE_HZ,
	};
	struct profiler *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->root = context->root;
	p->core_times = context->cores;
	int r = symbolizer_open(p->root, &p->unknowns, &p->symbolizer, err);
	if (r == 0) /* after kallsyms is read: the first drain must not be late */
		r = perf_sampler_open(p->root, &sampling, &p->unknowns, &p->sampler, err);
	if (r < 0) {
		profiler_close(p);
		return r;
	}
	p->drained_ns = clock_real_ns();
	*ret_state = p;
	return 0;
}

const struct recorder_part record_profile = {
	.name = "profile",
	.open = profiler_open,
	.begin_segment = profiler_begin_segment,
	.tick = profiler_tick,
	.fd = profiler_fd,
	.ready = profiler_ready,
	.shed = profiler_shed,
	.end_segment = profiler_end_segment,
	.close = profiler_close,
};
