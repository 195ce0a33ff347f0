#include "recorder_meter.h"

#include <sys/resource.h>
#include <unistd.h>

#include "text.h"
#include "timefmt.h"

void recorder_meter_open(struct recorder_meter *m, const struct root *root)
{
	if (reread_open(&m->statm, root, "proc/self/statm", NULL) < 0)
		m->statm.fd = -1;
	m->statm.whole = true;
}

void recorder_meter_close(struct recorder_meter *m)
{
	if (m->statm.path)
		reread_close(&m->statm);
	buf_free(&m->text);
}

void recorder_meter_read(struct recorder_meter *m, struct rec_self *self)
{
	struct rusage usage;
	uint64_t pages;

	self->cpu_ns = clock_cpu_ns();
	self->have |= REC_SELF_CPU | REC_SELF_TICKS | REC_SELF_MISSED | REC_SELF_LATENESS |
		      REC_SELF_SHED | REC_SELF_STORE | REC_SELF_LOST;
	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		self->major_faults = (uint64_t)usage.ru_majflt;
		self->have |= REC_SELF_FAULTS;
	}
	if (m->statm.fd >= 0 && reread_text(&m->statm, &m->text, NULL) >= 0 &&
	    text_column_u64(buf_str(&m->text), 1, &pages) == 0) {
		self->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
		self->have |= REC_SELF_RSS;
	}
}
