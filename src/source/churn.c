#include "churn.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "auto.h"
#include "bpf_types.h"
#include "buf.h"
#include "cgroup_names.h"
#include "cgroup_walk.h"
#include "churn_abi.h"
/* generated: needs churn_abi.h */
#include "churn.skel.h"
#include "timefmt.h"

enum { CHURN_MOST_WATCHES = 8000 };

struct churn {
	struct churn_bpf *skel;
	struct ring_buffer *ring;
	void (*each)(void *arg, const struct churn_event *e);
	void *arg;
	struct buf own; /* path of a creator's cgroup */
	/* inotify */
	int fd;
	const struct root *root;
	char top[300];          /* where the hierarchy is mounted, absolute */
	struct map_u64 watches; /* watch descriptor → char * of the path below the top */
	uint64_t lost;
};

/* The creator's own cgroup and its parent, which is what one wants of a helper that ended. */
static void take_creator(struct churn *c, const struct churn_raw_made *made, struct churn_event *e)
{
	buf_clear(&c->own);
	(void)cgroup_names_path(&c->own, made->names, MIN_OF(made->names_len, sizeof(made->names)));
	e->own_cgroup = c->own.len ? buf_str(&c->own) : NULL;
	e->parent_comm = made->parent_comm[0] ? made->parent_comm : NULL;
}

static int take_raw(void *ctx, void *data, size_t size)
{
	struct churn *c = ctx;
	const struct churn_raw *raw = data;
	struct churn_event e = {
		.mono_ns = raw->time_ns,
		.id = raw->id,
		.path = raw->path,
		.pid = raw->pid,
		.ppid = raw->ppid,
	};
	static const enum churn_what what[] = {
		[CHURN_MKDIR] = CHURN_MADE,
		[CHURN_RMDIR] = CHURN_REMOVED,
		[CHURN_RELEASE] = CHURN_RELEASED,
		[CHURN_ATTACH] = CHURN_ATTACHED,
	};

	if (size < sizeof(*raw) || raw->type > CHURN_ATTACH || !c->each)
		return 0;
	e.what = what[raw->type];
	if (raw->comm[0])
		e.comm = raw->comm;
	if (raw->type == CHURN_MKDIR && size >= sizeof(struct churn_raw_made))
		take_creator(c, data, &e);
	c->each(c->arg, &e);
	return 0;
}

static int open_bpf(struct churn *c, struct err *err)
{
	const char *wish = getenv("ZSCOPE_CENSUS");

	if (wish && strcmp(wish, "off") == 0)
		return err_set(err, -EPERM, "bpf: switched off by ZSCOPE_CENSUS=off");
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));

	c->skel = churn_bpf__open_opts(&opts);
	if (!c->skel)
		return err_set(err, -errno, "bpf: opening the churn program: %s", strerror(errno));
	int r = bpf_types_fill(&types, c->root, c->skel->obj, err);
	if (r < 0)
		return err_prefix(err, r, "bpf");
	r = churn_bpf__load(c->skel);
	if (r < 0)
		return err_set(err, r, "bpf: the churn program cannot be loaded: %s", strerror(-r));
	if (churn_bpf__attach(c->skel) < 0)
		return err_set(err, -errno, "bpf: attaching to the cgroup tracepoints: %s",
			       strerror(errno));
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.events), take_raw, c, NULL);
	return c->ring ? 0 : err_set(err, -errno, "bpf: ring buffer: %s", strerror(errno));
}

/* path is below the top, "" = the top itself. */
static int watch(struct churn *c, const char *path)
{
	char full[5000];
	bool made;

	if (c->watches.len >= CHURN_MOST_WATCHES)
		return -ENOSPC;
	if (snprintf(full, sizeof(full), "%s%s%s", c->top, *path ? "/" : "", path) >=
	    (int)sizeof(full))
		return -ENAMETOOLONG;
	int wd = inotify_add_watch(c->fd, full, IN_CREATE | IN_DELETE | IN_ONLYDIR);
	if (wd < 0)
		return -errno;
	uint64_t *at = map_u64_put(&c->watches, (uint64_t)wd, &made);
	char *copy = strdup(path);
	if (!at || !copy) {
		free(copy);
		return -ENOMEM;
	}
	if (!made)
		free((char *)(uintptr_t)*at);
	*at = (uint64_t)(uintptr_t)copy;
	return 0;
}

static int watch_walked(void *arg, int dir_fd, const char *name, const char *path)
{
	(void)dir_fd, (void)name;
	return watch(arg, path) == -ENOSPC ? 1 : 0;
}

static int open_inotify(struct churn *c, const struct offer *offer, struct unknowns *unknowns,
			struct err *err)
{
	const struct offer_mount *mount = offer_memory_mount(offer);
	uint64_t n;

	if (!mount)
		return err_set(err, -ENOENT, "no memory cgroup hierarchy is mounted here");
	snprintf(c->top, sizeof(c->top), "/%s", mount->dir);
	c->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (c->fd < 0)
		return err_set(err, -errno, "inotify: %s", strerror(errno));
	int r = watch(c, "");
	if (r < 0)
		return err_path(err, r, c->top);
	cgroup_walk(c->root, mount->dir, watch_walked, c, &n, NULL);
	if (c->watches.len >= CHURN_MOST_WATCHES)
		unknowns_add(unknowns, "churn of some cgroups", "only %d directories are watched",
			     CHURN_MOST_WATCHES);
	return 0;
}

int churn_open(const struct root *root, const struct offer *offer, struct churn **ret,
	       struct unknowns *unknowns, struct err *err)
{
	struct churn *c = calloc(1, sizeof(*c));
	struct err bpf = { 0 };

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->fd = -1;
	c->root = root;
	if (!root->live) {
		churn_close(c);
		return err_set(err, -EOPNOTSUPP, "a captured host does not change");
	}
	if (open_bpf(c, &bpf) == 0) {
		*ret = c;
		return 0;
	}
	churn_bpf__destroy(c->skel);
	c->skel = NULL;
	unknowns_add(unknowns, "creators and release of cgroups", "%s; names come from inotify",
		     bpf.text);
	int r = open_inotify(c, offer, unknowns, err);
	if (r < 0) {
		churn_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

int churn_fd(const struct churn *c)
{
	return c->ring ? ring_buffer__epoll_fd(c->ring) : c->fd;
}

bool churn_knows_creators(const struct churn *c)
{
	return c->ring != NULL;
}

uint64_t churn_lost(const struct churn *c)
{
	return c->skel ? c->skel->bss->lost : c->lost;
}

static void take_inotify(struct churn *c, const struct inotify_event *in)
{
	const uint64_t *at = map_u64_get(&c->watches, (uint64_t)in->wd);
	char path[5000];
	struct churn_event e = { .mono_ns = clock_mono_ns(), .path = path };

	if (in->mask & IN_Q_OVERFLOW)
		c->lost++;
	if (in->mask & IN_IGNORED && at) {
		free((char *)(uintptr_t)*at);
		map_u64_remove(&c->watches, (uint64_t)in->wd);
		return;
	}
	if (!at || !(in->mask & IN_ISDIR) || !in->len)
		return;
	const char *parent = (const char *)(uintptr_t)*at;
	snprintf(path, sizeof(path), "/%s%s%s", parent, *parent ? "/" : "", in->name);
	e.what = in->mask & IN_CREATE ? CHURN_MADE : CHURN_REMOVED;
	c->each(c->arg, &e);
	if (in->mask & IN_CREATE)
		watch(c, path + 1);
}

static int read_inotify(struct churn *c, struct err *err)
{
	_Alignas(struct inotify_event) char bytes[16384];

	for (;;) {
		ssize_t n = read(c->fd, bytes, sizeof(bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return err_set(err, n < 0 ? -errno : -EIO, "inotify: %s", strerror(errno));
		for (ssize_t i = 0; i + (ssize_t)sizeof(struct inotify_event) <= n;) {
			const struct inotify_event *in = (const void *)(bytes + i);
			take_inotify(c, in);
			i += (ssize_t)(sizeof(*in) + in->len);
		}
	}
}

int churn_read(struct churn *c, void (*each)(void *arg, const struct churn_event *e), void *arg,
	       struct err *err)
{
	c->each = each;
	c->arg = arg;
	if (!c->ring)
		return read_inotify(c, err);
	int r = ring_buffer__consume(c->ring);
	return r < 0 ? err_set(err, r, "reading cgroup events: %s", strerror(-r)) : 0;
}

void churn_close(struct churn *c)
{
	size_t at = 0;
	uint64_t key, *value;

	if (!c)
		return;
	ring_buffer__free(c->ring);
	buf_free(&c->own);
	churn_bpf__destroy(c->skel);
	if (c->fd >= 0)
		close(c->fd);
	while (map_u64_next(&c->watches, &at, &key, &value))
		free((char *)(uintptr_t)*value);
	map_u64_free(&c->watches);
	free(c);
}
