#include "health.h"

#include <string.h>

#include "check.h"
#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_load.h"
#include "rec_meminfo.h"
#include "view_check.h"

static const struct health_line *line_of(const struct health_result *r, const char *id)
{
	vec_foreach (&r->lines, it)
		if (strcmp(it->check->id, id) == 0)
			return it;
	return NULL;
}

TEST(nothing_known_is_unknown)
{
	struct tick t = { 0 };
	struct health_input in = { .tick = &t };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };
	AUTO_BUF struct buf line = { 0 };

	CHECK_EQ(health_judge(&in, &r), 0);
	CHECK_EQ(r.level, HEALTH_UNKNOWN);
	CHECK(line_of(&r, "memcg-zombies"));
	CHECK(!line_of(&r, "crash-loops")); /* nobody looked */
	view_check_nagios(&line, &r);
	CHECK_STR(line.data, "ZSCOPE UNKNOWN - could not tell |");
}

/* The incident: one core of 96 at 100 % sys, a mean of 20 %, 68,680 tracked and 240 live. */
TEST(the_sick_host)
{
	struct rate_cpu cpus[96];
	struct rates rates = { .known = RATE_CORES, .interval_ns = 1000000000 };
	AUTO_TICK struct tick t = { 0 };
	struct rec_cgroups *c = tick_only_row(&t, REC_CGROUPS);
	AUTO_HEALTH_RESULT struct health_result r = { 0 };
	AUTO_BUF struct buf line = { 0 };

	for (unsigned i = 0; i < 96; i++)
		cpus[i] = (struct rate_cpu){ .cpu = i, .usr = 19, .idle = 81 };
	cpus[5] = (struct rate_cpu){ .cpu = 5, .sys = 100 };
	rates.all = (struct rate_cpu){ .usr = 19, .sys = 1, .idle = 80 };
	rates.cpus.items = cpus;
	rates.cpus.len = 96;
	*c = (struct rec_cgroups){ .tracked = 68680,
				   .live = 240,
				   .dying = 68440,
				   .have = REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE |
					   REC_CGROUPS_DYING };
	struct health_input in = { .tick = &t, .rates = &rates };
	CHECK_EQ(health_judge(&in, &r), 0);
	CHECK_EQ(r.level, HEALTH_RED);
	CHECK_EQ(line_of(&r, "core-kernel")->level, HEALTH_RED);
	CHECK_STR(line_of(&r, "core-kernel")->detail,
		  "core 5: sys 100, irq 0, soft 0; mean of 96 cores busy 20 %");
	CHECK_EQ(line_of(&r, "cores-busy")->level, HEALTH_GREEN);
	CHECK_EQ(line_of(&r, "memcg-zombies")->level, HEALTH_RED);
	CHECK_STR(line_of(&r, "memcg-zombies")->detail,
		  "68680 tracked by the kernel, 240 live, ratio 286.2");
	view_check_npd(&line, &r);
	CHECK_STR(line.data, "one core's time in the kernel 100%");
}

TEST(less_is_worse_for_free_memory)
{
	AUTO_TICK struct tick t = { 0 };
	struct rec_meminfo *m = tick_only_row(&t, REC_MEMINFO);
	struct health_input in = { .tick = &t };
	static const struct {
		uint64_t available;
		enum health_level level;
	} cases[] = { { 50, HEALTH_GREEN }, { 10, HEALTH_YELLOW }, { 5, HEALTH_RED } };

	for (unsigned i = 0; i < 3; i++) {
		AUTO_HEALTH_RESULT struct health_result r = { 0 };
		*m = (struct rec_meminfo){ .total = 100,
					   .available = cases[i].available,
					   .have = REC_MEMINFO_TOTAL | REC_MEMINFO_AVAILABLE };
		CHECK_EQ(health_judge(&in, &r), 0);
		CHECK_EQ(line_of(&r, "memory-available")->level, cases[i].level);
	}
}

TEST(facts_of_others_become_lines)
{
	struct tick t = { 0 };
	static const struct health_fact facts[] = { { "crash-loops", 1, "ecs.service" } };
	struct health_input in = { .tick = &t, .facts = facts, .n_facts = 1 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	CHECK_EQ(health_judge(&in, &r), 0);
	CHECK_EQ(r.level, HEALTH_YELLOW);
	CHECK_STR(line_of(&r, "crash-loops")->detail, "ecs.service");
}

TEST_MAIN
