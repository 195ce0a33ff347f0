/* What the recorder's events part costs: a flood of kernel log records, and the counters of a NIC
 * with 32 queues. Prints "flood CPU_PERCENT LOST EVENTS" or "queues MICROSECONDS". */
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
#include "timefmt.h"

enum { FLOOD_LINES = 100000, FLOOD_SECONDS = 10, QUEUES = 32, ROUNDS = 200 };

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

static unsigned count_events(const char *dir)
{
	struct store_reader *reader;
	struct frame frame;
	unsigned n = 0;

	if (store_reader_open(dir, &reader, NULL) < 0 ||
	    store_reader_seek(reader, 0, UINT64_MAX, FRAME_BIT(FRAME_EVENT), NULL) < 0)
		return 0;
	while (store_reader_next(reader, &frame, NULL) > 0)
		n += memmem(frame.payload, frame.len, "net-driver-reset", 16) != NULL;
	store_reader_close(reader);
	return n;
}

static int run_flood(const char *dir)
{
	int pair[2];
	struct root root;
	void *state;
	struct store_writer *w;
	struct err err = { 0 };
	struct store_options store = { 0 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || root_open(NULL, &root, NULL) < 0)
		return 1;
	pid_t writer = fork();
	if (writer == 0)
		flood(pair[1]);
	close(pair[1]);
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	struct record_events_options options = { .kmsg_fd = pair[0] };
	struct recorder_context context = { .root = &root, .options = &options };
	if (record_events.open(&state, &context, &err) < 0 ||
	    store_writer_open(dir, &store, NULL, &w, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	double before = cpu_seconds();
	uint64_t began = clock_mono_ns();
	struct store_clock clock = { 0 };
	do {
		clock.real_ns = clock_real_ns();
		clock.mono_ns = clock_mono_ns();
		clock.boot_ns = clock_boot_ns();
		struct pollfd fd = { .fd = pair[0], .events = POLLIN };
		poll(&fd, 1, 100);
		if (record_events.ready(state, w, &err) < 0)
			break;
		(void)store_writer_tick(w, &clock, &err);
	} while (waitpid(writer, NULL, WNOHANG) == 0);
	double took = (double)(clock_mono_ns() - began) / 1e9;
	clock.real_ns = clock_real_ns() + 60 * NS_PER_S;
	(void)record_events.tick(state, &clock, w, &err);
	double cpu = cpu_seconds() - before;
	record_events.close(state);
	store_writer_close(w);
	printf("flood %.2f %u %.1f\n", 100 * cpu / took, count_events(dir), took);
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
	if (argc == 3 && strcmp(argv[1], "flood") == 0)
		return run_flood(argv[2]);
	return argc == 2 ? run_queues() : 2;
}
