/* What the files that speak with systemd share: units_dbus.c asks, units_watch.c listens. */
#pragma once

#include "systemd_library.h"
#include "units_dbus.h"

#define SYSTEMD      "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define PROPERTIES   "org.freedesktop.DBus.Properties"

struct units_bus {
	sd_bus *bus;
	uint64_t deadline_ns;
	unsigned pending;
	int r;                      /* first error of a reply */
	struct rec_unit_set *asked; /* by units_bus_ask */
	bool details;               /* of them are on their way */
	void (*changed)(void *arg, const struct units_change *change);
	void *changed_arg;
};

int units_fail(struct err *err, int r, const char *what);
/* The variant that the message is at: a property of a unit, into *u. Others are skipped. */
int units_read_variant(sd_bus_message *m, const char *key, struct rec_service *u,
		       struct arena *arena);
