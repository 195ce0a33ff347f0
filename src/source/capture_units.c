#include "capture_units.h"

#include <errno.h>
#include <string.h>

#include "docker_api.h"
#include "journal.h"
#include "units_dbus.h"

void capture_unit_states(const struct root *root, struct buf *out, struct unknowns *unknowns)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	struct units_bus *bus = NULL;
	struct err err = { 0 };

	if (!root_exists(root, "run/systemd/system"))
		return;
	int r = units_bus_open(&bus, &err);
	if (r == 0)
		r = units_bus_sweep(bus, NULL, NULL, &set, &err);
	units_bus_close(bus);
	if (r < 0) {
		unknowns_add(unknowns, "unit states", "%s", err.text);
		return;
	}
	(void)journal_read(&set, NULL);
	docker_read(root, &set);
	vec_foreach (&set.units, u)
		if (u->exec_start)
			u->exec_start = arena_strndup(&set.arena, u->exec_start,
						      strcspn(u->exec_start, " "));
	rec_units_encode(out, &set);
}
