#include "diagnosis.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "err.h"
#include "plan.h"

static void diagnosis_looked_at(const struct facts *facts, struct diagnosis *d)
{
	AUTO_BUF struct buf text = { 0 };

	for (uint32_t bit = 1; bit < FACT_SOURCE_END; bit <<= 1)
		if (facts->have & bit)
			buf_addf(&text, "%s%s", text.len ? ", " : "", fact_source_name(bit));
	d->looked_at = findings_text(&d->findings, "%s", buf_str(&text));
}

/* Who did it: the most specific name on the way from the root. */
static void diagnosis_culprit(struct diagnosis *d, const struct explanation *e)
{
	d->culprit_kind = "none";
	d->culprit_name = "";
	vec_foreach (&e->findings, i) {
		const struct place *p = &d->findings.list.items[*i].place;
		if (p->unit) {
			d->culprit_kind = "unit";
			d->culprit_name = p->unit;
		} else if (p->container) {
			d->culprit_kind = "container";
			d->culprit_name = p->container;
		} else if (p->comm) {
			d->culprit_kind = "process";
			d->culprit_name = p->comm;
		} else if (p->cgroup) {
			d->culprit_kind = "cgroup";
			d->culprit_name = p->cgroup;
		} else {
			continue;
		}
		return;
	}
}

static void diagnosis_verdict(struct diagnosis *d)
{
	struct explanation *e = &d->chains.ranked.items[0];
	const struct finding *root = &d->findings.list.items[e->findings.items[0]];
	size_t last = e->findings.items[e->findings.len - 1];
	const struct finding *end = &d->findings.list.items[last];

	d->id = root->rule;
	d->confidence = e->confidence;
	diagnosis_culprit(d, e);
	if (e->findings.len == 1)
		d->title = findings_text(&d->findings, "%s%s", root->title,
					 root->role == ROLE_CAUSE ? ""
								  : "; no cause was found for it");
	else
		d->title =
			findings_text(&d->findings, "%s; in the end: %s", root->title, end->title);
}

int diagnosis_make(const struct facts *facts, const struct thresholds *t, struct diagnosis *ret,
		   struct err *err)
{
	*ret = (struct diagnosis){ .id = "healthy", .culprit_kind = "none", .culprit_name = "" };
	rules_judge(facts, t ? t : &thresholds_default, &ret->findings, &ret->unknown);
	diagnosis_looked_at(facts, ret);
	int r = chains_build(facts, &ret->findings, &ret->chains);
	if (r < 0) {
		diagnosis_free(ret);
		return err_set(err, r, "joining the findings: %s", strerror(-r));
	}
	ret->healthy = !ret->chains.ranked.len;
	ret->blind = ret->healthy && !*ret->looked_at;
	if (ret->blind)
		ret->id = "unknown";
	if (ret->blind)
		ret->title = "could not tell: nothing could be read";
	else if (ret->healthy)
		ret->title = findings_text(&ret->findings, "healthy: nothing wrong in %s",
					   ret->looked_at);
	else
		diagnosis_verdict(ret);
	plan_make(facts, ret);
	return 0;
}

void diagnosis_free(struct diagnosis *d)
{
	vec_free(&d->plan);
	chains_free(&d->chains);
	unknowns_free(&d->unknown);
	findings_free(&d->findings);
}
