#include "softnet.h"

#include <errno.h>

#include "rec_softnet.h"
#include "scan.h"
#include "text.h"

enum { SOFTNET_MOST_COLUMNS = 16 };

/* Columns: 0 processed, 1 dropped, 2 squeezed, 9 rps, 10 flow limit (3.11), 11 backlog and 12 core
 * (5.10). Lines of offline cores are missing, so the line number is no core number where column 12
 * tells better. */
static void softnet_fill(struct rec_softnet *row, const uint64_t *columns, unsigned n)
{
	row->processed = columns[0];
	row->dropped = columns[1];
	row->squeezed = columns[2];
	row->have |= REC_SOFTNET_PROCESSED | REC_SOFTNET_DROPPED | REC_SOFTNET_SQUEEZED;
	if (n > 9) {
		row->rps = columns[9];
		row->have |= REC_SOFTNET_RPS;
	}
	if (n > 10) {
		row->flow_limit = columns[10];
		row->have |= REC_SOFTNET_FLOW_LIMIT;
	}
	if (n > 12) {
		row->backlog = columns[11];
		row->cpu = columns[12];
		row->have |= REC_SOFTNET_BACKLOG;
	}
}

int softnet_parse(const char *text, struct tick *ret, struct err *err)
{
	uint64_t columns[SOFTNET_MOST_COLUMNS];
	uint64_t line_number = 0;

	for (const char *p = text; *p; p = scan_line(p), line_number++) {
		unsigned n = 0;
		for (p = scan_blanks(p); n < SOFTNET_MOST_COLUMNS; p = scan_blanks(p), n++)
			if (text_take_hex(&p, &columns[n]) < 0)
				break;
		if (n < 3)
			continue;
		struct rec_softnet *row = tick_add_row(ret, REC_SOFTNET);
		if (!row)
			return err_set(err, -ENOMEM, "out of memory");
		row->cpu = line_number;
		row->have = REC_SOFTNET_CPU;
		softnet_fill(row, columns, n);
	}
	if (!ret->rows[REC_SOFTNET].len)
		return err_set(err, -ENODATA, "/proc/net/softnet_stat: no line");
	return 0;
}
