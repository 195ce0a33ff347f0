/* Facts from the census: whose the zombies are. The last one recorded up to the window's end; live,
 * one is taken now. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "census_summary.h"
#include "collect.h"
#include "offer.h"
#include "timefmt.h"
#include "zombies.h"

enum { COLLECT_MOST_OWNERS = 64 };
static const uint64_t collect_census_age_ns = 5 * NS_PER_S;

/* The container's name, where the engine told it: every zombie of one directory may be of one
 * container that is recreated. */
static const char *census_container(const struct collected *c, const struct census_group *g)
{
	vec_foreach (&c->facts.containers, k)
		if (g->parent && k->parent && strcmp(k->parent, g->parent) == 0 && k->creates > 2)
			return k->name;
	return NULL;
}

int collect_census_of(const struct census_summary *s, struct collected *c)
{
	struct facts *f = &c->facts;

	/* A census is taken once a minute, ticks every second: an older one must not overrule what
	 * came after it. */
	if (f->have & FACT_MEMCG && s->time_ns + collect_census_age_ns < f->to_ns &&
	    (double)s->dying < 0.7 * (double)f->dying)
		return 0;
	if ((s->have & CENSUS_COUNT_KNOWN) == CENSUS_COUNT_KNOWN && !(f->have & FACT_MEMCG)) {
		f->tracked = s->tracked;
		f->alive = s->live;
		f->dying = s->dying;
		f->have |= FACT_MEMCG;
	}
	if (s->have & CENSUS_BYTES)
		f->zombie_bytes = s->bytes;
	if (!(s->have & CENSUS_GROUPS))
		return 0;
	f->have |= FACT_CENSUS;
	for (size_t i = 0; i < s->groups.len && i < COLLECT_MOST_OWNERS; i++) {
		const struct census_group *g = &s->groups.items[i];
		struct fact_owner owner = {
			.owner = collect_text(c, g->owner),
			.kind = owner_kind_name(g->kind),
			.unit = collect_text(c, g->unit),
			.container = census_container(c, g),
			.count = g->count,
			.bytes = g->bytes,
		};
		owner.owner = owner.owner ? owner.owner : "nobody";
		if (!vec_push(&f->owners, owner))
			return -ENOMEM;
	}
	return 0;
}

static int census_live(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	struct zombies_options want = { 0 };
	struct census_totals totals;
	struct offer offer;

	offer_read(w->live, &offer);
	int r = zombies_read(w->live, &offer, &want, NULL, &s, &totals, &c->unknown, err);
	return r < 0 ? r : collect_census_of(&s, c);
}

int collect_census(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary last = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	if (w->live)
		return census_live(w, c, err);
	int r = collect_last_frame(w, FRAME_CENSUS, &bytes, err);
	if (r < 0)
		return r;
	if (census_summary_decode(bytes.data, bytes.len, &last) < 0)
		return err_set(err, -EBADMSG, "the recorded census cannot be read");
	return collect_census_of(&last, c);
}
