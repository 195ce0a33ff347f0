#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "units_dbus_impl.h"

static int units_on_changed(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_bus *b = userdata;
	AUTO_ARENA struct arena arena = { 0 };
	struct rec_service u = { 0 };
	const char *key, *interface, *s;
	struct units_change change = { 0 };
	char *name = NULL;

	(void)error;
	if (systemd.bus_path_decode(systemd.bus_message_get_path(m), SYSTEMD_PATH "/unit", &name) <=
		    0 ||
	    !text_ends(name, ".service") ||
	    systemd.bus_message_read_basic(m, 's', &interface) <= 0 ||
	    systemd.bus_message_enter_container(m, 'a', "{sv}") <= 0) {
		free(name);
		return 0;
	}
	while (systemd.bus_message_enter_container(m, 'e', "sv") > 0) {
		systemd.bus_message_read_basic(m, 's', &key);
		if (strcmp(key, "ActiveState") == 0 || strcmp(key, "SubState") == 0) {
			if (systemd.bus_message_read(m, "v", "s", &s) >= 0)
				*(*key == 'A' ? &change.active : &change.sub) =
					arena_strdup(&arena, s);
		} else if (units_read_variant(m, key, &u, &arena) < 0) {
			break;
		}
		if (strcmp(key, "ExecMainStatus") == 0)
			change.have_exit = true;
		systemd.bus_message_exit_container(m);
	}
	change.unit = name;
	change.result = u.result;
	change.invocation = u.invocation;
	change.have_restarts = u.have & REC_UNIT_RESTARTS;
	change.restarts = u.restarts;
	change.exit_code = u.exit_code;
	change.exit_status = u.exit_status;
	b->changed(b->changed_arg, &change);
	free(name);
	return 0;
}

/* JobRemoved: uoss, id, path, unit, how it ended */
static int units_on_job(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_bus *b = userdata;
	struct units_change change = { 0 };
	const char *path;
	uint32_t id;

	(void)error;
	if (systemd.bus_message_read(m, "uoss", &id, &path, &change.unit, &change.job) >= 0 &&
	    text_ends(change.unit, ".service"))
		b->changed(b->changed_arg, &change);
	return 0;
}

static int units_on_reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_bus *b = userdata;

	(void)m, (void)error;
	b->changed(b->changed_arg, &(struct units_change){ .reloaded = true });
	return 0;
}

int units_bus_watch(struct units_bus *b, void (*changed)(void *arg, const struct units_change *),
		    void *arg, struct err *err)
{
	sd_bus_message *m = NULL;

	b->changed = changed;
	b->changed_arg = arg;
	int r = systemd.bus_add_match_async(
		b->bus, NULL,
		"type='signal',interface='" PROPERTIES
		"',member='PropertiesChanged',path_namespace='" SYSTEMD_PATH "/unit'",
		units_on_changed, NULL, b);
	if (r >= 0)
		r = systemd.bus_add_match_async(b->bus, NULL,
						"type='signal',interface='" SYSTEMD
						".Manager',member='UnitFilesChanged'",
						units_on_reload, NULL, b);
	if (r >= 0)
		r = systemd.bus_add_match_async(b->bus, NULL,
						"type='signal',interface='" SYSTEMD
						".Manager',member='JobRemoved'",
						units_on_job, NULL, b);
	if (r >= 0)
		r = systemd.bus_message_new_method_call(b->bus, &m, SYSTEMD, SYSTEMD_PATH,
							SYSTEMD ".Manager", "Subscribe");
	/* "already subscribed" is as good; the answer need not be waited for */
	if (r >= 0)
		r = systemd.bus_message_set_expect_reply(m, 0);
	if (r >= 0)
		r = systemd.bus_send(b->bus, m, NULL);
	systemd.bus_message_unref(m);
	/* no flush: that would wait for a manager that may hang; it goes out with the next
	 * processing */
	return r < 0 ? units_fail(err, r, "subscribing to changes") : 0;
}

int units_bus_fd(struct units_bus *b)
{
	int fd = systemd.bus_get_fd(b->bus);
	return fd < 0 ? -1 : fd;
}

int units_bus_dispatch(struct units_bus *b, struct err *err)
{
	int r;

	while ((r = systemd.bus_process(b->bus, NULL)) > 0)
		;
	return r < 0 ? units_fail(err, r, "the manager went away") : 0;
}
