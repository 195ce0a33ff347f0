#include "tick_source.h"

#include <errno.h>
#include <stdlib.h>

#include "auto.h"
#include "cgroup_counts.h"
#include "core_times.h"
#include "interrupts.h"
#include "loadavg.h"
#include "net_counters.h"
#include "nic_irq.h"
#include "pressure.h"
#include "proc_meminfo.h"
#include "proc_stat.h"
#include "proc_vmstat.h"
#include "quota.h"
#include "softirqs.h"
#include "softnet.h"
#include "tasks.h"
#include "tick_path.h"
#include "timefmt.h"

static int pressure_cpu(const char *text, struct tick *t, struct err *err)
{
	return pressure_parse(text, PRESSURE_CPU, t, err);
}

static int pressure_memory(const char *text, struct tick *t, struct err *err)
{
	return pressure_parse(text, PRESSURE_MEMORY, t, err);
}

static int pressure_io(const char *text, struct tick *t, struct err *err)
{
	return pressure_parse(text, PRESSURE_IO, t, err);
}

static int pressure_irq(const char *text, struct tick *t, struct err *err)
{
	return pressure_parse(text, PRESSURE_IRQ, t, err);
}

/* Sources that are one text file. */
static const struct tick_file {
	const char *path;
	enum rec_kind kind;
	const char *what; /* for people, when it is missing; NULL = its absence is no news */
	int (*parse)(const char *text, struct tick *ret, struct err *err);
	unsigned shed_at; /* left out from this level on */
	bool whole;       /* one read gives all of it */
} files[] = {
	{ "proc/stat", REC_CPU, "time of cores", proc_stat_parse, 9, true },
	{ "proc/loadavg", REC_LOAD, "load average", loadavg_parse, 9, true },
	{ "proc/vmstat", REC_VMSTAT, "reclaim and faults", proc_vmstat_parse, 3, false },
	{ "proc/meminfo", REC_MEMINFO, "memory", proc_meminfo_parse, 3, true },
	{ "proc/pressure/cpu", REC_PRESSURE, "CPU pressure", pressure_cpu, 3, true },
	{ "proc/pressure/memory", REC_PRESSURE, "memory pressure", pressure_memory, 3, true },
	{ "proc/pressure/io", REC_PRESSURE, "I/O pressure", pressure_io, 3, true },
	/* only with CONFIG_IRQ_TIME_ACCOUNTING, from 6.1 */
	{ "proc/pressure/irq", REC_PRESSURE, NULL, pressure_irq, 3, true },
	{ "proc/softirqs", REC_SOFTIRQ, "soft interrupts", softirqs_parse, 3, true },
	{ "proc/net/softnet_stat", REC_SOFTNET, "packet backlog", softnet_parse, 3, false },
};

#define TICK_FILE_STAT 1U /* its bit among those that are wanted: the first */

enum {
	TICK_FULL_IRQ_EVERY = 10,  /* ticks between two readings of all interrupts */
	TICK_FULL_STAT_EVERY = 10, /* and of all of /proc/stat, where the cores need it not */
	TICK_FIND_EVERY = 60,      /* ticks between two searches for new files and devices */
};

struct tick_source {
	const struct root *root;
	struct tick_source_options options;
	struct offer offer;
	struct buf text; /* shared: stays in the cache */
	struct reread files[ARRAY_LEN(files)];
	struct reread interrupts;
	struct cgroup_counts cgroups;
	struct nic_irq nic_irq;
	struct net_counters net;
	struct tasks tasks;
	struct quota quota;
	uint64_t n_reads;
	unsigned wanted; /* a bit for each of the files */
	unsigned shed;
};

static bool tick_wants(const struct tick_source *s, enum rec_kind kind)
{
	return !s->options.kinds || s->options.kinds & TICK_KIND(kind);
}

int tick_source_open(const struct root *root, const struct tick_source_options *options,
		     struct tick_source **ret, struct err *err)
{
	struct tick_source *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->root = root;
	s->options = options ? *options : (struct tick_source_options){ 0 };
	offer_read(root, &s->offer);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		s->files[i].fd = -1;
		if (!tick_wants(s, files[i].kind))
			continue;
		s->wanted |= 1U << i;
		(void)reread_open(&s->files[i], root, files[i].path, NULL);
	}
	s->interrupts.fd = -1;
	s->net.socket = s->net.net_dev.fd = -1;
	if (tick_wants(s, REC_IRQ))
		(void)reread_open(&s->interrupts, root, "proc/interrupts", NULL);
	if (tick_wants(s, REC_CGROUPS))
		cgroup_counts_open(&s->cgroups, root, &s->offer);
	if (tick_wants(s, REC_TASK))
		tasks_open(&s->tasks, root, s->options.top_tasks, !s->options.no_bpf);
	*ret = s;
	return 0;
}

void tick_source_close(struct tick_source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		reread_close(&s->files[i]);
	reread_close(&s->interrupts);
	cgroup_counts_close(&s->cgroups);
	nic_irq_close(&s->nic_irq);
	net_counters_close(&s->net);
	tasks_close(&s->tasks);
	quota_close(&s->quota);
	buf_free(&s->text);
	free(s);
}

const struct offer *tick_source_offer(const struct tick_source *s)
{
	return &s->offer;
}

void tick_source_shed(struct tick_source *s, unsigned level)
{
	s->shed = level;
}

EVERY_TICK static void tick_read_file(struct tick_source *s, size_t i, struct tick *t,
				      struct unknowns *unknowns)
{
	struct reread *file = &s->files[i];
	/* the file that has more than the rows of its kind */
	bool cores_alone = files[i].kind == REC_CPU && !tick_wants(s, REC_LOAD);
	struct err err;
	int r = 0;

	err.text[0] = '\0'; /* all of it as zeroes would be seven more cache lines */
	if (file->fd < 0)
		r = reread_open(file, s->root, files[i].path, &err);
	file->whole = files[i].whole;
	if (r == 0)
		r = reread_text(file, &s->text, &err);
	if (r == 0 && cores_alone)
		r = proc_stat_parse_cores(buf_str(&s->text), s->text.len, t, &err);
	else if (r == 0)
		r = files[i].parse(buf_str(&s->text), t, &err);
	if (r < 0 && files[i].what) {
		root_err(s->root, r, &err);
		unknowns_add(unknowns, files[i].what, "%s", err.text);
	}
}

/* Without /proc/stat. What only that has (forks, all interrupts) is worth its price now and then:
 * the first tick has it, too. */
EVERY_TICK static bool tick_read_cores(struct tick_source *s, struct tick *t)
{
	bool load = tick_wants(s, REC_LOAD);

	if (!s->options.cores || !(s->wanted & TICK_FILE_STAT) ||
	    (load && s->n_reads % TICK_FULL_STAT_EVERY == 0))
		return false;
	return core_times_read_direct(s->options.cores, load, t);
}

static void tick_read_irqs(struct tick_source *s, struct tick *t, struct unknowns *unknowns)
{
	struct err err = { 0 };
	bool full = s->shed < 1 && s->n_reads % TICK_FULL_IRQ_EVERY == TICK_FULL_IRQ_EVERY - 1;

	if (full && reread_text(&s->interrupts, &s->text, &err) == 0 &&
	    interrupts_parse(buf_str(&s->text), t, &err) == 0)
		return; /* network queues are among them */
	if (s->n_reads % TICK_FIND_EVERY == 0) {
		nic_irq_close(&s->nic_irq);
		(void)nic_irq_open(&s->nic_irq, s->root, NULL);
	}
	int r = nic_irq_read(&s->nic_irq, &s->text, t, &err);
	if (root_err(s->root, r, &err) < 0)
		unknowns_add(unknowns, "network interrupts", "%s", err.text);
}

static void tick_read_net(struct tick_source *s, struct tick *t, struct unknowns *unknowns)
{
	struct err err = { 0 };

	if (s->n_reads % TICK_FIND_EVERY == 0) {
		net_counters_close(&s->net);
		int r = net_counters_open(&s->net, s->root, &err);
		if (r < 0 && r != -ENOENT) /* a host without network devices lacks nothing */
			unknowns_add(unknowns, "network queues", "%s", err.text);
	}
	if (net_counters_read(&s->net, &s->text, t) < 0)
		unknowns_add(unknowns, "network queues", "out of memory");
}

EVERY_TICK int tick_source_read(struct tick_source *s, struct tick *t, struct unknowns *unknowns)
{
	tick_clear(t);
	t->real_ns = clock_real_ns();
	t->mono_ns = clock_mono_ns();
	t->boot_ns = clock_boot_ns();
	unsigned left = s->wanted & ~(tick_read_cores(s, t) ? TICK_FILE_STAT : 0);
	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		/* one that is missing is looked for again, but not every second */
		bool look = s->files[i].fd >= 0 || s->n_reads % TICK_FIND_EVERY == 0;
		if (look && s->shed < files[i].shed_at)
			tick_read_file(s, i, t, unknowns);
	}
	if (tick_wants(s, REC_CGROUPS))
		cgroup_counts_read(&s->cgroups, s->root, &s->offer, &s->text, t, unknowns);
	if (tick_wants(s, REC_IRQ) && s->shed < 3)
		tick_read_irqs(s, t, unknowns);
	if ((tick_wants(s, REC_NETQUEUE) || tick_wants(s, REC_NETDEV)) && s->shed < 3)
		tick_read_net(s, t, unknowns);
	if (tick_wants(s, REC_TASK) && s->shed < 3)
		tasks_read(&s->tasks, s->root, &s->offer, s->shed >= 2, &s->text, t, unknowns);
	if (tick_wants(s, REC_QUOTA) && s->shed < 2)
		quota_read(&s->quota, s->root, &s->offer, s->options.thorough, &s->text, t,
			   unknowns);
	s->n_reads++;
	return s->text.failed ? -ENOMEM : 0;
}
