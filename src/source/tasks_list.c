#include "tasks_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "loadavg.h"
#include "proc_pid.h"
#include "text.h"
#include "timefmt.h"

enum {
	TASKS_LIST_EVERY = 10,    /* ticks between two listings of /proc */
	TASKS_MOST_PROBES = 1000, /* pids asked for one by one; more new ones: list */
	TASKS_MOST = 200000,
	TASKS_ASK = 5,
	TASKS_HZ = 100, /* USER_HZ */
};

/* The CPU clock of a process; -ESRCH when there is no such process (or it is only a thread). */
static int tasks_clock(uint64_t pid, uint64_t *ret_ns)
{
	struct timespec ts;
	/* clock_getcpuclockid without its check: CPUCLOCK_SCHED of the whole process */
	clockid_t id = (clockid_t)((~(unsigned)pid << 3) | 2);

	if (clock_gettime(id, &ts) < 0)
		return -ESRCH;
	*ret_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return 0;
}

static int tasks_stat_cpu(const struct root *root, uint64_t pid, struct buf *text, uint64_t *ret_ns)
{
	AUTO_ARENA struct arena strings = { 0 };
	struct rec_task row;
	char path[64];

	snprintf(path, sizeof(path), "proc/%llu/stat", (unsigned long long)pid);
	buf_clear(text);
	int r = root_read(root, path, 65536, text, NULL);
	if (r == 0)
		r = proc_pid_stat_parse(buf_str(text), text->len, &strings, &row, NULL);
	if (r < 0)
		return r;
	*ret_ns = (row.utime + row.stime) * (NS_PER_S / TASKS_HZ);
	return 0;
}

static int tasks_cpu_ns(const struct root *root, uint64_t pid, struct buf *text, uint64_t *ret_ns)
{
	return root->live ? tasks_clock(pid, ret_ns) : tasks_stat_cpu(root, pid, text, ret_ns);
}

static bool tasks_is_ksoftirqd(const struct root *root, uint64_t pid, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%llu/comm", (unsigned long long)pid);
	buf_clear(text);
	return root_read(root, path, 4096, text, NULL) == 0 &&
	       text_starts(buf_str(text), "ksoftirqd/");
}

static int tasks_compare_pid(const void *a, const void *b)
{
	uint64_t x = ((const struct tasks_known *)a)->pid, y = ((const struct tasks_known *)b)->pid;
	return (x > y) - (x < y);
}

static struct tasks_known *tasks_find(const struct tasks *t, size_t len, uint64_t pid)
{
	struct tasks_known key = { .pid = pid };

	return len ? bsearch(&key, t->known.items, len, sizeof(key), tasks_compare_pid) : NULL;
}

/* sorted: how many of t->known are in order and can be searched. */
static void tasks_learn(struct tasks *t, const struct root *root, size_t sorted, uint64_t pid,
			struct buf *text)
{
	uint64_t cpu_ns;

	if (t->known.len >= TASKS_MOST || tasks_find(t, sorted, pid) ||
	    tasks_cpu_ns(root, pid, text, &cpu_ns) < 0)
		return;
	struct tasks_known item = { .pid = pid, .cpu_ns = cpu_ns };
	/* one that is new since the last tick used all its time since then */
	item.first = t->n_reads == 0;
	item.recent_ns = item.first ? 0 : cpu_ns;
	if (!item.first)
		item.cpu_ns = 0;
	(void)vec_push(&t->known, item);
}

static int tasks_list_proc(struct tasks *t, const struct root *root, struct buf *text,
			   struct err *err)
{
	AUTO_CLOSE int fd = root_open_dir(root, "proc", 0, err);
	if (fd < 0)
		return fd;
	AUTO_CLOSEDIR DIR *dir = fdopendir(fd);
	if (!dir)
		return err_path(err, -errno, "/proc");
	TAKE_FD(fd);

	size_t sorted = t->known.len;
	struct dirent *e;
	while ((e = readdir(dir))) {
		uint64_t pid;
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && text_u64(e->d_name, &pid) == 0)
			tasks_learn(t, root, sorted, pid, text);
	}
	return 0;
}

/* The pids given out since the last tick are those up to loadavg's last column. */
static int tasks_list_new(struct tasks *t, const struct root *root, struct buf *text,
			  struct err *err)
{
	uint64_t last = 0;
	bool known = root->live && reread_text(&t->loadavg, text, NULL) == 0 &&
		     loadavg_last_pid(buf_str(text), &last) == 0;
	int r = 0;

	if (!known || t->n_reads % TASKS_LIST_EVERY == 0 || last < t->last_pid ||
	    last - t->last_pid > TASKS_MOST_PROBES) {
		r = tasks_list_proc(t, root, text, err);
	} else {
		size_t sorted = t->known.len;
		for (uint64_t pid = t->last_pid + 1; pid <= last; pid++)
			tasks_learn(t, root, sorted, pid, text);
	}
	t->last_pid = last;
	return r;
}

/* Names are asked for once, and of few new processes per tick: most of them end before their turn,
 * and a ksoftirqd appears only with a new core. */
static void tasks_ask_names(struct tasks *t, const struct root *root, struct buf *text)
{
	size_t left = t->n_reads ? TASKS_ASK : SIZE_MAX;

	vec_foreach (&t->known, it) {
		if (it->asked)
			continue;
		it->ksoftirqd = tasks_is_ksoftirqd(root, it->pid, text);
		it->asked = true;
		if (!--left)
			return;
	}
}

int tasks_list_update(struct tasks *t, const struct root *root, struct buf *text, struct err *err)
{
	size_t before = t->known.len, kept = 0;
	int r = tasks_list_new(t, root, text, err);

	if (t->known.len != before)
		vec_sort(&t->known, tasks_compare_pid); /* new ones stand at the end */

	vec_foreach (&t->known, it) {
		uint64_t cpu_ns;
		if (tasks_cpu_ns(root, it->pid, text, &cpu_ns) < 0)
			continue; /* ended */
		/* a clock that went back is another process with the same pid */
		it->recent_ns = it->first ? 0 : cpu_ns >= it->cpu_ns ? cpu_ns - it->cpu_ns : cpu_ns;
		it->cpu_ns = cpu_ns;
		t->known.items[kept++] = *it;
	}
	t->known.len = kept;
	tasks_ask_names(t, root, text);
	return r;
}
