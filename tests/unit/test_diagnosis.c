#include <stdio.h>
#include <string.h>

#include "check.h"
#include "diagnosis.h"
#include "err.h"
#include "sick_host.h"

static const char *rule_at(const struct diagnosis *d, size_t i)
{
	const struct explanation *e = &d->chains.ranked.items[0];
	return i < e->findings.len ? d->findings.list.items[e->findings.items[i]].rule : "";
}

TEST(the_whole_chain_of_the_incident)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK_STR(d.culprit_kind, "unit");
	CHECK_STR(d.culprit_name, "ecs.service");
	CHECK(d.confidence > 0.8);
	static const char *const expected[] = { "unit-misfit",     "unit-crash-loop",
						"container-churn", "cgroup-churn",
						"memcg-zombies",   "memcg-walk-cost",
						"core-saturated",  "queue-starved",
						"net-driver-reset" };
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_STR(rule_at(&d, i), expected[i]);
	CHECK_EQ(d.plan.items[0].action, PLAN_DISABLE);
	CHECK_STR(d.plan.items[0].target, "ecs.service");
	CHECK_EQ(d.plan.items[1].action, PLAN_PURGE);
	CHECK_EQ(d.plan.items[2].action, PLAN_VALIDATE);
	vec_foreach (&d.plan, step)
		CHECK(strcmp(step->target, "kubelet.service") != 0);
	vec_foreach (&d.findings.list, finding)
		CHECK(finding->evidence.len > 0);
}

TEST(a_healthy_host_has_no_verdict)
{
	AUTO_FACTS struct facts f = {
		.have = FACT_SOURCE_END - 1, .tracked = 300, .alive = 280, .dying = 20
	};
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	/* all cores full of user work: that is what cores are for */
	for (unsigned cpu = 0; cpu < 96; cpu++)
		(void)vec_push(&f.cores, (struct fact_core){ .cpu = cpu,
							     .from_ns = 1,
							     .to_ns = 60 * SICK_S,
							     .usr = 96,
							     .sys = 4,
							     .host_busy = 100 });
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK(d.healthy);
	CHECK_EQ(d.plan.len, 0);
	CHECK(strstr(d.title, "the profile") != NULL);
}

TEST(nothing_read_is_no_clean_bill)
{
	AUTO_FACTS struct facts f = { 0 };
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK(d.blind);
	CHECK_STR(d.id, "unknown");
}

TEST(a_symptom_without_cause_stays_a_symptom)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.units.len = f.containers.len = f.owners.len = f.churn.len = f.walkers.len = f.resets.len =
		0;
	f.tracked = 300;
	f.alive = 240;
	f.dying = 60;
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK_STR(d.id, "core-saturated");
	CHECK_STR(d.culprit_name, "kubelet.service");
	CHECK(strstr(d.title, "no cause was found") != NULL);
	CHECK_EQ(d.plan.items[0].action, PLAN_LOOK);
	CHECK(strstr(d.plan.items[0].command, "zscope flame --cpu 39") != NULL);
}

TEST(the_wrong_core_is_not_blamed)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.resets.items[0].cpu = 7;
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	vec_foreach (&d.chains.joins, j) {
		const struct finding *cause = &d.findings.list.items[j->cause];
		CHECK(strcmp(cause->rule, "core-saturated") != 0);
	}
}

TEST(a_cause_after_its_effect_is_no_cause)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.cores.items[0].from_ns = SICK_NOW + SICK_S;
	f.cores.items[0].to_ns = SICK_NOW + 9 * SICK_S;
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	vec_foreach (&d.chains.joins, j)
		CHECK(strcmp(d.findings.list.items[j->effect].rule, "queue-starved") != 0);
}

TEST(two_culprits_are_both_named)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	(void)vec_push(&f.units, (struct fact_unit){ .unit = "other.service",
						     .crash_loop = true,
						     .restarts = 9000,
						     .restarts_per_hour = 400,
						     .fits = -1,
						     .first_seen_ns = SICK_NOW - 86400 * SICK_S,
						     .last_seen_ns = SICK_NOW });
	(void)vec_push(&f.owners, (struct fact_owner){ .owner = "other.service",
						       .unit = "other.service",
						       .count = 30000 });
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK(d.chains.ranked.len >= 2);
	CHECK(d.chains.ranked.items[1].apart != NULL);
	bool stops_other = false;
	vec_foreach (&d.plan, step)
		stops_other |= strcmp(step->target, "other.service") == 0;
	CHECK(stops_other);
}

/* Taking any set of sources away never names somebody else with more confidence. */
TEST(less_knowledge_never_makes_surer)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis whole = { 0 };

	CHECK_EQ(diagnosis_make(&f, NULL, &whole, NULL), 0);
	for (uint32_t have = 0; have < FACT_SOURCE_END; have++) {
		AUTO_DIAGNOSIS struct diagnosis d = { 0 };
		f.have = have;
		CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
		if (!d.healthy && strcmp(d.culprit_name, whole.culprit_name) != 0)
			CHECK(d.confidence <= whole.confidence);
		size_t n;
		const struct rule *rules = rules_all(&n);
		for (size_t i = 0; i < n; i++) {
			bool listed = false;
			vec_foreach (&d.unknown.list, u)
				listed |= strcmp(u->what, rules[i].id) == 0;
			CHECK_EQ(listed, (rules[i].needs & ~have) != 0);
		}
	}
}

/* Row number `skip` of all rows of all sources, counted through, is taken out. Returns how many
 * rows there are. */
static size_t remove_row(struct facts *f, size_t skip)
{
	size_t at = 0;
#define REMOVE_FROM(list)                                                  \
	do {                                                               \
		size_t len = f->list.len;                                  \
		if (skip >= at && skip < at + len) {                       \
			size_t i = skip - at;                              \
			memmove(&f->list.items[i], &f->list.items[i + 1],  \
				(len - i - 1) * sizeof(f->list.items[0])); \
			f->list.len--;                                     \
		}                                                          \
		at += len;                                                 \
	} while (0)
	REMOVE_FROM(cores);
	REMOVE_FROM(walkers);
	REMOVE_FROM(owners);
	REMOVE_FROM(churn);
	REMOVE_FROM(units);
	REMOVE_FROM(containers);
	REMOVE_FROM(resets);
	REMOVE_FROM(quotas);
	REMOVE_FROM(ooms);
#undef REMOVE_FROM
	return at;
}

static struct facts busy_sick_host(void)
{
	struct facts f = sick_host();

	(void)vec_push(&f.units, (struct fact_unit){ .unit = "other.service",
						     .crash_loop = true,
						     .restarts = 900,
						     .restarts_per_hour = 40,
						     .fits = -1,
						     .first_seen_ns = SICK_NOW - 86400 * SICK_S,
						     .last_seen_ns = SICK_NOW });
	(void)vec_push(&f.owners, (struct fact_owner){ .owner = "other.service",
						       .unit = "other.service",
						       .count = 300 });
	(void)vec_push(&f.walkers, (struct fact_walker){ .pid = 12,
							 .comm = "cadvisor",
							 .function = "memcg_stat_show",
							 .cpu = 2,
							 .share = 40,
							 .samples = 90,
							 .from_ns = SICK_NOW - 9 * SICK_S,
							 .to_ns = SICK_NOW });
	(void)vec_push(&f.quotas, (struct fact_quota){ .cgroup = "/pod",
						       .throttled_percent = 60,
						       .reclaim_correlation = NAN });
	(void)vec_push(&f.ooms, (struct fact_oom){ .victim = "java",
						   .time_ns = SICK_NOW - 3 * SICK_S,
						   .trusted = true });
	return f;
}

/* Two rows at a time, whatever they are: never somebody else with more confidence. */
TEST(fewer_rows_never_make_surer)
{
	AUTO_FACTS struct facts whole_facts = busy_sick_host();
	AUTO_DIAGNOSIS struct diagnosis whole = { 0 };

	CHECK_EQ(diagnosis_make(&whole_facts, NULL, &whole, NULL), 0);
	CHECK_STR(whole.culprit_name, "ecs.service");
	size_t rows = remove_row(&whole_facts, SIZE_MAX);
	CHECK_EQ(rows, 13);
	for (size_t a = 0; a < rows; a++) {
		for (size_t b = 0; b < rows; b++) {
			AUTO_FACTS struct facts f = busy_sick_host();
			AUTO_DIAGNOSIS struct diagnosis d = { 0 };
			remove_row(&f, a);
			remove_row(&f, b);
			CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
			if (!d.healthy && strcmp(d.culprit_name, whole.culprit_name) != 0)
				CHECK(d.confidence <= whole.confidence);
		}
	}
}

/* The order in which sources were read says nothing. */
TEST(shuffled_rows_give_the_same_verdict)
{
	AUTO_FACTS struct facts f = busy_sick_host();
	AUTO_DIAGNOSIS struct diagnosis whole = { 0 };
	unsigned seed = 7;

	CHECK_EQ(diagnosis_make(&f, NULL, &whole, NULL), 0);
	for (unsigned turn = 0; turn < 50; turn++) {
		AUTO_DIAGNOSIS struct diagnosis d = { 0 };
#define SWAP_IN(list)                                                                       \
	do {                                                                                \
		if (f.list.len > 1) {                                                       \
			size_t i = (seed = seed * 1103515245 + 12345) / 65536 % f.list.len; \
			__typeof__(f.list.items[0]) first = f.list.items[0];                \
			f.list.items[0] = f.list.items[i];                                  \
			f.list.items[i] = first;                                            \
		}                                                                           \
	} while (0)
		SWAP_IN(units);
		SWAP_IN(owners);
		SWAP_IN(walkers);
#undef SWAP_IN
		CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
		CHECK_STR(d.id, whole.id);
		CHECK_STR(d.culprit_name, whole.culprit_name);
		CHECK_NEAR(d.confidence, whole.confidence, 1e-9);
	}
}

/* A unit that loops is not blamed for the cgroups of containers that somebody else recreates. */
TEST(anothers_containers_are_not_the_units)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.churn.items[0].unit = NULL;
	(void)vec_push(&f.units, (struct fact_unit){ .unit = "other.service",
						     .crash_loop = true,
						     .restarts = 900,
						     .restarts_per_hour = 400,
						     .fits = -1,
						     .first_seen_ns = SICK_NOW - 86400 * SICK_S,
						     .last_seen_ns = SICK_NOW });
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	vec_foreach (&d.chains.joins, j) {
		const struct place *p = &d.findings.list.items[j->cause].place;
		CHECK(!p->unit || strcmp(p->unit, "other.service") != 0);
	}
	CHECK_STR(d.culprit_name, "ecs.service");
}

/* Seen from inside a cgroup namespace, the engine's directory lacks its beginning; that neither
 * proves nor contradicts. Another directory contradicts. */
TEST(a_namespace_does_not_cut_the_chain)
{
	static const struct {
		const char *churned;
		bool joined;
	} cases[] = { { "/docker", true }, { "/machine/docker", true }, { "/docker2", false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FACTS struct facts f = sick_host();
		AUTO_DIAGNOSIS struct diagnosis d = { 0 };
		bool joined = false;

		f.churn.items[0].unit = NULL;
		f.churn.items[0].parent = cases[i].churned;
		CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
		vec_foreach (&d.chains.joins, j)
			joined |=
				strcmp(d.findings.list.items[j->cause].rule, "container-churn") ==
					0 &&
				strcmp(d.findings.list.items[j->effect].rule, "cgroup-churn") == 0;
		CHECK_EQ(joined, cases[i].joined);
	}
}

/* Its maker's own zombies are not the container's: the chain goes from the unit to them. */
TEST(a_container_does_not_explain_its_makers_zombies)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.owners.items[0] = (struct fact_owner){
		.owner = "ecs.service", .kind = "unit", .unit = "ecs.service", .count = 68000
	};
	f.churn.len = 0;
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	CHECK_STR(d.culprit_name, "ecs.service");
	CHECK_STR(rule_at(&d, 1), "unit-crash-loop");
	CHECK_STR(rule_at(&d, 2), "memcg-zombies");
}

/* Without the kernel's log nobody knows of OOM kills; but a unit that ended with an exit code was
 * not killed. */
TEST(an_exit_code_rules_out_a_kill)
{
	for (unsigned killed = 0; killed < 2; killed++) {
		AUTO_FACTS struct facts f = sick_host();
		AUTO_DIAGNOSIS struct diagnosis d = { 0 };

		f.have &= ~(uint32_t)FACT_KMSG;
		f.units.items[0].fits = -1;
		f.units.items[0].result = killed ? "signal 9" : "exit code 5";
		CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
		CHECK_STR(d.culprit_name, "ecs.service");
		CHECK(killed ? d.confidence <= 0.5 : d.confidence > 0.8);
	}
}

TEST(removing_one_source_keeps_the_culprit_or_says_less)
{
	static const uint32_t removed[] = { FACT_PROFILE,    FACT_CENSUS, FACT_CHURN,
					    FACT_CONTAINERS, FACT_CORES,  FACT_NET };

	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
		AUTO_FACTS struct facts f = sick_host();
		AUTO_DIAGNOSIS struct diagnosis d = { 0 };
		f.have &= ~removed[i];
		CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
		CHECK_STR(d.culprit_name, "ecs.service");
	}
}

TEST(an_injected_reset_is_labelled)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };

	f.resets.items[0].injected = true;
	f.resets.items[0].trusted = false;
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	vec_foreach (&d.findings.list, finding)
		if (strcmp(finding->rule, "net-driver-reset") == 0)
			CHECK(strstr(finding->title, "injected") != NULL &&
			      finding->proof == PROOF_CLAIMED);
}

TEST_MAIN
