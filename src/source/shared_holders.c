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
	uint64_t ipc_ns; /* of the process; 0 = not read yet, or not readable */
};

bool shared_is_sysv(const char *name)
{
	return name && text_starts(name, "SYSV");
}

/* Of what has no path any more. */
struct shared_inode {
	uint32_t major, minor;
	uint64_t inode;
	uint64_t ipc_ns; /* System V shared memory counts its inodes by itself, in each of these */
};

static uint64_t key_of(const struct shared_inode *i)
{
	uint64_t words[3] = { (uint64_t)i->major << 32 | i->minor, i->inode, i->ipc_ns };

	return hash_bytes(words, sizeof(words));
}

static uint64_t ipc_ns_of(struct looking *l)
{
	char name[20];

	snprintf(name, sizeof(name), "%d", l->pid);
	if (!l->ipc_ns && ipc_space_of(l->root, name, &l->ipc_ns) == -ENOENT)
		l->ipc_ns = IPC_SPACE_ONLY;
	return l->ipc_ns;
}

static void found(void *arg, const struct process_file *f)
{
	struct looking *l = arg;
	struct shared_holders *h = l->h;
	struct shared_inode inode = { f->major, f->minor, f->inode, 0 };
	bool made;

	if (!f->deleted)
		return;
	if (f->pid != l->pid)
		l->ipc_ns = 0;
	l->pid = f->pid;
	/* the name begins with a slash */
	if (f->mapped && shared_is_sysv(f->name + 1))
		inode.ipc_ns = ipc_ns_of(l);
	uint64_t key = key_of(&inode);
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
	e->last_pid = l->pid;
	if (!e->who.processes++)
		e->who.pid = l->pid;
}

static void look_at_all(struct shared_holders *h, const struct root *root, unsigned what)
{
	struct looking l = { .h = h, .root = root };
	struct process_unseen unseen;

	(void)process_files_each(root, what, found, &l, &unseen, NULL);
	h->unseen.processes = MAX_OF(h->unseen.processes, unseen.processes);
	h->unseen.hidden |= unseen.hidden;
	h->unseen.failed |= unseen.failed;
}

static struct shared_entry *look_up(struct shared_holders *h, const struct root *root,
				    const struct shared_inode *inode)
{
	uint64_t *at;

	/* no descriptor leads to System V shared memory */
	if (!h->read_fds && !inode->ipc_ns) {
		h->read_fds = true;
		look_at_all(h, root, PROCESS_FILES_OPEN);
	}
	at = map_u64_get(&h->by_inode, key_of(inode));
	if (!at && !h->read_maps) {
		h->read_maps = true;
		look_at_all(h, root, PROCESS_FILES_MAPPED);
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
	process_read_comm(root, who->pid, who->comm, sizeof(who->comm));
	name_owner(h, root, who);
}

static int find_segment(struct shared_holders *h, const struct root *root, uint64_t id,
			const char *name, const struct ipc_segment **ret)
{
	if (!h->read_ipc)
		ipc_shm_read(root, &h->ipc);
	h->read_ipc = true;
	return ipc_shm_find(&h->ipc, id, name, ret);
}

int shared_holders_find(struct shared_holders *h, const struct root *root, uint32_t major_nr,
			uint32_t minor_nr, uint64_t inode, const char *name,
			struct zombie_holder *ret)
{
	struct shared_inode i = { major_nr, minor_nr, inode, 0 };
	const struct ipc_segment *segment = NULL;
	struct zombie_holder who = { 0 };

	if (shared_is_sysv(name) && find_segment(h, root, inode, name, &segment) < 0)
		return -EAGAIN;
	if (segment)
		i.ipc_ns = h->ipc.spaces.items[segment->space].inode;
	if (!segment || segment->attached) {
		struct shared_entry *e = look_up(h, root, &i);
		/* the kernel says that somebody has the segment */
		if (!e && (segment || h->lost || process_unseen_any(&h->unseen)))
			return -EAGAIN;
		if (e && !*e->who.comm) /* only what is asked for is named */
			name_process(h, root, &e->who);
		if (e)
			who = e->who;
	}
	if (segment) {
		const struct ipc_space *space = &h->ipc.spaces.items[segment->space];
		who.ipc_ns = space->inode;
		who.ipc_pid = who.pid ? who.pid : space->pid;
		who.ipc_ours = space->ours;
	}
	*ret = who;
	return 0;
}

void shared_holders_free(struct shared_holders *h)
{
	ipc_shm_free(&h->ipc);
	map_u64_free(&h->by_inode);
	vec_free(&h->list);
	arena_free(&h->strings);
	*h = (struct shared_holders){ 0 };
}
