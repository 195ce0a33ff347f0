#include "tasks_bpf.h"

#include <string.h>
#include <unistd.h>

#include "check.h"
#include "tick_source.h"
#include "timefmt.h"

TEST(time_since_the_last_reading)
{
	const struct task_iter_rec before[] = {
		{ .pid = 1, .tgid = 1, .run_ns = 10, .start_ns = 1 },
		{ .pid = 5, .tgid = 5, .run_ns = 100, .start_ns = 2 },
		{ .pid = 6, .tgid = 5, .run_ns = 200, .start_ns = 3 },
		{ .pid = 8, .tgid = 5, .run_ns = 300, .start_ns = 3 },
		{ .pid = 7, .tgid = 7, .run_ns = 70, .start_ns = 4 },
		{ .pid = 9, .tgid = 9, .run_ns = 90, .start_ns = 5 },
	};
	const struct task_iter_rec now[] = {
		{ .pid = 5, .tgid = 5, .run_ns = 101, .start_ns = 2 },
		{ .pid = 8, .tgid = 5, .run_ns = 330, .start_ns = 3 }, /* 6 ended */
		{ .pid = 11, .tgid = 5, .run_ns = 7, .start_ns = 9 },  /* new thread */
		{ .pid = 9, .tgid = 9, .run_ns = 40, .start_ns = 99 }, /* the pid was used again */
		{ .pid = 12, .tgid = 12, .run_ns = 50, .start_ns = 99 },
	};
	uint64_t recent[5];

	tasks_bpf_recent(before, 6, now, 5, recent);
	CHECK_EQ(recent[0], 1);
	CHECK_EQ(recent[1], 30);
	CHECK_EQ(recent[2], 7);
	CHECK_EQ(recent[3], 40);
	CHECK_EQ(recent[4], 50);
	tasks_bpf_recent(NULL, 0, now, 5, recent);
	CHECK(recent[0] == UINT64_MAX);
}

TEST(a_record_as_a_row)
{
	struct task_iter_rec rec = { .pid = 8,
				     .tgid = 5,
				     .ppid = 1,
				     .cpu = 3,
				     .flags = 0x200000,
				     .state = 0x402,
				     .policy = 1,
				     .start_ns = 50000000,
				     .utime_ns = 10000000,
				     .stime_ns = 30000000,
				     .run_ns = 80000000,
				     .delay_ns = UINT64_MAX };
	struct rec_task row;

	tasks_bpf_row(&rec, &row);
	CHECK_EQ(row.utime, 2);
	CHECK_EQ(row.stime, 6);
	CHECK_EQ(row.start, 5);
	CHECK_EQ(row.state, 'I');
	CHECK_EQ(row.kernel_thread, 1);
	CHECK_EQ(row.policy, 1);
	CHECK(!(row.have & REC_TASK_RUN_DELAY));
	CHECK_EQ(tasks_bpf_state(0), 'R');
	CHECK_EQ(tasks_bpf_state(2), 'D');
	CHECK_EQ(tasks_bpf_state(0x20), 'Z');
}

/* We ourselves, busy for a while, as BPF and as /proc see it. */
TEST(both_ways_see_this_process)
{
	for (unsigned way = 0; way < 2; way++) {
		AUTO_TICK struct tick t = { 0 };
		AUTO_UNKNOWNS struct unknowns u = { 0 };
		AUTO_ROOT struct root root;
		struct tick_source_options o = { .kinds = TICK_KIND(REC_TASK),
						 .top_tasks = 100,
						 .no_bpf = way };
		struct tick_source *s;
		bool found = false;

		CHECK_EQ(root_open(NULL, &root, NULL), 0);
		CHECK_EQ(tick_source_open(&root, &o, &s, NULL), 0);
		CHECK_EQ(tick_source_read(s, &t, &u), 0);
		for (uint64_t until = clock_cpu_ns() + 60000000; clock_cpu_ns() < until;)
			;
		CHECK_EQ(tick_source_read(s, &t, &u), 0);
		for (size_t i = 0; i < t.rows[REC_TASK].len; i++) {
			const struct rec_task *row = TICK_ROW(&t, REC_TASK, rec_task, i);
			if (row->pid != (uint64_t)getpid())
				continue;
			found = true;
			CHECK_STR(row->comm, "unit-tasks_bpf");
			CHECK(row->have & REC_TASK_RECENT && row->recent >= 50000000);
			CHECK(row->have & REC_TASK_START && row->have & REC_TASK_STIME);
		}
		CHECK(found);
		tick_source_close(s);
	}
}

TEST_MAIN
