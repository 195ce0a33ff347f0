/* Why zombies are left after a purge: each one is counted under the first reason that holds. */
#include <errno.h>
#include <stdlib.h>

#include "auto.h"
#include "purge_impl.h"

enum { REMAINS_MOST = 100000 };

/* What could have gone, in the order in which it is asked. */
enum remains_why {
	REMAINS_MAPPED,
	REMAINS_DEVICE,
	REMAINS_FILE,
	REMAINS_WRITEBACK,
	REMAINS_PAGES,
	REMAINS_MORE,
	REMAINS_END,
};

static const struct {
	const char *why, *cure;
} remains_whys[REMAINS_END] = {
	[REMAINS_MAPPED] = { "processes have pages of their files mapped and use them",
			     "end the process, or let it unmap the file" },
	[REMAINS_DEVICE] = { "the file system has its metadata in use",
			     "it goes when the file system lets go, at the latest when it is "
			     "unmounted" },
	[REMAINS_FILE] = { "their files are being read or written, or were read again since",
			   "zscope purge again" },
	[REMAINS_WRITEBACK] = { "writeback has not let go of their files",
				"they go when a memory cgroup is removed, or when the inode "
				"leaves the cache" },
	[REMAINS_PAGES] = { "their pages moved during the look, or belong to no file any more",
			    "zscope purge --method reclaim" },
	[REMAINS_MORE] = { "they were too many to be looked at one by one", NULL },
};

struct remains_zombie {
	size_t first; /* of its rows */
	uint32_t rows;
	bool device, writeback;
};

struct purge_remains {
	uint64_t stuck[PIN_KIND_END];
	uint64_t more;
	VEC(struct remains_zombie) zombies;
	VEC(uint32_t) rows; /* files of page cache */
};

struct purge_remains *purge_remains_new(void)
{
	return calloc(1, sizeof(struct purge_remains));
}

void purge_remains_free(struct purge_remains *r)
{
	if (!r)
		return;
	vec_free(&r->zombies);
	vec_free(&r->rows);
	free(r);
}

bool purge_remains_take(struct purge_remains *r, const struct zombie *z, enum pin_kind stuck,
			const struct zombie_files *files)
{
	struct remains_zombie one = { .first = r->rows.len };

	if (stuck != PIN_KIND_END) {
		r->stuck[stuck]++;
		return true;
	}
	if (r->zombies.len >= REMAINS_MOST) {
		r->more++;
		return true;
	}
	for (size_t i = 0; i < z->n_pins; i++) {
		const struct zombie_pin *p = &z->pins[i];
		one.writeback |= p->kind == PIN_WRITEBACK;
		if (p->kind != PIN_FILE)
			continue;
		one.device |= files->list.items[p->file].place == PLACE_DEVICE;
		if (!vec_push(&r->rows, (uint32_t)p->file))
			return false;
		one.rows++;
	}
	return vec_push(&r->zombies, one);
}

static enum remains_why why_left(const struct purge_remains *r, const struct remains_zombie *z,
				 const struct pin_holder *mapped)
{
	for (size_t i = 0; i < z->rows; i++)
		if (mapped[r->rows.items[z->first + i]].pid)
			return REMAINS_MAPPED;
	if (z->device)
		return REMAINS_DEVICE;
	if (z->rows)
		return REMAINS_FILE;
	return z->writeback ? REMAINS_WRITEBACK : REMAINS_PAGES;
}

int purge_remains_explain(const struct purge_remains *r, const struct pin_holder *mapped,
			  struct purge_result *ret, struct err *err)
{
	uint64_t count[REMAINS_END] = { [REMAINS_MORE] = r->more };
	bool ok = true;

	vec_foreach (&r->zombies, z)
		count[why_left(r, z, mapped)]++;
	for (unsigned k = 0; k < PIN_KIND_END; k++) {
		/* files keep none by themselves: these are out of reach */
		struct purge_left l = {
			.why = k == PIN_PAGES ? "their files are out of reach" : pin_kind_name(k),
			.cure = pin_kind_cure(k),
			.kind = k,
			.zombies = r->stuck[k],
		};
		ok = ok && (!l.zombies || vec_push(&ret->left_why, l));
	}
	for (unsigned i = 0; i < REMAINS_END; i++) {
		struct purge_left l = {
			.why = remains_whys[i].why,
			.cure = remains_whys[i].cure,
			.kind = PIN_KIND_END,
			.zombies = count[i],
		};
		ok = ok && (!l.zombies || vec_push(&ret->left_why, l));
	}
	return ok ? 0 : err_set(err, -ENOMEM, "out of memory");
}
