/* A network driver's reset that did not happen, told by lines in the kernel log, while a pinned
 * process really holds the core that the queue's interrupt is on: everything from the log line to
 * the core and the task can be seen at work on a host whose network is fine. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "lab_kmsg.h"
#include "lab_scenarios.h"
#include "net_counters.h"
#include "text.h"
#include "timefmt.h"

enum {
	RESET_READ_BYTES = 1 << 16,
	RESET_READS = 200,
	/* the core is held for so long before the lines come: longer than the watchdog's 5 s */
	RESET_LEAD_S = 7,
	RESET_TAIL_S = 2,
	RESET_LINE_GAP_MS = 600,
};

struct reset_place {
	char iface[16], driver[32], address[64];
	unsigned queue, cpu;
	uint64_t irq;
};

/* The first queue with an interrupt of the interface (or of any), and where that goes. */
static int reset_find(struct lab_run *run, struct reset_place *ret, struct err *err)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_TICK struct tick tick = { 0 };
	struct net_counters net = { .socket = -1, .net_dev = { .fd = -1 } };
	bool found = false;

	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	r = net_counters_open(&net, &root, err);
	if (r >= 0)
		r = net_counters_read(&net, &text, &tick);
	vec_foreach (&net.devices, it) {
		if (run->options.target && strcmp(run->options.target, (*it)->name) != 0)
			continue;
		vec_foreach (&(*it)->queues, q) {
			if (found || !(*q)->have_irq || !(*q)->have_cpu)
				continue;
			found = true;
			text_copy(ret->iface, sizeof(ret->iface), (*it)->name);
			ret->queue = (*q)->queue;
			ret->cpu = (unsigned)(*q)->cpu;
			ret->irq = (*q)->irq;
		}
	}
	net_counters_close(&net);
	if (r < 0)
		return r;
	return found ? 0
		     : err_set(err, -ENODEV, "no network queue with an interrupt of its own%s%s",
			       run->options.target ? " on " : "",
			       run->options.target ? run->options.target : "");
}

static int reset_hold(struct lab_run *run, void *arg)
{
	static char bytes[RESET_READ_BYTES];
	const struct reset_place *place = arg;

	if (lab_hold_core(place->cpu) < 0)
		return -errno;
	AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (clock_mono_ns() < run->deadline_ns)
		for (unsigned i = 0; i < RESET_READS; i++)
			if (read(fd, bytes, sizeof(bytes)) < 0)
				return -errno;
	return 0;
}

/* Some time apart, as a driver writes them. */
static int reset_say_line(const char *line, struct err *err)
{
	int r = lab_kmsg_line(LAB_KMSG_WARNING, line, err);
	struct timespec gap = { .tv_nsec = RESET_LINE_GAP_MS * (long)NS_PER_MS };

	if (r == 0)
		nanosleep(&gap, NULL);
	return r;
}

static int reset_inject(const struct reset_place *place, struct err *err)
{
	char lines[3][300];
	int r = 0;

	/* as the driver of the well-known case wrote them, with this host's interface and queue */
	snprintf(lines[0], sizeof(lines[0]),
		 "ena 0000:00:05.0 %s: TX q %u is paused for too long (threshold 5000000). Time "
		 "since "
		 "last napi 6596000 usec. napi scheduled: 1",
		 place->iface, place->queue);
	snprintf(lines[1], sizeof(lines[1]),
		 "ena 0000:00:05.0 %s: napi handler hasn't been called for a long time but is "
		 "scheduled",
		 place->iface);
	snprintf(lines[2], sizeof(lines[2]),
		 "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic "
		 "Network "
		 "Adapter (ENA) v2.11.0g");
	for (size_t i = 0; i < ARRAY_LEN(lines) && r == 0; i++)
		r = reset_say_line(lines[i], err);
	return r;
}

static int reset_run(struct lab_run *run, struct err *err)
{
	struct reset_place place;

	int r = reset_find(run, &place, err);
	if (r < 0)
		return r;
	if (run->options.cpu_set)
		place.cpu = run->options.cpu;
	/* say at once that lines cannot be written, not after the core was held */
	if (access("/dev/kmsg", W_OK) < 0)
		return err_path(err, -errno, "/dev/kmsg");
	bool hold = strcmp(run->options.mode, "hold") == 0;
	pid_t pid = hold ? lab_make_child(run, reset_hold, &place, err) : 0;
	if (pid < 0)
		return pid;
	if (!hold) /* something else holds the core: only the lines are wanted */
		return reset_inject(&place, err);
	lab_say(run, "queue %u of %s, interrupt %" PRIu64 " on core %u: process %d holds it",
		place.queue, place.iface, place.irq, place.cpu, pid);
	struct timespec lead = { .tv_sec = RESET_LEAD_S };
	nanosleep(&lead, NULL);
	r = reset_inject(&place, err);
	if (r < 0)
		return r;
	lab_say(run, "a reset of %s was written to the kernel log, marked as the lab's",
		place.iface);
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

int lab_nic_core(struct lab_run *run, unsigned *ret)
{
	struct reset_place place;
	int r = reset_find(run, &place, NULL);

	if (r == 0)
		*ret = place.cpu;
	return r;
}

const struct lab_scenario lab_net_reset = {
	.name = "net-reset",
	.summary = "a marked driver reset in the kernel log while its queue's core is held",
	.modes = "hold|inject",
	.defaults = { .length_ns = (RESET_LEAD_S + RESET_TAIL_S + 2) * NS_PER_S, .mode = "hold" },
	.most_ns = 120 * NS_PER_S,
	.run = reset_run,
};
