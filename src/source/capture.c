#include "capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "capture_units.h"
#include "captured.h"
#include "cgroup_walk.h"
#include "offer.h"
#include "root_resolve.h"
#include "tar.h"
#include "text.h"
#include "timefmt.h"
#include "zombies.h"

enum {
	CAPTURE_MOST_FILE = 4 << 20,
	CAPTURE_MOST_BYTES = 256 << 20,
	CAPTURE_MOST_PROCESSES = 20000,
	CAPTURE_MOST_CGROUPS = 20000, /* whose files are kept; directories all are */
	CAPTURE_MOST_KMSG = 4 << 20,
	CAPTURE_MOST_OWNERS = 200,
	CAPTURE_UNIT_DEPTH = 3,
};

const char *const capture_parts[CAPTURE_PARTS] = {
	"cores",   "memory", "interrupts", "network",          "processes",
	"cgroups", "units",  "zombies",    "the kernel's log",
};

/* What a file of each part is called; directories are those of cgroups only. */
static const char *const part_files[CAPTURE_PARTS] = {
	"proc/stat", "proc/meminfo",       "proc/interrupts", "proc/net/dev", "proc/[0-9]*/stat",
	NULL,        "*/systemd/system/*", CAPTURED_CENSUS,   "dev/kmsg",
};

struct capture {
	const struct root *root;
	const char *prefix; /* "" or ".zscope/before/" */
	struct buf *tar;
	struct buf text, path; /* scratch */
	struct capture_stats stats;
	uint64_t time_s;
	uint64_t cgroups;
	const char *mount; /* hierarchy that is walked */
	const char *const *group_files;
	unsigned unit_depth;
};

static void capture_count(struct capture *c, enum tar_type type, const char *path, size_t len)
{
	c->stats.files += type != TAR_DIR;
	c->stats.dirs += type == TAR_DIR;
	c->stats.bytes += len;
	for (unsigned i = 0; i < CAPTURE_PARTS; i++)
		if (part_files[i] ? len && fnmatch(part_files[i], path, 0) == 0 : type == TAR_DIR)
			c->stats.parts |= 1u << i;
}

static void capture_put(struct capture *c, enum tar_type type, const char *path, const void *data,
			size_t len)
{
	if (c->tar->len + len > CAPTURE_MOST_BYTES)
		return;
	buf_clear(&c->path);
	buf_addf(&c->path, "%s%s", c->prefix, path);
	tar_put(c->tar, type, buf_str(&c->path), c->time_s, data, len);
	capture_count(c, type, path, len);
}

static bool capture_load(struct capture *c, const char *path)
{
	buf_clear(&c->text);
	return root_read(c->root, path, CAPTURE_MOST_FILE, &c->text, NULL) == 0;
}

static bool capture_file(struct capture *c, const char *path)
{
	if (!capture_load(c, path))
		return false;
	capture_put(c, TAR_FILE, path, buf_str(&c->text), c->text.len);
	return true;
}

/* Files of a directory, by pattern "dir/%s/name" of the entries of `list`. */
struct capture_each {
	struct capture *c;
	const char *dir;
	const char *const *names;
	size_t n_names;
};

static int capture_each_one(void *arg, const char *name, unsigned char type)
{
	struct capture_each *e = arg;
	AUTO_BUF struct buf path = { 0 };

	(void)type;
	if (!e->n_names) {
		buf_addf(&path, "%s/%s", e->dir, name);
		(void)capture_file(e->c, buf_str(&path));
	}
	for (size_t i = 0; i < e->n_names; i++) {
		buf_clear(&path);
		buf_addf(&path, "%s/%s/%s", e->dir, name, e->names[i]);
		(void)capture_file(e->c, buf_str(&path));
	}
	return 0;
}

static void capture_each(struct capture *c, const char *dir, const char *const *names,
			 size_t n_names)
{
	struct capture_each e = { c, dir, names, n_names };

	(void)root_list(c->root, dir, capture_each_one, &e, NULL);
}

static void capture_fixed(struct capture *c, struct unknowns *unknowns)
{
	static const char *const paths[] = {
		"proc/stat",
		"proc/cgroups",
		"proc/vmstat",
		"proc/meminfo",
		"proc/loadavg",
		"proc/uptime",
		"proc/version",
		"proc/consoles",
		"proc/interrupts",
		"proc/softirqs",
		"proc/net/softnet_stat",
		"proc/net/dev",
		"proc/pressure/cpu",
		"proc/pressure/memory",
		"proc/pressure/io",
		"proc/pressure/irq",
		"proc/self/mountinfo",
		"proc/self/cgroup",
		"proc/sys/kernel/hostname",
		"proc/sys/kernel/osrelease",
		"proc/sys/kernel/perf_event_paranoid",
		"proc/sys/kernel/random/boot_id",
		"sys/devices/system/cpu/possible",
		"sys/devices/system/cpu/online",
		"sys/devices/system/cpu/present",
		"etc/hostname",
		"etc/os-release",
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (capture_file(c, paths[i]) || !unknowns)
			continue;
		int fd = root_open_file(c->root, paths[i], 0, &err);
		if (fd >= 0)
			close(fd);
		else if (fd != -ENOENT)
			unknowns_add(unknowns, paths[i], "%s", err.text);
	}
	buf_clear(&c->text);
	if (root_readlink(c->root, "proc/self/ns/cgroup", &c->text, NULL) == 0)
		capture_put(c, TAR_LINK, "proc/self/ns/cgroup", buf_str(&c->text), c->text.len);
}

static void capture_network(struct capture *c)
{
	static const char *const irq_names[] = { "effective_affinity_list", "smp_affinity_list" };
	static const char *const kernel_names[] = { "per_cpu_count", "actions", "chip_name" };
	static const char *const net_names[] = {
		"carrier_changes",
		"operstate",
		"mtu",
		"threaded",
		"statistics/rx_packets",
		"statistics/tx_packets",
		"statistics/rx_bytes",
		"statistics/tx_bytes",
		"statistics/rx_errors",
		"statistics/tx_errors",
		"statistics/rx_dropped",
		"statistics/tx_dropped",
	};

	capture_each(c, "proc/irq", irq_names, ARRAY_LEN(irq_names));
	capture_each(c, "sys/kernel/irq", kernel_names, ARRAY_LEN(kernel_names));
	capture_each(c, "sys/class/net", net_names, ARRAY_LEN(net_names));
}

/* Links are not copied: queues and interrupts go where their interface is looked for. */
static int capture_interface(void *arg, const char *name, unsigned char type)
{
	static const char *const queue_names[] = { "tx_timeout", "xps_cpus", "traffic_class" };
	struct capture *c = arg;
	AUTO_BUF struct buf dir = { 0 };
	AUTO_BUF struct buf from = { 0 };

	(void)type;
	buf_addf(&dir, "sys/class/net/%s/queues", name);
	capture_each(c, buf_str(&dir), queue_names, ARRAY_LEN(queue_names));
	buf_addf(&from, "sys/class/net/%s/device/msi_irqs", name);
	if (root_exists(c->root, buf_str(&from)))
		capture_each(c, buf_str(&from), NULL, 0);
	return 0;
}

/* virtio devices hang below the PCI device that owns the interrupts */
static int capture_parent_irq(void *arg, const char *name, unsigned char type)
{
	struct capture_each *e = arg;
	AUTO_BUF struct buf path = { 0 };

	(void)type;
	buf_addf(&path, "sys/class/net/%s/device/msi_irqs/%s", e->dir, name);
	capture_put(e->c, TAR_FILE, buf_str(&path), "msix\n", 5);
	return 0;
}

static int capture_virtio(void *arg, const char *name, unsigned char type)
{
	struct capture *c = arg;
	struct capture_each e = { c, name, NULL, 0 };
	AUTO_BUF struct buf path = { 0 };

	(void)type;
	buf_addf(&path, "sys/class/net/%s/device/msi_irqs", name);
	if (root_exists(c->root, buf_str(&path)))
		return 0;
	buf_clear(&path);
	buf_addf(&path, "sys/class/net/%s/device/../msi_irqs", name);
	(void)root_list(c->root, buf_str(&path), capture_parent_irq, &e, NULL);
	return 0;
}

static int capture_process(void *arg, const char *name, unsigned char type)
{
	static const char *const names[] = { "stat", "schedstat", "cgroup", "comm" };
	struct capture *c = arg;
	AUTO_BUF struct buf path = { 0 };
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || c->stats.files > CAPTURE_MOST_PROCESSES * 5ull)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		buf_clear(&path);
		buf_addf(&path, "proc/%s/%s", name, names[i]);
		(void)capture_file(c, buf_str(&path));
	}
	buf_clear(&path);
	buf_addf(&path, "proc/%s/cmdline", name);
	if (capture_load(c, buf_str(&path))) /* arguments may hold secrets: the program only */
		capture_put(c, TAR_FILE, buf_str(&path), buf_str(&c->text),
			    capture_program_len(buf_str(&c->text)));
	return 0;
}

static void capture_group_files(struct capture *c, const char *path)
{
	AUTO_BUF struct buf file = { 0 };

	for (size_t i = 0; c->group_files[i]; i++) {
		buf_clear(&file);
		buf_addf(&file, "%s%s%s/%s", c->mount, *path ? "/" : "", path, c->group_files[i]);
		(void)capture_file(c, buf_str(&file));
	}
}

static int capture_group(void *arg, int dir_fd, const char *name, const char *path)
{
	struct capture *c = arg;
	AUTO_BUF struct buf dir = { 0 };

	(void)dir_fd, (void)name;
	buf_addf(&dir, "%s/%s", c->mount, path);
	capture_put(c, TAR_DIR, buf_str(&dir), "", 0);
	if (c->cgroups++ < CAPTURE_MOST_CGROUPS)
		capture_group_files(c, path);
	return 0;
}

static void capture_hierarchy(struct capture *c, const struct offer_mount *mount,
			      const char *const *files, struct unknowns *unknowns)
{
	uint64_t count;
	struct err err;

	if (!*mount->dir)
		return;
	c->mount = mount->dir;
	c->group_files = files;
	c->cgroups = 0;
	capture_put(c, TAR_DIR, mount->dir, "", 0);
	capture_group_files(c, "");
	if (cgroup_walk(c->root, mount->dir, capture_group, c, &count, &err) < 0 && unknowns)
		unknowns_add(unknowns, mount->dir, "%s", err.text);
}

static void capture_cgroups(struct capture *c, struct unknowns *unknowns)
{
	static const char *const memory[] = { "memory.usage_in_bytes", "memory.stat",
					      "memory.use_hierarchy", NULL };
	static const char *const cpu[] = { "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat",
					   "cpu.shares", NULL };
	static const char *const unified[] = { "cgroup.controllers",
					       "cgroup.subtree_control",
					       "cgroup.stat",
					       "cgroup.events",
					       "cpu.max",
					       "cpu.stat",
					       "cpu.weight",
					       "memory.current",
					       "memory.stat",
					       NULL };
	struct offer offer;

	offer_read(c->root, &offer);
	capture_hierarchy(c, &offer.memory_v1, memory, unknowns);
	capture_hierarchy(c, &offer.cpu_v1, cpu, unknowns);
	capture_hierarchy(c, &offer.unified, unified, unknowns);
}

struct capture_units {
	struct capture *c;
	const char *dir;
};

static void capture_unit_dir(struct capture *c, const char *dir);

static int capture_unit(void *arg, const char *name, unsigned char type)
{
	struct capture_units *u = arg;
	struct capture *c = u->c;
	AUTO_BUF struct buf path = { 0 };
	AUTO_BUF struct buf kept = { 0 };

	buf_addf(&path, "%s/%s", u->dir, name);
	buf_clear(&c->text);
	if (type == DT_DIR) {
		capture_unit_dir(c, buf_str(&path));
	} else if (type == DT_LNK) {
		if (root_readlink(c->root, buf_str(&path), &c->text, NULL) == 0)
			capture_put(c, TAR_LINK, buf_str(&path), buf_str(&c->text), c->text.len);
	} else if (capture_load(c, buf_str(&path))) {
		capture_redact_unit(buf_str(&c->text), &kept);
		capture_put(c, TAR_FILE, buf_str(&path), buf_str(&kept), kept.len);
	}
	return 0;
}

static void capture_unit_dir(struct capture *c, const char *dir)
{
	struct capture_units u = { c, dir };

	if (c->unit_depth >= CAPTURE_UNIT_DEPTH)
		return;
	c->unit_depth++;
	(void)root_list(c->root, dir, capture_unit, &u, NULL);
	c->unit_depth--;
}

static void capture_units(struct capture *c)
{
	static const char *const dirs[] = {
		"etc/systemd/system",           "run/systemd/system",
		"usr/local/lib/systemd/system", "usr/lib/systemd/system",
		"etc/systemd/system-preset",    "usr/lib/systemd/system-preset",
	};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		capture_unit_dir(c, dirs[i]);
	/* older trees have it apart from /usr */
	buf_clear(&c->text);
	if (root_readlink(c->root, "lib", &c->text, NULL) == 0)
		capture_put(c, TAR_LINK, "lib", buf_str(&c->text), c->text.len);
	else
		capture_unit_dir(c, "lib/systemd/system");
}

static void capture_states(struct capture *c, struct unknowns *unknowns)
{
	struct buf told[CAPTURED_STATES] = { 0 };

	if (c->root->live)
		capture_unit_states(c->root, told, unknowns);
	for (size_t i = 0; i < CAPTURED_STATES; i++) {
		if (!c->root->live)
			(void)capture_file(c, captured_states[i]);
		else if (told[i].len)
			capture_put(c, TAR_FILE, captured_states[i], told[i].data, told[i].len);
		buf_free(&told[i]);
	}
}

static void capture_put_kmsg(struct capture *c)
{
	AUTO_BUF struct buf kept = { 0 };

	capture_redact_kmsg(buf_str(&c->text), &kept);
	capture_put(c, TAR_FILE, "dev/kmsg", buf_str(&kept), kept.len);
}

static void capture_kmsg(struct capture *c, struct unknowns *unknowns)
{
	char record[8192];

	buf_clear(&c->text);
	if (!c->root->live) {
		if (capture_load(c, "dev/kmsg"))
			capture_put_kmsg(c);
		return;
	}
	AUTO_CLOSE int fd = root_resolve(c->root->fd, "dev/kmsg",
					 O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, false);
	if (fd < 0) {
		unknowns_add(unknowns, "kernel log", "/dev/kmsg: %s", strerror(-fd));
		return;
	}
	/* one record per read; EPIPE = overwritten meanwhile, the next read goes on */
	for (;;) {
		ssize_t n = read(fd, record, sizeof(record));
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0 || c->text.len > CAPTURE_MOST_KMSG)
			break;
		buf_add(&c->text, record, (size_t)n);
	}
	capture_put_kmsg(c);
}

/* Whose the zombies are: their directories are gone, so no file of the host tells it later. */
static void capture_census(struct capture *c, struct unknowns *unknowns)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	AUTO_UNKNOWNS struct unknowns told = { 0 };
	struct zombies_options options = { 0 };
	struct census_totals totals;
	struct offer offer;

	if (!c->root->live) {
		(void)capture_file(c, CAPTURED_CENSUS);
		return;
	}
	offer_read(c->root, &offer);
	int r = zombies_read(c->root, &offer, &options, NULL, &s, &totals, &told, NULL);
	/* what holds each zombie is asked for by options that a capture has not */
	vec_foreach (&told.list, it)
		if (strcmp(it->what, "shmem_bytes") != 0)
			unknowns_add(unknowns, it->what, "%s", it->why);
	if (r < 0)
		return;
	s.time_ns = s.time_ns ? s.time_ns : clock_real_ns();
	buf_clear(&c->text);
	census_summary_encode(&c->text, &s, CAPTURE_MOST_OWNERS);
	capture_put(c, TAR_FILE, CAPTURED_CENSUS, c->text.data, c->text.len);
}

static void capture_clock(struct capture *c)
{
	buf_clear(&c->text);
	buf_addf(&c->text, "real_ns %llu\nmono_ns %llu\nboot_ns %llu\n",
		 (unsigned long long)clock_real_ns(), (unsigned long long)clock_mono_ns(),
		 (unsigned long long)clock_boot_ns());
	capture_put(c, TAR_FILE, CAPTURED_CLOCK, buf_str(&c->text), c->text.len);
}

/* What is read twice, for rates. */
static void capture_reading(struct capture *c, struct unknowns *unknowns)
{
	if (c->root->live)
		capture_clock(c);
	else
		(void)capture_file(c, CAPTURED_CLOCK);
	capture_fixed(c, unknowns);
	capture_network(c);
	(void)root_list(c->root, "sys/class/net", capture_interface, c, NULL);
	(void)root_list(c->root, "sys/class/net", capture_virtio, c, NULL);
	(void)root_list(c->root, "proc", capture_process, c, NULL);
	capture_cgroups(c, unknowns);
}

int capture_collect(const struct root *root, uint64_t interval_ns, struct buf *ret_tar,
		    struct capture_stats *ret_stats, struct unknowns *unknowns, struct err *err)
{
	struct capture c = {
		.root = root, .prefix = "", .tar = ret_tar, .time_s = clock_real_ns() / NS_PER_S
	};
	AUTO_ROOT struct root earlier = { .fd = -1 };
	uint64_t start = clock_mono_ns();

	if (root->live) {
		c.prefix = CAPTURED_BEFORE "/";
		capture_reading(&c, NULL);
		uint64_t spent = clock_mono_ns() - start;
		uint64_t rest = spent < interval_ns ? interval_ns - spent : 0;
		struct timespec ts = { (time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S) };
		while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
			;
	} else if (captured_before(root, &earlier) == 0) {
		c.prefix = CAPTURED_BEFORE "/";
		c.root = &earlier; /* a capture of a capture */
		capture_reading(&c, NULL);
	}
	c.prefix = "";
	c.root = root;
	capture_reading(&c, unknowns);
	capture_units(&c);
	capture_states(&c, unknowns);
	capture_census(&c, unknowns);
	capture_kmsg(&c, unknowns);
	tar_end(ret_tar);
	bool failed = c.text.failed || c.path.failed || ret_tar->failed;
	*ret_stats = c.stats;
	buf_free(&c.text);
	buf_free(&c.path);
	if (!failed && !c.stats.parts)
		return err_set(err, -ENODATA,
			       "%s holds nothing of a host: give the top of a host's tree "
			       "(with proc, sys and etc in it), or a capture",
			       root->path);
	return failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}
