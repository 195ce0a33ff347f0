/* make_store DIR CORES SECONDS [END [LIVE]]: a recording with one staged incident, for the tests of
 * the page and for the bench.
 *
 * Core 5 (or the last one) spends 6 s in the kernel, 60 s before the end; a NIC reset follows; a
 * unit crash-loops all the time; the kernel tracks ever more memory cgroups. Names are as hostile
 * as real ones can be. END: seconds since the epoch, default now. LIVE: go on for so many seconds,
 * one a second, with the incident in them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "census_summary.h"
#include "churn_summary.h"
#include "profile_codec.h"
#include "profile_footer.h"
#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_event.h"
#include "rec_irq.h"
#include "rec_meminfo.h"
#include "rec_netdev.h"
#include "rec_netqueue.h"
#include "rec_pressure.h"
#include "rec_quota.h"
#include "rec_self.h"
#include "rec_softirq.h"
#include "rec_task.h"
#include "rec_units.h"
#include "rec_vmstat.h"
#include "reclaim_summary.h"
#include "store_writer.h"
#include "text.h"
#include "tick_codec.h"
#include "timefmt.h"

enum { HOT_BEFORE_END_S = 60, HOT_S = 6 };
#define HOST_BYTES UINT64_C(384000000000)

#define HOSTILE "\"><img src=x onerror=window.hacked=1>\x1b[31m\xff"

struct maker {
	struct store_writer *w;
	struct tick_codec *codec;
	struct tick tick;
	struct buf bytes;
	uint64_t cores, seconds, first_s, hot_from, hot_cpu;
	uint64_t *sys, *usr, *idle;
	uint64_t served; /* interrupts and softirqs of the NIC's queue */
	uint64_t random;
	struct profile profile; /* dictionaries of the whole recording */
	struct profile_encoder encoder;
	struct profile_footer footer;
	uint32_t idle_stacks[64], hot_stacks[8];
};

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "make_store: %s: %s\n", what, err->text);
	exit(2);
}

static unsigned chance(struct maker *m, unsigned below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (unsigned)(m->random % below);
}

static void put_event(struct maker *m, uint64_t second, uint64_t ns, enum event_source source,
		      enum event_severity severity, const char *id, const char *text,
		      const struct rec_event_field *fields, size_t n)
{
	struct rec_event e = {
		.time_ns = (m->first_s + second) * NS_PER_S + ns,
		.source = source,
		.severity = severity,
		.trusted = source == EVENT_KMSG || source == EVENT_UNIT,
		.count = 1,
		.id = id,
		.text = text,
		.fields = fields,
		.n_fields = n,
	};
	struct err err = { 0 };

	e.end_ns = e.time_ns;
	buf_clear(&m->bytes);
	rec_event_encode(&m->bytes, &e);
	if (store_writer_append(m->w, FRAME_EVENT, 1, e.time_ns, m->bytes.data, m->bytes.len,
				&err) < 0)
		die("event", &err);
}

static void put_events(struct maker *m, uint64_t s)
{
	struct rec_event_field reset[] = {
		{ "iface", "eth0" },    { "driver", "ena" },
		{ "queue", "5" },       { "cause", "netdev-watchdog" },
		{ "stall_ms", "6000" },
	};
	struct rec_event_field unit[] = { { "unit", "ecs" HOSTILE ".service" },
					  { "result", "exit-code" } };

	/* the kernel's log is older than the recording */
	if (s == 0)
		put_event(m, -UINT64_C(1000), 0, EVENT_KMSG, EVENT_CRIT, "net-driver-reset",
			  "ena 0000:00:05.0 eth0: TX q 5 is paused for too long", reset,
			  ARRAY_LEN(reset));
	if (s == m->hot_from + HOT_S)
		put_event(m, s, 250 * NS_PER_MS, EVENT_KMSG, EVENT_CRIT, "net-driver-reset",
			  "ena 0000:00:05.0 eth0: TX q 5 is paused for too long (threshold "
			  "5000000) " HOSTILE,
			  reset, ARRAY_LEN(reset));
	if (s % 30 == 7)
		put_event(m, s, 100 * NS_PER_MS, EVENT_UNIT, EVENT_WARN, "unit-restart",
			  "ecs" HOSTILE ".service restarted (exit code 5)", unit, ARRAY_LEN(unit));
	if (s % 90 == 20)
		put_event(m, s, 0, EVENT_CGROUP, EVENT_INFO, "cgroup-churn",
			  "12 memory cgroups were made and removed", NULL, 0);
	if (s == m->hot_from + 2)
		put_event(m, s, 500 * NS_PER_MS, EVENT_KMSG, EVENT_WARN, "hung-task",
			  "task javascript:alert(1) blocked for more than 120 seconds", NULL, 0);
	if (s == 3)
		put_event(m, s, 0, EVENT_NOTE, EVENT_INFO, "note",
			  "</script><script>window.hacked=1</script>", NULL, 0);
}

/* A tick tells of the second before it. */
static bool hot_tick(const struct maker *m, uint64_t s)
{
	return s > m->hot_from && s <= m->hot_from + HOT_S;
}

static void fill_cores(struct maker *m, uint64_t s)
{
	for (uint64_t i = 0; i < m->cores; i++) {
		struct rec_cpu *c = tick_add_row(&m->tick, REC_CPU);
		unsigned busy = chance(m, i % 7 == 0 ? 60 : 25), sys = busy / 3;

		if (i == m->hot_cpu && hot_tick(m, s))
			busy = sys = 100;
		m->sys[i] += sys;
		m->usr[i] += busy - sys;
		m->idle[i] += 100 - busy;
		*c = (struct rec_cpu){ .have = 0x7ff,
				       .cpu = i,
				       .sys = m->sys[i],
				       .usr = m->usr[i],
				       .idle = m->idle[i] };
	}
}

static void fill_rest(struct maker *m, uint64_t s)
{
	struct rec_cgroups *g = tick_add_row(&m->tick, REC_CGROUPS);
	struct rec_vmstat *v = tick_add_row(&m->tick, REC_VMSTAT);
	struct rec_netdev *n = tick_add_row(&m->tick, REC_NETDEV);
	struct rec_self *self = tick_add_row(&m->tick, REC_SELF);
	bool hot = s >= m->hot_from && s < m->hot_from + HOT_S;

	*g = (struct rec_cgroups){ .have = REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE |
					   REC_CGROUPS_DYING,
				   .tracked = 60000 + s / 4,
				   .live = 240,
				   .dying = 59760 + s / 4 };
	*v = (struct rec_vmstat){ .have = 0x7f,
				  .pgscan_direct = s > m->hot_from ? 4000 * (s - m->hot_from) : 0,
				  .pgscan_kswapd = 100 * s };
	*n = (struct rec_netdev){ .have = REC_NETDEV_IFACE, .iface = "eth0" };
	*self = (struct rec_self){ .have = 0x3ff,
				   .ticks = s + 1,
				   .cpu_ns = s * 2000000,
				   .rss_bytes = 12 << 20,
				   .store_bytes = 1 << 20 };
	struct rec_meminfo *memory = tick_add_row(&m->tick, REC_MEMINFO);
	*memory = (struct rec_meminfo){ .have = REC_MEMINFO_TOTAL, .total = HOST_BYTES };
	struct rec_quota *quota = tick_add_row(&m->tick, REC_QUOTA);
	*quota = (struct rec_quota){ .have = 0x3f,
				     .cgroup = "/jobs.slice/job" HOSTILE ".scope",
				     .quota = 50000,
				     .period = 100000,
				     .periods = 10 * s,
				     .throttled = s / 10,
				     .throttled_time = s * 100 };
	for (unsigned i = 0; i < 3; i++) {
		struct rec_pressure *p = tick_add_row(&m->tick, REC_PRESSURE);
		*p = (struct rec_pressure){ .have = 0x1ff,
					    .resource = i,
					    .some_avg10 = hot ? 2300 + 400 * i : 40 + chance(m, 60),
					    .some_total = s * 10000,
					    .full_total = s * 1000 };
	}
}

/* The queue whose core is starved: neither its interrupt nor NET_RX runs while kubelet does. */
static void fill_queue(struct maker *m, uint64_t s)
{
	bool hot = hot_tick(m, s);
	struct rec_netqueue *q = tick_add_row(&m->tick, REC_NETQUEUE);
	struct rec_irq *irq = tick_add_row(&m->tick, REC_IRQ);
	struct rec_softirq *soft = tick_add_row(&m->tick, REC_SOFTIRQ);
	struct rec_task *kubelet = tick_add_row(&m->tick, REC_TASK);

	m->served += hot ? 0 : 400;
	*q = (struct rec_netqueue){
		.have = 0xf, .iface = "eth0", .queue = 5, .irq = 47, .effective_cpu = m->hot_cpu
	};
	*irq = (struct rec_irq){ .have = REC_IRQ_IRQ | REC_IRQ_CPU | REC_IRQ_COUNT,
				 .irq = 47,
				 .cpu = m->hot_cpu,
				 .count = m->served };
	*soft = (struct rec_softirq){ .have = REC_SOFTIRQ_CPU | REC_SOFTIRQ_NET_RX,
				      .cpu = m->hot_cpu,
				      .net_rx = m->served };
	*kubelet = (struct rec_task){ .have = REC_TASK_PID | REC_TASK_CPU | REC_TASK_COMM |
					      REC_TASK_CGROUP | REC_TASK_RECENT,
				      .pid = 4711,
				      .cpu = m->hot_cpu,
				      .comm = "kubelet" HOSTILE,
				      .cgroup = "/system.slice/kubelet.service",
				      .recent = (hot ? 990 : 20) * NS_PER_MS };
}

/* As the recorder's census: once a minute, zombies by owner and by what holds them. */
static void put_census(struct maker *m, uint64_t s)
{
	AUTO_CENSUS_SUMMARY struct census_summary c = {
		.have = CENSUS_COUNT_KNOWN | CENSUS_BYTES | CENSUS_GROUPS | CENSUS_KERNEL_COUNT,
		.time_ns = (m->first_s + s) * NS_PER_S,
		.method = CENSUS_BY_BPF,
		.tracked = 60000 + s / 4,
		.live = 240,
		.dying = 59760 + s / 4,
		.kernel_count = 60000 + s / 4,
	};
	static const char *const paths[] = { "/system.slice/ecs" HOSTILE ".service/%u",
					     "/docker/%064x", "/user.slice/%u" };
	struct err err = { 0 };
	char path[200];

	for (unsigned i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), paths[i % 20 == 0 ? 2 : i % 4 == 0], i);
		struct zombie z = { .path = path,
				    .path_len = strlen(path),
				    .bytes = 8192,
				    .file_bytes = 8192,
				    .have = ZOMBIE_LRU,
				    .id = 1000 + i,
				    .serial = i };
		owner_parse(path, z.path_len, &z.owner);
		census_summary_add(&c, &z);
	}
	census_summary_finish(&c);
	vec_foreach (&c.groups, g)
		g->count *= c.dying / 600;
	buf_clear(&m->bytes);
	census_summary_encode(&m->bytes, &c, 64);
	if (store_writer_append(m->w, FRAME_CENSUS, 1, c.time_ns, m->bytes.data, m->bytes.len,
				&err) < 0)
		die("census", &err);
}

/* Who makes them: as the recorder's churn, a stretch of a minute. */
static void put_churn(struct maker *m, uint64_t s)
{
	AUTO_CHURN_SUMMARY struct churn_summary c = { .to_ns = (m->first_s + s) * NS_PER_S,
						      .creators_known = true };
	struct err err = { 0 };

	c.from_ns = c.to_ns - 60 * NS_PER_S;
	for (unsigned i = 0; i < 24; i++) {
		struct churn_event e = {
			.what = i % 2 ? CHURN_REMOVED : CHURN_MADE,
			.mono_ns = i + 1,
			.id = i / 2 + 1,
			.path = "/docker/"
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			.comm = "runc" HOSTILE,
			.own_cgroup = "/system.slice/docker.service",
			.pid = 812
		};
		churn_summary_add(&c, &e);
	}
	churn_summary_sort(&c);
	buf_clear(&m->bytes);
	churn_summary_encode(&m->bytes, &c, 64);
	if (store_writer_append(m->w, FRAME_CHURN, 1, c.to_ns, m->bytes.data, m->bytes.len, &err) <
	    0)
		die("churn", &err);
}

/* What reclaim took in that minute: a job at its limit among zombies, and kswapd. */
static void put_reclaim(struct maker *m, uint64_t s)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary r = { .to_ns = (m->first_s + s) * NS_PER_S };
	struct reclaim_row job = { .kind = RECLAIM_KIND_LIMIT,
				   .cgroup = 4242,
				   .path = "/jobs.slice/job" HOSTILE ".scope",
				   .passes = 100,
				   .total_ns = 2500 * NS_PER_MS,
				   .max_ns = 90 * NS_PER_MS,
				   .bytes = 400 << 20,
				   .zombies = 31000,
				   .zombies_known = true };
	struct reclaim_row host = { .kind = RECLAIM_KIND_KSWAPD,
				    .passes = 3,
				    .total_ns = 12 * NS_PER_MS,
				    .max_ns = 6 * NS_PER_MS };
	struct reclaim_payer_row loader = { .pid = 5150,
					    .comm = "\"><img id=pay",
					    .cgroup = "/jobs.slice/job" HOSTILE ".scope",
					    .passes = 100,
					    .total_ns = 2500 * NS_PER_MS,
					    .max_ns = 90 * NS_PER_MS };
	struct reclaim_payer_row kswapd = {
		.row = 1, .pid = 70, .comm = "kswapd0", .passes = 3, .total_ns = 12 * NS_PER_MS
	};
	struct err err = { 0 };

	for (unsigned b = 0; b < RECLAIM_HIST; b++) {
		uint64_t least = reclaim_hist_ns(b);
		job.hist[b] += least <= 20 * NS_PER_MS && reclaim_hist_ns(b + 1) > 20 * NS_PER_MS
				       ? 100
				       : 0;
		host.hist[b] +=
			least <= 4 * NS_PER_MS && reclaim_hist_ns(b + 1) > 4 * NS_PER_MS ? 3 : 0;
	}
	r.from_ns = r.to_ns - 60 * NS_PER_S;
	(void)vec_push(&r.rows, job);
	(void)vec_push(&r.rows, host);
	(void)vec_push(&r.payers, loader);
	(void)vec_push(&r.payers, kswapd);
	buf_clear(&m->bytes);
	reclaim_summary_encode(&m->bytes, &r);
	if (store_writer_append(m->w, FRAME_RECLAIM, 1, r.to_ns, m->bytes.data, m->bytes.len,
				&err) < 0)
		die("reclaim", &err);
}

static void put_units(struct maker *m, uint64_t s)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	struct rec_service loop = {
		.have = REC_UNIT_RESTARTS | REC_UNIT_RESTART_US | REC_UNIT_EXIT,
		.name = "ecs" HOSTILE ".service",
		.load = "loaded",
		.active = "activating",
		.sub = "auto-restart",
		.result = "exit-code",
		.file_state = "enabled",
		.restart = "on-failure",
		.type = "simple",
		.restarts = 4000 + s / 30,
		.restart_us = 30000000,
		.exit_code = 1,
		.exit_status = 5,
		.seen = 10 + s / 30,
		.first_ns = m->first_s * NS_PER_S,
		.last_ns = (m->first_s + s) * NS_PER_S,
		.cadence_ns = 30 * NS_PER_S,
		.seen_source = "journal",
	};
	struct err err = { 0 };

	(void)vec_push(&set.units, loop);
	buf_clear(&m->bytes);
	rec_units_encode(&m->bytes, &set);
	if (store_writer_append(m->w, FRAME_UNITS, 1, (m->first_s + s) * NS_PER_S, m->bytes.data,
				m->bytes.len, &err) < 0)
		die("units", &err);
}

static void put_tick(struct maker *m, uint64_t s)
{
	struct err err = { 0 };
	struct store_clock clock = { .real_ns = (m->first_s + s) * NS_PER_S,
				     .mono_ns = (1000 + s) * NS_PER_S,
				     .boot_ns = (1000 + s) * NS_PER_S,
				     .boot_id = "00000000-0000-4000-8000-000000000000" };

	tick_clear(&m->tick);
	m->tick.real_ns = clock.real_ns;
	m->tick.mono_ns = clock.mono_ns;
	m->tick.boot_ns = clock.boot_ns;
	fill_cores(m, s);
	fill_rest(m, s);
	fill_queue(m, s);
	if (store_writer_tick(m->w, &clock, &err) < 0)
		die("clock", &err);
	buf_clear(&m->bytes);
	if (tick_codec_encode(m->codec, &m->tick, &m->bytes) < 0) {
		fprintf(stderr, "make_store: the tick cannot be coded\n");
		exit(2);
	}
	if (store_writer_append(m->w, FRAME_TICK, TICK_CODEC_VERSION, clock.real_ns, m->bytes.data,
				m->bytes.len, &err) < 0)
		die("tick", &err);
}

static uint32_t stack_of(struct maker *m, const char *const *names, const bool *kernel, size_t n)
{
	uint32_t frames[32];

	for (size_t i = 0; i < n; i++) {
		struct profile_frame f = { .symbol = profile_add_text(&m->profile, names[i]),
					   .kind = kernel[i] ? PROFILE_KERNEL : PROFILE_USER };
		f.module = profile_add_module(
			&m->profile,
			profile_add_text(&m->profile,
					 kernel[i] ? "[kernel.kallsyms]" : "/usr/bin/kubelet"),
			NULL, 0);
		frames[n - 1 - i] = profile_add_frame(&m->profile, &f);
	}
	return profile_add_chain(&m->profile, frames, n);
}

/* kubelet that walks memory cgroups, and 64 ordinary stacks. */
static void make_stacks(struct maker *m)
{
	static const char *const hot[] = {
		"runtime.goexit", "cadvisor.housekeeping", ("fs.readMemoryStat" HOSTILE),
		"syscall.read",   "entry_SYSCALL_64",      "do_syscall_64",
		"ksys_read",      "seq_read_iter",         "memcg_stat_show",
		"mem_cgroup_iter"
	};
	bool kernel[12] = { false, false, false, false, true, true,
			    true,  true,  true,  true,  true, true };
	char names[12][40];
	const char *list[12];

	for (size_t i = 0; i < ARRAY_LEN(m->hot_stacks); i++)
		m->hot_stacks[i] = stack_of(m, hot, kernel, ARRAY_LEN(hot) - i % 3);
	memset(kernel, 0, sizeof(kernel));
	for (unsigned i = 0; i < ARRAY_LEN(m->idle_stacks); i++) {
		size_t n = 4 + i % 8;
		for (size_t d = 0; d < n; d++) {
			snprintf(names[d], sizeof(names[d]), "work_%zu_%u", d,
				 d < 2 ? 0 : i >> (6 - MIN_OF(d, (size_t)6)));
			list[d] = names[d];
		}
		m->idle_stacks[i] = stack_of(m, list, kernel, n);
	}
}

static void put_profile(struct maker *m, uint64_t s)
{
	static struct profile_sample samples[20000];
	struct profile_second second = { .second = m->first_s + s };
	struct err err = { 0 };
	size_t n = 0;
	uint32_t kubelet = profile_add_text(&m->profile, "kubelet" HOSTILE),
		 worker = profile_add_text(&m->profile, "worker"),
		 agent = profile_add_cgroup(
			 &m->profile, 11,
			 profile_add_text(&m->profile, "/system.slice/kubelet.service")),
		 jobs = profile_add_cgroup(
			 &m->profile, 12,
			 profile_add_text(&m->profile, "/jobs.slice/job" HOSTILE ".scope/x"));
	bool hot = s >= m->hot_from && s < m->hot_from + HOT_S;
	/* near the incident every sample, else one in eight cores: the file stays small */
	bool near = s + 120 >= m->hot_from;

	for (uint64_t cpu = 0; cpu < m->cores; cpu++) {
		unsigned take = hot && cpu == m->hot_cpu ? 97
				: near || cpu % 8 == 0   ? 2 + chance(m, 14)
							 : 0;
		for (unsigned i = 0; i < take && n < ARRAY_LEN(samples); i++) {
			bool walk = hot && cpu == m->hot_cpu;
			samples[n++] = (struct profile_sample){
				.time_ns = (m->first_s + s) * NS_PER_S +
					   (walk ? i * (NS_PER_S / 97)
						 : chance(m, 1000000) * UINT64_C(1000)),
				.weight = 1,
				.stack =
					walk ? m->hot_stacks[i % 8] : m->idle_stacks[chance(m, 64)],
				.comm = walk ? kubelet : worker,
				.cgroup = walk ? agent : jobs,
				.pid = walk ? 4711 : 100 + (uint32_t)cpu,
				.tid = walk ? 4711 : 100 + (uint32_t)cpu,
				.cpu = (uint16_t)cpu,
				.have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID |
					PROFILE_HAVE_TID,
			};
			profile_footer_count(&m->footer, samples[n - 1].time_ns);
		}
	}
	buf_clear(&m->bytes);
	if (profile_encode_dictionary(&m->encoder, &m->profile, samples, n, &m->bytes) &&
	    store_writer_append(m->w, FRAME_STACKS, PROFILE_CODEC_VERSION, second.second * NS_PER_S,
				m->bytes.data, m->bytes.len, &err) < 0)
		die("stacks", &err);
	buf_clear(&m->bytes);
	profile_encode_second(&m->encoder, &m->profile, &second, samples, n, &m->bytes);
	if (store_writer_append(m->w, FRAME_PROFILE, PROFILE_CODEC_VERSION,
				second.second * NS_PER_S, m->bytes.data, m->bytes.len, &err) < 0)
		die("profile", &err);
}

static int end_segment(void *arg, struct store_writer *w, struct err *err)
{
	struct maker *m = arg;
	AUTO_BUF struct buf bytes = { 0 };

	profile_footer_encode_heat(&bytes, &m->footer);
	profile_footer_clear(&m->footer);
	return store_writer_footer_blob(w, FOOTER_HEAT, bytes.data, bytes.len, err);
}

/* A segment is readable alone: its key is its first tick. */
static int begin_segment(void *arg, struct store_writer *w, struct err *err)
{
	struct maker *m = arg;
	AUTO_BUF struct buf key = { 0 };

	char meta[400], name[256] = "";

	profile_encoder_reset(&m->encoder);
	gethostname(name, sizeof(name) - 1);
	snprintf(meta, sizeof(meta),
		 "version=gen\nhost=%s\nkernel=5.4.0-1146-aws\ncores=%" PRIu64 "\n", name,
		 m->cores);
	if (store_writer_append(w, FRAME_META, 1, m->tick.real_ns, meta, strlen(meta), err) < 0)
		return -1;
	if (tick_codec_encode_key(m->codec, &m->tick, &key) < 0)
		return -1;
	return store_writer_append(w, FRAME_KEY, TICK_CODEC_VERSION, m->tick.real_ns, key.data,
				   key.len, err);
}

int main(int argc, char **argv)
{
	struct maker m = { .random = 88172645463325252u, .codec = tick_codec_new() };
	struct store_options options = { 0 };
	struct store_hooks hooks = { .begin = begin_segment, .end = end_segment, .arg = &m };
	struct err err = { 0 };
	uint64_t end, live = 0;

	if (argc < 4 || text_u64(argv[2], &m.cores) < 0 || text_u64(argv[3], &m.seconds) < 0 ||
	    m.cores < 1 || m.seconds < 90) {
		fprintf(stderr, "usage: make_store DIR CORES SECONDS [END]\n");
		return 2;
	}
	end = clock_real_ns() / NS_PER_S;
	if (argc > 4 && text_u64(argv[4], &end) < 0)
		return 2;
	if (profile_init(&m.profile) < 0)
		return 2;
	profile_add_event(&m.profile, "cpu-clock");
	make_stacks(&m);
	m.first_s = end - m.seconds;
	if (argc > 5 && text_u64(argv[5], &live) < 0)
		return 2;
	m.hot_from = live ? m.seconds + 12 : m.seconds - HOT_BEFORE_END_S;
	m.hot_cpu = m.cores > 5 ? 5 : m.cores - 1;
	m.sys = calloc(m.cores, sizeof(uint64_t));
	m.usr = calloc(m.cores, sizeof(uint64_t));
	m.idle = calloc(m.cores, sizeof(uint64_t));
	if (store_writer_open(argv[1], &options, &hooks, &m.w, &err) < 0)
		die(argv[1], &err);
	for (uint64_t s = 0; s < m.seconds + live; s++) {
		if (s >= m.seconds) {
			struct timespec until = { .tv_sec = (time_t)(m.first_s + s) };
			clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
		}
		put_tick(&m, s);
		put_events(&m, s);
		put_profile(&m, s);
		if (s % 60 == 1) {
			put_census(&m, s);
			put_churn(&m, s);
			put_reclaim(&m, s);
			put_units(&m, s);
		}
		store_writer_flush(m.w);
	}
	store_writer_close(m.w);
	tick_codec_free(m.codec);
	tick_free(&m.tick);
	profile_encoder_reset(&m.encoder);
	profile_footer_free(&m.footer);
	profile_free(&m.profile);
	buf_free(&m.bytes);
	free(m.sys);
	free(m.usr);
	free(m.idle);
	return 0;
}
