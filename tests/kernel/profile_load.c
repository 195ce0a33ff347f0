/* A load with known shares, for tests of the profiler.
 *
 *   profile-load mix SECONDS        both sides on every core: spin_alpha, spin_beta, /dev/zero,
 * getppid profile-load spin CPU SECONDS   user time on one core profile-load spike CPU SECONDS  one
 * kernel path (read of /dev/zero) at 100 % of one core
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void spin_alpha(unsigned rounds);
__attribute__((noinline)) void spin_beta(unsigned rounds);
__attribute__((noinline)) void read_zeros(char *buf, size_t len, int fd);

void spin_alpha(unsigned rounds)
{
	for (volatile unsigned i = 0; i < rounds; i++)
		;
}

void spin_beta(unsigned rounds)
{
	for (volatile unsigned i = 0; i < rounds; i++)
		;
}

void read_zeros(char *buf, size_t len, int fd)
{
	if (read(fd, buf, len) < 0)
		abort();
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void mix(double seconds)
{
	static char buf[1 << 16];
	int fd = open("/dev/zero", O_RDONLY);
	double end = now() + seconds;

	while (now() < end) {
		spin_alpha(60000);
		spin_beta(30000);
		for (int i = 0; i < 20; i++)
			read_zeros(buf, sizeof(buf), fd);
		for (int i = 0; i < 200; i++)
			syscall(SYS_getppid);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "mix") == 0) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);
		for (long i = 0; i < cores; i++)
			if (fork() == 0) {
				pin((int)i);
				mix(atof(argv[2]));
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		return 0;
	}
	if (argc != 4)
		return 2;
	static char big[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);
	double end = now() + atof(argv[3]);
	pin(atoi(argv[2]));
	if (strcmp(argv[1], "spike") == 0) {
		/* above whatever else runs here; the kernel keeps 5 % for the others */
		struct sched_param first = { .sched_priority = 1 };
		if (sched_setscheduler(0, SCHED_FIFO, &first) < 0)
			setpriority(PRIO_PROCESS, 0, -20);
		while (now() < end)
			read_zeros(big, sizeof(big), fd);
	} else {
		while (now() < end)
			spin_alpha(100000);
	}
	return 0;
}
