#include "mounts.h"

#include "check.h"

static const char text[] =
	"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
	"28 27 0:25 / /dev/shm rw - tmpfs tmpfs rw,size=4k\n"
	"29 27 254:0 /srv/data /mnt/a\\040b rw shared:1 master:2 - ext4 /dev/vda rw\n"
	"30 27 0:40 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/up,workdir=/wk\n"
	"31 27 8:1 /sub /only/part rw - xfs /dev/sda1 rw\n"
	"garbage\n";

TEST(names_files_by_device)
{
	AUTO_MOUNTS struct mounts m = { 0 };
	AUTO_ARENA struct arena strings = { 0 };

	CHECK_EQ(mounts_parse(text, &m, NULL), 0);
	CHECK_EQ(m.list.len, 5);
	CHECK_STR(mounts_path(&m, 254, 0, "/srv/data/x", &strings), "/srv/data/x");
	CHECK_STR(mounts_path(&m, 0, 25, "/f", &strings), "/dev/shm/f");
	CHECK_STR(mounts_path(&m, 8, 1, "/sub/y", &strings), "/only/part/y");
	CHECK(!mounts_path(&m, 8, 1, "/subway/y", &strings));
	CHECK(!mounts_path(&m, 9, 9, "/x", &strings));
	CHECK_STR(m.list.items[2].dir, "/mnt/a b");
	CHECK(mounts_is_layer(&m, "/l2/bin/sh"));
	CHECK(mounts_is_layer(&m, "/up/etc/passwd"));
	CHECK(!mounts_is_layer(&m, "/l22/x"));
	CHECK(mounts_is_layer(&m, "/var/lib/docker/overlay2/abc/diff/bin/sh"));
}

TEST_MAIN
