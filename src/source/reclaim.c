#include "reclaim.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "bpf_types.h"
#include "cgroup_names.h"
#include "reclaim_abi.h"
/* generated: needs reclaim_abi.h */
#include "reclaim.skel.h"
#include "text.h"

_Static_assert((int)RECLAIM_BUCKETS == (int)RECLAIM_HIST &&
		       (int)RECLAIM_LOW_BIT == (int)RECLAIM_HIST_LOW_BIT &&
		       (int)RECLAIM_SUB_BITS == (int)RECLAIM_HIST_SUB_BITS,
	       "the buckets of the program and of the record are the same");
_Static_assert((int)RECLAIM_MOST_GROUPS <= (int)RECLAIM_MOST_ROWS &&
		       (int)RECLAIM_MOST_PAYERS <= (int)RECLAIM_MOST_PAYER_ROWS,
	       "all that the program counts fits into the record");

struct reclaim {
	struct reclaim_bpf *skel;
};

static int load(struct reclaim *c, const struct root *root, struct err *err)
{
	const char *wish = getenv("ZSCOPE_CENSUS");

	if (wish && strcmp(wish, "off") == 0)
		return err_set(err, -EPERM, "bpf: switched off by ZSCOPE_CENSUS=off");
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));

	c->skel = reclaim_bpf__open_opts(&opts);
	if (!c->skel)
		return err_set(err, -errno, "bpf: opening the reclaim program: %s",
			       strerror(errno));
	int r = bpf_types_fill(&types, root, c->skel->obj, err);
	if (r < 0)
		return err_prefix(err, r, "bpf");
	r = reclaim_bpf__load(c->skel);
	if (r < 0)
		return err_set(err, r, "bpf: the reclaim program cannot be loaded: %s",
			       strerror(-r));
	if (reclaim_bpf__attach(c->skel) < 0)
		return err_set(err, -errno, "bpf: attaching to the vmscan tracepoints: %s",
			       strerror(errno));
	return 0;
}

int reclaim_open(const struct root *root, struct reclaim **ret, struct err *err)
{
	if (!root->live)
		return err_set(err, -EOPNOTSUPP, "a captured host does not reclaim");
	struct reclaim *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	int r = load(c, root, err);
	if (r < 0) {
		reclaim_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

static bool take_group(struct reclaim_summary *ret, const struct reclaim_key *key,
		       const struct reclaim_group *g)
{
	static const enum reclaim_kind kinds[] = {
		[RECLAIM_AT_LIMIT] = RECLAIM_KIND_LIMIT,
		[RECLAIM_ASKED] = RECLAIM_KIND_ASKED,
		[RECLAIM_DIRECT] = RECLAIM_KIND_DIRECT,
		[RECLAIM_KSWAPD] = RECLAIM_KIND_KSWAPD,
	};
	struct reclaim_row row = {
		.kind = kinds[key->how],
		.cgroup = key->cgroup,
		.passes = g->passes,
		.total_ns = g->total_ns,
		.max_ns = g->max_ns,
		.bytes = g->pages * (uint64_t)sysconf(_SC_PAGESIZE),
	};

	if (key->cgroup && g->names_len <= sizeof(g->names))
		row.path = reclaim_path(&ret->strings, g->names, g->names_len);
	for (unsigned i = 0; i < RECLAIM_HIST; i++) {
		row.hist[i] = g->buckets[i];
		/* two cores may have written the longest at the same time */
		if (g->buckets[i] && row.max_ns < reclaim_hist_ns(i))
			row.max_ns = reclaim_hist_ns(i);
	}
	return vec_push(&ret->rows, row);
}

static int read_groups(int fd, struct reclaim_summary *ret)
{
	struct reclaim_key key, *before = NULL;
	AUTO_FREE struct reclaim_group *g = malloc(sizeof(*g));

	if (!g)
		return -ENOMEM;
	while (ret->rows.len < RECLAIM_MOST_ROWS && bpf_map_get_next_key(fd, before, &key) == 0) {
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, g) < 0 || key.how > RECLAIM_KSWAPD || !g->passes)
			continue;
		if (!take_group(ret, &key, g))
			return -ENOMEM;
	}
	return 0;
}

static int read_payers(int fd, struct reclaim_summary *ret)
{
	struct reclaim_payer_key key, *before = NULL;
	struct reclaim_payer p;

	while (ret->payers.len < RECLAIM_MOST_PAYER_ROWS &&
	       bpf_map_get_next_key(fd, before, &key) == 0) {
		struct reclaim_payer_row row = { .row = SIZE_MAX, .pid = key.pid };
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &p) < 0)
			continue;
		for (size_t i = 0; i < ret->rows.len; i++)
			if (ret->rows.items[i].cgroup == key.group.cgroup &&
			    (unsigned)ret->rows.items[i].kind == key.group.how)
				row.row = i;
		if (row.row == SIZE_MAX)
			continue;
		row.passes = p.passes;
		row.total_ns = p.total_ns;
		row.max_ns = p.max_ns;
		text_copy(row.comm, sizeof(row.comm), p.comm);
		AUTO_BUF struct buf own = { 0 };
		(void)cgroup_names_path(&own, p.names, MIN_OF(p.names_len, sizeof(p.names)));
		row.cgroup = own.len ? arena_strdup(&ret->strings, buf_str(&own)) : NULL;
		if ((own.len && !row.cgroup) || !vec_push(&ret->payers, row))
			return -ENOMEM;
	}
	return 0;
}

int reclaim_read(struct reclaim *c, struct reclaim_summary *ret, struct err *err)
{
	int r = read_groups(bpf_map__fd(c->skel->maps.groups), ret);

	if (r == 0)
		r = read_payers(bpf_map__fd(c->skel->maps.payers), ret);
	ret->lost = c->skel->bss->lost;
	ret->lost_payers = c->skel->bss->lost_payers;
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

bool reclaim_is_crowded(const struct reclaim_summary *s)
{
	return s->rows.len > RECLAIM_MOST_GROUPS / 2 || s->payers.len > RECLAIM_MOST_PAYERS / 2;
}

static void clear_map(int fd, void *key)
{
	while (bpf_map_get_next_key(fd, NULL, key) == 0)
		if (bpf_map_delete_elem(fd, key) < 0)
			break;
}

void reclaim_clear(struct reclaim *c)
{
	struct reclaim_payer_key payer;
	struct reclaim_key group;

	clear_map(bpf_map__fd(c->skel->maps.payers), &payer);
	clear_map(bpf_map__fd(c->skel->maps.groups), &group);
}

void reclaim_close(struct reclaim *c)
{
	if (!c)
		return;
	reclaim_bpf__destroy(c->skel);
	free(c);
}
