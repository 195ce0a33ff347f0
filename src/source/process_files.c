#include "process_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "text.h"

/* Inode of the first PID namespace (PROC_PID_INIT_INO). */
#define PROCESS_INIT_PID_NS "pid:[4026531836]"

struct looking {
	const struct root *root;
	unsigned what;
	void (*each)(void *arg, const struct process_file *file);
	void *arg;
	struct process_unseen unseen;
	int pid;
};

bool process_is_gone(const struct root *root, int pid, int r)
{
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/status", pid);
	return r == -ENOENT || r == -ESRCH || !root_exists(root, path);
}

static bool is_deleted(const char *name)
{
	static const char mark[] = " (deleted)";
	size_t len = text_line_len(name), n = sizeof(mark) - 1;

	return len > n && memcmp(name + len - n, mark, n) == 0;
}

bool process_map_parse(const char *line, struct process_map *ret)
{
	struct process_map map = { 0 };
	size_t len = strcspn(line, " \n");
	const char *p = line + len;
	uint64_t major, minor, skipped;

	if (!len || len >= sizeof(map.range) || *p != ' ')
		return false;
	text_copy_n(map.range, sizeof(map.range), line, len);
	p = text_skip_blanks(p);
	p += strcspn(p, " \n"); /* permissions */
	p = text_skip_blanks(p);
	if (text_take_hex(&p, &skipped) < 0)
		return false;
	p = text_skip_blanks(p);
	if (text_take_hex(&p, &major) < 0 || *p++ != ':' || text_take_hex(&p, &minor) < 0 ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	p = text_skip_blanks(p);
	if (text_take_u64(&p, &map.inode) < 0 || (!map.inode && !major && !minor))
		return false;
	map.major = (uint32_t)major;
	map.minor = (uint32_t)minor;
	map.name = text_skip_blanks(p);
	map.deleted = is_deleted(map.name);
	*ret = map;
	return true;
}

/* False = not all of it could be seen. */
static bool look_at_open(const struct looking *l)
{
	char path[40];
	bool seen = true;

	snprintf(path, sizeof(path), "proc/%d/fd", l->pid);
	int fd = root_open_dir(l->root, path, 0, NULL);
	if (fd < 0)
		return process_is_gone(l->root, l->pid, fd);
	AUTO_CLOSEDIR DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return false;
	}
	for (;;) {
		struct statx st;
		errno = 0;
		struct dirent *e = readdir(dir);
		if (!e)
			return seen && (!errno || process_is_gone(l->root, l->pid, -errno));
		if (e->d_name[0] == '.')
			continue;
		/* what is known already: a server that does not answer would hold us for ever */
		if (statx(dirfd(dir), e->d_name, AT_STATX_DONT_SYNC,
			  STATX_TYPE | STATX_INO | STATX_NLINK, &st) < 0) {
			seen = seen && process_is_gone(l->root, l->pid, -errno);
			continue;
		}
		if (!S_ISREG(st.stx_mode))
			continue;
		struct process_file f = {
			.pid = l->pid,
			.major = st.stx_dev_major,
			.minor = st.stx_dev_minor,
			.inode = st.stx_ino,
			.deleted = !st.stx_nlink,
			.link = e->d_name,
		};
		l->each(l->arg, &f);
	}
}

static bool look_at_mapped(const struct looking *l)
{
	AUTO_BUF struct buf text = { 0 };
	struct process_map map;
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/maps", l->pid);
	int r = root_read(l->root, path, ROOT_FILE_CAP, &text, NULL);
	if (r < 0)
		return process_is_gone(l->root, l->pid, r);
	for (const char *p = buf_str(&text); p && *p; p = text_next_line(p)) {
		if (!process_map_parse(p, &map))
			continue;
		struct process_file f = {
			.pid = l->pid,
			.major = map.major,
			.minor = map.minor,
			.inode = map.inode,
			.mapped = true,
			.deleted = map.deleted,
			.link = map.range,
			.name = map.name,
		};
		l->each(l->arg, &f);
	}
	return true;
}

static int look_at_process(void *arg, const char *name, unsigned char type)
{
	struct looking *l = arg;
	bool seen = true;
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || pid > INT32_MAX)
		return 0;
	l->pid = (int)pid;
	if (l->what & PROCESS_FILES_OPEN)
		seen &= look_at_open(l);
	if (l->what & PROCESS_FILES_MAPPED)
		seen &= look_at_mapped(l);
	l->unseen.processes += !seen;
	return 0;
}

int process_files_each(const struct root *root, unsigned what,
		       void (*each)(void *arg, const struct process_file *file), void *arg,
		       struct process_unseen *ret, struct err *err)
{
	struct looking l = { .root = root, .what = what, .each = each, .arg = arg };

	int r = root_list(root, "proc", look_at_process, &l, err);
	l.unseen.hidden = !process_all_shown(root);
	l.unseen.failed = r < 0;
	*ret = l.unseen;
	return r;
}

bool process_unseen_any(const struct process_unseen *u)
{
	return u->processes || u->hidden || u->failed;
}

const char *process_unseen_tell(const struct process_unseen *u, char *ret, size_t size)
{
	if (u->failed)
		snprintf(ret, size, "the processes could not be listed");
	else if (u->hidden)
		snprintf(ret, size,
			 "this is a PID namespace, which does not show the processes outside");
	else
		snprintf(ret, size, "%" PRIu64 " %s could not be looked at", u->processes,
			 u->processes == 1 ? "process" : "processes");
	return ret;
}

bool process_all_shown(const struct root *root)
{
	AUTO_BUF struct buf link = { 0 };
	int r = root_readlink(root, "proc/self/ns/pid", &link, NULL);

	/* a kernel without PID namespaces has no such file */
	return r < 0 ? r == -ENOENT : strcmp(buf_str(&link), PROCESS_INIT_PID_NS) == 0;
}

void process_read_comm(const struct root *root, int pid, char *ret, size_t size)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];

	*ret = '\0';
	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	if (root_read(root, path, 4096, &text, NULL) == 0)
		text_copy_n(ret, size, buf_str(&text), text_line_len(buf_str(&text)));
}
