/* CPU time of one sweep over all services (the mean of N, each with its own connection), or of the
 * watch while nothing happens. Prints milliseconds. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timefmt.h"
#include "units_dbus.h"

static void ignore(void *arg, const struct units_change *change)
{
	(void)change;
	++*(unsigned *)arg;
}

static int idle(void)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	struct units_bus *bus;
	struct err err = { 0 };
	unsigned changes = 0;

	if (units_bus_open(&bus, &err) < 0 || units_bus_watch(bus, ignore, &changes, &err) < 0 ||
	    units_bus_sweep(bus, NULL, NULL, &set, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	uint64_t before = clock_cpu_ns(), end = clock_mono_ns() + 5 * NS_PER_S;
	for (uint64_t now; (now = clock_mono_ns()) < end;) {
		struct pollfd p = { .fd = units_bus_fd(bus), .events = POLLIN };
		if (poll(&p, 1, (int)((end - now) / NS_PER_MS + 1)) > 0)
			units_bus_dispatch(bus, NULL);
	}
	printf("%.4f\n", (double)(clock_cpu_ns() - before) / 1e6);
	units_bus_close(bus);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
	struct err err = { 0 };

	if (argc > 1 && strcmp(argv[1], "idle") == 0)
		return idle();
	uint64_t before = clock_cpu_ns();
	for (unsigned i = 0; i < n; i++) {
		AUTO_REC_UNITS struct rec_unit_set set = { 0 };
		struct units_bus *bus;
		if (units_bus_open(&bus, &err) < 0 ||
		    units_bus_sweep(bus, NULL, NULL, &set, &err) < 0 || set.units.len < 50) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		units_bus_close(bus);
	}
	printf("%.3f\n", (double)(clock_cpu_ns() - before) / 1e6 / n);
	return 0;
}
