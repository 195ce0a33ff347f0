#include "zombie_cost.h"

#include <stdio.h>

#include "timefmt.h"

/* A read that takes long is not repeated: on an old kernel it is the very harm. */
enum { COST_READS = 3, COST_LONG_NS = 50000000 };

static bool time_read(const struct root *root, const char *dir, const char *name, uint64_t *ret)
{
	AUTO_BUF struct buf text = { 0 };
	char path[400];
	uint64_t best = UINT64_MAX;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (unsigned i = 0; i < COST_READS && (best == UINT64_MAX || best < COST_LONG_NS); i++) {
		buf_clear(&text);
		uint64_t before = clock_mono_ns();
		if (root_read(root, path, ROOT_FILE_CAP, &text, NULL) < 0)
			return false;
		uint64_t took = clock_mono_ns() - before;
		best = took < best ? took : best;
	}
	*ret = best;
	return true;
}

void zombie_cost_read(const struct root *root, const struct offer *offer, struct zombie_cost *ret)
{
	const struct offer_mount *mount = offer_memory_mount(offer);

	*ret = (struct zombie_cost){ 0 };
	if (!root->live || !mount)
		return;
	ret->have_stat = time_read(root, mount->dir, "memory.stat", &ret->stat_ns);
	ret->have_numa_stat = time_read(root, mount->dir, "memory.numa_stat", &ret->numa_stat_ns);
}
