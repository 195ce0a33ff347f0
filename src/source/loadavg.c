#include "loadavg.h"

#include <errno.h>

#include "rec_load.h"
#include "scan.h"

int loadavg_parse(const char *text, struct tick *ret, struct err *err)
{
	uint64_t loads[3], runnable, tasks;
	const char *p = text;

	for (unsigned i = 0; i < 3; i++) {
		p = scan_hundredths(scan_blanks(p), &loads[i]);
		if (!p)
			return err_set(err, -ENODATA, "/proc/loadavg: less than three averages");
	}
	struct rec_load *row = tick_only_row(ret, REC_LOAD);
	if (!row)
		return err_set(err, -ENOMEM, "out of memory");
	row->load1_x100 = loads[0];
	row->load5_x100 = loads[1];
	row->load15_x100 = loads[2];
	row->have |= REC_LOAD_LOAD1_X100 | REC_LOAD_LOAD5_X100 | REC_LOAD_LOAD15_X100;
	p = scan_next_u64(p, &runnable);
	if (p && *p == '/' && scan_is_digit(p[1])) {
		scan_u64(p + 1, &tasks);
		row->tasks = tasks;
		row->have |= REC_LOAD_TASKS;
		if (!(row->have & REC_LOAD_RUNNABLE)) {
			row->runnable = runnable;
			row->have |= REC_LOAD_RUNNABLE;
		}
	}
	return 0;
}

int loadavg_last_pid(const char *text, uint64_t *ret)
{
	const char *p = scan_blanks(text);

	for (unsigned i = 0; i < 4; i++)
		p = scan_skip_word(p);
	return scan_next_u64(p, ret) ? 0 : -ENODATA;
}
