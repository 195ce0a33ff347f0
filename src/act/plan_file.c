#include "plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "text.h"
#include "timefmt.h"
#include "undo.h"
#include "unit_guard.h"

#define PLAN_NAME "plan"
static const uint64_t plan_valid_ns = 24 * 3600 * NS_PER_S;

static void plan_boot_id(const struct root *root, char ret[40])
{
	AUTO_BUF struct buf text = { 0 };

	ret[0] = '\0';
	if (root_read(root, "proc/sys/kernel/random/boot_id", 256, &text, NULL) == 0)
		text_copy_n(ret, 40, buf_str(&text), text_line_len(buf_str(&text)));
}

/* What must still be so when the plan is carried out. A looping unit's activation differs every few
 * seconds and does not count. */
static void plan_target_state(const struct root *root, struct manager *m, const char *unit,
			      char ret[600])
{
	struct manager_unit state;
	struct stat st = { 0 };

	text_copy(ret, 600, "-");
	if (!m || !unit_name_ok(unit) || manager_unit_get(m, unit, &state, NULL) < 0)
		return;
	if (*state.fragment)
		(void)root_lstat(root, state.fragment, &st, NULL);
	snprintf(ret, 600, "%s %s %s %lld", state.loaded ? "loaded" : "absent",
		 *state.file_state ? state.file_state : "none",
		 *state.fragment ? state.fragment : "none", (long long)st.st_mtim.tv_sec);
}

int plan_file_save(const char *state_dir, const struct root *root, struct manager *m,
		   const struct diagnosis *d, uint64_t now_ns, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_UNDO struct undo lock = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };
	char boot_id[40], state[600];

	int r = undo_open(state_dir, &lock, err);
	if (r < 0)
		return r;
	plan_boot_id(root, boot_id);
	buf_addf(&text, "zscope-plan\t1\nboot\t%s\ntime\t%" PRIu64 "\n", boot_id, now_ns);
	vec_foreach (&d->plan, s) {
		plan_target_state(root, m, s->target, state);
		if (!strpbrk(s->target, "\t\n") && !strpbrk(state, "\t\n"))
			buf_addf(&text, "step\t%u\t%d\t%s\t%s\n", s->id, s->action,
				 *s->target ? s->target : "-", state);
	}
	AUTO_CLOSE int fd = openat(lock.dir_fd, PLAN_NAME ".new",
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_path(err, -errno, state_dir);
	if (text.failed || write(fd, text.data, text.len) != (ssize_t)text.len || fsync(fd) < 0 ||
	    renameat(lock.dir_fd, PLAN_NAME ".new", lock.dir_fd, PLAN_NAME) < 0)
		return err_set(err, -EIO, "%s: the plan cannot be saved", state_dir);
	return 0;
}

static bool plan_parse_step(char *line, struct planned *ret)
{
	char *save, *word[4];
	uint64_t id, action;

	for (int i = 0; i < 4; i++) {
		word[i] = strtok_r(i ? NULL : line, "\t", &save);
		if (!word[i])
			return false;
	}
	if (text_u64(word[0], &id) < 0 || text_u64(word[1], &action) < 0 || id > 1000 ||
	    action > PLAN_REBOOT)
		return false;
	*ret = (struct planned){ .id = (unsigned)id, .action = (enum plan_action)action };
	return text_copy(ret->target, sizeof(ret->target),
			 strcmp(word[2], "-") == 0 ? "" : word[2]) &&
	       text_copy(ret->state, sizeof(ret->state), word[3]);
}

int plan_file_parse(const char *text, struct plan_file *ret, struct err *err)
{
	struct plan_file p = { 0 };

	if (!text_starts(text, "zscope-plan\t1\n"))
		return err_set(err, -EBADMSG,
			       "the saved plan is not one of this version: run zscope why again");
	for (const char *line = text; line; line = text_next_line(line)) {
		char copy[1024];
		struct planned step;
		if (!text_copy_n(copy, sizeof(copy), line, text_line_len(line)))
			continue;
		if (text_starts(copy, "boot\t"))
			text_copy(p.boot_id, sizeof(p.boot_id), copy + 5);
		else if (text_starts(copy, "time\t"))
			(void)text_u64(copy + 5, &p.time_ns);
		else if (text_starts(copy, "step\t") && plan_parse_step(copy + 5, &step) &&
			 !vec_push(&p.steps, step)) {
			plan_file_free(&p);
			return err_set(err, -ENOMEM, "out of memory");
		}
	}
	*ret = p;
	return 0;
}

int plan_file_load(const char *state_dir, struct plan_file *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct root dir;

	int r = root_open(state_dir, &dir, NULL);
	if (r == 0) {
		r = root_read(&dir, PLAN_NAME, 1 << 20, &text, err);
		root_close(&dir);
	}
	if (r == -ENOENT)
		return err_set(err, r, "there is no plan yet: run zscope why first");
	return r < 0 ? r : plan_file_parse(buf_str(&text), ret, err);
}

int plan_file_check(const struct plan_file *p, const struct planned *step, const struct root *root,
		    struct manager *m, uint64_t now_ns, struct err *err)
{
	char boot_id[40], state[600];

	plan_boot_id(root, boot_id);
	if (strcmp(boot_id, p->boot_id) != 0)
		return err_set(
			err, -ESTALE,
			"the plan is stale: the host was rebooted since; run zscope why again");
	if (now_ns < p->time_ns || now_ns - p->time_ns > plan_valid_ns)
		return err_set(err, -ESTALE,
			       "the plan is stale: it is older than a day; run zscope why again");
	if (step->action != PLAN_DISABLE)
		return 0;
	plan_target_state(root, m, step->target, state);
	if (strcmp(state, step->state) != 0)
		return err_set(
			err, -ESTALE,
			"the plan is stale: %s was '%s' and is '%s' now; run zscope why again",
			step->target, step->state, state);
	return 0;
}

const struct planned *plan_file_find(const struct plan_file *p, unsigned id)
{
	vec_foreach (&p->steps, s)
		if (s->id == id)
			return s;
	return NULL;
}

void plan_file_free(struct plan_file *p)
{
	vec_free(&p->steps);
}
