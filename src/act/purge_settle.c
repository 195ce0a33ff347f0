/* What happens after pages were dropped: zombies go in a kernel worker a moment later, and those
 * that writeback holds only when the kernel looks for clean inodes. It looks when a memory cgroup
 * is removed, whichever that is (mm/backing-dev.c, wb_memcg_offline), and at no other time: so one
 * of ours comes and goes, below what was asked for where that can be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "proc_cgroups.h"
#include "purge_impl.h"
#include "text.h"
#include "timefmt.h"

enum {
	SETTLE_MS = 50,
	SETTLE_TRIES = 60,
	SETTLE_SAME = 2,
	SETTLE_SAME_WRITEBACK = 10, /* handing over waits for an RCU grace period or two */
	/* The last looks are left alone: what we removed ourselves is gone by then. */
	SETTLE_NUDGE_TRIES = 40,
	SETTLE_NUDGE_SAME = SETTLE_SAME_WRITEBACK / 2,
};

/* A cgroup made in dir gets a memory cgroup of its own. */
static bool gives_memory(const char *dir)
{
	char path[1000], text[200];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	if (purge_read_text(path, text, sizeof(text)) < 0)
		return false;
	const char *at = strstr(text, "memory");
	return at && (at == text || at[-1] == ' ') && (!at[6] || at[6] == ' ');
}

/* The directory to be made; "" = none. */
static void nudge_choose(const struct offer *offer, const char *below, char *ret, size_t size)
{
	const struct offer_mount *mount = offer_memory_mount(offer);
	char dir[900];

	*ret = '\0';
	if (offer->memory != CGROUP_MEMORY_V2 || !mount)
		return;
	size_t top = (size_t)snprintf(dir, sizeof(dir), "/%s", mount->dir);
	below = below ? below + strspn(below, "/") : "";
	if (*below && !strstr(below, ".."))
		snprintf(dir + top, sizeof(dir) - top, "/%s", below);
	while (!gives_memory(dir)) {
		char *cut = strrchr(dir, '/');
		if ((size_t)(cut - dir) < top)
			return;
		*cut = '\0';
	}
	snprintf(ret, size, "%s/%s%d", dir, PURGE_NUDGE, getpid());
}

/* Every try by itself: written down before it is made, so that it is removed also after a crash. */
static int nudge(const char *path, struct err *err)
{
	unsigned unused;

	AUTO_CLOSE int journal = purge_journal_new(path, err);
	if (journal < 0)
		return journal;
	int r = purge_journal_add(journal, "rmdir", path);
	if (r < 0)
		err_path(err, r, path);
	else if (mkdir(path, 0700) < 0)
		r = err_path(err, -errno, path);
	int removed = purge_journal_undo(&unused, r < 0 ? NULL : err);
	return r < 0 ? r : removed;
}

/* What the kernel itself counts, which costs next to nothing; v1 only. */
static bool tracked_now(const struct root *root, const struct offer *offer, uint64_t *ret)
{
	AUTO_BUF struct buf text = { 0 };
	struct rec_cgroups row = { 0 };

	if (offer->memory == CGROUP_MEMORY_V2 ||
	    root_read(root, "proc/cgroups", ROOT_FILE_CAP, &text, NULL) < 0 ||
	    proc_cgroups_parse(buf_str(&text), &row, NULL) < 0)
		return false;
	*ret = row.tracked;
	return true;
}

/* A census while thousands go is dear: first wait until the kernel's own number falls no more. */
static void settle_roughly(const struct root *root, const struct offer *offer)
{
	struct timespec pause = { .tv_nsec = SETTLE_MS * (long)NS_PER_MS };
	uint64_t last = UINT64_MAX, now;
	unsigned same = 0;

	for (unsigned i = 0; i < SETTLE_TRIES && same < SETTLE_SAME; i++) {
		if (!tracked_now(root, offer, &now))
			return;
		same = now < last ? 0 : same + 1;
		last = now;
		nanosleep(&pause, NULL);
	}
}

int purge_settle(const struct root *root, const struct offer *offer, struct purge_look *l,
		 struct purge_side *ret, struct unknowns *unknowns, struct err *err)
{
	struct timespec pause = { .tv_nsec = SETTLE_MS * (long)NS_PER_MS };
	uint64_t last = UINT64_MAX;
	unsigned same = 0, enough = l->nudge ? SETTLE_SAME_WRITEBACK : SETTLE_SAME;
	char made[1000] = "";

	if (l->nudge)
		nudge_choose(offer, l->options->below, made, sizeof(made));
	settle_roughly(root, offer);
	for (unsigned i = 0; i < SETTLE_TRIES && same < enough; i++) {
		struct err why = { 0 };
		bool nudges = *made && i < SETTLE_NUDGE_TRIES && same < SETTLE_NUDGE_SAME;
		if (nudges && nudge(made, &why) < 0) {
			unknowns_add(unknowns, "zombies that only writeback holds",
				     "the kernel could not be made to look for them, they go with "
				     "the next memory cgroup that is removed: %s",
				     why.text);
			*made = '\0';
		}
		nanosleep(&pause, NULL);
		int r = purge_census(root, offer, l, 0, NULL, ret, unknowns, err);
		if (r == 0)
			r = purge_stopped(err);
		if (r < 0)
			return r;
		same = ret->dying == last ? same + 1 : 0;
		last = ret->dying;
		if (!last)
			break;
	}
	return 0;
}
