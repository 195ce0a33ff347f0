#include "core_times.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "auto.h"
#include "core_times_kernel.h"
#include "proc_stat.h"
#include "rec_cpu.h"
#include "rec_load.h"
#include "text.h"
#include "tick_path.h"

enum {
	CORE_TIMES_CHECK_EVERY = 600, /* readings between two comparisons */
	CORE_TIMES_TRIES = 3,         /* a core may come or go in the middle of a comparison */
};

struct core_times {
	const struct root *root;
	struct reread stat;
	struct buf text;
	struct core_times_kernel *kernel; /* NULL = by /proc/stat */
	unsigned n_cpus;
	unsigned left; /* readings until the next comparison */
};

static int core_times_read_file(struct core_times *c, struct tick *ret, struct err *err)
{
	int r = 0;

	if (c->stat.fd < 0)
		r = reread_open(&c->stat, c->root, "proc/stat", err);
	c->stat.whole = true;
	if (r == 0)
		r = reread_text(&c->stat, &c->text, err);
	if (r < 0)
		return r;
	return root_err(c->root, proc_stat_parse_cores(buf_str(&c->text), c->text.len, ret, err),
			err);
}

static void core_times_sum(const struct core_times_rec *cores, unsigned n, struct tick *ret)
{
	struct rec_load *load = tick_only_row(ret, REC_LOAD);
	uint64_t switches = 0, blocked = 0;

	/* a core that went keeps what it has counted */
	for (unsigned i = 0; i < n; i++) {
		switches += cores[i].switches;
		blocked += (uint64_t)(int64_t)cores[i].waiting;
	}
	if (!load)
		return;
	load->ctxt = switches;
	load->blocked = (int64_t)blocked > 0 ? blocked : 0;
	load->have |= REC_LOAD_CTXT | REC_LOAD_BLOCKED;
}

EVERY_TICK static bool core_times_read_kernel(struct core_times *c, bool load, struct tick *ret)
{
	size_t *len = &ret->rows[REC_CPU].len, before = *len;
	const struct core_times_rec *cores;

	if (core_times_kernel_read(c->kernel, &cores) < 0)
		return false;
	for (unsigned i = 0; i < c->n_cpus; i++) {
		if (!cores[i].rq || !cores[i].online)
			continue;
		struct rec_cpu *row = tick_next_row(ret, &rec_cpu_desc);
		if (!row || cores[i].torn) {
			*len = before;
			return false;
		}
		core_times_row(&cores[i], i, row);
		++*len;
	}
	if (load)
		core_times_sum(cores, c->n_cpus, ret);
	return *len > before;
}

/* Idle time goes to one or the other by who waits at the moment of reading. */
static bool core_agrees(const struct rec_cpu *before, const struct rec_cpu *between,
			const struct rec_cpu *after)
{
	const uint64_t *a = &before->usr, *b = &between->usr, *c = &after->usr;
	const size_t idle = 3, iowait = 4, end = 10;

	if (before->cpu != between->cpu || after->cpu != between->cpu ||
	    between->have != after->have)
		return false;
	for (size_t i = 0; i < end; i++)
		if (i != idle && i != iowait && (b[i] < a[i] || b[i] > c[i]))
			return false;
	/* each of the two is cut to whole ticks by itself */
	uint64_t asleep = between->idle + between->iowait;
	return asleep + 1 >= before->idle + before->iowait &&
	       asleep <= after->idle + after->iowait + 1;
}

bool core_times_agree(const struct tick *before, const struct tick *between,
		      const struct tick *after)
{
	size_t n = between->rows[REC_CPU].len;

	if (!n || before->rows[REC_CPU].len != n || after->rows[REC_CPU].len != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!core_agrees(TICK_ROW(before, REC_CPU, rec_cpu, i),
				 TICK_ROW(between, REC_CPU, rec_cpu, i),
				 TICK_ROW(after, REC_CPU, rec_cpu, i)))
			return false;
	return true;
}

/* Whether the kernel's memory says what /proc/stat says; what does not is not used again. */
RARELY static void core_times_check(struct core_times *c)
{
	AUTO_TICK struct tick before = { 0 }, between = { 0 }, after = { 0 };
	bool agree = false;

	for (unsigned i = 0; i < CORE_TIMES_TRIES && !agree; i++) {
		tick_clear(&before);
		tick_clear(&between);
		tick_clear(&after);
		agree = core_times_read_file(c, &before, NULL) == 0 &&
			core_times_read_kernel(c, false, &between) &&
			core_times_read_file(c, &after, NULL) == 0 &&
			core_times_agree(&before, &between, &after);
	}
	c->left = CORE_TIMES_CHECK_EVERY;
	if (agree)
		return;
	core_times_kernel_close(c->kernel);
	c->kernel = NULL;
}

/* Something else may stand in the place of /proc/stat: a container's own view of its cores, a test.
 * What the kernel keeps of the whole machine is not what is asked for then. Cores without a tick of
 * their own (nohz_full=) count late; /proc/stat makes up for it. */
static bool core_times_may_be_direct(const struct core_times *c)
{
	AUTO_BUF struct buf tickless = { 0 };
	struct statfs fs;

	if (!c->root->live || c->stat.fd < 0 || fstatfs(c->stat.fd, &fs) < 0 ||
	    fs.f_type != PROC_SUPER_MAGIC)
		return false;
	(void)root_read(c->root, "sys/devices/system/cpu/nohz_full", 4096, &tickless, NULL);
	const char *list = buf_str(&tickless);
	return *list == '\0' || *list == '\n' || text_starts(list, "(null)");
}

struct core_times *core_times_open(const struct root *root, const struct offer *offer)
{
	struct core_times *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->root = root;
	c->n_cpus = offer->n_cpus;
	if (reread_open(&c->stat, root, "proc/stat", NULL) < 0)
		c->stat.fd = -1;
	if (core_times_may_be_direct(c) &&
	    core_times_kernel_open(root, c->n_cpus, &c->kernel, NULL) == 0)
		core_times_check(c);
	return c;
}

void core_times_close(struct core_times *c)
{
	if (!c)
		return;
	core_times_kernel_close(c->kernel);
	reread_close(&c->stat);
	buf_free(&c->text);
	free(c);
}

bool core_times_direct(const struct core_times *c)
{
	return c->kernel != NULL;
}

EVERY_TICK bool core_times_read_direct(struct core_times *c, bool load, struct tick *ret)
{
	if (c->kernel && c->left-- == 0)
		core_times_check(c);
	return c->kernel && core_times_read_kernel(c, load, ret);
}

int core_times_read(struct core_times *c, struct tick *ret, struct err *err)
{
	return core_times_read_direct(c, false, ret) ? 0 : core_times_read_file(c, ret, err);
}
