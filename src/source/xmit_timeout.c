#include "xmit_timeout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

#define XMIT_TIMEOUT_ID "events/net/net_dev_xmit_timeout/id"

/* A tracefs of our own that is mounted nowhere (fsmount, Linux 5.2): nobody sees it, and it goes
 * away with its descriptor. */
static int xmit_timeout_own_tracefs(uint64_t *ret, struct err *err)
{
	AUTO_CLOSE int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	AUTO_CLOSE int mount = -1, file = -1;
	char text[32];

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mount >= 0)
		file = openat(mount, XMIT_TIMEOUT_ID, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return err_set(err, -errno,
			       "net:net_dev_xmit_timeout: tracefs is not mounted, and a look "
			       "without mounting it says: %s",
			       strerror(errno));
	ssize_t n = read(file, text, sizeof(text) - 1);
	text[MAX_OF(n, 0)] = '\0';
	return n > 0 && text_u64(text, ret) == 0
		       ? 0
		       : err_set(err, -EBADMSG, "net:net_dev_xmit_timeout has no number");
}

static int xmit_timeout_id(const struct root *root, uint64_t *ret, struct err *err)
{
	static const char *const paths[] = {
		"sys/kernel/tracing/" XMIT_TIMEOUT_ID,
		"sys/kernel/debug/tracing/" XMIT_TIMEOUT_ID,
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO_BUF struct buf text = { 0 };
		if (root_read(root, paths[i], 64, &text, NULL) >= 0 &&
		    text_u64(buf_str(&text), ret) == 0)
			return 0;
	}
	return xmit_timeout_own_tracefs(ret, err);
}

int xmit_timeout_open(struct xmit_timeout *x, const struct root *root, struct err *err)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	uint64_t id;

	*x = (struct xmit_timeout){ 0 };
	if (!root->live)
		return err_set(err, -ENODEV, "tracepoints: only the running host has them");
	int r = xmit_timeout_id(root, &id, err);
	if (r < 0)
		return r;
	attr.config = id;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue; /* offline */
		if (fd < 0) {
			r = err_set(err, -errno, "net:net_dev_xmit_timeout: %s", strerror(errno));
			xmit_timeout_close(x);
			return r;
		}
		if (!vec_push(&x->fds, fd))
			close(fd);
	}
	return 0;
}

uint64_t xmit_timeout_read(struct xmit_timeout *x)
{
	uint64_t sum = 0, one;

	vec_foreach (&x->fds, fd)
		if (read(*fd, &one, sizeof(one)) == sizeof(one))
			sum += one;
	uint64_t more = sum > x->count ? sum - x->count : 0;
	x->count = sum;
	return more;
}

void xmit_timeout_close(struct xmit_timeout *x)
{
	vec_foreach (&x->fds, fd)
		close(*fd);
	vec_free(&x->fds);
}
