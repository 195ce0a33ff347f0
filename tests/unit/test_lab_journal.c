#include "lab_journal.h"

#include <errno.h>
#include <string.h>

#include "check.h"

static int parse(const char *line, struct lab_trace_line *ret)
{
	return lab_journal_parse_line(line, strlen(line), ret);
}

TEST(lines_of_ours)
{
	struct lab_trace_line line;

	CHECK_EQ(parse("pid 4711 123456", &line), 0);
	CHECK_EQ(line.pid, 4711);
	CHECK_EQ(line.start_time, 123456);
	CHECK_EQ(parse("dir /var/tmp/zscope-lab-1-ab", &line), 0);
	CHECK_STR(line.value, "/var/tmp/zscope-lab-1-ab");
	CHECK_EQ(parse("cgroup /sys/fs/cgroup/memory/zscope-lab-1/z 1", &line), 0);
	CHECK_EQ(parse("unit zscope-lab-1-ab-agent.service", &line), 0);
	CHECK_EQ(parse("unit zscope_lab_1_ab.slice", &line), 0);
	CHECK_EQ(line.trace, LAB_TRACE_UNIT);
}

/* A torn, edited or hostile journal must never make clean remove something else. */
TEST(refuses_what_no_run_can_have_made)
{
	static const char *const lines[] = { "",
					     "pid",
					     "pid ",
					     "pid 1 5",
					     "pid 0 5",
					     "pid 77",
					     "pid 77 5 ",
					     "dir /",
					     "dir /var/tmp",
					     "dir /var/tmp/zscope-lab-",
					     "dir var/tmp/zscope-lab-1",
					     "dir /var/tmp/zscope-lab-1/../../etc",
					     "file /etc/zscope-la",
					     "cgroup /sys/fs/cgroup/memory",
					     "unit sshd.service",
					     "unit zscope-lab-1",
					     "unit zscope-lab-1.slice",
					     "unit zscope-lab-../../sshd.service",
					     "unit zscope-lab-1$(reboot).service",
					     "unit zscope-lab-1 .service",
					     "unit /zscope-lab-1.service",
					     "shell rm -rf /tmp/zscope-lab-1",
					     "dirx /var/tmp/zscope-lab-1" };
	struct lab_trace_line line;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_EQ(parse(lines[i], &line), -EBADMSG);
}

TEST_MAIN
