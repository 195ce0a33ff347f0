/* `lab list`: the runs that stand, from their journals. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "lab.h"
#include "lab_state.h"
#include "text.h"
#include "timefmt.h"

#define RUNS_ABOUT "about" /* "SCENARIO SINCE_NS UNTIL_NS" */

int lab_runs_note(const struct lab_run *run, const char *scenario, struct err *err)
{
	uint64_t now = clock_real_ns();
	char path[200], line[200];

	snprintf(path, sizeof(path), "%s/" RUNS_ABOUT, run->state_dir);
	int n = snprintf(line, sizeof(line), "%s %llu %llu\n", scenario, (unsigned long long)now,
			 (unsigned long long)(now + run->options.length_ns));
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 || write(fd, line, (size_t)n) != n ? err_path(err, -errno, path) : 0;
}

static void runs_read_about(const char *state_dir, struct lab_standing *ret)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };

	if (root_open(state_dir, &root, NULL) < 0 ||
	    root_read(&root, RUNS_ABOUT, ROOT_FILE_CAP, &text, NULL) < 0)
		return;
	const char *p = buf_str(&text) + strcspn(buf_str(&text), " \n");
	size_t len = (size_t)(p - buf_str(&text));
	uint64_t since, until;
	if (*p++ != ' ' || len >= sizeof(ret->scenario) || text_take_u64(&p, &since) < 0 ||
	    *p++ != ' ' || text_take_u64(&p, &until) < 0)
		return;
	memcpy(ret->scenario, buf_str(&text), len);
	ret->since_ns = since;
	ret->until_ns = until;
}

static void runs_count(const struct lab_trace_line *line, struct lab_standing *ret)
{
	uint64_t start;

	switch (line->trace) {
	case LAB_TRACE_PID:
		ret->processes +=
			lab_journal_start_time(line->pid, &start) == 0 && start == line->start_time;
		break;
	case LAB_TRACE_CGROUP:
		ret->cgroups += access(line->value, F_OK) == 0;
		break;
	case LAB_TRACE_MOUNT:
		ret->mounts += access(line->value, F_OK) == 0;
		break;
	case LAB_TRACE_UNIT:
		ret->units++;
		break;
	case LAB_TRACE_CONTAINER:
		ret->containers++;
		break;
	default:
		break;
	}
}

static int runs_compare(const void *a, const void *b)
{
	const struct lab_standing *x = a, *y = b;

	return (x->since_ns > y->since_ns) - (x->since_ns < y->since_ns);
}

int lab_runs_read(struct lab_runs *ret, struct err *err)
{
	AUTO_CLOSEDIR DIR *dir = opendir(lab_state_dir());
	struct dirent *e;
	char path[500];

	if (!dir)
		return errno == ENOENT ? 0 : lab_state_refused(err, -errno, lab_state_dir());
	while ((e = readdir(dir))) {
		AUTO_LAB_TRACES struct lab_traces traces = { 0 };
		struct lab_standing run = { 0 };
		if (!text_starts(e->d_name, "zscope-lab-"))
			continue;
		text_copy(run.id, sizeof(run.id), e->d_name + strlen("zscope-lab-"));
		snprintf(path, sizeof(path), "%s/%s", lab_state_dir(), e->d_name);
		/* one that is just going has none any more */
		if (lab_journal_read(path, &traces, NULL) < 0)
			continue;
		runs_read_about(path, &run);
		vec_foreach (&traces.list, line)
			runs_count(line, &run);
		if (!vec_push(&ret->list, run))
			return err_set(err, -ENOMEM, "out of memory");
	}
	if (ret->list.len)
		qsort(ret->list.items, ret->list.len, sizeof(*ret->list.items), runs_compare);
	return 0;
}

void lab_runs_free(struct lab_runs *r)
{
	vec_free(&r->list);
}
