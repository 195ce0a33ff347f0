#include "process_files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "auto.h"
#include "text.h"

enum { PROCESS_MAPS_CAP = 4 << 20 };

struct looking {
	const struct root *root;
	unsigned what;
	void (*each)(void *arg, const struct process_file *file);
	void *arg;
	int pid;
};

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
	if (text_take_hex(&p, &major) < 0 || *p++ != ':' || text_take_hex(&p, &minor) < 0)
		return false;
	p = text_skip_blanks(p);
	if (text_take_u64(&p, &map.inode) < 0 || (!map.inode && !major && !minor))
		return false;
	map.major = (uint32_t)major;
	map.minor = (uint32_t)minor;
	map.name = text_skip_blanks(p);
	*ret = map;
	return true;
}

static void look_at_open(const struct looking *l)
{
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/fd", l->pid);
	int fd = root_open_dir(l->root, path, 0, NULL);
	AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || fstatat(dirfd(dir), e->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		struct process_file f = {
			.pid = l->pid,
			.major = major(st.st_dev),
			.minor = minor(st.st_dev),
			.inode = st.st_ino,
			.deleted = !st.st_nlink,
			.link = e->d_name,
		};
		l->each(l->arg, &f);
	}
}

/* The kernel's mark at the end of the name. */
static bool is_deleted(const char *name)
{
	static const char mark[] = " (deleted)";
	size_t len = text_line_len(name), n = sizeof(mark) - 1;

	return len > n && memcmp(name + len - n, mark, n) == 0;
}

static void look_at_mapped(const struct looking *l)
{
	AUTO_BUF struct buf text = { 0 };
	struct process_map map;
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/maps", l->pid);
	if (root_read(l->root, path, PROCESS_MAPS_CAP, &text, NULL) < 0)
		return;
	for (const char *p = buf_str(&text); p && *p; p = text_next_line(p)) {
		if (!process_map_parse(p, &map))
			continue;
		struct process_file f = {
			.pid = l->pid,
			.major = map.major,
			.minor = map.minor,
			.inode = map.inode,
			.mapped = true,
			.deleted = is_deleted(map.name),
			.link = map.range,
			.name = map.name,
		};
		l->each(l->arg, &f);
	}
}

static int look_at_process(void *arg, const char *name, unsigned char type)
{
	struct looking *l = arg;
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || pid > INT32_MAX)
		return 0;
	l->pid = (int)pid;
	if (l->what & PROCESS_FILES_OPEN)
		look_at_open(l);
	if (l->what & PROCESS_FILES_MAPPED)
		look_at_mapped(l);
	return 0;
}

int process_files_each(const struct root *root, unsigned what,
		       void (*each)(void *arg, const struct process_file *file), void *arg,
		       struct err *err)
{
	struct looking l = { .root = root, .what = what, .each = each, .arg = arg };

	return root_list(root, "proc", look_at_process, &l, err);
}
