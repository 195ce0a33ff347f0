#include "ipc_shm.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "process_files.h"
#include "text.h"

/* Inode of the first IPC namespace (PROC_IPC_INIT_INO). */
static const uint64_t ipc_init_space = 4026531839;

struct looking {
	const struct root *root;
	struct ipc_shm *shm;
};

static bool add_segment(const char *line, size_t space, struct ipc_shm *ret)
{
	struct ipc_segment s = { .space = space };
	const char *p = text_skip_blanks(line);
	bool negative = *p == '-';
	uint64_t key, id;

	p += negative;
	if (text_take_u64(&p, &key) < 0 || key > UINT32_MAX)
		return false;
	p = text_skip_blanks(p);
	if (text_take_u64(&p, &id) < 0 || id > INT32_MAX ||
	    text_column_u64(line, 6, &s.attached) < 0)
		return false;
	s.id = (uint32_t)id;
	s.key = negative ? -(uint32_t)key : (uint32_t)key;
	return vec_push(&ret->segments, s);
}

int ipc_shm_parse(const char *text, size_t space, struct ipc_shm *ret)
{
	/* key, shmid, perms, size, cpid, lpid, nattch; the first line names them */
	for (const char *p = text_next_line(text); p && *p; p = text_next_line(p))
		if (!add_segment(p, space, ret))
			return -EBADMSG;
	return 0;
}

int ipc_space_of(const struct root *root, const char *process, uint64_t *ret)
{
	AUTO_BUF struct buf link = { 0 };
	char path[60];

	snprintf(path, sizeof(path), "proc/%s/ns/ipc", process);
	int r = root_readlink(root, path, &link, NULL);
	if (r == -EINVAL) /* it ended and is not reaped: its link is there, but leads nowhere */
		return -ESRCH;
	if (r < 0)
		return r;
	const char *p = buf_str(&link);
	if (!text_starts(p, "ipc:["))
		return -EBADMSG;
	p += strlen("ipc:[");
	return text_take_u64(&p, ret);
}

static void add_space(struct ipc_shm *shm, uint64_t inode, int pid, bool ours)
{
	vec_foreach (&shm->spaces, s)
		if (s->inode == inode)
			return;
	if (!vec_push(&shm->spaces, (struct ipc_space){ inode, pid, ours }))
		shm->blind = true;
}

static int look_at_process(void *arg, const char *name, unsigned char type)
{
	struct looking *l = arg;
	uint64_t pid, inode;

	(void)type;
	if (text_u64(name, &pid) < 0 || pid > INT32_MAX)
		return 0;
	int r = ipc_space_of(l->root, name, &inode);
	/* the first process of the host was born in the first namespace */
	if ((r == -EACCES || r == -EPERM) && pid == 1) {
		inode = ipc_init_space;
		r = 0;
	}
	if (r == 0)
		add_space(l->shm, inode, (int)pid, false);
	else if (!process_is_gone(l->root, (int)pid, r))
		l->shm->blind = true;
	return 0;
}

static int read_table(const struct root *root, size_t space, struct ipc_shm *ret)
{
	AUTO_BUF struct buf text = { 0 };
	int r = root_read(root, "proc/sysvipc/shm", ROOT_FILE_CAP, &text, NULL);

	return r < 0 ? r : ipc_shm_parse(buf_str(&text), space, ret);
}

/* The kernel shows the table of whoever opens it: go there, open it, come back. */
static int read_foreign(const struct root *root, size_t space, struct ipc_shm *ret)
{
	char path[60];

	if (!root->live)
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "proc/%d/ns/ipc", ret->spaces.items[space].pid);
	AUTO_CLOSE int home = root_open_file(root, "proc/self/ns/ipc", ROOT_MAGIC, NULL);
	AUTO_CLOSE int there = root_open_file(root, path, ROOT_MAGIC, NULL);
	if (home < 0 || there < 0)
		return home < 0 ? home : there;
	if (setns(there, CLONE_NEWIPC) < 0)
		return -errno;
	int r = read_table(root, space, ret);
	return setns(home, CLONE_NEWIPC) < 0 ? -errno : r;
}

void ipc_shm_read(const struct root *root, struct ipc_shm *ret)
{
	struct looking l = { .root = root, .shm = ret };
	uint64_t own;

	int r = ipc_space_of(root, "self", &own);
	if (r == -ENOENT)
		own = IPC_SPACE_ONLY;
	else if (r < 0)
		ret->blind = true;
	add_space(ret, r < 0 && r != -ENOENT ? 0 : own, 0, true);
	if (r == 0 &&
	    (root_list(root, "proc", look_at_process, &l, NULL) < 0 || !process_all_shown(root)))
		ret->blind = true;
	for (size_t i = 0; i < ret->spaces.len && !ret->blind; i++)
		if ((ret->spaces.items[i].ours ? read_table(root, i, ret)
					       : read_foreign(root, i, ret)) < 0)
			ret->blind = true;
}

int ipc_shm_find(const struct ipc_shm *shm, uint64_t id, const char *name,
		 const struct ipc_segment **ret)
{
	const struct ipc_segment *one = NULL;
	const char *p = name + MIN_OF(strlen(name), strlen("SYSV"));
	uint64_t key;

	if (shm->blind || text_take_hex(&p, &key) < 0)
		return -EAGAIN;
	vec_foreach (&shm->segments, s) {
		/* one that is marked for removal has lost its key, but not its name */
		if (s->id != id || (s->key && s->key != key))
			continue;
		if (one)
			return -EAGAIN;
		one = s;
	}
	if (!one)
		return -EAGAIN;
	*ret = one;
	return 0;
}

void ipc_shm_free(struct ipc_shm *shm)
{
	vec_free(&shm->spaces);
	vec_free(&shm->segments);
	*shm = (struct ipc_shm){ 0 };
}
