/* The cores' clocks out of the kernel's memory against /proc/stat, while something runs. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "core_times.h"
#include "core_times_kernel.h"
#include "proc_stat.h"
#include "rec_load.h"
#include "timefmt.h"

enum { SKIPPED = 77, ROUNDS = 300, ROUND_US = 10000, COST_ROUNDS = 500 };

/* A process that works and sleeps by turns, so that the cores go in and out of idle. */
static pid_t start_load(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(60);
	for (volatile unsigned i = 0;; i++)
		if (i % 500000 == 0)
			usleep(300);
}

static struct reread stat_file;
static struct buf stat_text;

static int read_file(const struct root *root, struct tick *ret, struct err *err)
{
	int r = stat_file.path ? 0 : reread_open(&stat_file, root, "proc/stat", err);

	stat_file.whole = true;
	tick_clear(ret);
	if (r == 0)
		r = reread_text(&stat_file, &stat_text, err);
	return r < 0 ? r : proc_stat_parse(buf_str(&stat_text), ret, err);
}

static uint64_t switches(const struct tick *t)
{
	return t->rows[REC_LOAD].len ? TICK_ROW(t, REC_LOAD, rec_load, 0)->ctxt : 0;
}

static bool round_agrees(struct core_times *c, const struct root *root, unsigned *torn)
{
	AUTO_TICK struct tick before = { 0 }, between = { 0 }, after = { 0 };
	struct err err = { 0 };

	if (read_file(root, &before, &err) < 0)
		return false;
	if (!core_times_read_direct(c, true, &between)) {
		++*torn; /* allowed, not often */
		return true;
	}
	if (read_file(root, &after, &err) < 0)
		return false;
	return core_times_agree(&before, &between, &after) &&
	       switches(&between) >= switches(&before) && switches(&between) <= switches(&after);
}

static int compare(struct core_times *c, const struct root *root)
{
	unsigned wrong = 0, torn = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		wrong += !round_agrees(c, root, &torn);
		usleep(ROUND_US);
	}
	printf("%d rounds: %u disagree, %u torn\n", ROUNDS, wrong, torn);
	/* idle time of a core that idles is read at slightly different moments: /proc/stat itself
	 * may go back by a tick */
	return wrong > ROUNDS / 100 || torn > ROUNDS / 10;
}

/* Microseconds of CPU time for one reading of all cores, the direct way and by the file. */
static void tell_cost(struct core_times *c, const struct root *root)
{
	AUTO_TICK struct tick t = { 0 };
	struct err err = { 0 };
	uint64_t start_ns = clock_cpu_ns();

	for (unsigned i = 0; i < COST_ROUNDS; i++) {
		tick_clear(&t);
		(void)core_times_read_direct(c, false, &t);
	}
	uint64_t middle_ns = clock_cpu_ns();
	for (unsigned i = 0; i < COST_ROUNDS; i++)
		(void)read_file(root, &t, &err);
	uint64_t end_ns = clock_cpu_ns();
	printf("%zu cores: direct %.1f us, by /proc/stat %.1f us: 1/%.1f\n", t.rows[REC_CPU].len,
	       (double)(middle_ns - start_ns) / 1e3 / COST_ROUNDS,
	       (double)(end_ns - middle_ns) / 1e3 / COST_ROUNDS,
	       (double)(end_ns - middle_ns) / (double)(middle_ns - start_ns));
}

/* What stands in the way is said: this kernel is known to allow it where these are there. */
static int not_direct(const struct root *root, const struct offer *offer)
{
	struct core_times_kernel *k;
	struct err err = { 0 };

	if (core_times_kernel_open(root, offer->n_cpus, &k, &err) < 0) {
		printf("skipped: %s\n", err.text);
		return SKIPPED;
	}
	core_times_kernel_close(k);
	printf("the kernel's memory can be read, but was not believed\n");
	return 1;
}

int main(void)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	struct offer offer;
	struct err err = { 0 };

	if (root_open(NULL, &root, &err) < 0)
		return 1;
	offer_read(&root, &offer);
	struct core_times *c = core_times_open(&root, &offer);
	if (!c)
		return 1;
	pid_t load = start_load();
	int status = core_times_direct(c) ? compare(c, &root) : not_direct(&root, &offer);
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	if (core_times_direct(c))
		tell_cost(c, &root);
	core_times_close(c);
	if (stat_file.path)
		reread_close(&stat_file);
	buf_free(&stat_text);
	return status;
}
