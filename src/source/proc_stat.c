#include "proc_stat.h"

#include <errno.h>
#include <string.h>

#include "rec_cpu.h"
#include "rec_load.h"
#include "scan.h"

enum { PROC_STAT_FIELDS = 10, PROC_STAT_MOST_CPUS = 65536 };

/* usr nice sys idle iowait irq softirq steal guest guest_nice, as many as this kernel has. */
static const char *proc_stat_times(const char *p, struct rec_cpu *row)
{
	uint64_t *const places[PROC_STAT_FIELDS] = {
		&row->usr, &row->nice,    &row->sys,   &row->idle,  &row->iowait,
		&row->irq, &row->softirq, &row->steal, &row->guest, &row->guest_nice,
	};
	for (unsigned i = 0; i < PROC_STAT_FIELDS; i++) {
		const char *next = scan_next_u64(p, places[i]);
		if (!next)
			break;
		row->have |= (uint64_t)REC_CPU_USR << i;
		p = next;
	}
	return p;
}

static const char *proc_stat_cores(const char *text, struct tick *t)
{
	const char *line = text;

	for (; strncmp(line, "cpu", 3) == 0; line = scan_line(line)) {
		struct rec_cpu *row;
		uint64_t cpu;
		if (!scan_is_digit(line[3]))
			continue; /* the sum of all: rates add up what the cores say themselves */
		const char *p = scan_u64(line + 3, &cpu);
		if (*p != ' ' || cpu >= PROC_STAT_MOST_CPUS)
			continue;
		row = tick_add_row(t, REC_CPU);
		if (!row)
			break;
		row->cpu = cpu;
		row->have = REC_CPU_ID;
		line = proc_stat_times(p, row);
	}
	return line;
}

int proc_stat_parse(const char *text, struct tick *ret, struct err *err)
{
	static const struct {
		const char *key;
		size_t len, offset;
		uint64_t bit;
	} rest[] = {
		{ "intr ", 5, offsetof(struct rec_load, intr), REC_LOAD_INTR },
		{ "ctxt ", 5, offsetof(struct rec_load, ctxt), REC_LOAD_CTXT },
		{ "btime ", 6, offsetof(struct rec_load, btime_s), REC_LOAD_BTIME_S },
		{ "processes ", 10, offsetof(struct rec_load, forks), REC_LOAD_FORKS },
		{ "procs_running ", 14, offsetof(struct rec_load, runnable), REC_LOAD_RUNNABLE },
		{ "procs_blocked ", 14, offsetof(struct rec_load, blocked), REC_LOAD_BLOCKED },
	};
	const char *line = proc_stat_cores(text, ret);

	if (!ret->rows[REC_CPU].len)
		return err_set(err, -ENODATA, "/proc/stat: no line of any core");
	struct rec_load *load = tick_only_row(ret, REC_LOAD);
	if (!load)
		return err_set(err, -ENOMEM, "out of memory");
	for (; *line; line = scan_line(line)) {
		for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
			if (strncmp(line, rest[i].key, rest[i].len) != 0)
				continue;
			if (scan_next_u64(line + rest[i].len,
					  (uint64_t *)((char *)load + rest[i].offset)))
				load->have |= rest[i].bit;
			break;
		}
	}
	return 0;
}
