/* Facts from the recorded churn: who makes memory cgroups, how fast, and how many stay behind. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "churn_summary.h"
#include "collect.h"

struct churn_sum {
	struct fact_churn fact;
	uint64_t made, removed, released;
	uint64_t young; /* of the last frame: on their way, not left behind */
};

struct churn_sums {
	VEC(struct churn_sum) list;
	uint64_t from_ns, to_ns;
	bool releases_unknown; /* names came from inotify, which does not tell */
};

/* Whose doing it is. The creator of a container's cgroup is the runtime: blaming its unit would
 * blame the engine. */
static const char *churn_unit(struct collected *c, const struct churn_group *g)
{
	if (g->unit)
		return collect_text(c, g->unit);
	return g->kind == OWNER_NONE || g->kind == OWNER_LAB ? collect_unit_of(c, g->creator_cgroup)
							     : NULL;
}

static struct churn_sum *churn_find(struct churn_sums *s, struct collected *c,
				    const struct churn_group *g)
{
	vec_foreach (&s->list, it)
		if (strcmp(it->fact.owner, g->owner) == 0)
			return it;
	struct churn_sum fresh = { .fact = {
					   .parent = collect_text(c, g->parent),
					   .owner = collect_text(c, g->owner),
					   .unit = churn_unit(c, g),
					   .creator = collect_text(c, g->creator),
				   } };
	fresh.fact.parent = fresh.fact.parent ? fresh.fact.parent : "/";
	if (!fresh.fact.owner || !vec_push(&s->list, fresh))
		return NULL;
	return &s->list.items[s->list.len - 1];
}

static int churn_add(struct churn_sums *s, struct collected *c, const struct churn_summary *frame)
{
	s->from_ns = s->from_ns ? MIN_OF(s->from_ns, frame->from_ns) : frame->from_ns;
	s->to_ns = MAX_OF(s->to_ns, frame->to_ns);
	s->releases_unknown |= !frame->creators_known;
	vec_foreach (&s->list, it)
		it->young = 0; /* what was young then is a zombie or gone by now */
	vec_foreach (&frame->groups, g) {
		struct churn_sum *sum = g->owner ? churn_find(s, c, g) : NULL;
		if (!sum)
			return -ENOMEM;
		sum->made += g->made;
		sum->removed += g->removed;
		sum->released += g->released;
		sum->young = g->young;
	}
	return 0;
}

static int churn_read(const struct collect_window *w, struct collected *c, struct churn_sums *s,
		      struct err *err)
{
	struct store_reader *reader = stream_store(w->stream);
	struct frame frame;

	int r = store_reader_seek(reader, w->from_ns, w->to_ns, FRAME_BIT(FRAME_CHURN), err);
	while (r >= 0 && (r = store_reader_next(reader, &frame, err)) > 0) {
		AUTO_CHURN_SUMMARY struct churn_summary one = { 0 };
		if (churn_summary_decode(frame.payload, frame.len, &one) < 0)
			continue;
		r = churn_add(s, c, &one);
	}
	return r;
}

int collect_churn(const struct collect_window *w, struct collected *c, struct err *err)
{
	struct churn_sums s = { 0 };
	int64_t left_all = 0;

	int r = churn_read(w, c, &s, err);
	double minutes = (double)(s.to_ns - s.from_ns) / 60e9;
	if (r >= 0 && minutes <= 0)
		r = err_set(err, -ENODATA, "cgroup churn was not recorded");
	vec_foreach (&s.list, it) {
		if (r < 0)
			break;
		it->fact.made_per_min = (double)it->made / minutes;
		it->fact.removed_per_min = (double)it->removed / minutes;
		uint64_t gone = s.releases_unknown ? it->removed : it->released + it->young;
		it->fact.left = it->removed > gone ? it->removed - gone : 0;
		it->fact.from_ns = s.from_ns;
		it->fact.to_ns = s.to_ns;
		left_all += (int64_t)it->removed - (int64_t)gone;
		if (!vec_push(&c->facts.churn, it->fact))
			r = -ENOMEM;
	}
	vec_free(&s.list);
	if (r < 0)
		return r;
	if (s.releases_unknown)
		unknowns_add(&c->unknown, "removed cgroups that stay behind",
			     "only BPF tells when a cgroup is released");
	c->facts.have |= FACT_CHURN;
	if (!(c->facts.have & FACT_HISTORY))
		c->facts.zombies_per_hour = (double)left_all / minutes * 60;
	return 0;
}
