#include "units_dbus_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

enum { UNITS_MOST_SERVICES = 50000 };

/* One call on its way; freed by its reply. */
struct units_call {
	struct units_bus *b;
	struct rec_unit_set *set;
	size_t unit;
};

int units_fail(struct err *err, int r, const char *what)
{
	return err_set(err, r, "systemd over D-Bus: %s: %s", what,
		       r == -ETIMEDOUT ? "no answer within 2 s" : strerror(-r));
}

static int units_connect(struct units_bus *b, const char *address, bool is_bus)
{
	int r = systemd.bus_new(&b->bus);

	if (r >= 0)
		r = systemd.bus_set_address(b->bus, address);
	if (r >= 0 && is_bus)
		r = systemd.bus_set_bus_client(b->bus, 1);
	if (r >= 0)
		r = systemd.bus_start(b->bus);
	if (r < 0)
		b->bus = systemd.bus_close_unref(b->bus);
	return r;
}

int units_bus_open(struct units_bus **ret, struct err *err)
{
	const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");
	int r = systemd_library_load(err);

	if (r < 0)
		return r;
	struct units_bus *b = calloc(1, sizeof(*b));
	r = -ENOENT;
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	if (geteuid() == 0)
		r = units_connect(b, "unix:path=/run/systemd/private", false);
	if (r < 0)
		r = units_connect(b, address ? address : "unix:path=/run/dbus/system_bus_socket",
				  true);
	if (r < 0) {
		free(b);
		return units_fail(err, r, "cannot connect");
	}
	*ret = b;
	return 0;
}

void units_bus_close(struct units_bus *b)
{
	if (!b)
		return;
	systemd.bus_close_unref(b->bus);
	free(b);
}

/* Until every reply has come or the limit is over. */
static int units_run(struct units_bus *b)
{
	while (b->pending) {
		int r = systemd.bus_process(b->bus, NULL);
		uint64_t now = clock_mono_ns();
		if (r < 0)
			return r;
		if (now >= b->deadline_ns)
			return -ETIMEDOUT;
		if (r == 0)
			r = systemd.bus_wait(b->bus, (b->deadline_ns - now) / 1000 + 1);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return b->r;
}

static int units_reply_error(struct units_call *call, sd_bus_message *m)
{
	call->b->pending--;
	const sd_bus_error *e = systemd.bus_message_get_error(m);
	if (!e)
		return 0;
	/* one unit that vanished is no failure of the sweep; being denied is */
	if (systemd.bus_error_has_name(e, SD_BUS_ERROR_ACCESS_DENIED))
		call->b->r = -EACCES;
	else if (systemd.bus_error_has_name(e, SD_BUS_ERROR_DISCONNECTED) ||
		 systemd.bus_error_has_name(e, SD_BUS_ERROR_NO_REPLY))
		call->b->r = -ETIMEDOUT;
	else if (systemd.bus_error_has_name(e, SD_BUS_ERROR_UNKNOWN_METHOD) &&
		 call->unit == SIZE_MAX)
		call->b->r = -EOPNOTSUPP;
	return 1;
}

static struct units_call *units_call_new(struct units_bus *b, struct rec_unit_set *set, size_t unit)
{
	struct units_call *call = calloc(1, sizeof(*call));

	if (call)
		*call = (struct units_call){ .b = b, .set = set, .unit = unit };
	return call;
}

static void units_call_free(void *call)
{
	free(call);
}

/* Send; the call is freed with its slot. */
static int units_send(struct units_call *call, sd_bus_message *m, sd_bus_message_handler_t handler)
{
	sd_bus_slot *slot;
	int r = systemd.bus_call_async(call->b->bus, &slot, m, handler, call,
				       UNITS_LIMIT_S * UINT64_C(1000000));

	if (r < 0) {
		free(call);
		return r;
	}
	systemd.bus_slot_set_destroy_callback(slot, units_call_free);
	systemd.bus_slot_set_floating(slot, 1);
	systemd.bus_slot_unref(slot);
	call->b->pending++;
	return 0;
}

static int units_get(struct units_bus *b, struct rec_unit_set *set, size_t unit, const char *path,
		     const char *interface, const char *property, sd_bus_message_handler_t handler)
{
	sd_bus_message *m = NULL;
	struct units_call *call = units_call_new(b, set, unit);
	int r = call ? systemd.bus_message_new_method_call(b->bus, &m, SYSTEMD, path, PROPERTIES,
							   property ? "Get" : "GetAll")
		     : -ENOMEM;

	if (r >= 0)
		r = property ? systemd.bus_message_append(m, "ss", interface, property)
			     : systemd.bus_message_append(m, "s", interface);
	if (r >= 0)
		r = units_send(call, m, handler);
	else
		free(call);
	systemd.bus_message_unref(m);
	return r;
}

static const char *units_str(sd_bus_message *m, struct arena *arena)
{
	const char *s;

	return systemd.bus_message_read_basic(m, 's', &s) > 0 ? arena_strdup(arena, s) : NULL;
}

/* The value of ExecStart, a(sasbttttuii): the argv of the first command. */
static const char *units_exec(sd_bus_message *m, struct arena *arena)
{
	AUTO_BUF struct buf out = { 0 };
	const char *path, *arg;
	unsigned n = 0;

	systemd.bus_message_enter_container(m, 'a', "(sasbttttuii)");
	for (; systemd.bus_message_enter_container(m, 'r', "sasbttttuii") > 0; n++) {
		systemd.bus_message_read_basic(m, 's', &path);
		systemd.bus_message_enter_container(m, 'a', "s");
		while (systemd.bus_message_read_basic(m, 's', &arg) > 0)
			if (n == 0 && out.len < 8192)
				buf_addf(&out, "%s%s", out.len ? " " : "", arg);
		systemd.bus_message_exit_container(m);
		systemd.bus_message_skip(m, "bttttuii");
		systemd.bus_message_exit_container(m);
	}
	systemd.bus_message_exit_container(m);
	return arena_strdup(arena, buf_str(&out));
}

static void units_set_number(struct rec_service *u, const char *key, uint64_t v)
{
	const uint64_t us_ns = 1000;

	if (strcmp(key, "NRestarts") == 0)
		u->restarts = v, u->have |= REC_UNIT_RESTARTS;
	else if (strcmp(key, "RestartUSec") == 0)
		u->restart_us = v, u->have |= REC_UNIT_RESTART_US;
	else if (strcmp(key, "StartLimitIntervalUSec") == 0 ||
		 strcmp(key, "StartLimitInterval") == 0)
		u->limit_us = v;
	else if (strcmp(key, "StartLimitBurst") == 0)
		u->limit_burst = v, u->have |= REC_UNIT_LIMIT;
	else if (strcmp(key, "ExecMainCode") == 0)
		u->exit_code = v;
	else if (strcmp(key, "ExecMainStatus") == 0)
		u->exit_status = v;
	else if (strcmp(key, "ExecMainStartTimestamp") == 0 && v)
		u->started_ns = v * us_ns, u->have |= REC_UNIT_STARTED;
	else if (strcmp(key, "ExecMainExitTimestamp") == 0 && v)
		u->exited_ns = v * us_ns, u->have |= REC_UNIT_EXITED | REC_UNIT_EXIT;
	else if (strcmp(key, "MainPID") == 0 && v)
		u->pid = v, u->have |= REC_UNIT_PID;
}

static const char **units_string_of(struct rec_service *u, const char *key)
{
	return strcmp(key, "Result") == 0           ? &u->result
	       : strcmp(key, "UnitFileState") == 0  ? &u->file_state
	       : strcmp(key, "UnitFilePreset") == 0 ? &u->preset
	       : strcmp(key, "Restart") == 0        ? &u->restart
	       : strcmp(key, "Type") == 0           ? &u->type
	       : strcmp(key, "ControlGroup") == 0   ? &u->cgroup
	       : strcmp(key, "FragmentPath") == 0   ? &u->fragment
						    : NULL;
}

int units_read_variant(sd_bus_message *m, const char *key, struct rec_service *u,
		       struct arena *arena)
{
	const char *contents;
	char type;
	uint64_t t;
	uint32_t n;
	int32_t i;

	if (systemd.bus_message_peek_type(m, &type, &contents) <= 0 || type != 'v')
		return -EBADMSG;
	const char **string = units_string_of(u, key);
	if (strcmp(contents, "s") == 0 && string) {
		systemd.bus_message_enter_container(m, 'v', contents);
		*string = units_str(m, arena);
		return systemd.bus_message_exit_container(m);
	}
	if (strlen(contents) == 1 && strchr("tui", *contents)) {
		systemd.bus_message_enter_container(m, 'v', contents);
		if (*contents == 't' && systemd.bus_message_read_basic(m, 't', &t) > 0)
			units_set_number(u, key, t);
		else if (*contents == 'u' && systemd.bus_message_read_basic(m, 'u', &n) > 0)
			units_set_number(u, key, n);
		else if (*contents == 'i' && systemd.bus_message_read_basic(m, 'i', &i) > 0 &&
			 i >= 0)
			units_set_number(u, key, (uint64_t)i);
		return systemd.bus_message_exit_container(m);
	}
	if (strcmp(key, "InvocationID") == 0 && strcmp(contents, "ay") == 0) {
		const void *bytes;
		size_t len;
		systemd.bus_message_enter_container(m, 'v', contents);
		if (systemd.bus_message_read_array(m, 'y', &bytes, &len) > 0 && len == 16) {
			char hex[33];
			for (size_t k = 0; k < 16; k++)
				snprintf(hex + 2 * k, 3, "%02x", ((const uint8_t *)bytes)[k]);
			u->invocation = arena_strdup(arena, hex);
		}
		return systemd.bus_message_exit_container(m);
	}
	if (strcmp(key, "ExecStart") == 0 && strcmp(contents, "a(sasbttttuii)") == 0) {
		systemd.bus_message_enter_container(m, 'v', contents);
		u->exec_start = units_exec(m, arena);
		return systemd.bus_message_exit_container(m);
	}
	if (strcmp(key, "ConditionResult") == 0 && strcmp(contents, "b") == 0) {
		int yes;
		systemd.bus_message_read(m, "v", "b", &yes);
		u->condition = yes ? "yes" : "no";
		return 0;
	}
	return systemd.bus_message_skip(m, "v");
}

static int units_on_all(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_call *call = userdata;
	const char *key;

	(void)error;
	if (units_reply_error(call, m))
		return 0;
	struct rec_service *u = &call->set->units.items[call->unit];
	if (systemd.bus_message_enter_container(m, 'a', "{sv}") <= 0)
		return 0;
	while (systemd.bus_message_enter_container(m, 'e', "sv") > 0) {
		if (systemd.bus_message_read_basic(m, 's', &key) <= 0)
			break;
		if (units_read_variant(m, key, u, &call->set->arena) < 0)
			break;
		systemd.bus_message_exit_container(m);
	}
	return 0;
}

static int units_on_restarts(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_call *call = userdata;
	uint32_t n;

	(void)error;
	if (units_reply_error(call, m) || systemd.bus_message_read(m, "v", "u", &n) < 0)
		return 0; /* systemd before 235 has no such property */
	struct rec_service *u = &call->set->units.items[call->unit];
	u->restarts = n;
	u->have |= REC_UNIT_RESTARTS;
	return 0;
}

static int units_on_start_time(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_call *call = userdata;
	uint64_t us;

	(void)error;
	if (!units_reply_error(call, m) && systemd.bus_message_read(m, "v", "t", &us) >= 0)
		call->set->manager_start_ns = us * 1000;
	return 0;
}

static int units_on_version(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_call *call = userdata;
	const char *text;
	uint64_t version;

	(void)error;
	if (!units_reply_error(call, m) && systemd.bus_message_read(m, "v", "s", &text) >= 0 &&
	    text_take_u64(&text, &version) == 0)
		call->set->systemd_version = (unsigned)version;
	return 0;
}

/* a(ssssssouso): name, description, load, active, sub, following, path, job id, type, path */
static int units_on_list(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct units_call *call = userdata;
	struct rec_unit_set *set = call->set;
	const char *name, *load, *active, *sub, *path, *skip;
	uint32_t job;

	(void)error;
	if (units_reply_error(call, m) ||
	    systemd.bus_message_enter_container(m, 'a', "(ssssssouso)") <= 0)
		return 0;
	set->have_units = true;
	while (systemd.bus_message_read(m, "(ssssssouso)", &name, &skip, &load, &active, &sub,
					&skip, &path, &job, &skip, &skip) > 0) {
		/* ListUnits of systemd before 230 gives every type */
		if (!text_ends(name, ".service") || set->units.len >= UNITS_MOST_SERVICES ||
		    rec_units_find(set, name))
			continue;
		struct rec_service *u = rec_units_add(set, name);
		if (!u)
			return 0;
		u->load = arena_strdup(&set->arena, load);
		u->active = arena_strdup(&set->arena, active);
		u->sub = arena_strdup(&set->arena, sub);
		/* one that is dead cannot be in a loop: no call for it */
		if (strcmp(active, "inactive") != 0 && strcmp(load, "loaded") == 0)
			(void)units_get(call->b, set, set->units.len - 1, path, SYSTEMD ".Service",
					"NRestarts", units_on_restarts);
	}
	return 0;
}

static int units_list(struct units_bus *b, struct rec_unit_set *set, bool patterns)
{
	sd_bus_message *m = NULL;
	struct units_call *call = units_call_new(b, set, SIZE_MAX);
	int r = call ? systemd.bus_message_new_method_call(
			       b->bus, &m, SYSTEMD, SYSTEMD_PATH, SYSTEMD ".Manager",
			       patterns ? "ListUnitsByPatterns" : "ListUnits")
		     : -ENOMEM;

	if (r >= 0 && patterns)
		r = systemd.bus_message_append(m, "asas", 0, 1, "*.service");
	if (r >= 0)
		r = units_send(call, m, units_on_list);
	else
		free(call);
	systemd.bus_message_unref(m);
	return r;
}

static bool units_interesting(const struct rec_service *u)
{
	return (u->have & REC_UNIT_RESTARTS && u->restarts) ||
	       (u->active && strcmp(u->active, "failed") == 0) ||
	       (u->sub && strcmp(u->sub, "auto-restart") == 0);
}

static int units_ask_details(struct units_bus *b, struct rec_unit_set *set,
			     bool (*want)(void *arg, const char *name), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < set->units.len && r >= 0; i++) {
		const struct rec_service *u = &set->units.items[i];
		char *path;
		if (!units_interesting(u) && !(want && want(arg, u->name)))
			continue;
		r = systemd.bus_path_encode(SYSTEMD_PATH "/unit", u->name, &path);
		if (r < 0)
			break;
		r = units_get(b, set, i, path, SYSTEMD ".Service", NULL, units_on_all);
		if (r >= 0)
			r = units_get(b, set, i, path, SYSTEMD ".Unit", NULL, units_on_all);
		free(path);
	}
	return r;
}

/* Who the manager is, and its list, which asks for the counters as it comes. */
static int units_ask_list(struct units_bus *b, struct rec_unit_set *set)
{
	b->deadline_ns = clock_mono_ns() + UNITS_LIMIT_S * NS_PER_S;
	b->r = 0;
	int r = units_get(b, set, 0, SYSTEMD_PATH, SYSTEMD ".Manager", "UserspaceTimestamp",
			  units_on_start_time);
	if (r >= 0)
		r = units_get(b, set, 0, SYSTEMD_PATH, SYSTEMD ".Manager", "Version",
			      units_on_version);
	return r < 0 ? r : units_list(b, set, true);
}

int units_bus_ask(struct units_bus *b, struct rec_unit_set *set, struct err *err)
{
	int r = units_ask_list(b, set);

	b->asked = set;
	b->details = false;
	return r < 0 ? units_fail(err, r, "listing units") : 0;
}

int units_bus_ready(struct units_bus *b, struct err *err)
{
	if (!b->asked)
		return 0;
	if (b->r == -EOPNOTSUPP && !b->details) { /* systemd before 230 */
		b->r = 0;
		int r = units_list(b, b->asked, false);
		if (r < 0)
			return units_fail(err, r, "listing units");
	}
	if (b->r < 0)
		return units_fail(err, b->r, "reading units");
	if (b->pending)
		return clock_mono_ns() >= b->deadline_ns
			       ? units_fail(err, -ETIMEDOUT, "reading units")
			       : 0;
	if (!b->details) {
		b->details = true;
		int r = units_ask_details(b, b->asked, NULL, NULL);
		if (r < 0)
			return units_fail(err, r, "reading units");
		if (b->pending)
			return 0;
	}
	b->asked = NULL;
	return 1;
}

int units_bus_sweep(struct units_bus *b, bool (*want)(void *arg, const char *name), void *arg,
		    struct rec_unit_set *set, struct err *err)
{
	int r = units_ask_list(b, set);

	if (r >= 0)
		r = units_run(b);
	if (r == -EOPNOTSUPP) { /* systemd before 230 */
		b->r = 0;
		r = units_list(b, set, false);
		if (r >= 0)
			r = units_run(b);
	}
	if (r < 0)
		return units_fail(err, r, "listing units");
	r = units_ask_details(b, set, want, arg);
	if (r >= 0)
		r = units_run(b);
	return r < 0 ? units_fail(err, r, "reading units") : 0;
}
