#include "proc_pid.h"

#include <errno.h>
#include <string.h>

#include "check.h"

#define REST                                                                                      \
	"S 1 42 42 0 -1 4194560 1 2 3 4 150 250 5 6 20 0 7 0 8881 1000 300 18446744073709551615 " \
	"1 1 1 "                                                                                  \
	"0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0"

static int parse(const char *text, struct arena *strings, struct rec_task *ret)
{
	return proc_pid_stat_parse(text, strlen(text), strings, ret, NULL);
}

TEST(fields_of_a_process)
{
	AUTO_ARENA struct arena strings = { 0 };
	struct rec_task t = { 0 };

	CHECK_EQ(parse("42 (sshd) " REST, &strings, &t), 0);
	CHECK_EQ(t.pid, 42);
	CHECK_STR(t.comm, "sshd");
	CHECK_EQ(t.state, 'S');
	CHECK_EQ(t.ppid, 1);
	CHECK_EQ(t.utime, 150);
	CHECK_EQ(t.stime, 250);
	CHECK_EQ(t.threads, 7);
	CHECK_EQ(t.start, 8881);
	CHECK_EQ(t.rss, 300);
	CHECK_EQ(t.cpu, 5);
	CHECK_EQ(t.policy, 0);
	CHECK(t.have & REC_TASK_POLICY);
	CHECK_EQ(t.kernel_thread, 0);
	CHECK_EQ(parse("3 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0", &strings, &t), 0);
	CHECK_EQ(t.kernel_thread, 1);
	CHECK(!(t.have & REC_TASK_UTIME));
}

TEST(a_name_cannot_forge_fields)
{
	AUTO_ARENA struct arena strings = { 0 };
	struct rec_task t = { 0 };

	CHECK_EQ(parse("7 (a) R 1\n\033[31mX) " REST, &strings, &t), 0);
	CHECK_STR(t.comm, "a) R 1\n\033[31mX");
	CHECK_EQ(t.state, 'S');
	CHECK_EQ(t.cpu, 5);
	CHECK_EQ(parse("7 (a", &strings, &t), -EBADMSG);
	CHECK_EQ(parse("", &strings, &t), -EBADMSG);
	CHECK_EQ(parse("7 )(", &strings, &t), -EBADMSG);
	CHECK_EQ(parse("7 (x)", &strings, &t), -EBADMSG);
}

TEST(waiting_time)
{
	struct rec_task t = { 0 };

	CHECK_EQ(proc_pid_schedstat_parse("1059287 91760 2\n", &t, NULL), 0);
	CHECK_EQ(t.run_delay, 91760);
	CHECK_EQ(proc_pid_schedstat_parse("1059287\n", &t, NULL), -EBADMSG);
}

TEST(the_right_hierarchy)
{
	const char *text = "5:cpu,cpuacct:/a\n4:memory:/kube/p:od\n0::/unified\n";
	const char *path;
	size_t len;

	CHECK_EQ(proc_pid_cgroup_parse(text, "memory", &path, &len), 0);
	CHECK_EQ(len, strlen("/kube/p:od"));
	CHECK(memcmp(path, "/kube/p:od", len) == 0);
	CHECK_EQ(proc_pid_cgroup_parse(text, "cpuacct", &path, &len), 0);
	CHECK_EQ(len, 2);
	CHECK_EQ(proc_pid_cgroup_parse(text, NULL, &path, &len), 0);
	CHECK_EQ(len, strlen("/unified"));
	CHECK_EQ(proc_pid_cgroup_parse(text, "pids", &path, &len), -ENODATA);
}

TEST_MAIN
