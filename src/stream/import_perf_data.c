/* Records of perf.data → samples of a profile. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "auto.h"
#include "import_impl.h"
#include "map.h"
#include "text.h"
#include "timefmt.h"

enum {
	MISC_COMM_EXEC = 1 << 13,
	RECORD_CGROUP = 19,
	THREADS_MAX = 1 << 20, /* names held of threads */
	LOST_ROWS_MAX = 1 << 20,
};

struct perf_importer {
	struct import *im;
	struct import_symbols *symbols;
	struct map_u64 comms;   /* tid → string of the profile */
	struct map_u64 cgroups; /* id → cgroup of the profile */
	bool clock_known;
	VEC(uint16_t) events; /* attr → event of the profile + 1 */
};

static void importer_comm(struct perf_importer *pi, uint32_t tid, uint32_t string)
{
	uint64_t *slot = map_u64_get(&pi->comms, tid);
	if (!slot && pi->comms.len < THREADS_MAX)
		slot = map_u64_put(&pi->comms, tid, NULL);
	if (slot)
		*slot = string;
}

static uint32_t importer_comm_of(struct perf_importer *pi, uint32_t tid)
{
	const uint64_t *slot = map_u64_get(&pi->comms, tid);
	char name[32];

	if (slot)
		return (uint32_t)*slot;
	if (tid == 0) /* also of a process whose last thread is gone */
		return profile_add_text(pi->im->p, "swapper");
	snprintf(name, sizeof(name), ":%d", (int)tid); /* as perf shows it */
	return profile_add_text(pi->im->p, name);
}

static uint8_t importer_event(struct perf_importer *pi, const struct perf_data *d, unsigned attr)
{
	char name[64];

	while (pi->events.len <= attr)
		if (!vec_push(&pi->events, 0))
			return 0;
	if (!pi->events.items[attr])
		pi->events.items[attr] =
			(uint16_t)(1 + profile_add_event(pi->im->p,
							 perf_attr_name(&d->attrs.items[attr], name,
									sizeof(name))));
	return (uint8_t)(pi->events.items[attr] - 1);
}

/* CLOCK_DATA comes in the header of a file, and on the way in a pipe. */
static void importer_clock(struct perf_importer *pi, const struct perf_data *d)
{
	struct import *im = pi->im;

	if (pi->clock_known || !d->have_clock_data || im->have_offset || im->options->have_anchor)
		return;
	pi->clock_known = true;
	im->offset_ns = (int64_t)(d->clock_wall_ns - d->clock_ns);
	im->have_offset = true;
	im->info->wall = IMPORT_WALL_CLOCK;
}

static int importer_sample(struct perf_importer *pi, const struct perf_data *d,
			   const struct perf_rec *rec, struct err *err)
{
	struct import *im = pi->im;
	const struct perf_attr *a = &d->attrs.items[rec->attr];
	struct profile_sample s = { .weight = 1 };

	importer_clock(pi, d);
	im->info->n_stack_dumps += rec->stack_dump;
	s.stack = import_symbols_stack(pi->symbols, d, rec);
	s.event = importer_event(pi, d, rec->attr);
	if (rec->have & PERF_HAVE_TIME) {
		s.time_ns = import_time(im, rec->time);
		s.have |= PROFILE_HAVE_TIME;
	}
	if (rec->have & PERF_HAVE_TID) {
		s.pid = rec->pid;
		s.tid = rec->tid;
		s.comm = importer_comm_of(pi, rec->tid);
		s.have |= PROFILE_HAVE_PID | PROFILE_HAVE_TID;
	}
	if (rec->have & PERF_HAVE_CPU) {
		s.cpu = (uint16_t)MIN_OF(rec->cpu, UINT16_MAX);
		s.have |= PROFILE_HAVE_CPU;
	}
	if (rec->period && ((rec->have & PERF_HAVE_PERIOD) || !(a->flags & PERF_ATTR_FREQ))) {
		s.weight = rec->period;
		s.have |= PROFILE_HAVE_WEIGHT;
	}
	if (rec->have & PERF_HAVE_CGROUP) {
		const uint64_t *known = map_u64_get(&pi->cgroups, rec->cgroup);
		s.cgroup = known ? (uint32_t)*known : profile_add_cgroup(im->p, rec->cgroup, 0);
	}
	return import_add_sample(im, &s, err);
}

static void importer_cgroup(struct perf_importer *pi, const struct perf_rec *rec)
{
	uint64_t *slot = map_u64_put(&pi->cgroups, rec->cgroup_path.id, NULL);
	if (slot)
		*slot = profile_add_cgroup(pi->im->p, rec->cgroup_path.id,
					   profile_add_text(pi->im->p, rec->cgroup_path.path));
}

static void importer_fork(struct perf_importer *pi, const struct perf_rec *rec)
{
	const uint64_t *comm = map_u64_get(&pi->comms, rec->fork.ptid);

	import_symbols_fork(pi->symbols, rec->fork.pid, rec->fork.ppid);
	if (comm)
		importer_comm(pi, rec->fork.tid, (uint32_t)*comm);
}

/* Shown in every view of that second, as losses of the recorder itself are. */
static void importer_lost(struct perf_importer *pi, const struct perf_rec *rec)
{
	struct import *im = pi->im;

	im->info->n_lost += rec->lost.lost;
	if (!(rec->have & PERF_HAVE_TIME) || im->p->meta.cpu_seconds.len >= LOST_ROWS_MAX)
		return;
	struct profile_cpu_second row = { .second = import_time(im, rec->time) / NS_PER_S,
					  .cpu = rec->have & PERF_HAVE_CPU ? rec->cpu : 0,
					  .lost = (uint32_t)MIN_OF(rec->lost.lost, UINT32_MAX),
					  .idle = PROFILE_IDLE_UNKNOWN };
	(void)vec_push(&im->p->meta.cpu_seconds, row);
}

static int importer_record(void *arg, const struct perf_data *d, const struct perf_rec *rec,
			   struct err *err)
{
	struct perf_importer *pi = arg;

	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		return importer_sample(pi, d, rec, err);
	case PERF_RECORD_MMAP:
		if (rec->misc & PERF_RECORD_MISC_MMAP_DATA)
			return 0;
		import_symbols_map(pi->symbols, d, rec);
		return 0;
	case PERF_RECORD_MMAP2:
		if (rec->map.prot & 4) /* PROT_EXEC */
			import_symbols_map(pi->symbols, d, rec);
		return 0;
	case PERF_RECORD_COMM:
		if (rec->misc & MISC_COMM_EXEC)
			import_symbols_exec(pi->symbols, rec->comm.pid);
		importer_comm(pi, rec->comm.tid, profile_add_text(pi->im->p, rec->comm.comm));
		return 0;
	case PERF_RECORD_FORK:
		importer_fork(pi, rec);
		return 0;
	case PERF_RECORD_EXIT:
		if (rec->fork.pid == rec->fork.tid)
			import_symbols_exit(pi->symbols, rec->fork.pid);
		return 0;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		importer_lost(pi, rec);
		return 0;
	case PERF_RECORD_THROTTLE:
		pi->im->info->n_throttled++;
		return 0;
	case PERF_RECORD_KSYMBOL:
		import_symbols_ksymbol(pi->symbols, rec->ksymbol.addr, rec->ksymbol.len,
				       rec->ksymbol.name);
		return 0;
	case RECORD_CGROUP:
		importer_cgroup(pi, rec);
		return 0;
	default:
		return 0;
	}
}

static void importer_progress(void *arg, uint64_t done)
{
	struct import *im = ((struct perf_importer *)arg)->im;
	if (im->ops && im->ops->progress)
		im->ops->progress(im->arg, done, im->size);
}

/* Events without a fixed period have a frequency: that of the first is the profile's. */
static void importer_meta(struct import *im, const struct perf_data *d)
{
	if (d->attrs.len && (d->attrs.items[0].flags & PERF_ATTR_FREQ) && im->p->meta.hz == 0)
		im->p->meta.hz = (double)d->attrs.items[0].period_or_freq;
	if (d->hostname)
		text_copy(im->info->host, sizeof(im->info->host), d->hostname);
	if (d->osrelease)
		text_copy(im->info->kernel, sizeof(im->info->kernel), d->osrelease);
	text_copy(im->info->damage, sizeof(im->info->damage), d->damage);
	im->info->n_late = d->n_late;
	im->info->pipe = d->pipe;
}

int import_perf_data(struct import *im, const struct perf_input *in, struct err *err)
{
	struct perf_importer pi = { .im = im };
	AUTO_PERF_DATA struct perf_data data = { 0 };
	static const struct perf_data_ops ops = { .record = importer_record,
						  .progress = importer_progress };
	int r;

	im->info->perf_data = true;
	pi.symbols = import_symbols_new(im->p, im->options->root, im->options->symbols);
	if (pi.symbols)
		r = perf_data_read(in, 0, &ops, &pi, &data, err);
	else
		r = err_set(err, -ENOMEM, "out of memory");
	importer_meta(im, &data);
	im->p->meta.lost += im->info->n_lost;
	import_symbols_free(pi.symbols);
	map_u64_free(&pi.comms);
	map_u64_free(&pi.cgroups);
	vec_free(&pi.events);
	return r;
}
