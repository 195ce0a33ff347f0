/* A core that drowns in interrupts: tiny datagrams over loopback to a port where nobody reads, so
 * that nearly all of the work is the kernel's receive path. Loopback only. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "auto.h"
#include "lab_scenarios.h"
#include "timefmt.h"

enum { SOFTIRQ_BATCH = 64 };

/* A multicast-like fan-out makes the receive side dearer than the sending side: many sockets share
 * the port, and each broadcast datagram is delivered to all of them inside the soft interrupt. */
enum { SOFTIRQ_RECEIVERS = 200 };

static int softirq_receivers(struct sockaddr_in *address)
{
	int on = 1, small = 2048;

	for (unsigned i = 0; i < SOFTIRQ_RECEIVERS; i++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC,
				0); /* held until the child ends */
		socklen_t len = sizeof(*address);
		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) < 0)
			return -errno;
		struct ip_mreqn group = { .imr_multiaddr.s_addr = inet_addr("239.255.77.77"),
					  .imr_ifindex = 1 };
		struct sockaddr_in bound = { .sin_family = AF_INET,
					     .sin_port = address->sin_port,
					     .sin_addr = group.imr_multiaddr };
		if (bind(fd, (struct sockaddr *)&bound, sizeof(bound)) < 0 ||
		    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
			return -errno;
		if (!i && getsockname(fd, (struct sockaddr *)address, &len) < 0)
			return -errno;
	}
	return 0;
}

static int softirq_child(struct lab_run *run, void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct ip_mreqn loopback = { .imr_ifindex = 1 };
	struct mmsghdr batch[SOFTIRQ_BATCH] = { 0 };
	struct iovec byte = { .iov_base = "z", .iov_len = 1 };

	(void)arg;
	if (lab_hold_core(run->options.cpu) < 0)
		return -errno;
	int r = softirq_receivers(&to);
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback)) < 0)
		return -errno;
	for (unsigned i = 0; i < SOFTIRQ_BATCH; i++)
		batch[i].msg_hdr = (struct msghdr){ .msg_name = &to,
						    .msg_namelen = sizeof(to),
						    .msg_iov = &byte,
						    .msg_iovlen = 1 };
	while (clock_mono_ns() < run->deadline_ns)
		if (sendmmsg(fd, batch, SOFTIRQ_BATCH, MSG_DONTWAIT) < 0 && errno != EAGAIN &&
		    errno != ENOBUFS)
			return -errno;
	return 0;
}

static int softirq_run(struct lab_run *run, struct err *err)
{
	if (!run->options.cpu_set)
		run->options.cpu = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pid_t pid = lab_make_child(run, softirq_child, NULL, err);
	if (pid < 0)
		return pid;
	lab_say(run, "core %u drowns in datagrams that nobody reads, over loopback",
		run->options.cpu);
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

const struct lab_scenario lab_softirq = {
	.name = "softirq",
	.summary = "one core drowning in soft interrupts, by datagrams over loopback",
	.defaults = { .length_ns = 20 * NS_PER_S },
	.most_ns = 600 * NS_PER_S,
	.run = softirq_run,
};
