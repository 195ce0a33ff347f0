/* Who holds what a purge cannot free, and which files it cannot reach. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "locked_memory.h"
#include "purge_impl.h"
#include "shared_holders.h"
#include "text.h"

/* Why the file's pages cannot be dropped from here; NULL = they can. */
static const char *why_unreachable(const struct purge_look *l, const struct zombie_file *f,
				   const struct pin_holder *holder,
				   const struct process_unseen *unseen)
{
	/* what is only to be written back is reached through its file system */
	if (f->kind != PIN_FILE || !f->bytes)
		return NULL;
	if (f->place == PLACE_DEVICE) {
		uint64_t *at = map_u64_get(&l->devices, (uint64_t)f->major << 32 | f->minor);
		return at && *at != 1 ? "file system metadata, and its block device cannot be "
					"opened from here"
				      : NULL;
	}
	if (f->deleted && !holder->pid)
		return process_unseen_any(unseen)
			       ? "deleted, and who has it open is not known: not all processes "
				 "are seen here"
			       : "deleted, and no process that is seen here has it open";
	if (f->deleted)
		return NULL;
	if (!f->path)
		return "its path is not known";
	if (*f->path != '/')
		return "no mount shows it here: another mount namespace, or mounted nowhere";
	return NULL;
}

static int find_unreachable(const struct purge_look *l, const struct pin_holder *holders,
			    const struct process_unseen *unseen, struct purge_result *r,
			    struct err *err)
{
	for (size_t i = 0; i < r->files.list.len; i++) {
		const char *why = why_unreachable(l, &r->files.list.items[i], &holders[i], unseen);
		if (why && !vec_push(&r->unreachable, (struct purge_unreachable){ i, why }))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Each tmpfs file by itself: it can be deleted, or its holder ended. */
static void name_tmpfs(const struct zombie_file *f, const struct pin_holder *found,
		       const struct process_unseen *unseen, struct purge_result *r)
{
	struct purge_holder h = {
		.kind = PIN_TMPFS,
		.pid = f->held ? f->holder.pid : found->pid,
		.zombies = f->zombies,
		.file = f->path,
		.owner = f->holder.owner,
		.shmid = -1,
	};
	bool sysv = f->place == PLACE_INTERNAL && shared_is_sysv(f->path);

	text_copy(h.comm, sizeof(h.comm), f->held ? f->holder.comm : found->comm);
	if (sysv && f->held && f->holder.ipc_ns) {
		h.shmid = (int64_t)f->inode;
		h.ipc_ns = f->holder.ipc_ns;
		h.ipc_pid = f->holder.ipc_ours ? 0 : f->holder.ipc_pid;
	} else if (sysv) { /* its number alone leads to others' segments, too */
		h.pid = 0;
		h.comm[0] = '\0';
	}
	h.not_known = !h.pid && f->deleted && !f->held && (sysv || process_unseen_any(unseen));
	if (r->holders.len < PURGE_MOST_HOLDERS)
		vec_push(&r->holders, h);
}

/* Of unreaped processes the parent is the holder, and its name is another than the child's. */
static void name_parents(const struct root *root, struct purge_result *r)
{
	vec_foreach (&r->holders, h)
		if (h->kind == PIN_PROCESS)
			process_read_comm(root, h->pid, h->comm, sizeof(h->comm));
}

static int name_locked(const struct root *root, struct purge_result *r, struct unknowns *unknowns,
		       struct err *err)
{
	AUTO_LOCKED_MEMORY struct locked_processes locked = { 0 };
	char text[200];

	if (!r->plan.stuck[PIN_MLOCKED])
		return 0;
	int e = locked_memory_read(root, &locked, err);
	if (e < 0)
		return e;
	vec_foreach (&locked.list, p) {
		struct purge_holder h = {
			.kind = PIN_MLOCKED,
			.pid = p->pid,
			.shmid = -1,
			.locked_bytes = p->bytes,
			.recorder = p->recorder,
		};
		text_copy(h.comm, sizeof(h.comm), p->comm);
		if (r->holders.len < PURGE_MOST_HOLDERS)
			vec_push(&r->holders, h);
	}
	if (process_unseen_any(&locked.unseen))
		unknowns_add(unknowns, "all who lock memory", "%s",
			     process_unseen_tell(&locked.unseen, text, sizeof(text)));
	return 0;
}

int purge_name(struct purge_look *l, const struct pin_holder *holders,
	       const struct process_unseen *unseen, struct purge_result *r,
	       struct unknowns *unknowns, struct err *err)
{
	bool missing = false;
	char text[200];

	int e = name_locked(l->root, r, unknowns, err); /* first: files may be too many */
	for (size_t i = 0; i < r->files.list.len; i++) {
		const struct zombie_file *f = &r->files.list.items[i];
		bool lost = f->deleted && f->kind == PIN_FILE && f->bytes && !holders[i].pid;
		r->plan.deleted_unreachable += lost;
		missing |=
			lost || (f->deleted && f->kind == PIN_TMPFS && !f->held && !holders[i].pid);
		if (f->kind == PIN_TMPFS)
			name_tmpfs(f, &holders[i], unseen, r);
	}
	if (missing && process_unseen_any(unseen))
		unknowns_add(unknowns, "who holds deleted files and shared memory", "%s",
			     process_unseen_tell(unseen, text, sizeof(text)));
	name_parents(l->root, r);
	vec_sort(&r->holders, purge_most_zombies_first);
	if (e < 0 || l->options->method != PURGE_FILES)
		return e;
	return find_unreachable(l, holders, unseen, r, err);
}

/* What a process has mapped may be in use, and then its pages stay. */
int purge_find_mapped(const struct root *root, const struct zombie_files *files,
		      struct pin_holder *who, struct purge_result *r, struct unknowns *unknowns,
		      struct err *err)
{
	struct process_unseen unseen;
	char text[200];

	int e = pin_holders_read_mapped(root, files, who, &unseen, err);
	for (size_t i = 0; e == 0 && i < files->list.len; i++) {
		const struct zombie_file *f = &files->list.items[i];
		struct purge_holder h = { .kind = PIN_FILE,
					  .pid = who[i].pid,
					  .zombies = f->zombies,
					  .file = f->path,
					  .shmid = -1 };
		if (!h.pid || !f->bytes || r->mapped.len >= PURGE_MOST_HOLDERS)
			continue;
		text_copy(h.comm, sizeof(h.comm), who[i].comm);
		if (!vec_push(&r->mapped, h))
			e = err_set(err, -ENOMEM, "out of memory");
	}
	if (e == 0 && process_unseen_any(&unseen))
		unknowns_add(unknowns, "all who have files of zombies mapped", "%s",
			     process_unseen_tell(&unseen, text, sizeof(text)));
	vec_sort(&r->mapped, purge_most_zombies_first);
	return e;
}
