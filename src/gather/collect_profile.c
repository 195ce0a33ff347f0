/* Facts from samples: who held each saturated core and in which kernel path, and who walks memory
 * cgroups. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "collect.h"
#include "holder.h"
#include "profile_read.h"
#include "timefmt.h"

/* A window longer than this is read around its saturated stretches only. */
static const uint64_t collect_most_profile_ns = 120 * NS_PER_S;
enum { COLLECT_MOST_WALKERS = 8 };

static void collect_narrow(const struct collect_window *w, const struct facts *f, uint64_t *from,
			   uint64_t *to)
{
	const struct fact_core *longest = NULL;

	*from = w->from_ns;
	*to = w->to_ns;
	if (*to - *from <= collect_most_profile_ns)
		return;
	vec_foreach (&f->cores, c)
		if (!longest || c->to_ns - c->from_ns > longest->to_ns - longest->from_ns)
			longest = c;
	*from = longest ? longest->from_ns : *to - collect_most_profile_ns;
	*to = MIN_OF(*from + collect_most_profile_ns, *to);
}

static void collect_holders(struct collected *c, const struct profile *p)
{
	vec_foreach (&c->facts.cores, core) {
		struct holder h;
		/* the idle task holds nobody back, however many samples fell on it */
		if (!holder_of_core(p, core->cpu, core->from_ns, core->to_ns, &h) || !h.pid)
			continue;
		core->path = collect_text(c, h.function);
		core->task_share = h.share;
		/* the policy was read of the one that the ticks saw */
		core->realtime = core->realtime && core->pid == h.pid;
		core->pid = h.pid;
		core->comm = collect_text(c, h.comm);
		if (*h.cgroup) {
			core->cgroup = collect_text(c, h.cgroup);
			core->unit = collect_unit_of(c, core->cgroup);
		}
	}
}

static int collect_walkers(struct collected *c, const struct profile *p)
{
	AUTO_WALKERS struct walkers found = { 0 };

	int r = walkers_find(p, &found);
	for (size_t i = 0; r == 0 && i < found.list.len && i < COLLECT_MOST_WALKERS; i++) {
		const struct walker *w = &found.list.items[i];
		struct fact_walker fact = {
			.pid = w->pid,
			.comm = collect_text(c, w->comm),
			.unit = collect_unit_of(c, w->cgroup),
			.function = collect_text(c, w->function),
			.cpu = w->cpu,
			.samples = w->samples,
			.share = 100.0 * (double)w->walking / (double)w->samples,
			.from_ns = w->from_ns,
			.to_ns = w->to_ns,
		};
		fact.comm = fact.comm ? fact.comm : "?";
		fact.function = fact.function ? fact.function : "?";
		if (!vec_push(&c->facts.walkers, fact))
			r = -ENOMEM;
	}
	return r;
}

/* The core whose clock stopped longest while it was busy. */
static int collect_missing_ticks(struct collected *c, const struct profile *p)
{
	struct core {
		unsigned seconds;
		uint64_t missing, expected;
	};
	VEC(struct core) cores = { 0 };
	const struct core *worst = NULL;
	int r = 0;

	vec_foreach (&p->meta.cpu_seconds, row) {
		uint32_t missing = profile_missing_ticks(row);
		while (r == 0 && cores.len <= row->cpu)
			r = vec_push(&cores, (struct core){ 0 }) ? 0 : -ENOMEM;
		if (r < 0)
			break;
		if (!missing)
			continue;
		struct core *core = &cores.items[row->cpu];
		core->seconds++;
		core->missing += missing;
		core->expected += row->expected;
	}
	vec_foreach (&cores, core)
		if (core->missing && (!worst || core->missing > worst->missing))
			worst = core;
	if (worst) {
		c->facts.missing_ticks_cpu = (unsigned)(worst - cores.items);
		c->facts.missing_ticks_seconds = worst->seconds;
		c->facts.missing_ticks_percent =
			100.0 * (double)worst->missing / (double)worst->expected;
	}
	vec_free(&cores);
	return r;
}

int collect_profile(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO_PROFILE struct profile p = { 0 };
	uint64_t from, to;

	int r = profile_init(&p);
	if (r < 0)
		return err_set(err, r, "out of memory");
	collect_narrow(w, &c->facts, &from, &to);
	r = profile_read_window(stream_store(w->stream), from, to, &p, err);
	if (r < 0)
		return r;
	if (!p.samples.len && !p.meta.cpu_seconds.len)
		return err_set(err, -ENODATA, "the window has no profile");
	c->facts.have |= FACT_PROFILE;
	collect_holders(c, &p);
	r = collect_missing_ticks(c, &p);
	return r < 0 ? r : collect_walkers(c, &p);
}
