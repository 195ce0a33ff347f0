/* Helper of bench_tick.sh: the real recorder with a choice of sources, a counted walk, idle
 * processes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup_walk.h"
#include "record_ticks.h"
#include "text.h"
#include "tick_source.h"
#include "timefmt.h"

static int fail(const struct err *err)
{
	fprintf(stderr, "bench-tick: %s\n", err->text);
	return 2;
}

enum { BENCH_WARM_UP = 3 };

struct bench_meter {
	uint64_t calls, last_call, first_ns, last_ns;
};

/* After every tick; the first ones warm up. The clock is asked twice and not every time: it would
 * be a part of what it measures. */
static void bench_alive(void *arg, bool first)
{
	struct bench_meter *m = arg;

	(void)first;
	if (++m->calls == BENCH_WARM_UP)
		m->first_ns = clock_cpu_ns();
	else if (m->calls == m->last_call)
		m->last_ns = clock_cpu_ns();
}

/* record STORE cores|tasks|all [MILLISECONDS] SECONDS: microseconds of CPU time per tick, of all
 * threads, from one tick's end to the next one's. Ticks come every second, or every so many
 * milliseconds: two versions beside each other differ by less than seconds do. */
static int bench_record(const char *store, const char *what, uint64_t interval_ms, uint64_t seconds)
{
	struct record_ticks_options ticks = { 0 };
	struct recorder_use use = { &record_ticks, &ticks };
	struct bench_meter meter = { .last_call = seconds * 1000 / interval_ms - 1 };
	struct recorder_options options = { .store_dir = store,
					    .parts = &use,
					    .n_parts = 1,
					    .interval_ns = interval_ms * NS_PER_MS,
					    .duration_ns = seconds * NS_PER_S,
					    .alive = bench_alive,
					    .arg = &meter };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct err err;

	if (strcmp(what, "cores") == 0)
		ticks.kinds = TICK_KIND(REC_CPU);
	else if (strcmp(what, "tasks") == 0)
		ticks.kinds = TICK_KIND(REC_TASK);
	if (root_open(NULL, &root, &err) < 0)
		return fail(&err);
	options.root = &root;
	if (recorder_run(&options, &err) < 0)
		return fail(&err);
	if (!meter.last_ns)
		return 2;
	printf("%.1f\n", (double)(meter.last_ns - meter.first_ns) / 1e3 /
				 (double)(meter.last_call - BENCH_WARM_UP));
	return 0;
}

/* tick N: microseconds of CPU time per full tick of the live host, one second apart. */
static int bench_full_tick(uint64_t count)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_TICK struct tick t = { 0 };
	struct tick_source *source;
	uint64_t spent = 0, most = 0;
	struct err err;

	if (root_open(NULL, &root, &err) < 0 || tick_source_open(&root, NULL, &source, &err) < 0)
		return fail(&err);
	tick_source_read(source, &t, &unknowns);
	for (uint64_t i = 0; i < count; i++) {
		usleep(1000000);
		uint64_t before = clock_cpu_ns();
		tick_source_read(source, &t, &unknowns);
		uint64_t cost = clock_cpu_ns() - before;
		spent += cost;
		most = cost > most ? cost : most;
	}
	tick_source_close(source);
	printf("%.1f %.1f\n", (double)spent / 1e3 / (double)count, (double)most / 1e3);
	return 0;
}

/* walk DIR N: microseconds of CPU time per count. */
static int bench_walk(const char *dir, uint64_t count)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	uint64_t dirs = 0;
	struct err err;

	if (root_open(NULL, &root, &err) < 0)
		return fail(&err);
	uint64_t before = clock_cpu_ns();
	for (uint64_t i = 0; i < count; i++)
		if (cgroup_walk(&root, dir, NULL, NULL, &dirs, &err) < 0)
			return fail(&err);
	printf("%.1f %" PRIu64 "\n", (double)(clock_cpu_ns() - before) / 1e3 / (double)count, dirs);
	return 0;
}

/* floor SECONDS: the least that a program can do that looks at the cores once a second, in the
 * middle between our ticks and the peer's: it wakes and reads. */
static int bench_floor(uint64_t seconds)
{
	static char text[64 << 10];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	for (uint64_t i = 0; fd >= 0 && i < seconds; i++) {
		uint64_t left_ns = NS_PER_S - (clock_real_ns() + NS_PER_S * 4 / 5) % NS_PER_S;
		struct timespec timeout = { 0, (long)left_ns - 1 };
		sigtimedwait(&none, NULL, &timeout);
		if (pread(fd, text, sizeof(text), 0) <= 0)
			return 2;
	}
	return fd < 0 ? 2 : 0;
}

/* idle N: that many sleeping processes, until standard input ends. */
static int bench_idle(uint64_t count)
{
	char c;

	setpgid(0, 0);
	for (uint64_t i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			for (;;)
				pause();
		}
		if (pid < 0)
			break;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM); /* our own process group: the idle ones */
	while (wait(NULL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t n, interval_ms = 1000;

	if (argc < 3 || text_u64(argv[argc - 1], &n) < 0)
		return 2;
	if (argc == 6 && (text_u64(argv[4], &interval_ms) < 0 || !interval_ms))
		return 2;
	if (strcmp(argv[1], "record") == 0 && argc >= 5)
		return bench_record(argv[2], argv[3], interval_ms, n);
	if (strcmp(argv[1], "tick") == 0)
		return bench_full_tick(n);
	if (strcmp(argv[1], "floor") == 0)
		return bench_floor(n);
	if (strcmp(argv[1], "walk") == 0 && argc == 4)
		return bench_walk(argv[2], n);
	return strcmp(argv[1], "idle") == 0 ? bench_idle(n) : 2;
}
