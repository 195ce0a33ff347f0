#include "record_churn.h"

#include <errno.h>
#include <stdlib.h>

#include "census.h"
#include "churn.h"
#include "churn_summary.h"
#include "frame.h"
#include "offer.h"
#include "reclaim.h"
#include "timefmt.h"
#include "zombies.h"

/* Every minute; every few seconds while cgroups come and go at a rate that makes a minute too
 * coarse to tell why. */
enum {
	RECORD_CHURN_EVERY_S = 60,
	RECORD_CHURN_BUSY_S = 5,
	RECORD_CHURN_BUSY = 20, /* made within RECORD_CHURN_BUSY_S */
	RECORD_CHURN_GROUPS = 100,
	RECORD_CHURN_DEAD = CHURN_MOST_ZOMBIES,
};

struct record_churn {
	const struct root *root;
	struct offer offer;
	struct churn *churn;
	struct census *census;
	char census_why[300];
	struct reclaim *reclaim;               /* NULL = cannot be measured here */
	struct reclaim_summary reclaim_before; /* up to the last frame */
	uint64_t reclaim_from_ns;
	struct churn_summary summary;
	struct cgroup_lives
		lives;      /* those alive that were made since it began, and the newly dead */
	VEC(uint64_t) dead; /* ids, since the last frame */
	uint64_t real_minus_mono;
	uint64_t lost;
	uint64_t next_ns;  /* monotonic */
	uint64_t early_ns; /* not before, even when it is busy */
	struct buf frame;
	unsigned shed;
};

static void part_close(void *state)
{
	struct record_churn *p = state;

	churn_close(p->churn);
	census_close(p->census);
	reclaim_close(p->reclaim);
	reclaim_summary_free(&p->reclaim_before);
	churn_summary_free(&p->summary);
	cgroup_lives_free(&p->lives);
	vec_free(&p->dead);
	buf_free(&p->frame);
	free(p);
}

static int part_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct record_churn *p = calloc(1, sizeof(*p));
	struct err load = { 0 };

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->root = context->root;
	offer_read(p->root, &p->offer);
	/* either may be missing: the other still tells something */
	int r = churn_open(p->root, &p->offer, &p->churn, &unknowns, err);
	if (census_open(p->root, &p->offer, 0, &p->census, &load) < 0) {
		memcpy(p->census_why, load.text, sizeof(p->census_why) - 1);
		if (r < 0 && p->offer.memory == CGROUP_MEMORY_NONE) {
			part_close(p);
			return r;
		}
	}
	if (reclaim_open(p->root, &p->reclaim, NULL) < 0)
		p->reclaim = NULL; /* a recording without these frames says that it is not known */
	p->summary.from_ns = p->reclaim_from_ns = clock_real_ns();
	p->real_minus_mono = p->summary.from_ns - clock_mono_ns();
	*ret_state = p;
	return 0;
}

static void take(void *arg, const struct churn_event *e)
{
	struct record_churn *p = arg;

	churn_summary_add(&p->summary, e);
	cgroup_lives_event(&p->lives, e, p->real_minus_mono);
	if (e->what == CHURN_REMOVED && e->id && p->dead.len < RECORD_CHURN_DEAD)
		vec_push(&p->dead, e->id);
	else if (e->what == CHURN_REMOVED)
		p->summary.zombies_left_out++;
}

/* Who died since the last frame and is still held goes into this one, and is then forgotten. */
static void take_dead(struct record_churn *p)
{
	vec_foreach (&p->dead, id) {
		const struct cgroup_life *life = cgroup_lives_get(&p->lives, *id);
		if (life && life->died_ns && !vec_push(&p->summary.zombies, *life))
			p->summary.zombies_left_out++;
	}
}

static void forget_dead(struct record_churn *p)
{
	vec_foreach (&p->dead, id)
		cgroup_lives_remove(&p->lives, *id);
	p->dead.len = 0;
	p->summary.zombies_left_out += p->lives.dropped;
	p->lives.dropped = 0;
}

static int part_ready(void *state, struct store_writer *w, struct err *err)
{
	struct record_churn *p = state;

	(void)w;
	return p->churn ? churn_read(p->churn, take, p, err) : 0;
}

static int put_churn(struct record_churn *p, const struct store_clock *clock,
		     struct store_writer *w, struct err *err)
{
	uint64_t lost = churn_lost(p->churn);

	p->summary.to_ns = clock->real_ns;
	p->summary.lost += lost - p->lost;
	p->lost = lost;
	p->summary.creators_known = churn_knows_creators(p->churn);
	churn_summary_young(&p->summary, clock_mono_ns());
	churn_summary_sort(&p->summary);
	take_dead(p);
	buf_clear(&p->frame);
	churn_summary_encode(&p->frame, &p->summary, RECORD_CHURN_GROUPS);
	int r = store_writer_append(w, FRAME_CHURN, 1, clock->real_ns, p->frame.data, p->frame.len,
				    err);
	churn_summary_clear(&p->summary);
	forget_dead(p);
	p->summary.from_ns = clock->real_ns;
	return r;
}

static int count_below(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	(void)files;
	reclaim_summary_zombie(arg, z->path, z->path_len);
	return 0;
}

static int put_census(struct record_churn *p, const struct store_clock *clock,
		      struct reclaim_summary *reclaim, struct store_writer *w, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct zombies_options options = { 0 };
	struct census_totals totals;

	if (reclaim->rows.len && p->census) {
		reclaim_summary_count(reclaim, NULL);
		options.each = count_below;
		options.arg = reclaim;
	}
	int r = zombies_read_with(p->census, p->census_why, p->root, &p->offer, &options, NULL, &s,
				  &totals, &unknowns, err);
	if (r < 0)
		return r;
	buf_clear(&p->frame);
	census_summary_encode(&p->frame, &s, RECORD_CHURN_GROUPS);
	return store_writer_append(w, FRAME_CENSUS, 1, clock->real_ns, p->frame.data, p->frame.len,
				   err);
}

/* What came since the last frame. */
static int read_reclaim(struct record_churn *p, struct reclaim_summary *ret, struct err *err)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary all = { 0 };
	int r = p->reclaim ? reclaim_read(p->reclaim, ret, err) : 0;

	if (r < 0 || !p->reclaim)
		return r;
	if (!reclaim_summary_copy(&all, ret))
		return err_set(err, -ENOMEM, "out of memory");
	reclaim_summary_subtract(ret, &p->reclaim_before);
	reclaim_summary_sort(ret);
	if (reclaim_is_crowded(&all)) {
		struct reclaim_summary start = { .lost = all.lost, .lost_payers = all.lost_payers };
		reclaim_clear(p->reclaim);
		reclaim_summary_free(&all);
		all = start;
	}
	reclaim_summary_free(&p->reclaim_before);
	p->reclaim_before = all;
	all = (struct reclaim_summary){ 0 };
	return 0;
}

/* Also where there was none: that, too, was measured. */
static int put_reclaim(struct record_churn *p, const struct store_clock *clock,
		       struct reclaim_summary *s, struct store_writer *w, struct err *err)
{
	if (!p->reclaim)
		return 0;
	s->from_ns = p->reclaim_from_ns;
	s->to_ns = p->reclaim_from_ns = clock->real_ns;
	buf_clear(&p->frame);
	reclaim_summary_encode(&p->frame, s);
	return store_writer_append(w, FRAME_RECLAIM, 1, clock->real_ns, p->frame.data, p->frame.len,
				   err);
}

static bool is_busy(const struct record_churn *p)
{
	uint64_t made = 0;

	vec_foreach (&p->summary.groups, g)
		made += g->made;
	return made >= RECORD_CHURN_BUSY;
}

static int put_all(struct record_churn *p, const struct store_clock *clock, struct store_writer *w,
		   struct err *err)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary reclaim = { 0 };
	int r = p->churn ? put_churn(p, clock, w, err) : 0;

	if (r == 0)
		r = read_reclaim(p, &reclaim, err);
	/* the walk is what costs: under pressure the counts of every tick must do */
	if (r == 0 && p->shed <= 1)
		r = put_census(p, clock, &reclaim, w, err);
	return r < 0 ? r : put_reclaim(p, clock, &reclaim, w, err);
}

static int part_tick(void *state, const struct store_clock *clock, struct store_writer *w,
		     struct err *err)
{
	struct record_churn *p = state;
	p->real_minus_mono = clock->real_ns - clock->mono_ns;
	int r = part_ready(state, w, err);

	if (r < 0 ||
	    (clock->mono_ns < p->next_ns && !(clock->mono_ns >= p->early_ns && is_busy(p))))
		return r;
	p->early_ns = clock->mono_ns + RECORD_CHURN_BUSY_S * NS_PER_S;
	p->next_ns = clock->mono_ns + RECORD_CHURN_EVERY_S * NS_PER_S;
	return put_all(p, clock, w, err);
}

static int part_end_segment(void *state, const struct store_clock *clock, struct store_writer *w,
			    struct err *err)
{
	struct record_churn *p = state;

	(void)part_ready(state, w, err);
	return p->churn && p->summary.groups.len ? put_churn(p, clock, w, err) : 0;
}

static int part_fd(void *state)
{
	struct record_churn *p = state;
	return p->churn ? churn_fd(p->churn) : -1;
}

static void part_shed(void *state, unsigned level)
{
	struct record_churn *p = state;
	p->shed = level;
}

const struct recorder_part record_churn = {
	.name = "cgroups",
	.open = part_open,
	.tick = part_tick,
	.fd = part_fd,
	.ready = part_ready,
	.shed = part_shed,
	.end_segment = part_end_segment,
	.close = part_close,
};
