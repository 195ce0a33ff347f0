#include "shared_holders.h"

#include <errno.h>

#include "check.h"
#include "fake_root.h"
#include "locked_memory.h"
#include "process_files.h"

TEST(lines_of_maps)
{
	struct process_map map;

	CHECK(process_map_parse("7f00-7f10 rw-s 00000000 00:01 0      /SYSV0000002a (deleted)\n",
				&map));
	CHECK_STR(map.range, "7f00-7f10");
	CHECK_EQ(map.minor, 1);
	CHECK_EQ(map.inode, 0);
	CHECK_EQ(strncmp(map.name, "/SYSV0000002a", 13), 0);
	CHECK(!process_map_parse("7f00-7f10 rw-p 00000000 00:00 0 \n", &map));
	CHECK(!process_map_parse("7f00-7f10 rw-p 00000000 00:00 0   [heap]\n", &map));
	CHECK(!process_map_parse("7f00-7f10 rw-p\n", &map));
	CHECK(process_map_parse("7f00-7f10 r-xp 00001000 fe:00 77 /bin/x\n", &map));
	CHECK_EQ(map.major, 0xfe);
	CHECK_EQ(map.inode, 77);
	/* torn at its end: nothing behind it may be read */
	CHECK(process_map_parse("7f00-7f10 rw-s 00000000 00:01 5", &map));
	CHECK(!map.deleted);
	CHECK_STR(map.name, "");
}

/* ipc_ns 0 = nobody may read it. */
static void put_process(struct fake_root *fake, const char *pid, unsigned ipc_ns, const char *maps)
{
	char path[100], link[40], full[200];

	snprintf(path, sizeof(path), "proc/%s/comm", pid);
	fake_root_put(fake, path, "keeper\n");
	snprintf(path, sizeof(path), "proc/%s/status", pid);
	fake_root_put(fake, path, "Name:\tkeeper\n");
	snprintf(path, sizeof(path), "proc/%s/maps", pid);
	fake_root_put(fake, path, maps);
	snprintf(path, sizeof(path), "proc/%s/fd/.keep", pid);
	fake_root_put(fake, path, "");
	snprintf(path, sizeof(path), "proc/%s/ns/.keep", pid);
	fake_root_put(fake, path, "");
	snprintf(full, sizeof(full), "%s/proc/%s/ns/ipc", fake->dir, pid);
	snprintf(link, sizeof(link), "ipc:[%u]", ipc_ns);
	if (symlink(link, full) < 0)
		abort();
}

static void put_table(struct fake_root *fake, const char *rows)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "       key      shmid perms       size  cpid  lpid nattch\n%s", rows);
	fake_root_put(fake, "proc/sysvipc/shm", text);
}

TEST(a_table_of_segments)
{
	struct ipc_shm shm = { 0 };
	const struct ipc_segment *s;

	CHECK_EQ(ipc_shm_parse("key shmid perms size cpid lpid nattch\n"
			       "        42          5  1600   8192     7     7      2     0\n"
			       "        -2      32774   600   8192     7     7      0     0\n",
			       3, &shm),
		 0);
	CHECK_EQ(shm.segments.len, 2);
	CHECK_EQ(ipc_shm_find(&shm, 5, "SYSV0000002a", &s), 0);
	CHECK_EQ(s->attached, 2);
	CHECK_EQ(s->space, 3);
	CHECK_EQ(ipc_shm_find(&shm, 32774, "SYSVfffffffe", &s), 0);
	CHECK_EQ(s->attached, 0);
	/* another key: it is a segment of a namespace that was not seen */
	CHECK_EQ(ipc_shm_find(&shm, 5, "SYSV0000002b", &s), -EAGAIN);
	CHECK_EQ(ipc_shm_find(&shm, 6, "SYSV0000002a", &s), -EAGAIN);
	CHECK_EQ(ipc_shm_parse("key\n 42 5 1600 torn", 0, &shm), -EBADMSG);
	/* the same in a second namespace */
	CHECK_EQ(ipc_shm_parse("key\n 42 5 600 8192 7 7 0 0\n", 4, &shm), 0);
	CHECK_EQ(ipc_shm_find(&shm, 5, "SYSV0000002a", &s), -EAGAIN);
	ipc_shm_free(&shm);
}

TEST(segments_are_counted_in_each_ipc_namespace)
{
	static const char maps[] = "2-3 rw-s 0 00:01 5   /SYSV00000000 (deleted)\n";
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct shared_holders h = { 0 };
	struct zombie_holder who;

	put_process(&fake, "self", 40, "");
	put_process(&fake, "7", 40, maps);
	put_table(&fake, " 0 5 1600 8192 7 7 1 0\n 0 6 600 8192 7 7 0 0\n");
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "SYSV00000000", &who), 0);
	CHECK_EQ(who.pid, 7);
	CHECK_EQ(who.ipc_ns, 40);
	CHECK(who.ipc_ours);
	/* attached nowhere, says the kernel */
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 6, "SYSV00000000", &who), 0);
	CHECK_EQ(who.processes, 0);
	CHECK(who.ipc_ours);
	shared_holders_free(&h);
	/* a namespace that cannot be asked may have a 5 of its own, attached or not */
	put_process(&fake, "8", 41, "");
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "SYSV00000000", &who), -EAGAIN);
	shared_holders_free(&h);
}

TEST(nobody_is_known_only_where_all_were_seen)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct shared_holders h = { 0 };
	struct process_unseen none = { 0 };
	struct zombie_holder who;
	char text[200];

	put_process(&fake, "7", 40, "");
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "memfd:a", &who), 0);
	CHECK_EQ(who.processes, 0);
	CHECK(!process_unseen_any(&h.unseen) && !process_unseen_any(&none));
	shared_holders_free(&h);
	/* more mappings than are read */
	size_t len = ROOT_FILE_CAP + 4096;
	char *many = malloc(len);
	memset(many, '\n', len);
	fake_root_put_n(&fake, "proc/7/maps", many, len);
	free(many);
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "memfd:a", &who), -EAGAIN);
	CHECK_EQ(h.unseen.processes, 1);
	CHECK_STR(process_unseen_tell(&h.unseen, text, sizeof(text)),
		  "1 process could not be looked at");
	shared_holders_free(&h);
}

TEST(a_pid_namespace_hides_processes)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct shared_holders h = { 0 };
	struct zombie_holder who;
	char full[200];

	put_process(&fake, "self", 40, "");
	put_process(&fake, "7", 40, "");
	snprintf(full, sizeof(full), "%s/proc/self/ns/pid", fake.dir);
	CHECK_EQ(symlink("pid:[4026531836]", full), 0);
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "memfd:a", &who), 0);
	shared_holders_free(&h);
	unlink(full);
	CHECK_EQ(symlink("pid:[4026532000]", full), 0);
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "memfd:a", &who), -EAGAIN);
	CHECK(h.unseen.hidden);
	shared_holders_free(&h);
}

TEST(who_locks_memory)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_LOCKED_MEMORY struct locked_processes locked = { 0 };

	fake_root_put(&fake, "proc/7/status", "Name:\tzscope\nVmLck:\t    3000 kB\n");
	fake_root_put(&fake, "proc/7/comm", "zscope\n");
	fake_root_put_n(&fake, "proc/7/cmdline", "/usr/bin/zscope\0record\0--store\0x", 33);
	fake_root_put(&fake, "proc/8/status", "Name:\tdb\nVmLck:\t    4000 kB\n");
	fake_root_put(&fake, "proc/8/comm", "db\n");
	fake_root_put_n(&fake, "proc/8/cmdline", "zscope\0recorder", 15);
	fake_root_put(&fake, "proc/9/status", "Name:\tcat\nVmLck:\t       0 kB\n");
	fake_root_put(&fake, "proc/10/status", "Name:\tkthreadd\n");
	CHECK_EQ(locked_memory_read(&fake.root, &locked, NULL), 0);
	CHECK_EQ(locked.list.len, 2);
	CHECK_EQ(locked.list.items[0].pid, 8);
	CHECK_EQ(locked.list.items[0].bytes, 4000 * 1024);
	CHECK(!locked.list.items[0].recorder);
	CHECK_STR(locked.list.items[1].comm, "zscope");
	CHECK(locked.list.items[1].recorder);
}

TEST(mappings_lead_to_processes)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct shared_holders h = { 0 };
	struct zombie_holder who;

	put_table(&fake, " 0 5 1600 8192 7 7 1 0\n");
	fake_root_put(&fake, "proc/7/comm", "keeper\n");
	fake_root_put(&fake, "proc/7/cgroup", "0::/system.slice/keeper.service\n");
	fake_root_put(&fake, "proc/7/maps",
		      "1-2 rw-s 0 00:01 5   /memfd:a (deleted)\n"
		      "2-3 rw-s 0 00:01 5   /SYSV00000000 (deleted)\n"
		      "3-4 rw-s 0 00:01 5   /memfd:a (deleted)\n"
		      "4-5 r--p 0 fe:00 6   /lib/x\n");
	fake_root_put(&fake, "proc/8/comm", "other\n");
	fake_root_put(&fake, "proc/8/maps", "1-2 rw-s 0 00:01 5   /memfd:a (deleted)\n");
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "memfd:a", &who), 0);
	CHECK_EQ(who.pid, 7);
	CHECK_EQ(who.processes, 2);
	CHECK_STR(who.comm, "keeper");
	CHECK_STR(who.unit, "keeper.service");
	/* the same number, but another thing */
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 1, 5, "SYSV00000000", &who), 0);
	CHECK_EQ(who.processes, 1);
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0, 2, 5, "memfd:a", &who), 0);
	CHECK_EQ(who.processes, 0);
	/* what has a path is no such memory */
	CHECK_EQ(shared_holders_find(&h, &fake.root, 0xfe, 0, 6, "x", &who), 0);
	CHECK_EQ(who.processes, 0);
	shared_holders_free(&h);
}

TEST_MAIN
