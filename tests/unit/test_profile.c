#include <stdio.h>
#include <string.h>

#include "check.h"
#include "profile.h"

TEST(interns_and_names)
{
	AUTO_PROFILE struct profile p;
	char name[64];

	CHECK_EQ(profile_init(&p), 0);
	uint32_t s = profile_add_text(&p, "do_idle");
	CHECK_EQ(profile_add_string(&p, "do_idle;x", 7), s);
	CHECK_EQ(profile_add_text(&p, ""), 0);
	uint32_t m = profile_add_module(&p, profile_add_text(&p, "/usr/bin/runc"), "\1\2", 2);
	CHECK_EQ(profile_add_module(&p, profile_add_text(&p, "/usr/bin/runc"), "\1\2", 2), m);
	CHECK(profile_add_module(&p, profile_add_text(&p, "/usr/bin/runc"), "\1\3", 2) != m);
	uint32_t f = profile_add_frame(&p, &(struct profile_frame){ .symbol = s, .kind = 1 });
	uint32_t u = profile_add_frame(&p, &(struct profile_frame){ .module = m, .address = 16 });
	CHECK_STR(profile_frame_name(&p, f, name, sizeof(name)), "do_idle");
	CHECK_STR(profile_frame_name(&p, u, name, sizeof(name)), "[runc]");
	CHECK_STR(profile_frame_where(&p, u, name, sizeof(name)), "/usr/bin/runc+0x10");
	CHECK_STR(profile_frame_name(&p, 0, name, sizeof(name)), "[unknown]");
	CHECK_STR(profile_text(&p, 99), "");
	CHECK_EQ(profile_add_cgroup(&p, 7, s), profile_add_cgroup(&p, 7, s));
	CHECK_EQ(profile_add_event(&p, "cpu-clock"), 0);
	CHECK_EQ(profile_add_event(&p, "cycles"), 1);
	CHECK_EQ(profile_add_event(&p, "cpu-clock"), 0);
}

TEST(stacks_share_their_callers)
{
	AUTO_PROFILE struct profile p;
	uint32_t f[3];

	CHECK_EQ(profile_init(&p), 0);
	for (uint32_t i = 0; i < 3; i++)
		f[i] = profile_add_frame(&p, &(struct profile_frame){ .address = 100 + i });
	uint32_t abc[] = { f[2], f[1], f[0] }, ab[] = { f[1], f[0] };
	uint32_t deep = profile_add_chain(&p, abc, 3);
	CHECK_EQ(p.stacks.items[deep].depth, 3);
	CHECK_EQ(profile_add_chain(&p, ab, 2), p.stacks.items[deep].parent);
	CHECK_EQ(profile_add_chain(&p, abc, 3), deep);
	CHECK_EQ(p.stacks.len, 4);
	CHECK_EQ(profile_add_stack(&p, 12345, f[0]), 0);
}

TEST(bounds_hold)
{
	AUTO_PROFILE struct profile p;
	char big[PROFILE_MAX_NAME + 10];
	uint32_t stack = 0;

	CHECK_EQ(profile_init(&p), 0);
	memset(big, 'x', sizeof(big));
	CHECK_EQ(p.strings.items[profile_add_string(&p, big, sizeof(big))].len, PROFILE_MAX_NAME);
	for (uint32_t i = 0; i < 2 * PROFILE_MAX_DEPTH; i++)
		stack = profile_add_stack(
			&p, stack,
			profile_add_frame(&p, &(struct profile_frame){ .address = i + 1 }));
	CHECK_EQ(p.stacks.items[stack].depth, PROFILE_MAX_DEPTH);
	CHECK_EQ(p.dropped, PROFILE_MAX_DEPTH);
	CHECK(!profile_failed(&p));
}

TEST(a_hundred_thousand_distinct_stacks)
{
	AUTO_PROFILE struct profile p;
	char name[32];
	uint32_t frames[400];

	CHECK_EQ(profile_init(&p), 0);
	for (uint32_t i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		frames[i] = profile_add_frame(
			&p, &(struct profile_frame){ .symbol = profile_add_text(&p, name) });
	}
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 100000; i++) {
			uint32_t chain[] = { frames[i % 400], frames[i / 400], frames[0] };
			uint32_t s = profile_add_chain(&p, chain, 3);
			CHECK(s && p.stacks.items[s].frame == frames[i % 400]);
		}
	CHECK_EQ(p.stacks.len, 1 + 1 + 250 + 100000);
	CHECK_EQ(p.strings.len, 401);
}

TEST(sorts_by_time_and_keeps_order)
{
	AUTO_PROFILE struct profile p;
	uint64_t times[] = { 5, 3, 9, 3, 1, 9, 0 };

	CHECK_EQ(profile_init(&p), 0);
	for (uint32_t i = 0; i < 7; i++)
		profile_add_sample(&p, &(struct profile_sample){ .time_ns = times[i], .tid = i });
	profile_sort(&p);
	for (size_t i = 1; i < 7; i++) {
		const struct profile_sample *a = &p.samples.items[i - 1], *b = a + 1;
		CHECK(a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->tid < b->tid));
	}
}

TEST_MAIN
