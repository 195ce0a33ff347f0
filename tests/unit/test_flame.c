#include <stdio.h>
#include <string.h>

#include "check.h"
#include "diff.h"
#include "flame.h"
#include "heat.h"

static uint32_t frame_of(struct profile *p, const char *name, uint8_t kind)
{
	struct profile_frame f = { .symbol = profile_add_text(p, name), .kind = kind };
	return profile_add_frame(p, &f);
}

/* "a;b;c" root first; names that begin with k_ are the kernel's */
static void put(struct profile *p, const char *comm, const char *stack, uint32_t cpu, uint64_t n,
		const char *cgroup)
{
	char copy[200], *save = NULL;
	uint32_t s = 0;

	snprintf(copy, sizeof(copy), "%s", stack);
	for (char *name = strtok_r(copy, ";", &save); name; name = strtok_r(NULL, ";", &save))
		s = profile_add_stack(
			p, s, frame_of(p, name, name[0] == 'k' ? PROFILE_KERNEL : PROFILE_USER));
	for (uint64_t i = 0; i < n; i++) {
		struct profile_sample sample = {
			.time_ns = 1000000000 + i * 10000000,
			.weight = 1,
			.stack = s,
			.comm = profile_add_text(p, comm),
			.pid = cpu + 100,
			.cpu = (uint16_t)cpu,
			.cgroup = profile_add_cgroup(p, 0, profile_add_text(p, cgroup)),
			.have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID,
		};
		profile_add_sample(p, &sample);
	}
}

static const struct flame_node *node_of(const struct flame *f, const char *name)
{
	for (size_t i = 0; i < f->nodes.len; i++)
		if (strcmp(profile_text(f->profile, f->nodes.items[i].name), name) == 0)
			return &f->nodes.items[i];
	return NULL;
}

static const struct flame_function *function_of(const struct flame_top *t, const struct profile *p,
						const char *name)
{
	for (size_t i = 0; i < t->functions.len; i++)
		if (strcmp(profile_text(p, t->functions.items[i].name), name) == 0)
			return &t->functions.items[i];
	return NULL;
}

static void make(struct profile *p)
{
	CHECK_EQ(profile_init(p), 0);
	put(p, "web", "main;work;k_read", 0, 6, "/system.slice/web.service");
	put(p, "web", "main;work", 1, 3, "/system.slice/web.service/a");
	put(p, "db", "main;main;sort", 1, 4, "/kubepods/pod1/c1");
}

TEST(tree_and_tables)
{
	AUTO_PROFILE struct profile p;
	AUTO_FLAME struct flame f = { 0 };
	AUTO_FLAME_TOP struct flame_top top = { 0 };

	make(&p);
	CHECK_EQ(flame_build(&p, &f), 0);
	CHECK_EQ(f.nodes.items[0].total, 13);
	CHECK_EQ(node_of(&f, "web")->total, 9);
	CHECK_EQ(node_of(&f, "work")->total, 9);
	CHECK_EQ(node_of(&f, "work")->self, 3);
	CHECK_EQ(node_of(&f, "k_read")->kind, PROFILE_KERNEL);
	/* by name: db before web */
	CHECK_STR(profile_text(&p, f.nodes.items[f.nodes.items[0].first_child].name), "db");
	CHECK_EQ(flame_top(&p, &top), 0);
	CHECK_STR(profile_text(&p, top.functions.items[0].name), "k_read");
	CHECK_EQ(function_of(&top, &p, "main")->total, 13); /* recursion counts once */
	CHECK_EQ(top.kernel, 6);
	CHECK_EQ(top.cores.len, 2);
	CHECK_EQ(top.cores.items[1].samples, 7);
	CHECK_EQ(top.processes.items[0].samples, 6);
}

static uint64_t left_after(struct flame_filter filter)
{
	AUTO_PROFILE struct profile p;

	make(&p);
	flame_filter_apply(&p, &filter);
	return p.samples.len;
}

TEST(filters)
{
	CHECK_EQ(left_after((struct flame_filter){ 0 }), 13);
	CHECK_EQ(left_after((struct flame_filter){ .by_cpu = true, .cpu = 1 }), 7);
	CHECK_EQ(left_after((struct flame_filter){ .by_pid = true, .pid = 100 }), 6);
	CHECK_EQ(left_after((struct flame_filter){ .comm = "d*" }), 4);
	CHECK_EQ(left_after((struct flame_filter){ .unit = "web.service" }), 9);
	CHECK_EQ(left_after((struct flame_filter){ .unit = "web" }), 0);
	CHECK_EQ(left_after((struct flame_filter){ .cgroup = "/system.slice/web.service/" }), 9);
	CHECK_EQ(left_after((struct flame_filter){ .cgroup = "/system.slice/we" }), 0);
	CHECK_EQ(left_after((struct flame_filter){ .cgroup = "/" }), 13);
	CHECK_EQ(left_after((struct flame_filter){ .kernel = true }), 6);
	CHECK_EQ(left_after((struct flame_filter){ .user = true }), 13);
}

/* Summed piece by piece, a window is the same graph as at once. */
TEST(sums_of_a_long_window)
{
	AUTO_PROFILE struct profile p, whole;
	AUTO_FLAME_SUMS struct flame_sums sums = { 0 },
					  core = { .filter = { .by_cpu = true, .cpu = 2 } };
	AUTO_FLAME struct flame a = { 0 }, b = { 0 };

	CHECK_EQ(profile_init(&p), 0);
	CHECK_EQ(profile_init(&whole), 0);
	for (unsigned round = 0; round < 5; round++) {
		put(&p, "kubelet", "main;read;k_walk", 2, 30 + round, "/a.service");
		put(&p, "kubelet", "main;read", 1, 7, "/a.service");
		put(&whole, "kubelet", "main;read;k_walk", 2, 30 + round, "/a.service");
		put(&whole, "kubelet", "main;read", 1, 7, "/a.service");
		flame_sums_add(&sums, &p);
		CHECK_EQ(p.samples.len, 2);
	}
	CHECK_EQ(flame_build(&p, &a), 0);
	CHECK_EQ(flame_build(&whole, &b), 0);
	CHECK_EQ(a.nodes.len, b.nodes.len);
	CHECK_EQ(node_of(&a, "all")->total, node_of(&b, "all")->total);
	CHECK_EQ(node_of(&a, "k_walk")->total, 160);
	flame_sums_add(&core, &whole);
	CHECK_EQ(whole.samples.len, 1);
	CHECK_EQ(whole.samples.items[0].weight, 160);
}

TEST(diff_of_two_windows)
{
	AUTO_PROFILE struct profile now, base;
	AUTO_DIFF struct diff d = { 0 };

	CHECK(profile_init(&now) == 0 && profile_init(&base) == 0);
	put(&base, "web", "main;work", 0, 20, "/");
	put(&base, "web", "main;gone;deep", 0, 20, "/");
	put(&now, "web", "main;work", 0, 5, "/");
	put(&now, "web", "main;spin", 0, 15, "/");
	CHECK_EQ(diff_build(&now, &base, &d), 0);
	CHECK(d.weight == 20 && d.base_weight == 40);
	CHECK_STR(profile_text(&now, d.growth.items[0].name), "spin");
	CHECK_NEAR(d.growth.items[0].share, 75.0, 0.01);
	/* the base is scaled to the window: 20 of 40 is 10 of 20 */
	CHECK_EQ(node_of(&d.flame, "work")->total, 5);
	CHECK_EQ(node_of(&d.flame, "work")->base_total, 10);
	CHECK_EQ(node_of(&d.flame, "spin")->base_total, 0);
	CHECK(!node_of(&d.flame, "gone"));
	CHECK_EQ(node_of(&d.elided, "gone")->total, 20);
	CHECK_EQ(node_of(&d.elided, "deep")->self, 20);
	CHECK_EQ(node_of(&d.elided, "main")->total, 20);
	CHECK(!node_of(&d.elided, "work"));
}

TEST(diff_with_an_empty_window)
{
	AUTO_PROFILE struct profile now, base;
	AUTO_DIFF struct diff d = { 0 };

	CHECK(profile_init(&now) == 0 && profile_init(&base) == 0);
	put(&base, "web", "main", 0, 2, "/");
	CHECK_EQ(diff_build(&now, &base, &d), 0);
	CHECK_EQ(d.growth.items[0].self, 0);
}

TEST(heat_of_seconds_and_cores)
{
	struct profile_footer f = { 0 };
	AUTO_HEAT struct heat h = { 0 };

	profile_footer_count(&f, UINT64_C(100) * 1000000000);
	profile_footer_count(&f, UINT64_C(100) * 1000000000 + 999999999);
	profile_footer_count(&f, UINT64_C(102) * 1000000000 + 20000000);
	(void)vec_push(&f.cores, (struct profile_core_second){ 100, 7, 97, 0, 0, 97 });
	(void)vec_push(&f.cores, (struct profile_core_second){ 102, 2, 10, 1, 40, 97 });
	CHECK_EQ(heat_build(&f, 100, 103, &h), 0);
	CHECK(h.seconds == 3 && h.rows == 50 && h.samples == 3 && h.most == 1);
	CHECK(h.counts[0] == 1 && h.counts[49] == 1 && h.counts[2 * 50 + 1] == 1);
	CHECK(h.n_cores == 2 && h.core_ids[0] == 2 && h.core_ids[1] == 7);
	CHECK_EQ(h.core_busy[3 + 0], 100);
	CHECK_EQ(h.core_busy[3 + 1], HEAT_UNKNOWN);
	CHECK_EQ(h.core_holes[0 + 2], 41);
	profile_footer_free(&f);
}

TEST_MAIN
