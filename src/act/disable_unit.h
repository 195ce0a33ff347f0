/* Keep a unit off: stop it, wait until its cgroup is empty, and make sure that neither an upgrade
 * nor a first boot brings it back. */
#pragma once

#include <stdint.h>

#include "manager.h"
#include "root.h"
#include "undo.h"

enum disable_how {
	DISABLE_MASK,   /* /etc/systemd/system/UNIT -> /dev/null */
	DISABLE_PRESET, /* mask, and a preset that disables it in images made from this host */
	DISABLE_DROPIN, /* leave it, but never restart it: UNIT.d/00-zombiescope.conf */
};

/* Told as each step is done, for people. */
typedef void (*disable_told)(void *arg, const char *what);

/* m may be NULL when root is an unbooted image: then only files are changed. */
int disable_unit(struct undo *u, struct manager *m, const struct root *root, const char *unit,
		 enum disable_how how, uint64_t drain_timeout_ns, disable_told told, void *arg,
		 struct err *err);
