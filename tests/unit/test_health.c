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
	CHECK_EQ(line_of(&r, "memcg-zombies")->level, HEALTH_UNKNOWN);
	CHECK_EQ(line_of(&r, "crash-loops")->level, HEALTH_UNKNOWN); /* nobody looked */
	CHECK_EQ(r.counts[HEALTH_UNKNOWN], r.lines.len);
	view_check_nagios(&line, &r);
	CHECK_STR(line.data, "ZSCOPE UNKNOWN - could not tell; 16 not known: kernel time, "
			     "zombie cgroups, memory available, all cores busy and 12 more |");
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
	CHECK_EQ(line_of(&r, "core-kernel")->cpu, 5);
	CHECK_STR(line_of(&r, "memcg-zombies")->numbers[0].key, "tracked");
	CHECK_EQ(line_of(&r, "memcg-zombies")->numbers[0].value, 68680);
	view_check_npd(&line, &r);
	CHECK_STR(line.data, "core 5 kernel time 100%, zombie cgroups 68440");
}

/* A node on which only the essential lines are known, each of them fine. */
struct bare_node {
	struct tick tick;
	struct rate_cpu core;
	struct rates rates;
	struct unknowns unknown;
	struct health_input in;
};

static void bare_node_make(struct bare_node *n)
{
	struct rec_cgroups *c = tick_only_row(&n->tick, REC_CGROUPS);
	struct rec_meminfo *m = tick_only_row(&n->tick, REC_MEMINFO);

	*c = (struct rec_cgroups){ .tracked = 41,
				   .live = 40,
				   .dying = 1,
				   .have = REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE |
					   REC_CGROUPS_DYING };
	*m = (struct rec_meminfo){ .total = 100,
				   .available = 50,
				   .have = REC_MEMINFO_TOTAL | REC_MEMINFO_AVAILABLE };
	n->core = (struct rate_cpu){ .usr = 10, .idle = 90 };
	n->rates = (struct rates){ .known = RATE_CORES, .interval_ns = 1000000000 };
	n->rates.all = n->core;
	n->rates.cpus.items = &n->core;
	n->rates.cpus.len = 1;
	n->in = (struct health_input){ .tick = &n->tick,
				       .rates = &n->rates,
				       .unknown = &n->unknown };
}

static void bare_node_free(struct bare_node *n)
{
	tick_free(&n->tick);
	unknowns_free(&n->unknown);
}

#define AUTO_BARE_NODE __attribute__((cleanup(bare_node_free)))

TEST(only_the_essential_lines_decide_whether_it_can_be_told)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result fine = { 0 }, blind = { 0 };
	AUTO_BUF struct buf nagios = { 0 }, npd = { 0 };

	bare_node_make(&n);
	CHECK_EQ(health_judge(&n.in, &fine), 0);
	CHECK_EQ(fine.level, HEALTH_GREEN);
	view_check_npd(&npd, &fine); /* green, but nobody may read "healthy" into it */
	CHECK_STR(npd.data, "nothing is wrong in what could be read; 11 not known");
	TICK_ROW(&n.tick, REC_CGROUPS, rec_cgroups, 0)->have = REC_CGROUPS_TRACKED;
	CHECK_EQ(health_judge(&n.in, &blind), 0);
	CHECK_EQ(blind.level, HEALTH_UNKNOWN);
	view_check_nagios(&nagios, &blind);
	CHECK(strstr(nagios.data,
		     "ZSCOPE UNKNOWN - could not tell; 12 not known: zombie cgroups, "));
}

TEST(a_finding_is_one_also_where_essentials_are_unknown)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	bare_node_make(&n);
	n.rates.known = 0;
	TICK_ROW(&n.tick, REC_CGROUPS, rec_cgroups, 0)->dying = 20000;
	CHECK_EQ(health_judge(&n.in, &r), 0);
	CHECK_EQ(r.level, HEALTH_RED);
}

TEST(a_reason_explains_its_lines_or_is_one)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	bare_node_make(&n);
	unknowns_add(&n.unknown, "CPU pressure", "/proc/pressure/cpu: not there");
	unknowns_add(&n.unknown, "host", "nobody told it");
	CHECK_EQ(health_judge(&n.in, &r), 0);
	CHECK_STR(line_of(&r, "pressure-cpu")->detail, "/proc/pressure/cpu: not there");
	CHECK_STR(line_of(&r, "load")->detail, "not told by /proc/loadavg");
	CHECK_EQ(r.others.len, 1);
	CHECK_STR(r.others.items[0]->what, "host");
	CHECK_EQ(r.counts[HEALTH_UNKNOWN], 12);
}

/* No controller, no zombies: a question without an object is not a gap in what is known. */
TEST(what_does_not_apply_is_not_unknown)
{
	static const struct health_fact facts[] = {
		{ .id = "crash-loops", .detail = "no systemd", .absent = true },
	};
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	bare_node_make(&n);
	n.in.facts = facts;
	n.in.n_facts = 1;
	unknowns_add(&n.unknown, "memory cgroups", "switched off");
	*TICK_ROW(&n.tick, REC_CGROUPS, rec_cgroups, 0) =
		(struct rec_cgroups){ .have = REC_CGROUPS_MEMORY };
	CHECK_EQ(health_judge(&n.in, &r), 0);
	CHECK_EQ(line_of(&r, "memcg-zombies")->level, HEALTH_ABSENT);
	CHECK_EQ(line_of(&r, "crash-loops")->level, HEALTH_ABSENT);
	CHECK_STR(line_of(&r, "crash-loops")->detail, "no systemd");
	CHECK_EQ(r.counts[HEALTH_ABSENT], 2);
	CHECK_EQ(r.others.len, 0);
	CHECK_EQ(r.level, HEALTH_GREEN);
}

/* None found, because none could be looked for, is not zero. */
TEST(quotas_that_could_not_be_searched)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result seen = { 0 }, blind = { 0 };

	bare_node_make(&n);
	struct rec_cgroups *c = TICK_ROW(&n.tick, REC_CGROUPS, rec_cgroups, 0);
	c->mode = 1;
	c->have |= REC_CGROUPS_MODE;
	CHECK_EQ(health_judge(&n.in, &seen), 0);
	CHECK_EQ(line_of(&seen, "throttling")->level, HEALTH_GREEN);
	unknowns_add(&n.unknown, "CPU quotas", "not mounted");
	CHECK_EQ(health_judge(&n.in, &blind), 0);
	CHECK_EQ(line_of(&blind, "throttling")->level, HEALTH_UNKNOWN);
}

TEST(whose_the_zombies_are)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	bare_node_make(&n);
	n.in.zombie_owner = "ecs.service";
	n.in.zombie_owner_count = 1;
	CHECK_EQ(health_judge(&n.in, &r), 0);
	CHECK_STR(line_of(&r, "memcg-zombies")->owner, "ecs.service");
	CHECK_STR(line_of(&r, "memcg-zombies")->detail,
		  "1 of ecs.service; 41 tracked by the kernel, 40 live, ratio 1.0");
}

/* node-problem-detector cuts at 80: what does not fit is counted, no name is cut. */
TEST(a_pager_line_counts_what_it_cannot_name)
{
	AUTO_BARE_NODE struct bare_node n = { 0 };
	static const struct health_fact facts[] = {
		{ .id = "crash-loops", .value = 1, .detail = "" },
		{ .id = "driver-resets", .value = 4, .detail = "" },
	};
	AUTO_HEALTH_RESULT struct health_result r = { 0 };
	AUTO_BUF struct buf npd = { 0 }, nagios = { 0 };

	bare_node_make(&n);
	n.core = (struct rate_cpu){ .cpu = 5, .sys = 85, .steal = 15 };
	n.rates.all = n.core;
	TICK_ROW(&n.tick, REC_CGROUPS, rec_cgroups, 0)->dying = 68440;
	n.in.facts = facts;
	n.in.n_facts = 2;
	CHECK_EQ(health_judge(&n.in, &r), 0);
	view_check_npd(&npd, &r);
	CHECK(npd.len <= 80);
	CHECK_STR(npd.data,
		  "zombie cgroups 68440, driver resets 4, core 5 kernel time 85%, 3 more");
	view_check_nagios(&nagios, &r);
	CHECK(strstr(nagios.data, "core 5 stolen time 15%, crash loops 1; "));
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
	static const struct health_fact facts[] = {
		{ .id = "crash-loops", .value = 1, .detail = "ecs.service" },
	};
	struct health_input in = { .tick = &t, .facts = facts, .n_facts = 1 };
	AUTO_HEALTH_RESULT struct health_result r = { 0 };

	CHECK_EQ(health_judge(&in, &r), 0);
	CHECK_EQ(r.level, HEALTH_YELLOW);
	CHECK_STR(line_of(&r, "crash-loops")->detail, "ecs.service");
}

TEST_MAIN
