#include "lab_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "timefmt.h"

#define LAB_UNIT_DIR "/run/systemd/system"
enum { LAB_UNIT_CALL_US = 10000000 };

bool lab_unit_wanted(const struct lab_run *run)
{
	return strcmp(run->options.mode, "unit") == 0 ||
	       (strcmp(run->options.mode, "auto") == 0 && sd_booted() > 0);
}

static int unit_call(sd_bus *bus, const char *method, const char *unit)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(bus, &m, "org.freedesktop.systemd1",
					       "/org/freedesktop/systemd1",
					       "org.freedesktop.systemd1.Manager", method);

	if (r >= 0 && unit)
		r = sd_bus_message_append(m, "ss", unit, "replace");
	if (r >= 0)
		r = sd_bus_call(bus, m, LAB_UNIT_CALL_US, NULL, NULL);
	sd_bus_message_unref(m);
	return r;
}

static int unit_write(struct lab_run *run, const char *path, const char *service, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text,
		 "[Unit]\nDescription=zscope lab\nConditionPathExists=%s\nStartLimitIntervalSec=0\n"
		 "CollectMode=inactive-or-failed\n[Service]\nMemoryAccounting=yes\n%s",
		 run->scratch_dir, service);
	int r = lab_journal_add(run->journal, LAB_TRACE_FILE, path, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len)
		return err_path(err, errno ? -errno : -EIO, path);
	return 0;
}

int lab_unit_start(struct lab_run *run, const char *name, const char *service, struct err *err)
{
	char path[200];
	sd_bus *bus = NULL;

	snprintf(path, sizeof(path), LAB_UNIT_DIR "/%s", name);
	int r = unit_write(run, path, service, err);
	if (r < 0)
		return r;
	r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = unit_call(bus, "Reload", NULL);
	if (r >= 0)
		r = unit_call(bus, "StartUnit", name);
	sd_bus_unref(bus);
	return r < 0 ? err_set(err, r, "systemd over D-Bus: %s", strerror(-r)) : 0;
}

void lab_unit_stop(const char *name)
{
	char path[200];
	sd_bus *bus = NULL;

	snprintf(path, sizeof(path), LAB_UNIT_DIR "/%s", name);
	if (sd_bus_open_system(&bus) >= 0) {
		(void)unit_call(bus, "StopUnit", name);
		(void)unlink(path);
		(void)unit_call(bus, "Reload", NULL);
	}
	sd_bus_unref(bus);
}

void lab_unit_wait(const struct lab_run *run)
{
	struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };

	while (!run->options.keep && clock_mono_ns() < run->deadline_ns)
		nanosleep(&pause, NULL);
}
