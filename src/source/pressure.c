#include "pressure.h"

#include <errno.h>
#include <string.h>

#include "scan.h"

const char *pressure_path(enum pressure_resource resource)
{
	static const char *const paths[PRESSURE_END] = {
		[PRESSURE_CPU] = "proc/pressure/cpu",
		[PRESSURE_MEMORY] = "proc/pressure/memory",
		[PRESSURE_IO] = "proc/pressure/io",
		[PRESSURE_IRQ] = "proc/pressure/irq",
	};
	return paths[resource];
}

/* avg10=15.08 avg60=18.00 avg300=8.19 total=61230411 */
static const char *pressure_line(const char *p, uint64_t *const places[4], uint64_t first_bit,
				 uint64_t *have)
{
	static const char *const keys[4] = { "avg10=", "avg60=", "avg300=", "total=" };

	for (unsigned i = 0; i < 4; i++) {
		size_t len = strlen(keys[i]);
		p = scan_blanks(p);
		if (strncmp(p, keys[i], len) != 0)
			break;
		const char *next = i < 3 ? scan_hundredths(p + len, places[i])
					 : scan_next_u64(p + len, places[i]);
		if (!next)
			break;
		*have |= first_bit << i;
		p = next;
	}
	return p;
}

int pressure_parse(const char *text, enum pressure_resource resource, struct tick *ret,
		   struct err *err)
{
	struct rec_pressure row = { .resource = resource };
	uint64_t *const some[4] = { &row.some_avg10, &row.some_avg60, &row.some_avg300,
				    &row.some_total };
	uint64_t *const full[4] = { &row.full_avg10, &row.full_avg60, &row.full_avg300,
				    &row.full_total };

	for (const char *line = text; *line; line = scan_line(line)) {
		if (strncmp(line, "some ", 5) == 0)
			line = pressure_line(line + 5, some, REC_PRESSURE_SOME_AVG10, &row.have);
		else if (strncmp(line, "full ", 5) == 0)
			line = pressure_line(line + 5, full, REC_PRESSURE_FULL_AVG10, &row.have);
	}
	if (!row.have)
		return err_set(err, -ENODATA, "/%s: neither some nor full",
			       pressure_path(resource));
	struct rec_pressure *place = tick_add_row(ret, REC_PRESSURE);
	if (!place)
		return err_set(err, -ENOMEM, "out of memory");
	row.have |= REC_PRESSURE_RESOURCE;
	*place = row;
	return 0;
}
