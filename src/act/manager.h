/* The service manager, asked to change something. Reading units is source/units_dbus.h; this is the
 * other half. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct manager;

struct manager_unit {
	char active[32];         /* active, activating, inactive, failed ... */
	char file_state[32];     /* enabled, disabled, masked ... ; "" = no file */
	char fragment[512];      /* path of the unit file */
	char control_group[512]; /* "" = none at the moment */
	bool loaded;
};

/* Whether pid 1 is systemd. */
bool manager_is_there(void);
/* systemd's private socket when root, else the system bus. -ENOENT with a reason when pid 1 is not
 * systemd. */
int manager_open(struct manager **ret, struct err *err);
void manager_close(struct manager *m);
int manager_unit_get(struct manager *m, const char *unit, struct manager_unit *ret,
		     struct err *err);
/* Ask for it and wait until the unit is inactive or failed; -ETIMEDOUT after timeout_ns. */
int manager_stop(struct manager *m, const char *unit, uint64_t timeout_ns, struct err *err);
int manager_start(struct manager *m, const char *unit, struct err *err);
/* A scope of its own in the slice, with memory accounting, that holds the process. */
int manager_make_scope(struct manager *m, const char *scope, const char *slice, pid_t pid,
		       struct err *err);
int manager_reload(struct manager *m, struct err *err);

static inline void manager_close_p(struct manager **m)
{
	manager_close(*m);
}
#define AUTO_MANAGER __attribute__((cleanup(manager_close_p)))
