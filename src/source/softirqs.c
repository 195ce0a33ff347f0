#include "softirqs.h"

#include <errno.h>
#include <string.h>

#include "rec_softirq.h"
#include "scan.h"

enum { SOFTIRQS_MOST_CPUS = 65536 };

static int softirqs_head(const char *p, struct tick *t)
{
	uint64_t cpu;

	for (p = scan_blanks(p); strncmp(p, "CPU", 3) == 0; p = scan_blanks(p)) {
		p += 3;
		if (!scan_is_digit(*p))
			return -EBADMSG;
		p = scan_u64(p, &cpu);
		struct rec_softirq *row =
			cpu < SOFTIRQS_MOST_CPUS ? tick_add_row(t, REC_SOFTIRQ) : NULL;
		if (!row)
			return -ENOMEM;
		row->cpu = cpu;
		row->have = REC_SOFTIRQ_CPU;
	}
	return t->rows[REC_SOFTIRQ].len ? 0 : -ENODATA;
}

int softirqs_parse(const char *text, struct tick *ret, struct err *err)
{
	static const struct {
		const char *name;
		size_t offset;
		uint64_t bit;
	} kinds[] = {
		{ "HI:", offsetof(struct rec_softirq, hi), REC_SOFTIRQ_HI },
		{ "TIMER:", offsetof(struct rec_softirq, timer), REC_SOFTIRQ_TIMER },
		{ "NET_TX:", offsetof(struct rec_softirq, net_tx), REC_SOFTIRQ_NET_TX },
		{ "NET_RX:", offsetof(struct rec_softirq, net_rx), REC_SOFTIRQ_NET_RX },
		{ "BLOCK:", offsetof(struct rec_softirq, block), REC_SOFTIRQ_BLOCK },
		{ "IRQ_POLL:", offsetof(struct rec_softirq, irq_poll), REC_SOFTIRQ_IRQ_POLL },
		{ "TASKLET:", offsetof(struct rec_softirq, tasklet), REC_SOFTIRQ_TASKLET },
		{ "SCHED:", offsetof(struct rec_softirq, sched), REC_SOFTIRQ_SCHED },
		{ "HRTIMER:", offsetof(struct rec_softirq, hrtimer), REC_SOFTIRQ_HRTIMER },
		{ "RCU:", offsetof(struct rec_softirq, rcu), REC_SOFTIRQ_RCU },
	};
	int r = softirqs_head(text, ret);

	if (r < 0)
		return err_set(err, r, "/proc/softirqs: no line of cores");
	for (const char *line = scan_line(text); *line; line = scan_line(line)) {
		const char *p = scan_blanks(line);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			size_t len = strlen(kinds[k].name);
			if (strncmp(p, kinds[k].name, len) != 0)
				continue;
			p += len;
			for (size_t i = 0; p && i < ret->rows[REC_SOFTIRQ].len; i++) {
				struct rec_softirq *row =
					TICK_ROW(ret, REC_SOFTIRQ, rec_softirq, i);
				p = scan_next_u64(p, (uint64_t *)((char *)row + kinds[k].offset));
				if (p)
					row->have |= kinds[k].bit;
			}
			break;
		}
	}
	return 0;
}
