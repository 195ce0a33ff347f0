#include "profile_cores.h"

#include <unistd.h>

#include "rec_cpu.h"

/* Below it, a few samples by chance more or less decide. */
#define DOUBT_RAN_S 0.1

struct profile_core *profile_cores_of(struct profile_cores *c, uint32_t cpu)
{
	vec_foreach (&c->list, core)
		if (core->cpu == cpu)
			return core;
	struct profile_core core = { .cpu = cpu };
	return vec_push(&c->list, core) ? &c->list.items[c->list.len - 1] : NULL;
}

void profile_cores_free(struct profile_cores *c)
{
	vec_free(&c->list);
}

static const struct rec_cpu *row_of(const struct tick *stat, uint32_t cpu)
{
	for (size_t i = 0; i < stat->rows[REC_CPU].len; i++) {
		const struct rec_cpu *row = TICK_ROW(stat, REC_CPU, rec_cpu, i);
		if (row->cpu == cpu)
			return row;
	}
	return NULL;
}

struct profile_core_use profile_core_use(struct profile_core *core, const struct tick *stat)
{
	const struct rec_cpu *row = row_of(stat, core->cpu);
	struct profile_core_use use = { .offline = !row && stat->rows[REC_CPU].len > 0,
					.idle_share = -1 };

	if (!row) { /* when it is back its counters may begin anew, and span its absence */
		core->has_stat = false;
		return use;
	}
	uint64_t idle = row->idle + row->iowait, stolen = row->steal;
	uint64_t ran = row->usr + row->nice + row->sys + row->irq + row->softirq;
	uint64_t d_idle = idle - core->idle_ticks, d_ran = ran - core->ran_ticks;
	uint64_t d_stolen = stolen - core->stolen, all = d_idle + d_ran + d_stolen;

	if (core->has_stat && idle >= core->idle_ticks && ran >= core->ran_ticks &&
	    stolen >= core->stolen && all) {
		use.idle_share = (double)d_idle / (double)all;
		use.ran_s = (double)d_ran / (double)sysconf(_SC_CLK_TCK);
	}
	core->idle_ticks = idle;
	core->ran_ticks = ran;
	core->stolen = stolen;
	core->has_stat = true;
	return use;
}

bool profile_core_is_doubtful(const struct profile_core_use *use, uint64_t records, double hz)
{
	double sampled_s = (double)records / hz;
	return use->ran_s - sampled_s > DOUBT_RAN_S && sampled_s < use->ran_s * 3 / 4;
}
