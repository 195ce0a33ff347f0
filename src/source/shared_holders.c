#include "shared_holders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "owner.h"
#include "proc_pid.h"
#include "process_files.h"
#include "text.h"

enum { SHARED_MOST = 65536 };

struct looking {
	struct shared_holders *h;
	const struct root *root;
	int pid;
	uint64_t ipc_ns; /* 0 = not read yet */
};

bool shared_is_sysv(const char *name)
{
	return name && text_starts(name, "SYSV");
}

/* Of what has no path any more. */
struct shared_inode {
	uint32_t major, minor;
	uint64_t inode;
	bool sysv; /* counts its inodes by itself */
};

static uint64_t key_of(const struct shared_inode *i)
{
	uint64_t words[3] = { (uint64_t)i->major << 32 | i->minor, i->inode, i->sysv };

	return hash_bytes(words, sizeof(words));
}

static uint64_t ipc_ns_of(struct looking *l)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];

	if (l->ipc_ns)
		return l->ipc_ns;
	snprintf(path, sizeof(path), "proc/%d/ns/ipc", l->pid);
	l->ipc_ns = root_readlink(l->root, path, &text, NULL) == 0
			    ? hash_bytes(buf_str(&text), text.len) | 1
			    : 1;
	return l->ipc_ns;
}

static void found(void *arg, const struct process_file *f)
{
	struct looking *l = arg;
	struct shared_holders *h = l->h;
	/* the name begins with a slash */
	bool sysv = f->mapped && shared_is_sysv(f->name + 1);
	struct shared_inode inode = { f->major, f->minor, f->inode, sysv };
	uint64_t key = key_of(&inode);
	bool made;

	if (!f->deleted)
		return;
	if (f->pid != l->pid)
		l->ipc_ns = 0;
	l->pid = f->pid;
	if (h->list.len >= SHARED_MOST && !map_u64_get(&h->by_inode, key)) {
		h->lost++;
		return;
	}
	uint64_t *at = map_u64_put(&h->by_inode, key, &made);
	if (!at)
		return;
	if (made) {
		struct shared_entry fresh = { .by_fd = !f->mapped };
		if (!vec_push(&h->list, fresh)) {
			map_u64_remove(&h->by_inode, key);
			return;
		}
		*at = h->list.len;
	}
	struct shared_entry *e = &h->list.items[*at - 1];
	if (e->last_pid == l->pid || (f->mapped && e->by_fd))
		return;
	if (inode.sysv && e->ipc_ns && e->ipc_ns != ipc_ns_of(l))
		e->ambiguous = true;
	if (inode.sysv && !e->ipc_ns)
		e->ipc_ns = ipc_ns_of(l);
	e->last_pid = l->pid;
	if (!e->who.processes++)
		e->who.pid = l->pid;
}

static struct shared_entry *look_up(struct shared_holders *h, const struct root *root,
				    const struct shared_inode *inode)
{
	struct looking l = { .h = h, .root = root };
	uint64_t *at;

	/* no descriptor leads to System V shared memory */
	if (!h->read_fds && !inode->sysv) {
		h->read_fds = true;
		process_files_each(root, PROCESS_FILES_OPEN, found, &l, NULL);
	}
	at = map_u64_get(&h->by_inode, key_of(inode));
	if (!at && !h->read_maps) {
		h->read_maps = true;
		process_files_each(root, PROCESS_FILES_MAPPED, found, &l, NULL);
		at = map_u64_get(&h->by_inode, key_of(inode));
	}
	return at ? &h->list.items[*at - 1] : NULL;
}

/* systemd's own hierarchy names units best; a host without it has another. */
static void name_owner(struct shared_holders *h, const struct root *root, struct zombie_holder *who)
{
	static const char *const hierarchies[] = { "name=systemd", NULL, "memory" };
	AUTO_BUF struct buf text = { 0 }, label = { 0 };
	struct owner owner;
	const char *at;
	char path[40];
	size_t len;

	snprintf(path, sizeof(path), "proc/%d/cgroup", who->pid);
	if (root_read(root, path, 65536, &text, NULL) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++) {
		if (proc_pid_cgroup_parse(buf_str(&text), hierarchies[i], &at, &len) < 0 || len < 2)
			continue;
		owner_parse(at, len, &owner);
		owner_label(&label, &owner);
		who->owner = arena_strndup(&h->strings, buf_str(&label), label.len);
		if (owner.unit.at)
			who->unit = arena_strndup(&h->strings, owner.unit.at, owner.unit.len);
		return;
	}
}

static void name_process(struct shared_holders *h, const struct root *root,
			 struct zombie_holder *who)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/comm", who->pid);
	if (root_read(root, path, 4096, &text, NULL) == 0)
		text_copy_n(who->comm, sizeof(who->comm), buf_str(&text),
			    text_line_len(buf_str(&text)));
	name_owner(h, root, who);
}

int shared_holders_find(struct shared_holders *h, const struct root *root, uint32_t major_nr,
			uint32_t minor_nr, uint64_t inode, const char *name,
			struct zombie_holder *ret)
{
	struct shared_inode i = { major_nr, minor_nr, inode, shared_is_sysv(name) };

	struct shared_entry *e = look_up(h, root, &i);
	if ((!e && h->lost) || (e && e->ambiguous))
		return -EAGAIN;
	if (e && !*e->who.comm) /* only what is asked for is named */
		name_process(h, root, &e->who);
	*ret = e ? e->who : (struct zombie_holder){ 0 };
	return 0;
}

void shared_holders_free(struct shared_holders *h)
{
	map_u64_free(&h->by_inode);
	vec_free(&h->list);
	arena_free(&h->strings);
	*h = (struct shared_holders){ 0 };
}
