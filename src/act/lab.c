#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "auto.h"
#include "lab_scenarios.h"
#include "lab_state.h"
#include "lab_worker.h"
#include "text.h"
#include "timefmt.h"

/* How long after the deadline a child's own timer or the dead man may act. */
enum { LAB_GRACE_S = 5, LAB_POLL_MS = 20 };

/* clang-format off */
static const struct lab_scenario *const table[] = {
	&lab_busy_core,
	&lab_zombies,
	&lab_crash_loop,
	&lab_container_loop,
	&lab_net_reset,
	&lab_log_flood,
	&lab_all_busy,
	&lab_quota,
	&lab_reclaim,
	&lab_softirq,
	&lab_two_culprits,
	&lab_inner_supervisor,
	&lab_crash_no_zombies,
	&lab_pinterest,
};
/* clang-format on */

const struct lab_scenario *const *lab_scenarios(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(table);
	return table;
}

void lab_say(struct lab_run *run, const char *format, ...)
{
	char line[300];
	va_list args;

	if (!run->say)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	run->say(run->say_arg, line);
}

int lab_hold_core(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

int lab_write(const char *dir, const char *name, const char *text, struct err *err)
{
	char path[700];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return err_path(err, -ENAMETOOLONG, dir);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_path(err, -errno, path);
	return 0;
}

static int make_dir(struct lab_run *run, enum lab_trace trace, const char *path, struct err *err)
{
	int r = lab_journal_add(run->journal, trace, path, err);
	if (r < 0)
		return r;
	return mkdir(path, 0700) < 0 ? err_path(err, -errno, path) : 0;
}

int lab_make_scratch(struct lab_run *run, struct err *err)
{
	if (*run->scratch_dir)
		return 0;
	snprintf(run->scratch_dir, sizeof(run->scratch_dir), "/var/tmp/zscope-lab-%s", run->id);
	return make_dir(run, LAB_TRACE_DIR, run->scratch_dir, err);
}

int lab_make_shm(struct lab_run *run, struct err *err)
{
	if (*run->shm_dir)
		return 0;
	snprintf(run->shm_dir, sizeof(run->shm_dir), "/dev/shm/zscope-lab-%s", run->id);
	return make_dir(run, LAB_TRACE_DIR, run->shm_dir, err);
}

int lab_make_cgroup_dir(struct lab_run *run, struct err *err)
{
	const struct offer_mount *mount = offer_memory_mount(&run->offer);

	if (*run->cgroup_dir)
		return 0;
	if (!mount)
		return err_set(err, -ENOENT, "no memory cgroup hierarchy is mounted here");
	snprintf(run->cgroup_dir, sizeof(run->cgroup_dir), "/%s/zscope-lab-%s", mount->dir,
		 run->id);
	int r = make_dir(run, LAB_TRACE_CGROUP, run->cgroup_dir, err);
	if (r == 0 && run->offer.memory == CGROUP_MEMORY_V2)
		r = lab_write(run->cgroup_dir, "cgroup.subtree_control", "+memory", err);
	return r;
}

static unsigned seconds_left(const struct lab_run *run)
{
	uint64_t now = clock_mono_ns();
	return now >= run->deadline_ns ? 0 : (unsigned)((run->deadline_ns - now) / NS_PER_S);
}

/* Whoever reads the command's output must not have to wait for what stays behind. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

pid_t lab_make_child(struct lab_run *run, int (*fn)(struct lab_run *run, void *arg), void *arg,
		     struct err *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	/* the default action of SIGALRM ends us: a timer that nothing else has to serve */
	signal(SIGALRM, SIG_DFL);
	alarm(seconds_left(run) + LAB_GRACE_S);
	if (!run->options.keep) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	} else {
		leave_terminal();
	}
	if (lab_journal_add_pid(run->journal, getpid(), NULL) < 0)
		_exit(1);
	int r = fn(run, arg);
	_exit(r < 0 ? (-r > 255 ? 255 : -r) : 0);
}

int lab_wait_child(struct lab_run *run, pid_t pid, struct err *err)
{
	struct timespec pause = { .tv_nsec = LAB_POLL_MS * (long)NS_PER_MS };
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got < 0)
			return err_set(err, -errno, "waiting for %d: %s", pid, strerror(errno));
		if (got == pid)
			break;
		if (clock_mono_ns() > run->deadline_ns + LAB_GRACE_S * NS_PER_S)
			return err_set(err, -ETIMEDOUT, "process %d did not end in time", pid);
		nanosleep(&pause, NULL);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		return err_set(err, -WEXITSTATUS(status), "the scenario failed: %s",
			       strerror(WEXITSTATUS(status)));
	return err_set(err, -EINTR, "process %d was ended by signal %d", pid, WTERMSIG(status));
}

/* Sleeps until the time is over, then removes what is left: also when the run itself was killed. */
static void dead_man(struct lab_run *run)
{
	struct timespec until;

	setsid();
	signal(SIGINT, SIG_IGN);
	leave_terminal();
	lab_journal_add_pid(run->journal, getpid(), NULL);
	until.tv_sec = (time_t)((run->deadline_ns + LAB_GRACE_S * NS_PER_S) / NS_PER_S);
	until.tv_nsec = 0;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	struct lab_cleaned cleaned;
	lab_clean(run->id, &cleaned, NULL);
	_exit(0);
}

static const struct lab_scenario *scenario_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return NULL;
}

/* Defaults for what was not given; refuse what is beyond the scenario's bounds. */
static int fill_options(const struct lab_scenario *s, const struct lab_options *given,
			struct lab_options *ret, struct err *err)
{
	struct lab_options o = *given;

	if (!o.count)
		o.count = s->defaults.count;
	if (!o.length_ns)
		o.length_ns = s->defaults.length_ns;
	if (!o.size_bytes)
		o.size_bytes = s->defaults.size_bytes;
	if (!o.interval_ns)
		o.interval_ns = s->defaults.interval_ns;
	if (!o.mode)
		o.mode = s->defaults.mode;
	if (!o.target)
		o.target = s->defaults.target;
	if (given->count && !s->most_count)
		return err_set(err, -EINVAL, "%s takes no --count", s->name);
	if (given->size_bytes && !s->most_size_bytes)
		return err_set(err, -EINVAL, "%s takes no --size", s->name);
	if (given->mode && !s->modes)
		return err_set(err, -EINVAL, "%s takes no --mode", s->name);
	if (o.count > s->most_count)
		return err_set(err, -EINVAL, "%s: --count is at most %llu", s->name,
			       (unsigned long long)s->most_count);
	if (o.length_ns > s->most_ns)
		return err_set(err, -EINVAL, "%s: --for is at most %llu s", s->name,
			       (unsigned long long)(s->most_ns / NS_PER_S));
	if (o.size_bytes > s->most_size_bytes)
		return err_set(err, -EINVAL, "%s: --size is at most %llu bytes", s->name,
			       (unsigned long long)s->most_size_bytes);
	if (o.mode && !text_is_choice(s->modes, o.mode))
		return err_set(err, -EINVAL, "%s: --mode is one of %s", s->name, s->modes);
	*ret = o;
	return 0;
}

static int run_open(struct lab_run *run, struct err *err)
{
	uint32_t random = 0;
	char path[200];

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_mono_ns();
	snprintf(run->id, sizeof(run->id), "%d-%08x", getpid(), random);
	int r = lab_state_make(err);
	if (r < 0)
		return r;
	snprintf(run->state_dir, sizeof(run->state_dir), "%s/zscope-lab-%s", lab_state_dir(),
		 run->id);
	if (mkdir(run->state_dir, 0700) < 0)
		return lab_state_refused(err, -errno, run->state_dir);
	snprintf(path, sizeof(path), "%s/journal", run->state_dir);
	run->journal = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (run->journal < 0)
		return err_path(err, -errno, path);
	return lab_journal_add_pid(run->journal, getpid(), err);
}

/* The scenario from its dead man to its end; what it made is left. */
static int run_watched(struct lab_run *run, const struct lab_scenario *s,
		       const struct lab_signals *signals, struct err *err)
{
	run->deadline_ns = clock_mono_ns() + run->options.length_ns;
	fflush(stdout);
	pid_t man = fork();
	if (man == 0)
		dead_man(run);
	return man < 0 ? err_set(err, -errno, "fork: %s", strerror(errno))
		       : lab_worker_run(run, s, signals, err);
}

/* r: how the scenario ended. What could not be removed is told beside what failed before. */
static int run_remove(const struct lab_run *run, int r, struct err *err)
{
	struct lab_cleaned cleaned;
	struct err why = { 0 };
	char before[160] = "";
	int removed = lab_clean(run->id, &cleaned, &why);

	if (removed == 0)
		return r;
	if (r < 0)
		snprintf(before, sizeof(before), "%.150s; ", err->text);
	return err_set(err, removed, "%s%.180s: try 'zscope lab clean %s'", before, why.text,
		       run->id);
}

int lab_start(const char *name, const struct lab_options *options,
	      void (*say)(void *arg, const char *line), void *say_arg, char ret_id[32],
	      struct err *err)
{
	struct lab_run run = { .journal = -1, .say = say, .say_arg = say_arg };
	const struct lab_scenario *s = scenario_find(name);
	AUTO_ROOT struct root root = { .fd = -1 };
	struct lab_signals signals;

	if (!s)
		return err_set(err, -EINVAL, "no scenario '%s': see 'zscope lab list'", name);
	int r = fill_options(s, options, &run.options, err);
	if (r == 0)
		r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	offer_read(&root, &run.offer);
	lab_signals_block(&signals);
	r = run_open(&run, err);
	AUTO_CLOSE int journal = run.journal;
	(void)journal;
	if (r == 0) {
		r = lab_runs_note(&run, s->name, err);
		if (r == 0)
			r = run_watched(&run, s, &signals, err);
		memcpy(ret_id, run.id, sizeof(run.id));
		if (r != 0 || !run.options.keep)
			r = run_remove(&run, r, err);
	}
	lab_signals_restore(&signals);
	return r;
}
