#include "zombies_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "churn.h"
#include "numbers.h"
#include "reclaim.h"
#include "timefmt.h"

/* How often the line on the terminal changes; a signal that comes just before the wait waits for
 * it, too. */
enum { WATCH_LINE_MS = 1000 };

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

struct watching {
	struct churn_summary *churn;
	struct cgroup_lives *lives;
	uint64_t real_minus_mono;
	uint64_t made, removed;
	uint64_t said_ns; /* when the terminal was told last */
};

static void watch_one(void *arg, const struct churn_event *e)
{
	struct watching *w = arg;

	w->made += e->what == CHURN_MADE;
	w->removed += e->what == CHURN_REMOVED;
	churn_summary_add(w->churn, e);
	cgroup_lives_event(w->lives, e, w->real_minus_mono);
}

static void say(const struct terminal *diag, struct watching *w, uint64_t now, uint64_t left_ns)
{
	char span[TIMEFMT_MAX], made[NUMBERS_MAX], removed[NUMBERS_MAX];

	if (!diag->tty || now < w->said_ns + WATCH_LINE_MS * NS_PER_MS)
		return;
	w->said_ns = now;
	fprintf(stderr,
		"\r\033[Kwatching for another %s: %s made, %s removed (Ctrl-C shows it now)",
		timefmt_span(span, left_ns), numbers_count(made, w->made),
		numbers_count(removed, w->removed));
	fflush(stderr);
}

static int watch_until(struct churn *churn, uint64_t until, const struct terminal *diag,
		       struct watching *w, struct err *err)
{
	struct sigaction act = { .sa_handler = on_signal }, before;
	int r = 0;

	interrupted = 0;
	sigaction(SIGINT, &act, &before);
	for (uint64_t now = clock_mono_ns(); r == 0 && !interrupted && now < until;
	     now = clock_mono_ns()) {
		struct pollfd p = { .fd = churn_fd(churn), .events = POLLIN };
		say(diag, w, now, until - now);
		int wait = (int)MIN_OF((until - now) / NS_PER_MS + 1, (uint64_t)WATCH_LINE_MS);
		if (poll(&p, 1, wait) < 0 && errno != EINTR)
			r = err_set(err, -errno, "poll: %s", strerror(errno));
		else
			r = churn_read(churn, watch_one, w, err);
	}
	if (r == 0) /* what came while the last was read, or just before the signal */
		r = churn_read(churn, watch_one, w, err);
	sigaction(SIGINT, &before, NULL);
	if (diag->tty)
		fprintf(stderr, "\r\033[K");
	return r;
}

int zombies_watch(const struct root *root, const struct offer *offer, uint64_t length_ns,
		  const struct terminal *diag, struct around *ret, struct unknowns *unknowns,
		  struct err *err)
{
	struct watching w = { .churn = &ret->churn,
			      .lives = &ret->lives,
			      .real_minus_mono = clock_real_ns() - clock_mono_ns() };
	struct reclaim *reclaim = NULL;
	struct err why = { 0 };
	struct churn *churn;
	int r = churn_open(root, offer, &churn, unknowns, err);

	if (r < 0)
		return r;
	if (reclaim_open(root, &reclaim, &why) < 0)
		unknowns_add(unknowns, "what reclaim takes", "%s", why.text);
	reclaim_summary_free(&ret->reclaim);
	ret->churn.from_ns = ret->reclaim.from_ns = clock_real_ns();
	r = watch_until(churn, clock_mono_ns() + length_ns, diag, &w, err);
	if (r == 0 && reclaim)
		r = reclaim_read(reclaim, &ret->reclaim, err);
	ret->churn.to_ns = ret->reclaim.to_ns = clock_real_ns();
	ret->churn.lost += churn_lost(churn);
	ret->churn.creators_known = churn_knows_creators(churn);
	ret->churn_known = true;
	ret->reclaim_known = reclaim;
	churn_summary_young(&ret->churn, clock_mono_ns());
	churn_summary_sort(&ret->churn);
	reclaim_summary_sort(&ret->reclaim);
	churn_close(churn);
	reclaim_close(reclaim);
	return r;
}
