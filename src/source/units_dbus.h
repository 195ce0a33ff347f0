/* Live units over D-Bus: systemd's private socket when we are root, else the system bus. All calls
 * are sent at once and answered under one limit of 2 s; a bus that is absent, denies or hangs is
 * named. In `record` the same connection stays open and only signals cost anything. */
#pragma once

#include "rec_units.h"
#include "root.h"

struct units_bus;

enum { UNITS_LIMIT_S = 2 };

int units_bus_open(struct units_bus **ret, struct err *err);
void units_bus_close(struct units_bus *b);
/* All services with their restart counters; details (exit code, policy, cgroup, ExecStart, file
 * state) only of those that restarted, failed, wait for a restart, or whose name want() asks for.
 * want may be NULL. */
int units_bus_sweep(struct units_bus *b, bool (*want)(void *arg, const char *name), void *arg,
		    struct rec_unit_set *set, struct err *err);

/* The same without waiting: the replies are handled by units_bus_dispatch. `set` must live until
 * units_bus_ready() tells 1 (all is there), or a negative error: an answer denied, or none within
 * the limit. 0 = still on its way. */
int units_bus_ask(struct units_bus *b, struct rec_unit_set *set, struct err *err);
int units_bus_ready(struct units_bus *b, struct err *err);

/* A change that systemd announced. Strings live until the callback returns; NULL = not told. */
struct units_change {
	const char *unit;
	const char *active, *sub, *result;
	const char *invocation; /* hex id of the activation */
	const char *job; /* how a job of the unit ended: "done", "failed", "dependency" ... */
	bool have_restarts, have_exit;
	uint64_t restarts, exit_code, exit_status;
	bool reloaded; /* unit files changed: unit is NULL */
};
int units_bus_watch(struct units_bus *b, void (*changed)(void *arg, const struct units_change *),
		    void *arg, struct err *err);
int units_bus_fd(struct units_bus *b);
/* Handle what has arrived; -ENOTCONN when the manager went away. */
int units_bus_dispatch(struct units_bus *b, struct err *err);

/* When D-Bus is away: `systemctl show`, run without a shell and with the same limit. */
int units_show_read(struct rec_unit_set *set, struct err *err);
/* Pure: its output, blocks of KEY=VALUE divided by empty lines. */
int units_show_parse(const char *text, size_t len, struct rec_unit_set *set, struct err *err);
