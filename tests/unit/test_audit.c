#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "check.h"
#include "timefmt.h"

#define NOW (1000000 * NS_PER_S)

/* A host that has one file and no GPU. */
static enum probe ask(void *arg, const char *kind, const char *argument, char source[160])
{
	(void)arg;
	strcpy(source, "/test");
	if (strcmp(kind, "path") == 0)
		return strcmp(argument, "/there") == 0 ? PROBE_YES : PROBE_NO;
	return strcmp(kind, "pci") == 0 || strcmp(kind, "dmi") == 0 ? PROBE_NO : PROBE_UNKNOWN;
}

static enum fit judge(const char *fits, const char *needs, enum host_shape shape, bool image)
{
	AUTO_AGENTS struct agents agents = { 0 };
	char table[600];
	struct fit_result result;
	struct fit_host host = { .shape = shape, .image = image, .ask = ask };

	snprintf(table, sizeof(table), "unit\tfits\tneeds\nx.service\t%s\t%s\n", fits, needs);
	CHECK_EQ(agents_parse(table, strlen(table), &agents, NULL), 0);
	fit_judge(&agents, "x.service", &host, &result);
	return result.fit;
}

TEST(fit_by_shape_and_by_predicates)
{
	CHECK_EQ(judge("ecs,batch(AWS Batch)", "imds:x", SHAPE_K8S, false), FIT_NO);
	CHECK_EQ(judge("ecs,batch(AWS Batch)", "imds:x", SHAPE_BATCH, false), FIT_YES);
	CHECK_EQ(judge("ecs", "imds:x", SHAPE_UNKNOWN, false), FIT_UNKNOWN);
	CHECK_EQ(judge("ecs,raw; in k8s only with x", "imds:x", SHAPE_K8S, false), FIT_UNKNOWN);
	CHECK_EQ(judge("any", "path:/there & imds:x", SHAPE_K8S, false), FIT_UNKNOWN);
	CHECK_EQ(judge("any", "path:/there", SHAPE_K8S, false), FIT_YES);
	CHECK_EQ(judge("any", "path:/missing & imds:x", SHAPE_K8S, false), FIT_NO);
	CHECK_EQ(judge("any", "path:/missing | path:/there", SHAPE_K8S, false), FIT_YES);
	/* an image may still get the file at boot */
	CHECK_EQ(judge("any", "path:/missing", SHAPE_K8S, true), FIT_UNKNOWN);
	CHECK_EQ(judge("gpu", "?", SHAPE_RAW, false), FIT_NO);
	CHECK_EQ(judge("aws:any", "imds:x", SHAPE_K8S, false), FIT_NO);
	CHECK_EQ(judge("desktop", "something", SHAPE_K8S, false), FIT_UNKNOWN);
}

TEST(the_knowledge_base_is_whole)
{
	AUTO_AGENTS struct agents agents = { 0 };
	struct err err = { 0 };
	struct fit_result result;
	struct fit_host host = { .shape = SHAPE_K8S, .ask = ask };

	CHECK_EQ(agents_builtin(&agents, &err), 0);
	CHECK(agents.list.len >= 129);
	const struct agent *ecs = agents_next(&agents, "ecs.service", NULL);
	CHECK_STR(ecs->container, "ecs-agent");
	fit_judge(&agents, "ecs.service", &host, &result);
	CHECK_EQ(result.fit, FIT_NO);
	fit_judge(&agents, "never-heard-of.service", &host, &result);
	CHECK_EQ(result.fit, FIT_UNKNOWN);
	CHECK_EQ(agents_parse("unit\tfits\na.service\n", 20, &agents, &err), -EBADMSG);
	CHECK(strstr(err.text, "line 2") != NULL);
}

TEST(restart_forecasts)
{
	struct rec_service u = { .have = REC_UNIT_RESTART_US | REC_UNIT_LIMIT,
				 .restart = "on-failure",
				 .restart_us = 10000000,
				 .limit_us = 10000000,
				 .limit_burst = 5 };
	char words[240];

	CHECK_EQ(fit_restart(&u, words), RESTART_ENDLESS);
	CHECK(strstr(words, "can never trip") != NULL);
	u.restart_us = 2000000;
	CHECK_EQ(fit_restart(&u, words), RESTART_ENDLESS);
	u.restart_us = 100000;
	CHECK_EQ(fit_restart(&u, words), RESTART_STOPS);
	u.limit_us = 0;
	CHECK_EQ(fit_restart(&u, words), RESTART_ENDLESS);
	u.restart = "no";
	CHECK_EQ(fit_restart(&u, words), RESTART_NEVER);
	u.restart = NULL;
	CHECK_EQ(fit_restart(&u, words), RESTART_UNKNOWN);
}

static void add_create(struct rec_unit_set *set, unsigned i, const char *name)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e", "f" };
	struct rec_container_event e = { .time_ns = NOW - (6 - i) * 10 * NS_PER_S,
					 .action = CONTAINER_CREATE,
					 .runtime = "docker",
					 .id = ids[i],
					 .name = name,
					 .image = "amazon/amazon-ecs-agent",
					 .exit_code = -1 };
	CHECK(vec_push(&set->events, e));
}

TEST(a_loop_inside_one_activation_is_found_and_linked)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .have_units = true };
	AUTO_AGENTS struct agents agents = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };
	struct rec_client client = { .runtime = "docker",
				     .socket = "/run/docker.sock",
				     .pid = 42,
				     .cgroup = "/system.slice/ecs.service" };

	CHECK_EQ(agents_builtin(&agents, NULL), 0);
	for (unsigned i = 0; i < 6; i++)
		add_create(&set, i, "ecs-agent");
	struct rec_service *u = rec_units_add(&set, "ecs.service");
	u->active = "active";
	u->have = REC_UNIT_RESTARTS;
	CHECK(vec_push(&set.clients, client));
	struct audit_input in = {
		.set = &set, .agents = &agents, .forced = SHAPE_K8S, .ask = ask, .now_ns = NOW
	};
	CHECK_EQ(audit_run(&in, &audit, NULL), 0);
	CHECK_EQ(audit.n_loops, 1);
	const struct audit_unit *a = &audit.units.items[0];
	CHECK(a->crash_loop && a->misfit && a->container);
	CHECK_EQ(a->restarts, 0);
	CHECK_NEAR(a->container->per_min, 6.0, 0.01);
	CHECK_EQ(a->container->proof, LINK_PEER);
	CHECK(a->container->proofs & 1 << LINK_KNOWLEDGE);
	audit_add_zombies(&audit, NULL, "/docker", 68102, "census", NOW);
	CHECK_EQ(a->zombies, 68102);
	CHECK(audit_has_finding(&audit));
}

static void add_death(struct rec_unit_set *set, uint64_t ago_s, const char *id)
{
	struct rec_container_event e = { .time_ns = NOW - ago_s * NS_PER_S,
					 .action = CONTAINER_DIE,
					 .runtime = "docker",
					 .id = id,
					 .name = "web",
					 .image = "shop",
					 .exit_code = 3 };
	CHECK(vec_push(&set->events, e));
}

/* A restart policy keeps the id: no create tells of it, only deaths and the engine's counter. */
TEST(a_policy_that_restarts_in_place_is_a_loop)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .have_units = true };
	AUTO_AGENTS struct agents agents = { 0 };
	struct rec_container c = { .runtime = "docker",
				   .id = "a",
				   .name = "web",
				   .image = "shop",
				   .state = "running",
				   .created_ns = NOW - 100 * NS_PER_S,
				   .started_ns = NOW - 2 * NS_PER_S,
				   .exit_code = 0,
				   .restart_count = 9 };

	CHECK(vec_push(&set.containers, c));
	for (unsigned i = 0; i < 4; i++)
		add_death(&set, 42 - 10 * i, "a");
	struct audit_input in = { .set = &set, .agents = &agents, .ask = ask, .now_ns = NOW };
	{
		AUTO_AUDIT struct audit audit = { 0 };
		CHECK_EQ(audit_run(&in, &audit, NULL), 0);
		CHECK_EQ(audit.loops.list.len, 1);
		const struct container_loop *loop = &audit.loops.list.items[0];
		CHECK(loop->looping && loop->in_place && !loop->unit);
		CHECK_EQ(loop->restarts, 9);
		CHECK_EQ(loop->cadence_ns, 10 * NS_PER_S);
		CHECK_EQ(loop->exit_code, 3);
		CHECK_EQ(loop->first_ns, NOW - 100 * NS_PER_S);
		CHECK(audit_has_finding(&audit));
	}
	{ /* the engine's memory of 256 events is full of others: the counter alone */
		AUTO_AUDIT struct audit audit = { 0 };
		set.events.len = 0;
		CHECK_EQ(audit_run(&in, &audit, NULL), 0);
		CHECK_EQ(audit.loops.list.len, 1);
		CHECK_EQ(audit.loops.list.items[0].cadence_ns, 98 * NS_PER_S / 9);
		CHECK(audit.loops.list.items[0].looping);
	}
	{ /* restarted nine times in its first minute, fine since an hour */
		AUTO_AUDIT struct audit audit = { 0 };
		set.containers.items[0].created_ns = NOW - 3700 * NS_PER_S;
		set.containers.items[0].started_ns = NOW - 3600 * NS_PER_S;
		CHECK_EQ(audit_run(&in, &audit, NULL), 0);
		CHECK(!audit_has_finding(&audit));
	}
	{ /* stopped and started by hand: it died, but the policy counted nothing */
		AUTO_AUDIT struct audit audit = { 0 };
		set.containers.items[0].restart_count = 0;
		for (unsigned i = 0; i < 4; i++)
			add_death(&set, 42 - 10 * i, "a");
		CHECK_EQ(audit_run(&in, &audit, NULL), 0);
		CHECK(!audit_has_finding(&audit));
	}
}

TEST(what_is_no_loop)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .have_units = true };
	AUTO_AGENTS struct agents agents = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };

	add_create(&set, 0, "one");
	add_create(&set, 1, "two");
	struct rec_service *u = rec_units_add(&set, "once.service");
	u->active = "active";
	u->restarts = 2;
	u->have = REC_UNIT_RESTARTS;
	/* restarted often, long ago */
	u = rec_units_add(&set, "old.service");
	u->active = "active";
	u->seen = 50;
	u->cadence_ns = 3 * NS_PER_S;
	u->first_ns = NOW - 7200 * NS_PER_S;
	u->last_ns = NOW - 3600 * NS_PER_S;
	struct audit_input in = { .set = &set, .agents = &agents, .ask = ask, .now_ns = NOW };
	CHECK_EQ(audit_run(&in, &audit, NULL), 0);
	CHECK_EQ(audit.n_loops, 0);
	CHECK_EQ(audit.loops.list.len, 0);
	CHECK(!audit_has_finding(&audit));
}

TEST_MAIN
