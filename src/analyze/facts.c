#include "facts.h"

#include "auto.h"

void facts_free(struct facts *f)
{
	vec_free(&f->cores);
	vec_free(&f->walkers);
	vec_free(&f->readers);
	vec_free(&f->owners);
	vec_free(&f->churn);
	vec_free(&f->units);
	vec_free(&f->containers);
	vec_free(&f->resets);
	vec_free(&f->quotas);
	vec_free(&f->ooms);
}

const char *fact_source_name(uint32_t bit)
{
	static const char *const names[] = {
		"per-core time",
		"tasks",
		"the profile",
		"memory cgroup counts",
		"the zombie census",
		"cgroup churn",
		"units",
		"containers",
		"the kernel log",
		"NIC queues and interrupts",
		"reclaim counters",
		"pressure",
		"CPU quotas",
		"CPU weights",
		"a history",
		"the cost of reading memory.stat",
	};
	for (unsigned i = 0; i < ARRAY_LEN(names); i++)
		if (bit == UINT32_C(1) << i)
			return names[i];
	return "an unknown source";
}
