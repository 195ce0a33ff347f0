#include "quota.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "cgroup_walk.h"
#include "keys.h"
#include "scan.h"
#include "text.h"
#include "timefmt.h"

enum {
	QUOTA_SLICE = 25, /* directories asked per tick: about 0.25 ms */
	QUOTA_MOST_WAITING = 20000,
	QUOTA_SEARCH_PAUSE_S = 30, /* between two searches of the whole tree */
};

struct quota_group {
	char *path; /* below the hierarchy's root */
	char *stat_path;
	struct reread stat;
	uint64_t quota_us, period_us;
	bool seen; /* in the present search */
};

static void quota_group_free(struct quota_group *g)
{
	reread_close(&g->stat);
	free(g->stat_path);
	free(g->path);
	free(g);
}

int quota_parse_max(const char *text, struct rec_quota *ret)
{
	uint64_t quota, period;
	const char *p = scan_next_u64(text, &quota);

	if (!p)
		return -ENODATA;
	p = scan_next_u64(p, &period);
	if (!p || !period)
		return -ENODATA;
	ret->quota = quota;
	ret->period = period;
	ret->have |= REC_QUOTA_QUOTA | REC_QUOTA_PERIOD;
	return 0;
}

int quota_parse_stat(const char *text, bool v2, struct rec_quota *ret)
{
	static const struct key_field fields[] = {
		KEY_FIELD(rec_quota, periods, REC_QUOTA_PERIODS, "nr_periods", 1),
		KEY_FIELD(rec_quota, throttled, REC_QUOTA_THROTTLED, "nr_throttled", 1),
		KEY_FIELD(rec_quota, throttled_time, REC_QUOTA_THROTTLED_TIME, "throttled_usec", 1),
		KEY_FIELD(rec_quota, throttled_time, REC_QUOTA_THROTTLED_TIME, "throttled_time", 1),
	};
	struct rec_quota found = { 0 };

	if (!keys_parse(text, ' ', fields, ARRAY_LEN(fields), &found))
		return -ENODATA;
	ret->periods = found.periods;
	ret->throttled = found.throttled;
	/* v1 counts nanoseconds */
	ret->throttled_time = v2 ? found.throttled_time : found.throttled_time / 1000;
	ret->have |= found.have;
	return 0;
}

/* The mount whose cgroups can have quotas; NULL when there is none. */
static const struct offer_mount *quota_mount(const struct offer *offer, bool *ret_v2)
{
	*ret_v2 = !*offer->cpu_v1.dir;
	const struct offer_mount *mount = *ret_v2 ? &offer->unified : &offer->cpu_v1;
	return *mount->dir ? mount : NULL;
}

static int quota_collect(void *arg, int dir_fd, const char *name, const char *path)
{
	struct quota *q = arg;

	(void)dir_fd, (void)name;
	if (q->waiting.len >= QUOTA_MOST_WAITING)
		return 1;
	char *copy = strdup(path);
	if (!copy || !vec_push(&q->waiting, copy)) {
		free(copy);
		return 1;
	}
	return 0;
}

static int quota_read_small(const struct root *root, const char *mount, const char *path,
			    const char *file, struct buf *text)
{
	AUTO_BUF struct buf full = { 0 };

	buf_addf(&full, "%s/%s/%s", mount, path, file);
	buf_clear(text);
	return root_read(root, buf_str(&full), 4096, text, NULL);
}

/* Its quota and period; -ENODATA when it has none. */
static int quota_ask(const struct root *root, const char *mount, bool v2, const char *path,
		     struct buf *text, struct rec_quota *ret)
{
	int r = quota_read_small(root, mount, path, v2 ? "cpu.max" : "cpu.cfs_quota_us", text);

	if (r < 0)
		return r;
	if (v2)
		return quota_parse_max(buf_str(text), ret);
	if (!scan_next_u64(buf_str(text), &ret->quota)) /* -1 = none */
		return -ENODATA;
	ret->have |= REC_QUOTA_QUOTA;
	if (quota_read_small(root, mount, path, "cpu.cfs_period_us", text) == 0 &&
	    scan_next_u64(buf_str(text), &ret->period))
		ret->have |= REC_QUOTA_PERIOD;
	return 0;
}

static struct quota_group *quota_find(const struct quota *q, const char *path)
{
	vec_foreach (&q->groups, it)
		if (strcmp((*it)->path, path) == 0)
			return *it;
	return NULL;
}

static void quota_add(struct quota *q, const struct root *root, const char *mount, const char *path,
		      const struct rec_quota *found)
{
	struct quota_group *g = quota_find(q, path);
	AUTO_BUF struct buf full = { 0 };

	if (!g) {
		if (q->groups.len >= QUOTA_MOST)
			return;
		g = calloc(1, sizeof(*g));
		if (!g)
			return;
		buf_addf(&full, "%s/%s/cpu.stat", mount, path);
		g->stat.fd = -1;
		g->path = strdup(path);
		g->stat_path = buf_take(&full);
		if (!g->path || !g->stat_path ||
		    reread_open(&g->stat, root, g->stat_path, NULL) < 0 ||
		    !vec_push(&q->groups, g)) {
			quota_group_free(g);
			return;
		}
	}
	g->quota_us = found->quota;
	g->period_us = found->have & REC_QUOTA_PERIOD ? found->period : 0;
	g->seen = true;
}

static void quota_search_end(struct quota *q, uint64_t now_ns)
{
	size_t kept = 0;

	vec_foreach (&q->waiting, it)
		free(*it);
	q->waiting.len = q->asked = 0;
	vec_foreach (&q->groups, it) {
		if ((*it)->seen) {
			(*it)->seen = false;
			q->groups.items[kept++] = *it;
		} else {
			quota_group_free(*it);
		}
	}
	q->groups.len = kept;
	q->next_search_ns = now_ns + QUOTA_SEARCH_PAUSE_S * NS_PER_S;
}

static void quota_search(struct quota *q, const struct root *root, const struct offer_mount *mount,
			 bool v2, size_t most, struct buf *text, struct unknowns *unknowns)
{
	uint64_t now = clock_mono_ns(), count;
	struct err err = { 0 };

	if (!q->waiting.len) {
		if (now < q->next_search_ns)
			return;
		if (cgroup_walk(root, mount->dir, quota_collect, q, &count, &err) < 0)
			unknowns_add(unknowns, "CPU quotas", "%s", err.text);
	}
	for (; most && q->asked < q->waiting.len; most--, q->asked++) {
		const char *path = q->waiting.items[q->asked];
		struct rec_quota found = { 0 };
		if (quota_ask(root, mount->dir, v2, path, text, &found) == 0)
			quota_add(q, root, mount->dir, path, &found);
	}
	if (q->asked >= q->waiting.len)
		quota_search_end(q, now);
}

void quota_read(struct quota *q, const struct root *root, const struct offer *offer, bool thorough,
		struct buf *text, struct tick *ret, struct unknowns *unknowns)
{
	bool v2;
	const struct offer_mount *mount = quota_mount(offer, &v2);

	if (!mount) {
		unknowns_add(unknowns, "CPU quotas",
			     offer->mounts_read ? "no cgroup hierarchy with CPU quotas is mounted"
						: "the list of mounts could not be read");
		return;
	}
	quota_search(q, root, mount, v2, thorough ? SIZE_MAX : QUOTA_SLICE, text, unknowns);
	vec_foreach (&q->groups, it) {
		struct rec_quota row = { .quota = (*it)->quota_us, .period = (*it)->period_us };
		if (reread_text(&(*it)->stat, text, NULL) < 0 ||
		    quota_parse_stat(buf_str(text), v2, &row) < 0)
			continue; /* gone; the next search drops it */
		row.cgroup = arena_strdup(&ret->strings, (*it)->path);
		struct rec_quota *place = row.cgroup ? tick_add_row(ret, REC_QUOTA) : NULL;
		if (!place)
			return;
		row.have |=
			REC_QUOTA_CGROUP | REC_QUOTA_QUOTA | (row.period ? REC_QUOTA_PERIOD : 0);
		*place = row;
	}
}

void quota_close(struct quota *q)
{
	vec_foreach (&q->waiting, it)
		free(*it);
	vec_free(&q->waiting);
	vec_foreach (&q->groups, it)
		quota_group_free(*it);
	vec_free(&q->groups);
}
