#include "unit_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "text.h"

enum {
	TREE_FILE_CAP = 4 << 20,
	TREE_NAMES_MOST = 200000,  /* units, links and dependencies in all */
	TREE_DROPINS_MOST = 16384, /* of one unit */
	TREE_FOLLOW_MOST = 64,     /* as systemd's UNIT_FILE_FOLLOW_SYMLINK_MAX */
};

/* systemd's order; /lib is looked at only where it is no link into /usr. */
static const struct {
	const char *dir;
	enum unit_place place;
} search_path[] = {
	{ "etc/systemd/system.control", UNIT_PLACE_CONTROL },
	{ "run/systemd/system.control", UNIT_PLACE_RUNTIME },
	{ "run/systemd/transient", UNIT_PLACE_TRANSIENT },
	{ "run/systemd/generator.early", UNIT_PLACE_GENERATOR },
	{ "etc/systemd/system", UNIT_PLACE_CONFIG },
	{ "etc/systemd/system.attached", UNIT_PLACE_CONTROL },
	{ "run/systemd/system", UNIT_PLACE_RUNTIME },
	{ "run/systemd/system.attached", UNIT_PLACE_RUNTIME },
	{ "run/systemd/generator", UNIT_PLACE_GENERATOR },
	{ "usr/local/lib/systemd/system", UNIT_PLACE_VENDOR },
	{ "lib/systemd/system", UNIT_PLACE_VENDOR },
	{ "usr/lib/systemd/system", UNIT_PLACE_VENDOR },
	{ "run/systemd/generator.late", UNIT_PLACE_GENERATOR },
};

static const char *tree_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Append index to the list whose head is in the map; order of insertion stays. */
static bool tree_chain(struct map_str *map, const char *key, size_t index,
		       size_t *(*next)(void *, size_t), void *arg)
{
	bool is_new;
	uint64_t *head = map_str_put(map, key, strlen(key), &is_new);

	if (!head)
		return false;
	if (is_new) {
		*head = index + 1;
		return true;
	}
	/* the head's high half remembers the tail, so that 10,000 equal keys stay linear */
	size_t tail = *head >> 32 ? (size_t)(*head >> 32) : (size_t)(*head & UINT32_MAX);
	*next(arg, tail - 1) = index + 1;
	*head = (uint64_t)(index + 1) << 32 | (*head & UINT32_MAX);
	return true;
}

static size_t tree_first(const struct map_str *map, const char *key)
{
	const uint64_t *head = map_str_get(map, key, strlen(key));
	return head ? (size_t)(*head & UINT32_MAX) : 0;
}

static size_t *next_name(void *arg, size_t i)
{
	return &((struct unit_tree *)arg)->at.items[i].next;
}

static size_t *next_target(void *arg, size_t i)
{
	return &((struct unit_tree *)arg)->at.items[i].next_target;
}

static size_t *next_dep(void *arg, size_t i)
{
	return &((struct unit_tree *)arg)->deps.items[i].next_name;
}

static size_t *next_of(void *arg, size_t i)
{
	return &((struct unit_tree *)arg)->deps.items[i].next_of;
}

struct tree_scan {
	struct unit_tree *tree;
	unsigned dir;
	const char *path; /* of the directory that is read */
	const char *of;   /* inside X.wants: X */
	bool requires;
};

static bool tree_full(struct unit_tree *t)
{
	if (t->at.len + t->deps.len < TREE_NAMES_MOST)
		return false;
	unknowns_add(&t->unknowns, "units",
		     "more than %d unit files and links: the rest was not read", TREE_NAMES_MOST);
	return true;
}

static int tree_each_dep(void *arg, const char *name, unsigned char type)
{
	struct tree_scan *s = arg;
	struct unit_tree *t = s->tree;

	if (type != DT_LNK || tree_full(t) || unit_name_kind(name) == UNIT_NAME_BAD)
		return 0;
	struct unit_dep dep = {
		.of = s->of,
		.name = arena_strdup(&t->arena, name),
		.dir = s->dir,
		.requires = s->requires,
	};
	if (!dep.name || !vec_push(&t->deps, dep))
		return -ENOMEM;
	size_t i = t->deps.len - 1;
	const char *template = unit_name_template(name, &t->arena);
	/* an instance is found under its template: that is how systemd finds templates enabled */
	if (!tree_chain(&t->deps_by_name, template ? template : name, i, next_dep, t) ||
	    !tree_chain(&t->deps_by_of, s->of, i, next_of, t))
		return -ENOMEM;
	return 0;
}

static int tree_each_entry(void *arg, const char *name, unsigned char type);

static int tree_scan_deps(struct tree_scan *s, const char *name, const char *suffix)
{
	struct unit_tree *t = s->tree;
	struct tree_scan sub = {
		.tree = t,
		.dir = s->dir,
		.path = arena_printf(&t->arena, "%s/%s", s->path, name),
		.of = arena_strndup(&t->arena, name, strlen(name) - strlen(suffix)),
		.requires = strcmp(suffix, ".requires") == 0,
	};
	int r = sub.path && sub.of ? root_list(t->root, sub.path, tree_each_dep, &sub, NULL)
				   : -ENOMEM;

	return r == -ENOMEM ? r : 0;
}

static int tree_each_entry(void *arg, const char *name, unsigned char type)
{
	struct tree_scan *s = arg;
	struct unit_tree *t = s->tree;
	const char *dot = strrchr(name, '.');

	if (!dot || tree_full(t))
		return 0;
	if (type == DT_DIR && (strcmp(dot, ".wants") == 0 || strcmp(dot, ".requires") == 0))
		return tree_scan_deps(s, name, dot);
	if (strcmp(dot, ".d") == 0 && (type == DT_DIR || type == DT_LNK)) {
		uint64_t *mask = map_str_put(&t->dropin_dirs, name, strlen(name), &(bool){ false });
		if (!mask)
			return -ENOMEM;
		*mask |= UINT64_C(1) << s->dir;
		return 0;
	}
	if ((type != DT_REG && type != DT_LNK) || unit_name_kind(name) == UNIT_NAME_BAD)
		return 0;
	struct unit_at at = { .name = arena_strdup(&t->arena, name), .dir = s->dir };
	if (type == DT_LNK) {
		char path[4400];
		AUTO_BUF struct buf target = { 0 };
		snprintf(path, sizeof(path), "%s/%s", s->path, name);
		if (root_readlink(t->root, path, &target, NULL) < 0)
			return 0; /* gone meanwhile */
		at.target = arena_strdup(&t->arena, buf_str(&target));
	}
	if (!at.name || !vec_push(&t->at, at))
		return -ENOMEM;
	size_t i = t->at.len - 1;
	if (!tree_chain(&t->by_name, at.name, i, next_name, t) ||
	    (at.target && !tree_chain(&t->by_target, tree_base(at.target), i, next_target, t)))
		return -ENOMEM;
	return 0;
}

/* /lib as a link into /usr shows the same files twice. */
static bool tree_lib_is_usr(const struct root *root)
{
	AUTO_BUF struct buf target = { 0 };

	return root_readlink(root, "lib", &target, NULL) == 0;
}

static void tree_read_machine_id(struct unit_tree *t)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	int r = root_read(t->root, "etc/machine-id", 4096, &text, &err);

	if (r == -ENOENT)
		t->machine_id = MACHINE_ID_ABSENT;
	else if (r < 0)
		unknowns_add(&t->unknowns, "machine-id", "%s", err.text);
	else if (text_starts(buf_str(&text), "uninitialized"))
		t->machine_id = MACHINE_ID_UNINITIALIZED;
	else
		t->machine_id = text_line_len(buf_str(&text)) ? MACHINE_ID_SET : MACHINE_ID_EMPTY;
}

int unit_tree_read(const struct root *root, struct unit_tree **ret, struct err *err)
{
	AUTO_UNIT_TREE struct unit_tree *t = calloc(1, sizeof(*t));
	bool lib_is_usr = tree_lib_is_usr(root), any = false;
	struct err why = { 0 };

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->root = root;
	for (size_t i = 0; i < ARRAY_LEN(search_path); i++) {
		if (lib_is_usr && strcmp(search_path[i].dir, "lib/systemd/system") == 0)
			continue;
		struct tree_scan scan = { .tree = t, .path = search_path[i].dir };
		scan.dir = (unsigned)t->n_dirs;
		t->dirs[t->n_dirs] = search_path[i].dir;
		t->places[t->n_dirs++] = search_path[i].place;
		int r = root_list(root, search_path[i].dir, tree_each_entry, &scan, &why);
		if (r == -ENOMEM)
			return err_set(err, r, "out of memory");
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			unknowns_add(&t->unknowns, search_path[i].dir, "%s", why.text);
		any = any || r == 0;
	}
	if (!any)
		return err_set(err, -ENODATA, "%s: no systemd unit directory in it", root->path);
	if (presets_read(root, &t->presets, &why) < 0)
		unknowns_add(&t->unknowns, "presets", "%s", why.text);
	tree_read_machine_id(t);
	*ret = TAKE_PTR(t);
	return 0;
}

void unit_tree_free(struct unit_tree *t)
{
	size_t at = 0;
	const char *key;
	size_t len;
	uint64_t *value;

	if (!t)
		return;
	while (map_str_next(&t->loaded, &at, &key, &len, &value)) {
		struct unit_loaded *u = (struct unit_loaded *)(uintptr_t)*value;
		if (!u)
			continue;
		unit_file_free(&u->file);
		vec_free(&u->install.wanted_by.list);
		vec_free(&u->install.required_by.list);
		vec_free(&u->install.aliases.list);
		vec_free(&u->install.also.list);
	}
	map_str_free(&t->loaded);
	map_str_free(&t->by_name);
	map_str_free(&t->by_target);
	map_str_free(&t->deps_by_name);
	map_str_free(&t->deps_by_of);
	map_str_free(&t->dropin_dirs);
	vec_free(&t->at);
	vec_free(&t->deps);
	presets_free(&t->presets);
	unknowns_free(&t->unknowns);
	arena_free(&t->arena);
	free(t);
}

/* Where a link leads, without its last component being followed: relative to the root, "." and ".."
 * removed, links of the directories on the way resolved as in /lib → usr/lib. */
static const char *tree_link_path(struct unit_tree *t, const struct unit_at *at)
{
	AUTO_BUF struct buf full = { 0 };
	VEC(const char *) parts = { 0 };

	if (*at->target == '/')
		buf_add_str(&full, at->target);
	else
		buf_addf(&full, "%s/%s", t->dirs[at->dir], at->target);
	for (const char *p = buf_str(&full); *p;) {
		size_t n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0)
			parts.len -= parts.len ? 1 : 0;
		else if (n && !(n == 1 && *p == '.'))
			(void)!vec_push(&parts, arena_strndup(&t->arena, p, n));
		p += n + (p[n] == '/');
	}
	buf_clear(&full);
	if (parts.len && strcmp(parts.items[0], "lib") == 0 && tree_lib_is_usr(t->root))
		buf_add_str(&full, "usr/");
	for (size_t i = 0; i < parts.len; i++)
		buf_addf(&full, "%s%s", i ? "/" : "", parts.items[i]);
	vec_free(&parts);
	return arena_strdup(&t->arena, buf_str(&full));
}

static int tree_search_dir(const struct unit_tree *t, const char *path)
{
	for (size_t i = 0; i < t->n_dirs; i++)
		if (text_starts(path, t->dirs[i]) && path[strlen(t->dirs[i])] == '/')
			return (int)i;
	return -1;
}

static int tree_read_file(struct unit_tree *t, const char *path, bool wide, bool dropin,
			  struct unit_loaded *u)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	int r = root_read(t->root, path, TREE_FILE_CAP, &text, &err);

	if (r == 0 && text.len == 0)
		u->masked = u->masked || !dropin; /* an empty unit file is a mask */
	else if (r == 0)
		r = unit_file_parse(buf_str(&text), text.len, wide, &t->arena, &u->file, &err);
	if (r < 0)
		snprintf(u->why, sizeof(u->why), "/%.60s: %.90s", path, err.text);
	return r;
}

struct tree_dropin {
	const char *name;
	const char *path;
	bool wide;
};

struct tree_dropin_scan {
	struct unit_tree *tree;
	struct map_str seen;
	VEC(struct tree_dropin) list;
	const char *dir;
	bool wide;
};

static int tree_each_dropin(void *arg, const char *name, unsigned char type)
{
	struct tree_dropin_scan *s = arg;
	bool is_new;

	(void)type;
	if (!text_ends(name, ".conf") || s->list.len >= TREE_DROPINS_MOST ||
	    !map_str_put(&s->seen, name, strlen(name), &is_new) || !is_new)
		return 0;
	(void)!vec_push(&s->list,
			(struct tree_dropin){ arena_strdup(&s->tree->arena, name),
					      arena_printf(&s->tree->arena, "%s/%s", s->dir, name),
					      s->wide });
	return 0;
}

static int tree_dropin_compare(const void *a, const void *b)
{
	return strcmp(((const struct tree_dropin *)a)->name, ((const struct tree_dropin *)b)->name);
}

static void tree_add_dropins(struct tree_dropin_scan *s, const char *name, bool wide)
{
	char dir_name[UNIT_NAME_MOST + 8];
	struct unit_tree *t = s->tree;

	snprintf(dir_name, sizeof(dir_name), "%s.d", name);
	const uint64_t *mask = map_str_get(&t->dropin_dirs, dir_name, strlen(dir_name));
	for (size_t i = 0; mask && i < t->n_dirs; i++) {
		if (!(*mask & UINT64_C(1) << i))
			continue;
		s->dir = arena_printf(&t->arena, "%s/%s", t->dirs[i], dir_name);
		s->wide = wide;
		(void)root_list(t->root, s->dir, tree_each_dropin, s, NULL);
	}
}

/* Most specific first, because the first of equal file names wins; then all by file name. */
static int tree_read_dropins(struct unit_tree *t, struct unit_loaded *u)
{
	struct tree_dropin_scan s = { .tree = t };
	const char *template = unit_name_template(u->name, &t->arena);
	const char *suffix = unit_name_suffix(u->name);
	char prefix[UNIT_NAME_MOST + 2];
	int r = 0;

	tree_add_dropins(&s, u->name, false);
	if (template)
		tree_add_dropins(&s, template, false);
	/* foo-bar-baz.service: foo-bar-.service.d, foo-.service.d */
	for (size_t n = strcspn(u->name, "@"); n-- > 1;) {
		if (u->name[n] != '-' || u->name + n >= suffix - 1)
			continue;
		snprintf(prefix, sizeof(prefix), "%.*s%s", (int)n + 1, u->name, suffix);
		tree_add_dropins(&s, prefix, true);
	}
	if (*suffix)
		tree_add_dropins(&s, suffix + 1, true);
	vec_sort(&s.list, tree_dropin_compare);
	vec_foreach (&s.list, it) {
		int q = it->path ? tree_read_file(t, it->path, it->wide, true, u) : -ENOMEM;
		if (q == -ENOENT)
			continue;
		if (q < 0 && !it->wide && r == 0)
			r = q;
		u->dropins++;
	}
	vec_free(&s.list);
	map_str_free(&s.seen);
	return r;
}

/* Is the link a valid alias: same type, and plain to plain, template to template, instance to
 * template or to the same instance? */
static bool tree_alias_fits(const char *from, const char *to)
{
	enum unit_name_kind a = unit_name_kind(from), b = unit_name_kind(to);

	if (b == UNIT_NAME_BAD || strcmp(from, to) == 0 ||
	    strcmp(unit_name_suffix(from), unit_name_suffix(to)) != 0)
		return false;
	if (a == UNIT_NAME_INSTANCE && b == UNIT_NAME_INSTANCE)
		return strcmp(strchr(from, '@'), strchr(to, '@')) == 0;
	return a == b || (a == UNIT_NAME_INSTANCE && b == UNIT_NAME_TEMPLATE);
}

static bool tree_link_is_mask(struct unit_tree *t, const char *path)
{
	struct stat st;

	if (strcmp(path, "dev/null") == 0)
		return true;
	return root_lstat(t->root, path, &st, NULL) == 0 &&
	       ((S_ISREG(st.st_mode) && st.st_size == 0) || S_ISCHR(st.st_mode));
}

/* The name's entry of the highest rank, or that of its template. */
static const struct unit_at *tree_find(struct unit_tree *t, const char *name)
{
	size_t i = tree_first(&t->by_name, name);
	const char *template = i ? NULL : unit_name_template(name, &t->arena);

	if (template)
		i = tree_first(&t->by_name, template);
	return i ? &t->at.items[i - 1] : NULL;
}

static int tree_fail(struct unit_loaded *u, int r, const char *why, const char *what)
{
	snprintf(u->why, sizeof(u->why), "%s %.100s", why, what);
	return r;
}

/* Follow links from u->name until a file or a mask is reached: u->path, u->dir, u->name, u->masked.
 */
static int tree_follow(struct unit_tree *t, struct unit_loaded *u)
{
	const struct unit_at *at = tree_find(t, u->name);

	for (unsigned k = 0; k < TREE_FOLLOW_MOST; k++) {
		if (!at)
			return tree_fail(u, -ENOENT, "no unit file of", u->name);
		u->dir = at->dir;
		u->path = arena_printf(&t->arena, "%s/%s", t->dirs[at->dir], at->name);
		if (!at->target)
			return 0;
		const char *path = tree_link_path(t, at);
		if (!path)
			return -ENOMEM;
		if (tree_link_is_mask(t, path)) {
			u->masked = true;
			return 0;
		}
		int dir = tree_search_dir(t, path);
		const char *base = tree_base(path);
		if (dir < 0) { /* a linked unit file: it lies elsewhere in the tree */
			AUTO_BUF struct buf again = { 0 };
			u->path = path;
			if (root_readlink(t->root, path, &again, NULL) == 0)
				u->masked = strcmp(buf_str(&again), "/dev/null") == 0;
			return root_exists(t->root, path)
				       ? 0
				       : tree_fail(u, -ENOENT, "dangling link to", path);
		}
		if (strcmp(base, at->name) != 0 || strcmp(base, u->name) != 0) {
			if (!tree_alias_fits(at->name, base))
				return tree_fail(u, -EXDEV, "not a valid alias of", base);
			const char *instance = strchr(u->name, '@');
			if (unit_name_kind(u->name) == UNIT_NAME_INSTANCE &&
			    unit_name_kind(base) == UNIT_NAME_TEMPLATE)
				base = unit_name_with_instance(
					base, instance + 1,
					(size_t)(unit_name_suffix(u->name) - instance - 1),
					&t->arena);
			if (base && strcmp(base, u->name) == 0)
				return tree_fail(u, -ELOOP, "alias of itself:", u->name);
			u->name = base;
			at = base ? tree_find(t, base) : NULL;
			continue;
		}
		return tree_fail(u, -ELOOP, "alias of itself:", u->name);
	}
	return tree_fail(u, -ELOOP, "links go round in a circle at", u->name);
}

static void tree_install(struct unit_tree *t, struct unit_loaded *u)
{
	unit_file_words(&u->file, "Install", "WantedBy", &t->arena, &u->install.wanted_by);
	unit_file_words(&u->file, "Install", "RequiredBy", &t->arena, &u->install.required_by);
	unit_file_words(&u->file, "Install", "Alias", &t->arena, &u->install.aliases);
	unit_file_words(&u->file, "Install", "Also", &t->arena, &u->install.also);
	u->install.default_instance = unit_file_get(&u->file, "Install", "DefaultInstance");
	if (unit_name_kind(u->name) != UNIT_NAME_TEMPLATE)
		u->install.default_instance = NULL;
}

const struct unit_loaded *unit_tree_load(struct unit_tree *t, const char *name)
{
	bool is_new;
	uint64_t *slot = map_str_put(&t->loaded, name, strlen(name), &is_new);

	if (!slot)
		return NULL;
	if (!is_new && *slot)
		return (const struct unit_loaded *)(uintptr_t)*slot;
	struct unit_loaded *u = arena_alloc(&t->arena, sizeof(*u));
	if (!u)
		return NULL;
	*slot = (uintptr_t)u;
	u->asked = u->name = arena_strdup(&t->arena, name);
	if (!u->asked)
		u->r = -ENOMEM;
	else
		u->r = tree_follow(t, u);
	if (u->r < 0 || u->masked)
		return u;
	u->r = tree_read_file(t, u->path, false, false, u);
	if (u->r == 0 && !u->masked)
		u->r = tree_read_dropins(t, u);
	tree_install(t, u);
	return u;
}

int unit_tree_each(struct unit_tree *t, int (*each)(void *arg, const char *name), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < t->at.len && r == 0; i++)
		if (tree_first(&t->by_name, t->at.items[i].name) == i + 1)
			r = each(arg, t->at.items[i].name);
	return r;
}

const char *machine_id_state_name(enum machine_id_state state)
{
	static const char *const names[] = {
		[MACHINE_ID_SET] = "set",
		[MACHINE_ID_EMPTY] = "empty",
		[MACHINE_ID_ABSENT] = "absent",
		[MACHINE_ID_UNINITIALIZED] = "uninitialized",
	};
	return state < ARRAY_LEN(names) ? names[state] : "unknown";
}
