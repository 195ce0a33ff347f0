#include "pin_holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "auto.h"
#include "text.h"

enum { HOLDERS_MAPS_CAP = 4 << 20 };

struct looking {
	const struct root *root;
	const struct zombie_files *files;
	const bool *wanted;
	bool mapped_only;
	struct pin_holder *holders;
	int pid;
	int proc_fd;
};

bool pin_holders_parse_map(const char *line, char ret_range[40], uint32_t *ret_major,
			   uint32_t *ret_minor, uint64_t *ret_inode)
{
	size_t len = strcspn(line, " \n");
	const char *p = line + len;
	uint64_t major, minor, inode, skipped;

	if (!len || len >= 40 || *p != ' ')
		return false;
	text_copy_n(ret_range, 40, line, len);
	p = text_skip_blanks(p);
	p += strcspn(p, " \n"); /* permissions */
	p = text_skip_blanks(p);
	if (text_take_hex(&p, &skipped) < 0)
		return false;
	p = text_skip_blanks(p);
	if (text_take_hex(&p, &major) < 0 || *p++ != ':' || text_take_hex(&p, &minor) < 0)
		return false;
	p = text_skip_blanks(p);
	if (text_take_u64(&p, &inode) < 0 || !inode)
		return false;
	*ret_major = (uint32_t)major;
	*ret_minor = (uint32_t)minor;
	*ret_inode = inode;
	return true;
}

static void found(struct looking *l, uint32_t major, uint32_t minor, uint64_t inode, bool mapped,
		  const char *link)
{
	uint64_t words[2] = { (uint64_t)major << 32 | minor, inode };
	uint64_t *at = map_u64_get(&l->files->by_inode, hash_bytes(words, sizeof(words)));

	if (!at || !l->wanted[*at - 1])
		return;
	struct pin_holder *h = &l->holders[*at - 1];
	if (h->pid)
		return;
	h->pid = l->pid;
	h->mapped = mapped;
	snprintf(h->link, sizeof(h->link), "proc/%d/%s/%s", l->pid, mapped ? "map_files" : "fd",
		 link);
	char path[40];
	AUTO_BUF struct buf comm = { 0 };
	snprintf(path, sizeof(path), "proc/%d/comm", l->pid);
	if (root_read(l->root, path, 4096, &comm, NULL) == 0)
		text_copy_n(h->comm, sizeof(h->comm), buf_str(&comm),
			    text_line_len(buf_str(&comm)));
}

static void look_at_fds(struct looking *l)
{
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/fd", l->pid);
	int fd = root_open_dir(l->root, path, 0, NULL);
	AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode))
			found(l, major(st.st_dev), minor(st.st_dev), st.st_ino, false, e->d_name);
}

static void look_at_maps(struct looking *l)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40], range[40];
	uint32_t major_nr, minor_nr;
	uint64_t inode;

	snprintf(path, sizeof(path), "proc/%d/maps", l->pid);
	if (root_read(l->root, path, HOLDERS_MAPS_CAP, &text, NULL) < 0)
		return;
	for (const char *p = buf_str(&text); p && *p; p = text_next_line(p))
		if (pin_holders_parse_map(p, range, &major_nr, &minor_nr, &inode))
			found(l, major_nr, minor_nr, inode, true, range);
}

static int look_at_process(void *arg, const char *name, unsigned char type)
{
	struct looking *l = arg;
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || pid > INT32_MAX)
		return 0;
	l->pid = (int)pid;
	if (!l->mapped_only)
		look_at_fds(l);
	look_at_maps(l);
	return 0;
}

static int look(const struct root *root, const struct zombie_files *files, bool mapped_only,
		struct pin_holder *holders, struct err *err)
{
	size_t n = files->list.len, wanted_n = 0;
	AUTO_FREE bool *wanted = calloc(n + 1, sizeof(*wanted));
	struct looking l = { .root = root,
			     .files = files,
			     .wanted = wanted,
			     .mapped_only = mapped_only,
			     .holders = holders };

	if (!wanted)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const struct zombie_file *f = &files->list.items[i];
		wanted[i] = mapped_only ? f->kind == PIN_FILE : f->deleted || f->kind == PIN_TMPFS;
		wanted_n += wanted[i];
	}
	return wanted_n ? root_list(root, "proc", look_at_process, &l, err) : 0;
}

int pin_holders_read(const struct root *root, const struct zombie_files *files,
		     struct pin_holder *holders, struct err *err)
{
	return look(root, files, false, holders, err);
}

int pin_holders_read_mapped(const struct root *root, const struct zombie_files *files,
			    struct pin_holder *holders, struct err *err)
{
	return look(root, files, true, holders, err);
}
