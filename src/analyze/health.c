#include "health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "health_measure.h"
#include "text.h"

/* A node that is fully used is worth a look, but not sick by that alone. */
#define HEALTH_NEVER INFINITY

static const struct health_check checks[] = {
	{
		.id = "core-kernel",
		.title = "one core's time in the kernel",
		.brief = "kernel time",
		.one_core = true,
		.unit = "%",
		.yellow = 60,
		.red = 90,
		.next = "zscope why",
		.source = "/proc/stat",
		.reads = "time of cores|rates",
		.essential = true,
		.measure = health_measure_core_kernel,
	},
	{
		.id = "cores-busy",
		.title = "all cores busy",
		.brief = "all cores busy",
		.unit = "%",
		.yellow = 98,
		.red = HEALTH_NEVER,
		.next = "zscope cores",
		.source = "/proc/stat",
		.reads = "time of cores|rates",
		.measure = health_measure_cores_busy,
	},
	{
		.id = "steal",
		.title = "time stolen from one core",
		.brief = "stolen time",
		.one_core = true,
		.unit = "%",
		.yellow = 10,
		.red = 30,
		.next = "zscope cores",
		.source = "/proc/stat",
		.reads = "time of cores|rates",
		.measure = health_measure_steal,
	},
	{
		.id = "memcg-zombies",
		.title = "zombie memory cgroups",
		.brief = "zombie cgroups",
		.unit = "",
		.yellow = 1000,
		.red = 10000,
		.next = "zscope zombies",
		.source = "/proc/cgroups, cgroup directories, cgroup.stat",
		.reads = "memory cgroups|tracked memory cgroups|live memory cgroups|"
			 "dying memory cgroups|cgroup",
		.essential = true,
		.measure = health_measure_zombies,
	},
	{
		.id = "percpu-memory",
		.title = "memory in per-core copies",
		.brief = "per-core memory",
		.unit = "%",
		.yellow = 5,
		.red = 10,
		.decimals = 1,
		.next = "zscope zombies",
		.source = "/proc/meminfo Percpu",
		.reads = "memory",
		.measure = health_measure_percpu,
	},
	{
		.id = "memory-available",
		.title = "memory available",
		.brief = "memory available",
		.unit = "%",
		.below = true,
		.yellow = 10,
		.red = 5,
		.next = "zscope why",
		.source = "/proc/meminfo MemAvailable",
		.reads = "memory",
		.essential = true,
		.measure = health_measure_available,
	},
	{
		.id = "pressure-memory",
		.title = "all tasks stalled on memory",
		.brief = "stalled on memory",
		.unit = "%",
		.yellow = 5,
		.red = 20,
		.decimals = 1,
		.next = "zscope why",
		.source = "/proc/pressure/memory",
		.reads = "memory pressure",
		.measure = health_measure_psi_memory,
	},
	{
		.id = "pressure-io",
		.title = "all tasks stalled on I/O",
		.brief = "stalled on I/O",
		.unit = "%",
		.yellow = 30,
		.red = 70,
		.decimals = 1,
		.next = "zscope why",
		.source = "/proc/pressure/io",
		.reads = "I/O pressure",
		.measure = health_measure_psi_io,
	},
	{
		.id = "pressure-cpu",
		.title = "some task waited for a core",
		.brief = "waiting for a core",
		.unit = "%",
		.yellow = 80,
		.red = HEALTH_NEVER,
		.decimals = 1,
		.next = "zscope cores",
		.source = "/proc/pressure/cpu",
		.reads = "CPU pressure",
		.measure = health_measure_psi_cpu,
	},
	{
		.id = "reclaim-direct",
		.title = "pages scanned by waiting tasks",
		.brief = "direct reclaim",
		.unit = "/s",
		.yellow = 1000,
		.red = 50000,
		.next = "zscope why",
		.source = "/proc/vmstat pgscan_direct",
		.reads = "reclaim and faults|rates",
		.measure = health_measure_reclaim,
	},
	{
		.id = "oom-kills",
		.title = "processes killed for memory",
		.brief = "OOM kills",
		.unit = "",
		.yellow = 1,
		.red = 3,
		.next = "zscope events",
		.source = "/proc/vmstat oom_kill",
		.reads = "reclaim and faults|rates",
		.measure = health_measure_oom,
	},
	{
		.id = "throttling",
		.title = "periods stopped by a CPU quota",
		.brief = "throttled by a quota",
		.unit = "%",
		.yellow = 25,
		.red = 75,
		.next = "zscope why",
		.source = "cpu.stat nr_throttled",
		.reads = "CPU quotas|rates",
		.measure = health_measure_throttling,
	},
	{
		.id = "load",
		.title = "load per core",
		.brief = "load per core",
		.unit = "",
		.yellow = 2,
		.red = 5,
		.decimals = 2,
		.next = "zscope cores",
		.source = "/proc/loadavg",
		.reads = "load average|time of cores",
		.measure = health_measure_load,
	},
	{
		.id = "softnet-drops",
		.title = "packets dropped by a full backlog",
		.brief = "packets dropped",
		.unit = "/s",
		.yellow = 1,
		.red = 100,
		.next = "zscope events",
		.source = "/proc/net/softnet_stat",
		.reads = "packet backlog|rates",
		.measure = health_measure_softnet,
	},
	{
		.id = "crash-loops",
		.title = "units that crash-loop",
		.brief = "crash loops",
		.unit = "",
		.yellow = 1,
		.red = 3,
		.next = "zscope audit",
		.source = "systemd NRestarts",
		.fact = "crash-loops",
		.reads = "crash loops",
	},
	{
		.id = "driver-resets",
		.title = "driver resets in the last hour",
		.brief = "driver resets",
		.unit = "",
		.yellow = 1,
		.red = 3,
		.next = "zscope events",
		.source = "/dev/kmsg",
		.fact = "driver-resets",
		.reads = "driver resets",
	},
};

const struct health_check *health_table(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(checks);
	return checks;
}

const char *health_level_name(enum health_level level)
{
	static const char *const names[] = { "green", "yellow", "red", "unknown", "absent" };
	return names[level];
}

static enum health_level health_level_of(const struct health_check *c, double value)
{
	double sign = c->below ? -1 : 1;

	if (sign * value >= sign * c->red)
		return HEALTH_RED;
	return sign * value >= sign * c->yellow ? HEALTH_YELLOW : HEALTH_GREEN;
}

static const struct health_fact *health_find_fact(const struct health_input *in, const char *id)
{
	for (size_t i = 0; i < in->n_facts; i++)
		if (strcmp(in->facts[i].id, id) == 0)
			return &in->facts[i];
	return NULL;
}

static int health_take_fact(const struct health_input *in, struct health_line *line)
{
	const struct health_fact *fact = health_find_fact(in, line->check->fact);

	if (!fact)
		return -ENODATA;
	line->value = fact->value;
	text_copy(line->detail, sizeof(line->detail),
		  fact->value == 0 && !*fact->detail ? "none" : fact->detail);
	return fact->absent ? -EOPNOTSUPP : 0;
}

/* Why a line is unknown: the first reason that names what it reads. */
static void health_explain(const struct health_input *in, struct health_line *line)
{
	size_t n = in->unknown ? in->unknown->list.len : 0;

	for (size_t i = 0; i < n; i++) {
		const struct unknown *u = &in->unknown->list.items[i];
		if (!text_is_choice(line->check->reads, u->what))
			continue;
		text_copy(line->detail, sizeof(line->detail), u->why);
		line->explained = true;
		return;
	}
	snprintf(line->detail, sizeof(line->detail), "not told by %s", line->check->source);
}

static struct health_line health_ask(const struct health_input *in, const struct health_check *c)
{
	struct health_line line = { .check = c, .cpu = -1 };
	int r = c->fact ? health_take_fact(in, &line) : c->measure(in, &line);

	if (r == -EOPNOTSUPP) {
		line.level = HEALTH_ABSENT;
	} else if (r == 0 && isfinite(line.value)) {
		line.level = health_level_of(c, line.value);
	} else {
		line.level = HEALTH_UNKNOWN;
		health_explain(in, &line);
	}
	return line;
}

static bool health_explains_a_line(const struct health_result *r, const struct unknown *u)
{
	vec_foreach (&r->lines, it)
		if (it->level >= HEALTH_UNKNOWN && text_is_choice(it->check->reads, u->what))
			return true;
	return false;
}

/* What is not known and is said by no line is a line of its own: nothing vanishes. */
static int health_add_others(const struct health_input *in, struct health_result *r)
{
	size_t n = in->unknown ? in->unknown->list.len : 0;

	for (size_t i = 0; i < n; i++) {
		const struct unknown *u = &in->unknown->list.items[i];
		if (health_explains_a_line(r, u))
			continue;
		if (!vec_push(&r->others, u))
			return -ENOMEM;
		r->counts[HEALTH_UNKNOWN]++;
	}
	return 0;
}

static enum health_level health_verdict(const struct health_result *r)
{
	if (r->counts[HEALTH_RED])
		return HEALTH_RED;
	if (r->counts[HEALTH_YELLOW])
		return HEALTH_YELLOW;
	vec_foreach (&r->lines, it)
		if (it->level == HEALTH_UNKNOWN && it->check->essential)
			return HEALTH_UNKNOWN;
	return HEALTH_GREEN;
}

int health_judge(const struct health_input *in, struct health_result *ret)
{
	struct health_result result = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(checks) && r == 0; i++) {
		struct health_line line = health_ask(in, &checks[i]);
		result.counts[line.level]++;
		r = vec_push(&result.lines, line) ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = health_add_others(in, &result);
	if (r < 0) {
		health_result_free(&result);
		return r;
	}
	result.level = health_verdict(&result);
	*ret = result;
	return 0;
}

void health_result_free(struct health_result *r)
{
	vec_free(&r->lines);
	vec_free(&r->others);
}
