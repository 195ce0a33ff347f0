/* Facts from the cost of reading memory.stat, and from who is seen with such a file open while it
 * spends its time in the kernel: what can be told of a walk where no profile shows it. Only while
 * the host is watched, and only where a read is slow: elsewhere nobody can be paying for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "collect.h"
#include "map.h"
#include "proc_pid.h"
#include "rule.h"
#include "text.h"
#include "timefmt.h"
#include "zombie_cost.h"

enum {
	READS_SPAN_MS = 500, /* between two looks at everybody's system time */
	READS_LOOKS = 20,    /* at the open files of those who spent much of it */
	READS_LOOK_MS = 25,
	READS_MOST_READERS = 8,
	READS_MOST_FILES = 4096,
};

struct reads_look {
	const struct root *root;
	struct map_u64 before; /* pid → stime in clock ticks */
	struct collected *c;
	double least_percent, seconds;
	bool second;
	int failed;
};

static void reads_pause(unsigned ms)
{
	struct timespec pause = { .tv_nsec = ms * (long)NS_PER_MS };
	nanosleep(&pause, NULL);
}

static bool reads_stat(const struct root *root, uint64_t pid, struct arena *strings,
		       struct rec_task *ret)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];

	snprintf(path, sizeof(path), "proc/%" PRIu64 "/stat", pid);
	return root_read(root, path, 4096, &text, NULL) == 0 &&
	       proc_pid_stat_parse(buf_str(&text), text.len, strings, ret, NULL) == 0;
}

static const char *reads_cgroup(const struct root *root, struct collected *c, uint64_t pid)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "proc/%" PRIu64 "/cgroup", pid);
	if (root_read(root, path, 65536, &text, NULL) < 0 ||
	    (proc_pid_cgroup_parse(buf_str(&text), "memory", &at, &len) < 0 &&
	     proc_pid_cgroup_parse(buf_str(&text), NULL, &at, &len) < 0))
		return NULL;
	return arena_strndup(&c->strings, at, len);
}

/* One process of /proc: remember its system time, or compare with what was remembered. */
static int reads_process(void *arg, const char *name, unsigned char type)
{
	struct reads_look *l = arg;
	struct arena strings = { 0 };
	struct rec_task task = { 0 };
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || pid == (uint64_t)getpid())
		return 0;
	bool known = reads_stat(l->root, pid, &strings, &task) && task.have & REC_TASK_STIME;
	if (known && !l->second) {
		uint64_t *slot = map_u64_put(&l->before, pid, NULL);
		l->failed = slot ? l->failed : -ENOMEM;
		if (slot)
			*slot = task.stime;
	}
	const uint64_t *was = known && l->second ? map_u64_get(&l->before, pid) : NULL;
	double percent = was && task.stime > *was
				 ? 100.0 * (double)(task.stime - *was) /
					   (double)sysconf(_SC_CLK_TCK) / l->seconds
				 : 0;
	if (percent >= l->least_percent && l->c->facts.readers.len < READS_MOST_READERS) {
		struct fact_reader reader = {
			.pid = pid,
			.comm = collect_text(l->c, task.comm),
			.unit = collect_unit_of(l->c, reads_cgroup(l->root, l->c, pid)),
			.sys_percent = percent,
		};
		reader.comm = reader.comm ? reader.comm : "?";
		if (!vec_push(&l->c->facts.readers, reader))
			l->failed = -ENOMEM;
	}
	arena_free(&strings);
	return l->failed;
}

struct reads_files {
	const struct root *root;
	struct collected *c;
	struct fact_reader *reader;
	unsigned left;
	bool seen;
};

bool collect_is_walked_file(const char *path)
{
	const char *name = strrchr(path, '/');

	return name &&
	       (strcmp(name, "/memory.stat") == 0 || strcmp(name, "/memory.numa_stat") == 0);
}

static int reads_file(void *arg, const char *name, unsigned char type)
{
	struct reads_files *f = arg;
	AUTO_BUF struct buf target = { 0 };
	char path[64];

	(void)type;
	if (!f->left--)
		return 1;
	snprintf(path, sizeof(path), "proc/%" PRIu64 "/fd/%.16s", f->reader->pid, name);
	if (root_readlink(f->root, path, &target, NULL) < 0 ||
	    !collect_is_walked_file(buf_str(&target)))
		return 0;
	if (!f->reader->file)
		f->reader->file = collect_text(f->c, buf_str(&target));
	f->seen = true;
	return 1;
}

int collect_readers(const struct root *root, double least_percent, struct collected *c)
{
	struct reads_look look = { .root = root, .c = c, .least_percent = least_percent };
	uint64_t began = clock_mono_ns();

	(void)root_list(root, "proc", reads_process, &look, NULL);
	reads_pause(READS_SPAN_MS);
	look.second = true;
	look.seconds = (double)(clock_mono_ns() - began) / 1e9;
	if (!look.failed)
		(void)root_list(root, "proc", reads_process, &look, NULL);
	map_u64_free(&look.before);
	for (unsigned i = 0; !look.failed && c->facts.readers.len && i < READS_LOOKS; i++) {
		vec_foreach (&c->facts.readers, reader) {
			struct reads_files files = { root, c, reader, READS_MOST_FILES, false };
			char path[40];
			snprintf(path, sizeof(path), "proc/%" PRIu64 "/fd", reader->pid);
			(void)root_list(root, path, reads_file, &files, NULL);
			reader->looked++;
			reader->seen += files.seen;
		}
		reads_pause(READS_LOOK_MS);
	}
	return look.failed;
}

int collect_reads(const struct collect_window *w, struct collected *c, struct err *err)
{
	struct zombie_cost cost;
	struct offer offer;

	if (!w->live)
		return 0; /* a recording has the profile, or nothing */
	offer_read(w->live, &offer);
	zombie_cost_read(w->live, &offer, &cost);
	if (!cost.have_stat && !cost.have_numa_stat)
		return err_set(err, -ENODATA, "memory.stat at the root cannot be read");
	bool numa = cost.have_numa_stat && (!cost.have_stat || cost.numa_stat_ns > cost.stat_ns);
	c->facts.walk_read_ns = numa ? cost.numa_stat_ns : cost.stat_ns;
	c->facts.walk_read_file = numa ? "memory.numa_stat" : "memory.stat";
	c->facts.have |= FACT_READS;
	if (c->facts.walk_read_ns < thresholds_default.walk_read_ns)
		return 0;
	int r = collect_readers(w->live, thresholds_default.walk_sys_percent, c);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
