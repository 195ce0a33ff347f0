/* Every rule fires on what it is for, and is silent on what looks like it. A rule without both
 * cases fails the last test. */
#include "rule.h"

#include <math.h>
#include <string.h>

#include "auto.h"
#include "check.h"
#include "sick_host.h"

#define S SICK_S

static void empty(struct facts *f)
{
	facts_free(f);
	*f = (struct facts){ .have = FACT_SOURCE_END - 1,
			     .from_ns = SICK_NOW - 30 * S,
			     .to_ns = SICK_NOW,
			     .kernel_major = 6,
			     .kernel_minor = 1,
			     .tracked = 300,
			     .alive = 280,
			     .dying = 20 };
}

static struct fact_core core(double usr, double sys)
{
	return (struct fact_core){ .cpu = 3,
				   .from_ns = SICK_NOW - 10 * S,
				   .to_ns = SICK_NOW,
				   .usr = usr,
				   .sys = sys,
				   .host_busy = 20,
				   .pid = 7,
				   .comm = "hog",
				   .task_share = 99 };
}

static struct fact_reset reset_of(enum fact_starved starved)
{
	return (struct fact_reset){ .iface = "eth0",
				    .queue = 5,
				    .irq = 44,
				    .cpu = 39,
				    .from_ns = SICK_NOW - 8 * S,
				    .time_ns = SICK_NOW - S,
				    .trusted = true,
				    .starved = starved };
}

/* Each fills the facts (empty before) for its rule. */
static void misfit(struct facts *f)
{
	(void)vec_push(&f->units, (struct fact_unit){ .unit = "ecs.service",
						      .crash_loop = true,
						      .restarts_per_hour = 300,
						      .fits = 0 });
}

static void misfit_does_no_harm(struct facts *f)
{
	misfit(f);
	f->units.items[0].crash_loop = false;
}

static void loop(struct facts *f)
{
	(void)vec_push(&f->units, (struct fact_unit){ .unit = "a.service",
						      .crash_loop = true,
						      .restarts = 40,
						      .restarts_per_hour = 12,
						      .fits = -1 });
}

static void loop_by_design(struct facts *f)
{
	loop(f);
	f->units.items[0].expected = true;
}

static void containers(struct facts *f)
{
	(void)vec_push(&f->containers, (struct fact_container){ .name = "agent",
								.creates = 3,
								.creates_per_min = 0.5,
								.exit_code = -1 });
}

static void containers_of_cron(struct facts *f)
{
	containers(f);
	f->containers.items[0].creates_per_min = 0.2;
}

static void churn(struct facts *f)
{
	(void)vec_push(&f->churn, (struct fact_churn){ .parent = "/docker",
						       .owner = "docker",
						       .made_per_min = 60,
						       .left = 3 });
}

/* A loop is not to blame for the one or two that are just being released. */
static void churn_leaves_nothing(struct facts *f)
{
	churn(f);
	f->churn.items[0].left = 2;
}

static void zombies(struct facts *f)
{
	f->tracked = 1300;
	f->alive = 300;
	f->dying = 1000;
}

static void zombies_few_and_still(struct facts *f)
{
	f->tracked = 1279;
	f->alive = 280;
	f->dying = 999;
}

static void accumulates(struct facts *f)
{
	zombies(f);
	f->zombies_per_hour = 100;
	f->uptime_s = 86400;
}

/* They were there at boot already, by their rate: a reboot resets nothing. */
static void older_than_the_boot(struct facts *f)
{
	accumulates(f);
	f->uptime_s = 3600;
}

static void walker(struct facts *f)
{
	(void)vec_push(&f->walkers, (struct fact_walker){ .pid = 1,
							  .comm = "kubelet",
							  .function = "mem_cgroup_iter",
							  .samples = 20,
							  .share = 25 });
}

static void walker_of_few_samples(struct facts *f)
{
	walker(f);
	f->walkers.items[0].samples = 19;
}

static void realtime(struct facts *f)
{
	struct fact_core c = core(99, 0);
	c.realtime = true;
	(void)vec_push(&f->cores, c);
}

static void busy_user(struct facts *f)
{
	(void)vec_push(&f->cores, core(99, 0));
}

static void busy_kernel(struct facts *f)
{
	(void)vec_push(&f->cores, core(2, 97));
}

static void soft(struct facts *f)
{
	f->soft_percent = 60;
}

static void soft_of_a_busy_nic(struct facts *f)
{
	f->soft_percent = 50;
}

static void stolen(struct facts *f)
{
	f->steal_percent = 25;
}

static void stolen_as_usual(struct facts *f)
{
	f->steal_percent = 15;
}

static void clock_stopped(struct facts *f)
{
	f->missing_ticks_cpu = 3;
	f->missing_ticks_seconds = 3;
	f->missing_ticks_percent = 50;
}

static void clock_stopped_once(struct facts *f)
{
	clock_stopped(f);
	f->missing_ticks_seconds = 1;
}

static void pods(struct facts *f)
{
	f->kubepods_weight_ratio = 39;
	busy_user(f);
}

static void pods_on_an_idle_host(struct facts *f)
{
	f->kubepods_weight_ratio = 39;
}

static void flood(struct facts *f)
{
	f->log_lines_per_s = 500;
}

static void flood_of_the_lab(struct facts *f)
{
	flood(f);
	f->log_injected = true;
}

static void chatter(struct facts *f)
{
	f->log_lines_per_s = 100;
}

static void starved(struct facts *f)
{
	(void)vec_push(&f->resets, reset_of(STARVED_CORE));
}

static void reset_by_the_device(struct facts *f)
{
	(void)vec_push(&f->resets, reset_of(STARVED_DEVICE));
}

static void nothing(struct facts *f)
{
	(void)f;
}

static void reclaim(struct facts *f)
{
	f->psi_memory_some = 10;
}

/* Scanning is the kernel's ordinary work while nobody waits. */
static void scanning_without_waiting(struct facts *f)
{
	f->direct_pages_per_s = 100000;
	f->kswapd_pages_per_s = 100000;
}

static void quota(struct facts *f)
{
	(void)vec_push(&f->quotas, (struct fact_quota){ .cgroup = "/a",
							.throttled_percent = 25,
							.reclaim_correlation = 0.6 });
}

static void quota_shapes_bursts(struct facts *f)
{
	quota(f);
	f->quotas.items[0].throttled_percent = 20;
}

static void quota_without_reclaim(struct facts *f)
{
	quota(f);
	f->quotas.items[0].reclaim_correlation = NAN;
}

static void oom(struct facts *f)
{
	(void)vec_push(&f->ooms,
		       (struct fact_oom){ .victim = "java", .time_ns = SICK_NOW, .trusted = true });
}

static const struct rule_case {
	const char *rule;
	void (*fires)(struct facts *f);
	void (*silent)(struct facts *f);
} cases[] = {
	{ "unit-misfit", misfit, misfit_does_no_harm },
	{ "unit-crash-loop", loop, loop_by_design },
	{ "container-churn", containers, containers_of_cron },
	{ "cgroup-churn", churn, churn_leaves_nothing },
	{ "memcg-zombies", zombies, zombies_few_and_still },
	{ "accumulating-state", accumulates, older_than_the_boot },
	{ "memcg-walk-cost", walker, walker_of_few_samples },
	{ "rt-hog", realtime, busy_user },
	{ "softirq-storm", soft, soft_of_a_busy_nic },
	{ "steal", stolen, stolen_as_usual },
	{ "missing-ticks", clock_stopped, clock_stopped_once },
	{ "kubepods-weight", pods, pods_on_an_idle_host },
	{ "log-flood", flood, chatter },
	{ "core-saturated", busy_kernel, busy_user },
	{ "queue-starved", starved, reset_by_the_device },
	{ "net-driver-reset", reset_by_the_device, nothing },
	{ "reclaim-pressure", reclaim, scanning_without_waiting },
	{ "cpu-throttled", quota, quota_shapes_bursts },
	{ "throttle-meets-reclaim", quota, quota_without_reclaim },
	{ "oom-kill", oom, nothing },
};

static unsigned count_of(const struct facts *f, const char *rule, bool *ret_unknown)
{
	AUTO_FINDINGS struct findings all = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	unsigned n = 0;

	rules_judge(f, &thresholds_default, &all, &unknown);
	vec_foreach (&all.list, it) {
		n += strcmp(it->rule, rule) == 0;
		CHECK(it->title && *it->title && it->evidence.len && it->fix);
		vec_foreach (&it->evidence, e)
			CHECK(e->what && e->value && e->source);
	}
	*ret_unknown = false;
	vec_foreach (&unknown.list, u)
		*ret_unknown |= strcmp(u->what, rule) == 0;
	return n;
}

TEST(each_rule_fires_and_is_silent)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct rule *rule = rules_find(cases[i].rule);
		AUTO_FACTS struct facts f = { 0 };
		bool unknown;

		CHECK(rule != NULL);
		empty(&f);
		cases[i].fires(&f);
		CHECK_EQ(count_of(&f, rule->id, &unknown), 1);
		CHECK(!unknown);
		/* without any one of its sources it is silent, and says so */
		for (uint32_t bit = 1; bit < FACT_SOURCE_END; bit <<= 1) {
			f.have = (FACT_SOURCE_END - 1) & ~bit;
			unsigned n = count_of(&f, rule->id, &unknown);
			CHECK_EQ(unknown, (rule->needs & bit) != 0);
			CHECK(!(rule->needs & bit) || n == 0);
		}
		empty(&f);
		cases[i].silent(&f);
		CHECK_EQ(count_of(&f, rule->id, &unknown), 0);
		CHECK(!unknown);
	}
}

TEST(a_flood_of_the_lab_is_labelled_and_only_claimed)
{
	AUTO_FACTS struct facts f = { 0 };
	AUTO_FINDINGS struct findings all = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };

	empty(&f);
	flood_of_the_lab(&f);
	rules_judge(&f, &thresholds_default, &all, &unknown);
	CHECK_EQ(all.list.len, 1);
	CHECK(all.list.items[0].injected);
	CHECK_EQ(all.list.items[0].proof, PROOF_CLAIMED);
	CHECK(strstr(all.list.items[0].title, "(injected by the lab)") != NULL);
	f.log_injected = false;
	rules_judge(&f, &thresholds_default, &all, &unknown);
	CHECK(!all.list.items[1].injected);
	CHECK_EQ(all.list.items[1].proof, PROOF_COUNTER);
}

static void reader(struct facts *f)
{
	f->have &= ~(uint32_t)FACT_PROFILE;
	f->walk_read_ns = UINT64_C(5000000);
	f->walk_read_file = "memory.stat";
	(void)vec_push(&f->readers, (struct fact_reader){ .pid = 4711,
							  .comm = "kubelet",
							  .file = "/sys/fs/cgroup/memory.stat",
							  .sys_percent = 25,
							  .looked = 20,
							  .seen = 1 });
}

static void reader_where_reads_are_cheap(struct facts *f)
{
	f->walk_read_ns = UINT64_C(4999999);
}

static void reader_with_little_to_do(struct facts *f)
{
	f->readers.items[0].sys_percent = 24;
}

static void reader_of_other_files(struct facts *f)
{
	f->readers.items[0].seen = 0;
	f->readers.items[0].file = NULL;
}

static void reader_whom_the_profile_never_saw_walk(struct facts *f)
{
	f->have |= FACT_PROFILE;
}

static void reader_whom_the_profile_saw_elsewhere(struct facts *f)
{
	f->have |= FACT_PROFILE;
	(void)vec_push(&f->walkers, (struct fact_walker){ .pid = 4711,
							  .comm = "kubelet",
							  .function = "mem_cgroup_iter",
							  .share = 3,
							  .samples = 100 });
}

static void reader_without_cost_known(struct facts *f)
{
	f->have &= ~(uint32_t)FACT_READS;
}

/* The walk where there is no profile, or too few samples of the process. */
TEST(a_walk_is_told_by_slow_reads)
{
	static void (*const silent[])(struct facts * f) = {
		reader_where_reads_are_cheap,
		reader_with_little_to_do,
		reader_of_other_files,
		reader_whom_the_profile_never_saw_walk,
		reader_whom_the_profile_saw_elsewhere,
		reader_without_cost_known,
	};
	bool unknown;

	{
		AUTO_FACTS struct facts f = { 0 };
		AUTO_FINDINGS struct findings all = { 0 };
		AUTO_UNKNOWNS struct unknowns gaps = { 0 };
		empty(&f);
		reader(&f);
		CHECK_EQ(count_of(&f, "memcg-walk-cost", &unknown), 1);
		CHECK(unknown); /* the profile is still missing, and still said to be */
		rules_judge(&f, &thresholds_default, &all, &gaps);
		CHECK_EQ(all.list.items[0].proof, PROOF_INFERRED);
		/* few samples, of which most walk: the profile alone would be silent */
		f.have |= FACT_PROFILE;
		(void)vec_push(&f.walkers, (struct fact_walker){ .pid = 4711,
								 .comm = "kubelet",
								 .function = "mem_cgroup_iter",
								 .share = 90,
								 .samples = 19 });
		CHECK_EQ(count_of(&f, "memcg-walk-cost", &unknown), 1);
		/* enough samples: once, by the profile */
		f.walkers.items[0].samples = 20;
		CHECK_EQ(count_of(&f, "memcg-walk-cost", &unknown), 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
		AUTO_FACTS struct facts f = { 0 };
		empty(&f);
		reader(&f);
		silent[i](&f);
		CHECK_EQ(count_of(&f, "memcg-walk-cost", &unknown), 0);
	}
}

TEST(each_rule_has_its_cases)
{
	size_t n;
	const struct rule *all = rules_all(&n);

	for (size_t i = 0; i < n; i++) {
		bool found = false;
		for (size_t k = 0; k < ARRAY_LEN(cases); k++)
			found |= strcmp(cases[k].rule, all[i].id) == 0;
		CHECK(found);
		CHECK_STR(all[i].doc, all[i].id);
	}
}

TEST(a_healthy_host_is_silent)
{
	AUTO_FACTS struct facts f = { 0 };
	AUTO_FINDINGS struct findings all = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };

	empty(&f);
	rules_judge(&f, &thresholds_default, &all, &unknown);
	CHECK_EQ(all.list.len, 0);
	CHECK_EQ(unknown.list.len, 0);
}

TEST_MAIN
