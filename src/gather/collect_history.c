/* Facts from the recorder's own store: how fast zombies grew over the last day. A live answer looks
 * there too, so that half a minute of watching is not all that it knows. */
#include <errno.h>

#include "auto.h"
#include "census_history.h"
#include "collect.h"
#include "growth.h"
#include "timefmt.h"

static const uint64_t history_reach_ns = 86400 * NS_PER_S;
/* Shorter than this, growth is noise; older than this, it is not of now. */
static const uint64_t history_least_ns = 600 * NS_PER_S;

int collect_history(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO(census_history_free) struct census_history history = { 0 };
	struct growth growth = { 0 };

	if (c->facts.have & FACT_HISTORY)
		return 0; /* the window itself is long enough */
	if (!w->history_dir)
		return err_set(err, -ENODATA, "there is no recording");
	int r = census_history_read(w->history_dir, w->to_ns, history_reach_ns, &history, err);
	if (r < 0)
		return r;
	/* how fast, not when it hurts */
	growth_compute(history.list.items, history.list.len, 0,
		       &(struct growth_onset){ .basis = GROWTH_BY_NOTHING }, &growth);
	if (!growth.known || growth.to_ns - growth.from_ns < history_least_ns ||
	    growth.to_ns + history_least_ns < w->to_ns)
		return err_set(err, -ENODATA, "the recording is too short to tell growth");
	c->facts.zombies_per_hour = growth.rate_per_hour;
	c->facts.have |= FACT_HISTORY;
	return 0;
}
