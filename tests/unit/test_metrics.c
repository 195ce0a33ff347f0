#include "metrics.h"

#include <string.h>

#include "check.h"
#include "rec_cgroups.h"
#include "rec_self.h"

static const struct metrics_owner owner = { .owner = "a\"b\\c\n.service",
					    .kind = "unit",
					    .count = 7 };

/* A host whose dying cgroups are unknown, with a recorder that took 1.5 s of CPU. */
static void make_input(struct totals *totals, struct tick *tick, struct metrics_input *ret)
{
	struct rec_cgroups *g = tick_add_row(tick, REC_CGROUPS);
	struct rec_self *self = tick_add_row(tick, REC_SELF);

	*g = (struct rec_cgroups){ .have = REC_CGROUPS_TRACKED, .tracked = 68680 };
	*self = (struct rec_self){ .ticks = 3, .cpu_ns = 1500000000 };
	*ret = (struct metrics_input){
		.totals = totals, .last = tick, .owners = &owner, .n_owners = 1, .readable = true
	};
}

#define HAS(text, part) CHECK(strstr(buf_str(text), part) != NULL)

TEST(one_walk_two_forms)
{
	AUTO_BUF struct buf text = { 0 }, open = { 0 }, objects = { 0 };
	AUTO_TICK struct tick tick = { 0 };
	struct totals totals = { 0 };
	struct metrics_input in;
	struct json j;

	make_input(&totals, &tick, &in);
	metrics_write(&text, &in, false);
	HAS(&text, "# TYPE zscope_memcg_tracked gauge\nzscope_memcg_tracked 68680\n");
	HAS(&text, "\nzscope_zombies{owner=\"a\\\"b\\\\c\\n.service\",kind=\"unit\"} 7\n");
	HAS(&text, "\nzscope_recorder_cpu_seconds_total 1.5\n");
	CHECK(!strstr(buf_str(&text), "memcg_dying"));
	metrics_write(&open, &in, true);
	HAS(&open, "# TYPE zscope_recorder_cpu_seconds counter\n# UNIT zscope_recorder_cpu_seconds "
		   "seconds\nzscope_recorder_cpu_seconds_total 1.5\n");
	HAS(&open, "\n# EOF\n");

	json_init(&j, &objects);
	json_object(&j, NULL);
	metrics_json(&j, &in);
	json_end_object(&j);
	HAS(&objects, "{\"metrics\":[{\"name\":\"zscope_build_info\",\"type\":\"gauge\"");
	HAS(&objects, "\"help\":\"Memory cgroups that the kernel tracks, zombies included.\","
		      "\"labels\":{},\"value\":68680},");
	HAS(&objects, "\"labels\":{\"owner\":\"a\\\"b\\\\c\\n.service\",\"kind\":\"unit\"},"
		      "\"value\":7},");
	HAS(&objects, "{\"name\":\"zscope_recorder_cpu_seconds_total\",\"type\":\"counter\","
		      "\"help\":\"CPU time of the recorder.\",\"labels\":{},\"value\":1.5},");
	CHECK(!strstr(buf_str(&objects), "memcg_dying"));
	totals_free(&totals);
}

/* What was %.9g put the last tick up to five seconds beside its time. */
TEST(a_fraction_is_exact)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_TICK struct tick tick = { 0 };
	struct totals totals = { 0 };
	struct metrics_input in;

	make_input(&totals, &tick, &in);
	in.to_ns = UINT64_C(1794922058123999999);
	TICK_ROW(&tick, REC_SELF, rec_self, 0)->cpu_ns = UINT64_C(86400000000001);
	metrics_write(&text, &in, false);
	HAS(&text, "\nzscope_recorder_last_tick_timestamp_seconds 1794922058.123\n");
	HAS(&text, "\nzscope_recorder_cpu_seconds_total 86400.000000001\n");
	buf_clear(&text);
	TICK_ROW(&tick, REC_SELF, rec_self, 0)->cpu_ns = 0;
	in.to_ns = UINT64_C(1794922060) * 1000000000;
	metrics_write(&text, &in, false);
	HAS(&text, "\nzscope_recorder_last_tick_timestamp_seconds 1794922060\n");
	HAS(&text, "\nzscope_recorder_cpu_seconds_total 0\n");
	buf_clear(&text);
	TICK_ROW(&tick, REC_SELF, rec_self, 0)->cpu_ns = 20000000;
	metrics_write(&text, &in, false);
	HAS(&text, "\nzscope_recorder_cpu_seconds_total 0.02\n");
	totals_free(&totals);
}

TEST_MAIN
