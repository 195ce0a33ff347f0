#include "chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "join.h"
#include "rule.h"

enum { CHAIN_MOST_FINDINGS = 512 };

/* A root above which something could not be looked at is at most this sure, below every complete
 * explanation. */
static const double confidence_incomplete = 0.50;
/* A root that is no cause by itself, a symptom whose cause was looked for and not found, is at most
 * this sure: somebody must have caused it. */
static const double confidence_symptom = 0.75;
/* An explanation that covers one finding alone keeps this part of its confidence; each further one
 * halves the rest. */
static const double confidence_alone = 0.80;

static int chains_join_all(const struct facts *facts, const struct findings *all, struct chains *c)
{
	for (size_t i = 0; i < all->list.len; i++) {
		for (size_t k = 0; k < all->list.len; k++) {
			struct join j = { .cause = i, .effect = k };
			if (i == k ||
			    !join_judge(facts, &all->list.items[i], &all->list.items[k], &j))
				continue;
			if (!vec_push(&c->joins, j))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Search state: the surest join into each finding, seen from one root. */
struct reach {
	double sure[CHAIN_MOST_FINDINGS]; /* weakest link on the best path; 0 = not reached */
	size_t by[CHAIN_MOST_FINDINGS];   /* the join that leads here */
	size_t depth[CHAIN_MOST_FINDINGS];
};

/* Widest path from root: mechanisms have no cycles, so as many rounds as findings suffice. */
static void reach_from(const struct chains *c, size_t n, size_t root, double root_sure,
		       struct reach *r)
{
	memset(r->sure, 0, n * sizeof(r->sure[0]));
	r->sure[root] = root_sure;
	r->depth[root] = 0;
	for (bool changed = true; changed;) {
		changed = false;
		vec_foreach (&c->joins, j) {
			double sure = MIN_OF(r->sure[j->cause], j->confidence);
			bool longer = sure == r->sure[j->effect] && sure > 0 &&
				      r->depth[j->cause] + 1 > r->depth[j->effect];
			if (j->effect == root || r->depth[j->cause] >= n)
				continue;
			if (sure > r->sure[j->effect] || longer) {
				r->sure[j->effect] = sure;
				r->by[j->effect] = (size_t)(j - c->joins.items);
				r->depth[j->effect] = r->depth[j->cause] + 1;
				changed = true;
			}
		}
	}
}

/* The end of the story: the reached finding that lies deepest, symptoms before links. */
static size_t reach_end(const struct findings *all, const struct reach *r, size_t root)
{
	size_t best = root;

	for (size_t i = 0; i < all->list.len; i++) {
		if (r->sure[i] == 0 || i == root)
			continue;
		const struct finding *a = &all->list.items[i], *b = &all->list.items[best];
		bool deeper = r->depth[i] > r->depth[best];
		bool same = r->depth[i] == r->depth[best] && a->weight > b->weight;
		if (a->role > b->role || (a->role == b->role && (deeper || same)))
			best = i;
	}
	return best;
}

/* A unit that ended by itself was not killed, whatever the log would say. */
static bool chains_ruled_out(const struct facts *facts, const struct finding *f, const char *cause)
{
	if (strcmp(cause, "oom-kill") != 0 || !f->place.unit)
		return false;
	vec_foreach (&facts->units, u)
		if (strcmp(u->unit, f->place.unit) == 0)
			return u->result && strncmp(u->result, "exit code ", 10) == 0;
	return false;
}

static bool chains_search_incomplete(const struct facts *facts, const struct finding *f)
{
	size_t n;
	const struct mechanism *m = mechanisms_all(&n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(m[i].effect, f->rule) != 0)
			continue;
		const struct rule *cause = rules_find(m[i].cause);
		if (cause && cause->needs & ~facts->have && !chains_ruled_out(facts, f, m[i].cause))
			return true;
	}
	return false;
}

static int explanation_fill(const struct findings *all, const struct chains *c,
			    const struct reach *r, size_t root, struct explanation *e)
{
	size_t end = reach_end(all, r, root);
	size_t path[CHAIN_MOST_FINDINGS], links[CHAIN_MOST_FINDINGS], n = 0;

	for (size_t at = end; at != root && n < CHAIN_MOST_FINDINGS - 1;
	     at = c->joins.items[r->by[at]].cause) {
		path[n] = at;
		links[n++] = r->by[at];
	}
	if (!vec_push(&e->findings, root))
		return -ENOMEM;
	while (n--)
		if (!vec_push(&e->findings, path[n]) || !vec_push(&e->joins, links[n]))
			return -ENOMEM;
	/* What is only loosely tied to the root must not make it surer. */
	for (size_t i = 0; i < all->list.len; i++)
		e->explained += r->sure[i] > 0 && r->sure[i] >= r->sure[end];
	return 0;
}

static double explanation_confidence(const struct facts *facts, const struct findings *all,
				     const struct chains *c, struct explanation *e)
{
	const struct finding *root = &all->list.items[e->findings.items[0]];
	double sure = proof_confidence(root->proof), rest = 1 - confidence_alone;

	vec_foreach (&e->joins, j)
		sure = MIN_OF(sure, c->joins.items[*j].confidence);
	for (size_t i = 1; i < e->explained && i < 32; i++)
		rest /= 2;
	if (e->explained == 1)
		rest = 1 - confidence_alone;
	sure *= 1 - rest;
	if (root->role != ROLE_CAUSE)
		sure = MIN_OF(sure, confidence_symptom);
	e->search_incomplete = chains_search_incomplete(facts, root);
	return e->search_incomplete ? MIN_OF(sure, confidence_incomplete) : sure;
}

static bool chains_has_cause(const struct chains *c, size_t finding)
{
	vec_foreach (&c->joins, j)
		if (j->effect == finding)
			return true;
	return false;
}

static int explanation_compare(const void *a, const void *b, void *arg)
{
	const struct findings *all = arg;
	const struct explanation *x = a, *y = b;
	double wx = all->list.items[x->findings.items[0]].weight;
	double wy = all->list.items[y->findings.items[0]].weight;

	if (x->confidence != y->confidence)
		return x->confidence < y->confidence ? 1 : -1;
	if (x->explained != y->explained)
		return x->explained < y->explained ? 1 : -1;
	return wx != wy ? (wx < wy ? 1 : -1) : 0;
}

static int chains_explain(const struct facts *facts, const struct findings *all, struct chains *c)
{
	AUTO_FREE struct reach *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	for (size_t root = 0; root < all->list.len; root++) {
		if (chains_has_cause(c, root))
			continue;
		struct explanation e = { 0 };
		reach_from(c, all->list.len, root, proof_confidence(all->list.items[root].proof),
			   r);
		int error = explanation_fill(all, c, r, root, &e);
		e.confidence = error ? 0 : explanation_confidence(facts, all, c, &e);
		if (error || !vec_push(&c->ranked, e)) {
			vec_free(&e.findings);
			vec_free(&e.joins);
			return -ENOMEM;
		}
	}
	return 0;
}

int chains_build(const struct facts *facts, struct findings *all, struct chains *ret)
{
	struct chains c = { 0 };

	if (all->list.len > CHAIN_MOST_FINDINGS)
		all->list.len = CHAIN_MOST_FINDINGS;
	int r = chains_join_all(facts, all, &c);
	if (r == 0)
		r = chains_explain(facts, all, &c);
	if (r < 0) {
		chains_free(&c);
		return r;
	}
	if (c.ranked.len)
		qsort_r(c.ranked.items, c.ranked.len, sizeof(c.ranked.items[0]),
			explanation_compare, all);
	for (size_t i = 1; i < c.ranked.len; i++)
		c.ranked.items[i].apart =
			join_what_tells_apart(facts, all, &c.ranked.items[0], &c.ranked.items[i]);
	*ret = c;
	return 0;
}

void chains_free(struct chains *c)
{
	vec_foreach (&c->ranked, e) {
		vec_free(&e->findings);
		vec_free(&e->joins);
	}
	vec_free(&c->ranked);
	vec_free(&c->joins);
}
