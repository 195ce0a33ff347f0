#include "pin_holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "auto.h"
#include "process_files.h"

struct looking {
	const struct root *root;
	const struct zombie_files *files;
	const bool *wanted;
	struct pin_holder *holders;
};

static void found(void *arg, const struct process_file *f)
{
	struct looking *l = arg;
	uint64_t words[2] = { (uint64_t)f->major << 32 | f->minor, f->inode };
	uint64_t *at = map_u64_get(&l->files->by_inode, hash_bytes(words, sizeof(words)));

	if (!at || !l->wanted[*at - 1])
		return;
	struct pin_holder *h = &l->holders[*at - 1];
	if (h->pid)
		return;
	h->pid = f->pid;
	h->mapped = f->mapped;
	snprintf(h->link, sizeof(h->link), "proc/%d/%s/%s", f->pid, f->mapped ? "map_files" : "fd",
		 f->link);
	process_read_comm(l->root, f->pid, h->comm, sizeof(h->comm));
}

static int look(const struct root *root, const struct zombie_files *files, bool mapped_only,
		struct pin_holder *holders, struct process_unseen *ret, struct err *err)
{
	size_t n = files->list.len, wanted_n = 0;
	AUTO_FREE bool *wanted = calloc(n + 1, sizeof(*wanted));
	struct looking l = { .root = root, .files = files, .wanted = wanted, .holders = holders };

	*ret = (struct process_unseen){ 0 };
	if (!wanted)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const struct zombie_file *f = &files->list.items[i];
		wanted[i] = mapped_only ? f->kind == PIN_FILE
					: !f->held && (f->deleted || f->kind == PIN_TMPFS);
		wanted_n += wanted[i];
	}
	unsigned what = PROCESS_FILES_MAPPED | (mapped_only ? 0 : PROCESS_FILES_OPEN);
	return wanted_n ? process_files_each(root, what, found, &l, ret, err) : 0;
}

int pin_holders_read(const struct root *root, const struct zombie_files *files,
		     struct pin_holder *holders, struct process_unseen *ret, struct err *err)
{
	return look(root, files, false, holders, ret, err);
}

int pin_holders_read_mapped(const struct root *root, const struct zombie_files *files,
			    struct pin_holder *holders, struct process_unseen *ret, struct err *err)
{
	return look(root, files, true, holders, ret, err);
}
