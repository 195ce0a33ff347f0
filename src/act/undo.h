/* The undo journal: what is about to be changed is written and synced before it is changed, so that
 * after a crash at any point the host is either before or after each step and `zscope undo`
 * restores it exactly.
 *
 * One text file per fix in the state directory; lines are "VERB<tab>ARGUMENT...". All paths are
 * relative to the root. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "root.h"

#define STATE_DEFAULT "/var/lib/zombiescope/state"

struct undo {
	int dir_fd;    /* the state directory */
	int file_fd;   /* the open journal; -1 = none */
	int lock_fd;   /* held while something is being changed */
	char name[64]; /* of the open journal */
};

/* Takes the lock: -EWOULDBLOCK "another fix is under way". Makes the directory (0700). */
int undo_open(const char *state_dir, struct undo *ret, struct err *err);
void undo_close(struct undo *u);

/* Start a journal for one fix; returns its name in u->name. */
int undo_begin(struct undo *u, struct err *err);
/* Note before the act. Synced when it returns. */
int undo_note(struct undo *u, struct err *err, const char *verb, const char *first,
	      const char *second);
int undo_end(struct undo *u, struct err *err);

/* File changes that note themselves first; path is relative to root. */
int undo_make_dir(struct undo *u, const struct root *root, const char *path, struct err *err);
int undo_make_link(struct undo *u, const struct root *root, const char *path, const char *target,
		   struct err *err);
int undo_make_file(struct undo *u, const struct root *root, const char *path, const char *text,
		   struct err *err);
int undo_move_away(struct undo *u, const struct root *root, const char *path, struct err *err);

/* Reverse a journal line by line, last first. restart() is called for each unit that was active;
 * may be NULL. */
struct undo_report {
	unsigned reversed, skipped;
};
int undo_reverse(struct undo *u, const struct root *root, const char *name,
		 int (*restart)(void *arg, const char *unit, struct err *err), void *arg,
		 struct undo_report *ret, struct err *err);
/* The newest journal that was not undone; -ENODATA when there is none. */
int undo_newest(const struct undo *u, char ret_name[64], struct err *err);

#define AUTO_UNDO __attribute__((cleanup(undo_close)))
