#include "shared_holders.h"

#include "check.h"
#include "fake_root.h"
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
}

TEST(mappings_lead_to_processes)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct shared_holders h = { 0 };
	struct zombie_holder who;

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
