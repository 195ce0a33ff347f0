#include "record_parts.h"

#include "record_churn.h"
#include "record_events.h"
#include "record_ticks.h"
#include "record_totals.h"
#include "record_units.h"

static void record_parts_add(struct record_parts *p, const struct recorder_part *part,
			     const void *options)
{
	if (p->n < RECORDER_MOST_PARTS)
		p->list[p->n++] = (struct recorder_use){ .part = part, .options = options };
}

void record_parts_fill(struct record_parts *p, unsigned hz, bool no_profile)
{
	*p = (struct record_parts){ .profile = { .hz = hz } };
	record_parts_add(p, &record_ticks, NULL);
	record_parts_add(p, &record_totals, NULL);
	record_parts_add(p, &record_units, NULL);
	record_parts_add(p, &record_events, NULL);
	record_parts_add(p, &record_churn, NULL);
	if (!no_profile)
		record_parts_add(p, &record_profile, &p->profile);
}
