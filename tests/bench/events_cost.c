/* What the recorder's events part costs: a flood of kernel log records (through a socket, or real
 * ones through /dev/kmsg), and the counters of a NIC with 32 queues. Prints "flood CPU_PERCENT
 * EVENTS SECONDS STORED LOST" or "queues MICROSECONDS". */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/fake_root.h"
#include "net_counters.h"
#include "record_events.h"
#include "store_reader.h"
#include "text.h"
#include "timefmt.h"

enum { FLOOD_LINES = 100000, FLOOD_SECONDS = 10, QUEUES = 32, ROUNDS = 200 };

/* One record through /dev/kmsg: an open per line, because the kernel takes only 10 in 5 s of each.
 */
static bool print_kernel(const char *text)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	bool good = fd >= 0 && write(fd, text, len) == (ssize_t)len;

	if (fd >= 0)
		close(fd);
	return good;
}

static void flood_kernel(unsigned lines, int mark)
{
	char text[200];

	for (unsigned i = 0; i < lines; i++) {
		snprintf(text, sizeof(text),
			 "<4>zscope-bench-%d: nvme nvme1: I/O %u QID 4 timeout\n", mark, i);
		if (i == lines / 4 * 3)
			snprintf(text, sizeof(text),
				 "<3>ena 0000:00:05.0 zb%d: Keep alive watchdog timeout.\n", mark);
		if (!print_kernel(text))
			_exit(1);
		if (i % 1000 == 999) {
			struct timespec wait = { .tv_nsec = NS_PER_S / 10 };
			nanosleep(&wait, NULL);
		}
	}
	_exit(0);
}

/* 10 bursts a second of 1,000 lines; one of all is the reset. */
static void flood(int fd)
{
	char record[300];

	for (unsigned i = 0; i < FLOOD_LINES; i++) {
		int n = snprintf(record, sizeof(record),
				 "4,%u,%u,-;nvme nvme1: I/O %u QID 4 timeout, completion polled\n",
				 i, i * 100, i);
		if (i == 77777)
			n = snprintf(
				record, sizeof(record),
				"3,%u,%u,-;ena 0000:00:05.0 eth0: Keep alive watchdog timeout.\n",
				i, i * 100);
		if (write(fd, record, (size_t)n) != n)
			_exit(1);
		if (i % 1000 == 999) {
			struct timespec wait = { .tv_nsec = NS_PER_S / 10 * FLOOD_SECONDS / 10 };
			nanosleep(&wait, NULL);
		}
	}
	_exit(0);
}

static double cpu_seconds(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* How often the text stands in the frames of a kind; in each at most `most` times. */
static unsigned count_in(const char *dir, unsigned kind, const char *what, unsigned most)
{
	struct store_reader *reader;
	struct frame frame;
	unsigned n = 0;

	if (store_reader_open(dir, &reader, NULL) < 0 ||
	    store_reader_seek(reader, 0, UINT64_MAX, FRAME_BIT(kind), NULL) < 0)
		return 0;
	while (store_reader_next(reader, &frame, NULL) > 0) {
		const char *p = frame.payload, *end = p + frame.len;
		unsigned here = 0;
		while (here < most && (p = memmem(p, (size_t)(end - p), what, strlen(what)))) {
			here++;
			p += strlen(what);
		}
		n += here;
	}
	store_reader_close(reader);
	return n;
}

struct flooded {
	void *state;
	struct store_writer *w;
	struct store_clock clock;
	int fd;
};

static int flood_turn(struct flooded *f, int wait_ms)
{
	struct err err = { 0 };
	struct pollfd fd = { .fd = f->fd, .events = POLLIN };

	f->clock.real_ns = clock_real_ns();
	f->clock.mono_ns = clock_mono_ns();
	f->clock.boot_ns = clock_boot_ns();
	(void)store_writer_tick(f->w, &f->clock, &err); /* the first one opens a segment */
	int ready = poll(&fd, 1, wait_ms);
	if (record_events.ready(f->state, f->w, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	return fd.revents & POLLHUP ? 0 : ready; /* the writer of a socket is gone */
}

/* lines = 0: through a socket. */
static int run_flood(const char *dir, unsigned lines)
{
	int pair[2];
	struct root root;
	struct flooded f = { 0 };
	struct err err = { 0 };
	struct store_options store = { 0 };
	struct record_events_options options = { 0 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || root_open(NULL, &root, NULL) < 0)
		return 1;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	options.kmsg_fd = lines ? 0 : pair[0];
	struct recorder_context context = { .root = &root, .options = &options };
	if (record_events.open(&f.state, &context, &err) < 0 ||
	    store_writer_open(dir, &store, NULL, &f.w, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	f.fd = record_events.fd(f.state);
	while (lines && flood_turn(&f, 0) > 0) /* what the ring held before */
		;
	pid_t writer = fork();
	if (writer == 0) {
		if (lines)
			flood_kernel(lines, getppid());
		flood(pair[1]);
	}
	close(pair[1]);
	double before = cpu_seconds();
	uint64_t began = clock_mono_ns();
	while (flood_turn(&f, 100) >= 0 && waitpid(writer, NULL, WNOHANG) == 0)
		;
	double took = (double)(clock_mono_ns() - began) / 1e9;
	for (unsigned i = 0; i < 1000 && flood_turn(&f, 0) > 0; i++)
		;
	f.clock.real_ns = clock_real_ns() + 60 * NS_PER_S;
	(void)record_events.tick(f.state, &f.clock, f.w, &err);
	double cpu = cpu_seconds() - before;
	uint64_t lost = record_events_lost(f.state);
	record_events.close(f.state);
	store_writer_close(f.w);
	/* the ring may still hold the lines of an earlier run */
	char line[40] = "QID 4 timeout", reset[40] = "net-driver-reset";
	if (lines) {
		snprintf(line, sizeof(line), "zscope-bench-%d:", (int)getpid());
		snprintf(reset, sizeof(reset), "zb%d", (int)getpid());
	}
	printf("flood %.2f %u %.1f %u %llu\n", 100 * cpu / took,
	       count_in(dir, FRAME_EVENT, reset, 1), took,
	       count_in(dir, FRAME_KMSG, line, UINT_MAX), (unsigned long long)lost);
	return 0;
}

static int run_queues(void)
{
	struct fake_root fake = fake_root_new();
	struct buf text = { 0 }, interrupts = { 0 };
	struct tick tick = { 0 };
	struct net_counters n;
	char path[100];

	for (unsigned i = 0; i < QUEUES; i++) {
		snprintf(path, sizeof(path), "sys/class/net/eth0/queues/tx-%u/tx_timeout", i);
		fake_root_put(&fake, path, "0\n");
		snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", 100 + i);
		fake_root_put(&fake, path, "7\n");
		snprintf(path, sizeof(path), "sys/kernel/irq/%u/per_cpu_count", 100 + i);
		fake_root_put(&fake, path, "0,0,0,0,0,0,0,123456,0,0,0,0,0,0,0,0\n");
		buf_addf(&interrupts, "%u: 0 0 PCI-MSI 1-edge eth0-Tx-Rx-%u\n", 100 + i, i);
	}
	fake_root_put(&fake, "sys/class/net/eth0/device/vendor", "x\n");
	fake_root_put(&fake, "sys/class/net/eth0/carrier_changes", "2\n");
	fake_root_put(&fake, "proc/net/dev", " eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	fake_root_put(&fake, "proc/interrupts", buf_str(&interrupts));
	if (net_counters_open(&n, &fake.root, NULL) < 0)
		return 1;
	double before = cpu_seconds();
	for (unsigned i = 0; i < ROUNDS; i++) {
		tick_clear(&tick);
		if (net_counters_read(&n, &text, &tick) < 0 ||
		    tick.rows[REC_NETQUEUE].len != QUEUES)
			return 1;
	}
	printf("queues %.1f\n", (cpu_seconds() - before) * 1e6 / ROUNDS);
	net_counters_close(&n);
	fake_root_free(&fake);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t lines = FLOOD_LINES;

	if (argc == 3 && strcmp(argv[1], "flood") == 0)
		return run_flood(argv[2], 0);
	/* real records: "kmsg DIR [LINES]" */
	if (argc == 4 && text_u64(argv[3], &lines) < 0)
		return 2;
	if (argc >= 3 && strcmp(argv[1], "kmsg") == 0)
		return run_flood(argv[2], (unsigned)lines);
	return argc == 2 ? run_queues() : 2;
}
