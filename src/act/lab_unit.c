#include "lab_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "manager.h"
#include "proc_pid.h"
#include "root.h"
#include "text.h"
#include "timefmt.h"

#define LAB_UNIT_DIR  "/run/systemd/system"
#define LAB_UNIT_MASK "/etc/systemd/system"
enum { LAB_UNIT_POLL_MS = 20 };
static const uint64_t lab_unit_stop_ns = 30 * NS_PER_S;
static const uint64_t lab_unit_enter_ns = 10 * NS_PER_S;

bool lab_unit_wanted(const struct lab_run *run)
{
	return strcmp(run->options.mode, "unit") == 0 ||
	       (strcmp(run->options.mode, "auto") == 0 && manager_is_there());
}

int lab_unit_write(struct lab_run *run, const char *name, const char *text, struct err *err)
{
	AUTO_MANAGER struct manager *m = NULL;
	char path[200];

	int r = lab_journal_add(run->journal, LAB_TRACE_UNIT, name, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), LAB_UNIT_DIR "/%s", name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_path(err, errno ? -errno : -EIO, path);
	r = manager_open(&m, err);
	return r < 0 ? r : manager_reload(m, err);
}

int lab_unit_start(struct lab_run *run, const char *name, const char *service, struct err *err)
{
	AUTO_MANAGER struct manager *m = NULL;
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text,
		 "[Unit]\nDescription=zscope lab\nConditionPathExists=%s\nStartLimitIntervalSec=0\n"
		 "CollectMode=inactive-or-failed\n[Service]\nMemoryAccounting=yes\n"
		 "TimeoutStopSec=10\n%s",
		 run->scratch_dir, service);
	int r = lab_unit_write(run, name, buf_str(&text), err);
	if (r == 0)
		r = manager_open(&m, err);
	return r < 0 ? r : manager_start(m, name, err);
}

/* v1 has a line of its own for memory, v2 only the one of all controllers. */
static bool unit_holds_us(const struct root *root, const char *scope)
{
	static const char *const controllers[] = { "memory", NULL };
	AUTO_BUF struct buf text = { 0 };
	const char *path;
	size_t len;

	if (root_read(root, "proc/self/cgroup", ROOT_FILE_CAP, &text, NULL) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (proc_pid_cgroup_parse(buf_str(&text), controllers[i], &path, &len) == 0 &&
		    memmem(path, len, scope, strlen(scope)))
			return true;
	return false;
}

int lab_unit_enter_scope(struct lab_run *run, const char *scope, const char *slice, struct err *err)
{
	struct timespec pause = { .tv_nsec = LAB_UNIT_POLL_MS * (long)NS_PER_MS };
	uint64_t until = clock_mono_ns() + lab_unit_enter_ns;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_MANAGER struct manager *m = NULL;

	int r = lab_journal_add(run->journal, LAB_TRACE_UNIT, scope, err);
	if (r == 0)
		r = root_open(NULL, &root, err);
	if (r == 0)
		r = manager_open(&m, err);
	if (r == 0)
		r = manager_make_scope(m, scope, slice, getpid(), err);
	while (r == 0 && !unit_holds_us(&root, scope)) {
		if (clock_mono_ns() > until)
			return err_set(err, -ETIMEDOUT, "%s has no memory cgroup", scope);
		nanosleep(&pause, NULL);
	}
	return r;
}

/* Only a mask: a file of that name would be somebody's own. */
static void unit_unmask(const char *name)
{
	char path[200], target[16];

	snprintf(path, sizeof(path), LAB_UNIT_MASK "/%s", name);
	ssize_t n = readlink(path, target, sizeof(target));
	if (n == (ssize_t)strlen("/dev/null") && memcmp(target, "/dev/null", (size_t)n) == 0)
		(void)unlink(path);
}

int lab_unit_remove(const char *name, struct err *err)
{
	AUTO_MANAGER struct manager *m = NULL;
	struct manager_unit unit = { 0 };
	char path[200];

	if (!lab_journal_is_our_unit(name))
		return err_set(err, -EINVAL, "'%s' is no unit of the lab", name);
	int r = manager_is_there() ? manager_open(&m, err) : 0;
	if (r == 0 && m)
		r = manager_unit_get(m, name, &unit, err);
	if (r == 0 && unit.loaded && strcmp(unit.active, "inactive") != 0 &&
	    strcmp(unit.active, "failed") != 0)
		r = manager_stop(m, name, lab_unit_stop_ns, err);
	snprintf(path, sizeof(path), LAB_UNIT_DIR "/%s", name);
	(void)unlink(path);
	unit_unmask(name);
	return r < 0 || !m ? r : manager_reload(m, err);
}

void lab_unit_wait(const struct lab_run *run)
{
	struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };

	while (!run->options.keep && clock_mono_ns() < run->deadline_ns)
		nanosleep(&pause, NULL);
}
