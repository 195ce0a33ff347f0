#include "cgroup_counts.h"

#include <errno.h>
#include <stdio.h>

#include "cgroup_walk.h"
#include "proc_cgroups.h"
#include "rec_cgroups.h"
#include "timefmt.h"

/* A walk that took N ns of CPU time is repeated after N times this: 0.2 % of one core. Not of wall
 * time: on a host without a free core every walk would look dear, and the count is wanted there. */
enum { CGROUP_COUNTS_PAUSE = 500 };

void cgroup_counts_open(struct cgroup_counts *c, const struct root *root, const struct offer *offer)
{
	*c = (struct cgroup_counts){ .stat.fd = -1, .opened = true };
	(void)reread_open(&c->proc_cgroups, root, "proc/cgroups", NULL);
	if (*offer->unified.dir) {
		snprintf(c->stat_path, sizeof(c->stat_path), "%s/cgroup.stat", offer->unified.dir);
		(void)reread_open(&c->stat, root, c->stat_path, NULL);
	}
}

void cgroup_counts_close(struct cgroup_counts *c)
{
	if (!c->opened)
		return;
	reread_close(&c->proc_cgroups);
	reread_close(&c->stat);
}

void cgroup_counts_judge(struct rec_cgroups *row, const struct offer *offer)
{
	bool v2 = offer->memory == CGROUP_MEMORY_V2;

	if (offer->namespaced)
		return; /* what we see of the tree is only our part of it */
	if (v2 && row->have & REC_CGROUPS_DESCENDANTS) {
		row->live = row->descendants + 1;
		row->have |= REC_CGROUPS_LIVE;
	}
	if (v2 && row->have & REC_CGROUPS_DYING_MEMORY)
		row->dying = row->dying_memory;
	else if (v2 && row->have & REC_CGROUPS_DYING_DESCENDANTS)
		row->dying = row->dying_descendants;
	else if (row->have & REC_CGROUPS_LIVE && row->have & REC_CGROUPS_TRACKED)
		/* read one after the other: a cgroup made in between is not negative */
		row->dying = row->tracked > row->live ? row->tracked - row->live : 0;
	else
		return;
	row->have |= REC_CGROUPS_DYING;
	if (v2 && row->have & REC_CGROUPS_LIVE) {
		/* /proc/cgroups counts every v2 cgroup, or has no memory line at all */
		row->tracked = row->live + row->dying;
		row->have |= REC_CGROUPS_TRACKED;
	}
}

static void cgroup_counts_walk(struct cgroup_counts *c, const struct root *root,
			       const struct offer *offer, struct rec_cgroups *row,
			       struct unknowns *unknowns)
{
	const struct offer_mount *mount = offer_memory_mount(offer);
	uint64_t now = clock_mono_ns(), before = clock_thread_cpu_ns(), count;
	struct err err = { 0 };

	if (!mount) {
		unknowns_add(unknowns, "live memory cgroups",
			     "the memory controller's hierarchy is not mounted");
		return;
	}
	if (now < c->next_walk_ns)
		return;
	if (cgroup_walk(root, mount->dir, NULL, NULL, &count, &err) < 0) {
		unknowns_add(unknowns, "live memory cgroups", "%s", err.text);
		return;
	}
	row->live = count + 1; /* the root is one */
	row->have |= REC_CGROUPS_LIVE;
	c->next_walk_ns = now + (clock_thread_cpu_ns() - before) * CGROUP_COUNTS_PAUSE;
}

/* Why there is no memory controller to count by: only what was read is claimed. */
static const char *cgroup_counts_why_none(const struct offer *offer)
{
	if (offer->memory_known)
		return "the memory controller is switched off (/proc/cgroups)";
	if (offer->layout_read)
		return "no hierarchy with the memory controller is mounted here";
	return "where the memory controller is could not be read (mountinfo, /proc/cgroups, "
	       "cgroup.controllers)";
}

void cgroup_counts_read(struct cgroup_counts *c, const struct root *root, const struct offer *offer,
			struct buf *text, struct tick *ret, struct unknowns *unknowns)
{
	struct rec_cgroups *row = tick_only_row(ret, REC_CGROUPS);
	struct err err = { 0 };

	if (!row)
		return;
	row->mode = offer->mode;
	row->memory = offer->memory;
	row->have = (offer->mode_known ? REC_CGROUPS_MODE : 0) |
		    (offer->memory_known ? REC_CGROUPS_MEMORY : 0);
	int r = c->proc_cgroups.fd >= 0 ? 0
					: reread_open(&c->proc_cgroups, root, "proc/cgroups", &err);
	if (r == 0)
		r = reread_text(&c->proc_cgroups, text, &err);
	if (r == 0)
		r = proc_cgroups_parse(buf_str(text), row, &err);
	if (root_err(root, r, &err) < 0 && offer->memory != CGROUP_MEMORY_V2)
		unknowns_add(unknowns, "tracked memory cgroups", "%s", err.text);
	if (c->stat.fd >= 0) {
		r = reread_text(&c->stat, text, &err);
		if (r == 0)
			r = cgroup_stat_parse(buf_str(text), row, &err);
	} else {
		r = err_set(&err, -ENOENT, "/%s cannot be read", c->stat_path);
	}
	if (root_err(root, r, &err) < 0 && offer->memory == CGROUP_MEMORY_V2)
		unknowns_add(unknowns, "dying memory cgroups", "%s", err.text);
	if (offer->namespaced)
		unknowns_add(unknowns, "live memory cgroups",
			     "live count not visible from here: %s", offer->namespaced_why);
	else if (offer->memory == CGROUP_MEMORY_V1)
		cgroup_counts_walk(c, root, offer, row, unknowns);
	else if (offer->memory == CGROUP_MEMORY_NONE)
		unknowns_add(unknowns, "memory cgroups", "%s", cgroup_counts_why_none(offer));
	cgroup_counts_judge(row, offer);
}
