#include "offer.h"

#include "check.h"
#include "fake_root.h"

#define V1_MEMORY "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V1_CPU    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define UNIFIED   "41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
#define V2_ONLY   "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

#define CGROUPS_V1 "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nmemory\t4\t14\t1\n"
#define CGROUPS_V2 \
	"#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t70\t1\nmemory\t0\t70\t1\n"

static struct offer judged(const char *mounts, const char *cgroups, const char *controllers)
{
	struct offer o = { 0 };
	offer_parse_mountinfo(mounts, &o);
	offer_judge(&o, cgroups, controllers);
	return o;
}

TEST(a_v1_host)
{
	struct offer o = judged(V1_CPU V1_MEMORY, CGROUPS_V1, NULL);

	CHECK_EQ(o.mode, CGROUP_MODE_V1);
	CHECK_EQ(o.memory, CGROUP_MEMORY_V1);
	CHECK_STR(offer_memory_mount(&o)->dir, "sys/fs/cgroup/memory");
	CHECK_STR(o.cpu_v1.dir, "sys/fs/cgroup/cpu,cpuacct");
}

TEST(a_v2_host)
{
	struct offer o = judged(V2_ONLY, CGROUPS_V2, "cpuset cpu io memory pids\n");

	CHECK_EQ(o.mode, CGROUP_MODE_V2);
	CHECK_EQ(o.memory, CGROUP_MEMORY_V2);
	CHECK_STR(offer_memory_mount(&o)->dir, "sys/fs/cgroup");
}

/* Newer kernels without v1 memory files list no memory row. */
TEST(a_v2_host_without_a_memory_row)
{
	struct offer o = judged(V2_ONLY, "#subsys_name\thierarchy\n", "cpu memory\n");

	CHECK_EQ(o.memory, CGROUP_MEMORY_V2);
}

TEST(hybrid_hosts_of_both_kinds)
{
	struct offer o = judged(V1_CPU V1_MEMORY UNIFIED, CGROUPS_V1, "\n");

	CHECK_EQ(o.mode, CGROUP_MODE_HYBRID);
	CHECK_EQ(o.memory, CGROUP_MEMORY_V1);
	o = judged(V1_CPU UNIFIED, CGROUPS_V2, "memory\n");
	CHECK_EQ(o.mode, CGROUP_MODE_HYBRID);
	CHECK_EQ(o.memory, CGROUP_MEMORY_V2);
	CHECK_STR(offer_memory_mount(&o)->dir, "sys/fs/cgroup/unified");
}

TEST(a_controller_that_is_not_mounted)
{
	struct offer o = judged(V1_CPU, CGROUPS_V1, NULL);

	CHECK_EQ(o.memory, CGROUP_MEMORY_V1);
	CHECK(!offer_memory_mount(&o));
	o = judged("", "cpu\t0\t1\t1\n", NULL);
	CHECK_EQ(o.mode, CGROUP_MODE_NONE);
	CHECK_EQ(o.memory, CGROUP_MEMORY_NONE);
}

/* "none" is a claim: it needs something that was read. */
TEST(nothing_read_is_not_nothing_there)
{
	struct offer o = judged("", NULL, NULL);

	CHECK(!o.mode_known && !o.memory_known && !o.layout_read);
	o = judged("30 23 0:26 / /sys/fs/cg", "memory\t", NULL);
	CHECK(!o.mode_known && !o.memory_known && !o.layout_read);
	o = judged("1 0 0:1 / / rw - ext4 /dev/sda rw\n", CGROUPS_V2, NULL);
	CHECK(o.mode_known && o.layout_read);
	CHECK(!o.memory_known); /* the kernel has it, it is only not seen from here */
	o = judged(V2_ONLY, "memory\t0\t1\t0\n", NULL);
	CHECK_EQ(o.memory, CGROUP_MEMORY_NONE);
	CHECK(o.mode_known && o.memory_known);
	o = judged(V2_ONLY, CGROUPS_V2, NULL);
	CHECK(o.memory_known && !o.layout_read);
}

TEST(escaped_and_hostile_lines)
{
	struct offer o = judged("1 2 0:3 / /my\\040cgroups rw - cgroup2 x rw\n", NULL, NULL);

	CHECK_STR(o.unified.dir, "my cgroups");
	o = judged("1 2 0:3 / /a\\000b rw - cgroup2 x rw\n- - - -\n\n1 2\n - cgroup", NULL, NULL);
	CHECK_STR(o.unified.dir, "");
	/* the whole hierarchy beats a part of it, whichever comes first */
	o = judged("1 2 0:3 /docker/abc /part rw - cgroup c rw,memory\n" V1_MEMORY, NULL, NULL);
	CHECK_STR(o.memory_v1.dir, "sys/fs/cgroup/memory");
}

TEST(a_part_of_the_tree_is_a_containers_view)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct offer o;

	fake_root_put(
		&fake, "proc/self/mountinfo",
		"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	fake_root_put(&fake, "proc/cgroups", CGROUPS_V1);
	offer_read(&fake.root, &o);
	CHECK_EQ(o.memory, CGROUP_MEMORY_V1);
	CHECK(o.namespaced);
	CHECK(!o.bpf && !o.perf);
}

TEST(a_namespace_is_seen_by_its_link)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct offer o;
	char path[200];

	fake_root_put(&fake, "proc/self/mountinfo", V2_ONLY);
	fake_root_put(&fake, "proc/self/ns/x", "");
	fake_root_put(&fake, "sys/fs/cgroup/cgroup.controllers", "memory\n");
	snprintf(path, sizeof(path), "%s/proc/self/ns/cgroup", fake.dir);
	CHECK_EQ(symlink("cgroup:[4026531835]", path), 0);
	offer_read(&fake.root, &o);
	CHECK(!o.namespaced);
	unlink(path);
	CHECK_EQ(symlink("cgroup:[4026532291]", path), 0);
	offer_read(&fake.root, &o);
	CHECK(o.namespaced);
	unlink(path);
	fake_root_put(&fake, "sys/fs/cgroup/cgroup.events", "populated 1\n");
	offer_read(&fake.root, &o);
	CHECK(o.namespaced);
}

TEST(a_tree_without_mountinfo)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct offer o;

	fake_root_put(&fake, "sys/fs/cgroup/memory/memory.stat", "cache 0\n");
	fake_root_put(&fake, "sys/devices/system/cpu/possible", "0-95\n");
	offer_read(&fake.root, &o);
	CHECK_EQ(o.mode, CGROUP_MODE_V1);
	CHECK_STR(offer_memory_mount(&o)->dir, "sys/fs/cgroup/memory");
	CHECK_EQ(o.n_cpus, 96);
}

TEST_MAIN
