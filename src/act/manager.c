#include "manager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "systemd_library.h"
#include "text.h"
#include "timefmt.h"

#define DESTINATION "org.freedesktop.systemd1"
#define OBJECT      "/org/freedesktop/systemd1"
#define MANAGER     "org.freedesktop.systemd1.Manager"
#define UNIT        "org.freedesktop.systemd1.Unit"

static const uint64_t call_timeout_us = 5000000;
/* runs all generators and reads all units: seconds on a slow or sick node; systemctl waits 90 s too
 */
static const uint64_t reload_timeout_us = 90000000;

struct manager {
	sd_bus *bus;
};

static void message_unref(sd_bus_message **m)
{
	systemd.bus_message_unref(*m);
}
static void bus_error_free(sd_bus_error *e)
{
	systemd.bus_error_free(e);
}
#define AUTO_MESSAGE   __attribute__((cleanup(message_unref)))
#define AUTO_BUS_ERROR __attribute__((cleanup(bus_error_free)))

static int manager_connect_private(sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r = systemd.bus_new(&bus);

	if (r < 0)
		return r;
	r = systemd.bus_set_address(bus, "unix:path=/run/systemd/private");
	if (r >= 0)
		r = systemd.bus_start(bus);
	if (r < 0) {
		systemd.bus_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

/* As sd_booted(3) has it. */
bool manager_is_there(void)
{
	return faccessat(AT_FDCWD, "/run/systemd/system", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int manager_open(struct manager **ret, struct err *err)
{
	sd_bus *bus = NULL;

	if (!manager_is_there())
		return err_set(err, -ENOENT,
			       "pid 1 is not systemd here: units cannot be stopped or masked");
	int r = systemd_library_load(err);
	if (r < 0)
		return r;
	r = geteuid() == 0 ? manager_connect_private(&bus) : -EACCES;
	if (r < 0)
		r = systemd.bus_open_system(&bus);
	if (r < 0)
		return err_set(err, r, "the service manager does not answer: %s", strerror(-r));
	systemd.bus_set_method_call_timeout(bus, call_timeout_us);
	struct manager *m = calloc(1, sizeof(*m));
	if (!m) {
		systemd.bus_flush_close_unref(bus);
		return err_set(err, -ENOMEM, "out of memory");
	}
	m->bus = bus;
	*ret = m;
	return 0;
}

void manager_close(struct manager *m)
{
	if (!m)
		return;
	systemd.bus_flush_close_unref(m->bus);
	free(m);
}

static int manager_say(struct err *err, int r, const sd_bus_error *e, const char *unit)
{
	return err_set(err, r, "%s: %s", unit, e->message ? e->message : strerror(-r));
}

static int manager_object(struct manager *m, const char *unit, char **ret_path, struct err *err)
{
	AUTO_BUS_ERROR sd_bus_error e = SD_BUS_ERROR_NULL;
	AUTO_MESSAGE sd_bus_message *reply = NULL;
	const char *path;

	int r = systemd.bus_call_method(m->bus, DESTINATION, OBJECT, MANAGER, "LoadUnit", &e,
					&reply, "s", unit);
	if (r < 0)
		return manager_say(err, r, &e, unit);
	r = systemd.bus_message_read(reply, "o", &path);
	if (r < 0)
		return err_set(err, r, "%s: a reply that is no object path", unit);
	*ret_path = strdup(path);
	return *ret_path ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void manager_property(struct manager *m, const char *object, const char *interface,
			     const char *name, char *ret, size_t size)
{
	AUTO_FREE char *text = NULL;

	ret[0] = '\0';
	if (systemd.bus_get_property_string(m->bus, DESTINATION, object, interface, name, NULL,
					    &text) >= 0)
		text_copy(ret, size, text);
}

int manager_unit_get(struct manager *m, const char *unit, struct manager_unit *ret, struct err *err)
{
	AUTO_FREE char *object = NULL;
	char load[32], interface[64];

	int r = manager_object(m, unit, &object, err);
	if (r < 0)
		return r;
	*ret = (struct manager_unit){ 0 };
	manager_property(m, object, UNIT, "LoadState", load, sizeof(load));
	ret->loaded = strcmp(load, "loaded") == 0 || strcmp(load, "masked") == 0;
	manager_property(m, object, UNIT, "ActiveState", ret->active, sizeof(ret->active));
	manager_property(m, object, UNIT, "UnitFileState", ret->file_state,
			 sizeof(ret->file_state));
	manager_property(m, object, UNIT, "FragmentPath", ret->fragment, sizeof(ret->fragment));
	text_copy(interface, sizeof(interface),
		  text_ends(unit, ".scope") ? DESTINATION ".Scope" : DESTINATION ".Service");
	manager_property(m, object, interface, "ControlGroup", ret->control_group,
			 sizeof(ret->control_group));
	return 0;
}

static int manager_job(struct manager *m, const char *method, const char *unit, struct err *err)
{
	AUTO_BUS_ERROR sd_bus_error e = SD_BUS_ERROR_NULL;
	int r = systemd.bus_call_method(m->bus, DESTINATION, OBJECT, MANAGER, method, &e, NULL,
					"ss", unit, "replace");

	return r < 0 ? manager_say(err, r, &e, unit) : 0;
}

int manager_stop(struct manager *m, const char *unit, uint64_t timeout_ns, struct err *err)
{
	uint64_t until = clock_mono_ns() + timeout_ns;
	struct manager_unit state;

	int r = manager_job(m, "StopUnit", unit, err);
	while (r >= 0) {
		r = manager_unit_get(m, unit, &state, err);
		if (r < 0)
			break;
		if (strcmp(state.active, "inactive") == 0 || strcmp(state.active, "failed") == 0)
			return 0;
		if (clock_mono_ns() > until)
			return err_set(err, -ETIMEDOUT, "%s is still %s", unit, state.active);
		usleep(50000);
	}
	return r;
}

int manager_start(struct manager *m, const char *unit, struct err *err)
{
	return manager_job(m, "StartUnit", unit, err);
}

int manager_make_scope(struct manager *m, const char *scope, const char *slice, pid_t pid,
		       struct err *err)
{
	AUTO_BUS_ERROR sd_bus_error e = SD_BUS_ERROR_NULL;
	int r = systemd.bus_call_method(
		m->bus, DESTINATION, OBJECT, MANAGER, "StartTransientUnit", &e, NULL,
		"ssa(sv)a(sa(sv))", scope, "fail", 4, "PIDs", "au", 1, (uint32_t)pid, "Slice", "s",
		slice, "MemoryAccounting", "b", 1, "CollectMode", "s", "inactive-or-failed", 0);

	return r < 0 ? manager_say(err, r, &e, scope) : 0;
}

int manager_reload(struct manager *m, struct err *err)
{
	AUTO_BUS_ERROR sd_bus_error e = SD_BUS_ERROR_NULL;
	systemd.bus_set_method_call_timeout(m->bus, reload_timeout_us);
	int r = systemd.bus_call_method(m->bus, DESTINATION, OBJECT, MANAGER, "Reload", &e, NULL,
					NULL);
	systemd.bus_set_method_call_timeout(m->bus, call_timeout_us);

	return r < 0 ? manager_say(err, r, &e, "daemon-reload") : 0;
}
