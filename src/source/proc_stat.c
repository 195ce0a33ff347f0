#include "proc_stat.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "rec_cpu.h"
#include "rec_load.h"
#include "scan.h"
#include "tick_path.h"

enum { PROC_STAT_FIELDS = 10, PROC_STAT_MOST_CPUS = 65536 };

static_assert(offsetof(struct rec_cpu, guest_nice) - offsetof(struct rec_cpu, cpu) ==
		      PROC_STAT_FIELDS * sizeof(uint64_t),
	      "the core's number and its times lie side by side, in the kernel's order");

/* usr nice sys idle iowait irq softirq steal guest guest_nice, as many as this kernel has. */
static const char *proc_stat_times(const char *p, struct rec_cpu *row)
{
	char *place = (char *)row + offsetof(struct rec_cpu, usr);
	bool too_large = false;
	unsigned n = 0;

	for (; n < PROC_STAT_FIELDS; n++, place += sizeof(uint64_t)) {
		uint64_t value;
		const char *next = scan_next_u64(p, &value);
		if (!next)
			break;
		p = next;
		too_large |= value == UINT64_MAX;
		memcpy(place, &value, sizeof(value));
	}
	p = scan_blanks(p);
	/* ends in what is no number: not the line of an older kernel, and nothing to count with */
	if (too_large || (n < PROC_STAT_FIELDS && *p != '\n' && *p != '\0'))
		n = 0;
	row->have = REC_CPU_ID | ((1U << n) - 1) * REC_CPU_USR;
	return p;
}

/* A line that is not quite what today's kernels write; returns the next. */
static const char *proc_stat_odd_line(const char *line, struct tick *t)
{
	uint64_t cpu;
	const char *p = scan_u64(line + 3, &cpu);
	/* the sum of all has no number: rates add up what the cores say themselves */
	struct rec_cpu *row =
		p == line + 3 || cpu >= PROC_STAT_MOST_CPUS ? NULL : tick_add_row(t, REC_CPU);

	if (row) {
		row->cpu = cpu;
		p = proc_stat_times(p, row);
	}
	return scan_line(p);
}

/* A line as today's kernels write it; returns its end. NULL = it is another. */
static inline const char *proc_stat_line(const char *text, const char *line, const char *end,
					 struct rec_cpu *row)
{
	const char *p = scan_numbers(text, line + 3, end, PROC_STAT_FIELDS,
				     (char *)row + offsetof(struct rec_cpu, cpu));

	if (!p)
		return NULL;
	row->have = (REC_CPU_GUEST_NICE << 1) - 1;
	row->guest_nice = 0; /* nearly always */
	if (p[0] == '0' && p[1] == '\n')
		return p + 1;
	p = scan_next_u64(p, &row->guest_nice);
	return p && *p == '\n' && row->guest_nice != UINT64_MAX ? p : NULL;
}

EVERY_TICK static const char *proc_stat_cores(const char *text, size_t len, struct tick *t)
{
	const char *line = text, *end = text + len;
	struct rec_rows *rows = &t->rows[REC_CPU];

	while (line[0] == 'c' && line[1] == 'p' && line[2] == 'u') {
		if (rows->len == rows->cap && !tick_next_row(t, &rec_cpu_desc))
			break;
		struct rec_cpu *row = TICK_ROW(t, REC_CPU, rec_cpu, rows->len);
		const char *p = proc_stat_line(text, line, end, row);
		if (p && row->cpu < PROC_STAT_MOST_CPUS) {
			rows->len++;
			line = p + 1;
		} else {
			line = proc_stat_odd_line(line, t);
		}
	}
	return line;
}

RARELY static int proc_stat_no_core(struct err *err)
{
	return err_set(err, -ENODATA, "/proc/stat: no line of any core");
}

EVERY_TICK int proc_stat_parse_cores(const char *text, size_t len, struct tick *ret,
				     struct err *err)
{
	proc_stat_cores(text, len, ret);
	return ret->rows[REC_CPU].len ? 0 : proc_stat_no_core(err);
}

EVERY_TICK int proc_stat_parse(const char *text, struct tick *ret, struct err *err)
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
	const char *line = proc_stat_cores(text, strlen(text), ret);

	if (!ret->rows[REC_CPU].len)
		return proc_stat_no_core(err);
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
