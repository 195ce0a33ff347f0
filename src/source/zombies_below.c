#include "zombies_below.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "cgroup_walk.h"
#include "map.h"
#include "owner.h"
#include "proc_cgroups.h"

/* Each live cgroup costs one read: what a host has in use is hundreds. */
enum { BELOW_MOST_READS = 20000 };

/* What comes after the mount point of the memory hierarchy; NULL = it lies elsewhere. */
static const char *after_mount(const struct offer_mount *mount, const char *path)
{
	size_t n = mount ? strlen(mount->dir) : 0;

	if (!n || path[0] != '/' || strncmp(path + 1, mount->dir, n) != 0)
		return NULL;
	return !path[n + 1] || path[n + 1] == '/' ? path + n + 1 : NULL;
}

static int add_components(struct buf *out, const char *path, const char *given, struct err *err)
{
	for (const char *p = path; *(p += strspn(p, "/"));) {
		size_t n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0)
			return err_set(err, -EINVAL, "%s: a cgroup's path has no \"..\"", given);
		if (n != 1 || *p != '.') {
			buf_add_char(out, '/');
			buf_add(out, p, n);
		}
		p += n;
	}
	return 0;
}

int zombies_below_path(const struct offer *offer, const char *given, struct buf *ret,
		       struct err *err)
{
	const struct offer_mount *mount = offer_memory_mount(offer);
	const char *rest = after_mount(mount, given);
	int r = 0;

	buf_clear(ret);
	/* a mount of a part of the hierarchy shows that part as its top */
	if (rest && !offer->namespaced)
		r = add_components(ret, mount->top, given, err);
	if (r == 0)
		r = add_components(ret, rest ? rest : given, given, err);
	if (r == 0 && !ret->len)
		buf_add_char(ret, '/');
	return r;
}

/* Where the cgroup's directory is or was, below the root; false = this mount does not show it. */
static bool directory_of(const struct offer *offer, const char *path, char *ret, size_t size)
{
	const struct offer_mount *mount = offer_memory_mount(offer);

	if (!mount || offer->namespaced || strcmp(mount->top, "/") != 0)
		return false;
	int n = snprintf(ret, size, "%s%s", mount->dir, strcmp(path, "/") == 0 ? "" : path);
	return n > 0 && (size_t)n < size;
}

int zombies_below_lives(const struct root *root, const struct offer *offer, const char *path)
{
	char dir[5000];
	struct stat st;

	if (!directory_of(offer, path, dir, sizeof(dir)))
		return -EOPNOTSUPP;
	int r = root_lstat(root, dir, &st, NULL);
	return r == 0 ? S_ISDIR(st.st_mode) : r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* A live cgroup with the zombies below it; `own` becomes those that were made right in it. */
struct below_row {
	char *path; /* from the root of the hierarchy */
	uint64_t below, own;
};

struct below_walk {
	const struct root *root;
	const char *dir, *top;
	VEC(struct below_row) rows;
	struct map_str by_path; /* → index in rows */
	struct buf text, name;
};

static void below_walk_free(struct below_walk *w)
{
	vec_foreach (&w->rows, row)
		free(row->path);
	vec_free(&w->rows);
	map_str_free(&w->by_path);
	buf_free(&w->text);
	buf_free(&w->name);
}

/* The zombies below a live cgroup. Files of other kernels count those of all controllers only. */
static int read_stat(struct below_walk *w, const char *dir, uint64_t *ret, struct err *err)
{
	struct rec_cgroups row = { 0 };
	char path[5200];

	snprintf(path, sizeof(path), "%s/cgroup.stat", dir);
	buf_clear(&w->text);
	int r = root_read(w->root, path, 4096, &w->text, err);
	if (r == 0)
		r = cgroup_stat_parse(buf_str(&w->text), &row, err);
	if (r < 0)
		return r;
	if (row.have & REC_CGROUPS_DYING_MEMORY)
		*ret = row.dying_memory;
	else if (row.have & REC_CGROUPS_DYING_DESCENDANTS)
		*ret = row.dying_descendants;
	else
		return err_set(err, -ENODATA, "/%s tells no dying cgroups", path);
	return 0;
}

static int add_row(struct below_walk *w, const char *path, uint64_t below)
{
	struct below_row row = { .path = strdup(path), .below = below, .own = below };
	const char *slash = strrchr(path, '/');
	const uint64_t *up = slash ? map_str_get(&w->by_path, path, (size_t)(slash - path)) : NULL;
	bool made;

	if (up) /* read one after the other: none becomes negative */
		w->rows.items[*up].own -= MIN_OF(below, w->rows.items[*up].own);
	uint64_t *at = row.path ? map_str_put(&w->by_path, path, strlen(path), &made) : NULL;
	if (!at || !vec_push(&w->rows, row)) {
		free(row.path);
		return -ENOMEM;
	}
	*at = w->rows.len - 1;
	return 0;
}

static int take_live(void *arg, int dir_fd, const char *name, const char *path)
{
	struct below_walk *w = arg;
	char dir[5000];
	uint64_t below;

	(void)dir_fd, (void)name;
	buf_clear(&w->name);
	buf_addf(&w->name, "%s/%s", w->top, path);
	if (snprintf(dir, sizeof(dir), "%s/%s", w->dir, path) >= (int)sizeof(dir) ||
	    read_stat(w, dir, &below, NULL) < 0)
		return 0; /* it went away meanwhile: what it had is its parent's */
	return w->rows.len < BELOW_MOST_READS ? add_row(w, buf_str(&w->name), below) : 1;
}

/* The owner of what was made in a cgroup is that around it: the name itself is not known. */
static bool add_group(struct census_summary *s, const struct below_row *row, struct buf *text)
{
	struct census_group g = { .count = row->own };
	AUTO_BUF struct buf owner = { 0 };
	struct owner o;
	bool made;

	buf_clear(text);
	buf_addf(text, "%s/?", row->path);
	owner_parse(buf_str(text), text->len, &o);
	owner_group(&owner, &o);
	uint64_t *at = map_str_put(&s->by_owner, buf_str(&owner), owner.len, &made);
	if (at && !made)
		s->groups.items[*at].count += row->own;
	if (!at || !made)
		return at;
	*at = s->groups.len;
	g.owner = arena_strdup(&s->strings, buf_str(&owner));
	g.parent = arena_strdup(&s->strings, *row->path ? row->path : "/");
	g.unit = o.unit.at ? arena_strndup(&s->strings, o.unit.at, o.unit.len) : NULL;
	g.kind = o.kind;
	return g.owner && g.parent && vec_push(&s->groups, g);
}

int zombies_below_stat(const struct root *root, const struct offer *offer, const char *path,
		       struct census_summary *s, struct err *err)
{
	const char *top = strcmp(path, "/") == 0 ? "" : path;
	char dir[5000];
	AUTO(below_walk_free) struct below_walk w = { .root = root, .dir = dir, .top = top };
	uint64_t below, live;

	if (!directory_of(offer, path, dir, sizeof(dir)))
		return err_set(err, -EOPNOTSUPP, "%s is not visible from here", path);
	int r = read_stat(&w, dir, &below, err);
	if (r == 0)
		r = add_row(&w, top, below);
	if (r == 0)
		r = cgroup_walk(root, dir, take_live, &w, &live, err);
	if (r < 0)
		return r;
	s->dying = below;
	s->have |= CENSUS_DYING;
	if (w.rows.len >= BELOW_MOST_READS)
		return 0; /* groups out of some of them would be false */
	vec_foreach (&w.rows, row)
		if (row->own && !add_group(s, row, &w.text))
			return err_set(err, -ENOMEM, "out of memory");
	census_summary_finish(s);
	s->have |= CENSUS_GROUPS;
	return 0;
}
