#include <errno.h>
#include <fcntl.h>

#include "check.h"
#include "fake_root.h"
#include "root_resolve.h"
#include "text.h"

static void link_at(struct fake_root *fake, const char *target, const char *path)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/%s", fake->dir, path);
	if (symlink(target, full) < 0)
		abort();
}

TEST(reads_below_the_root_only)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	struct err err;

	fake_root_put(&fake, "etc/hostname", "inside\n");
	link_at(&fake, "/etc/hostname", "absolute");
	link_at(&fake, "../../../../../../etc/hostname", "climbs");
	link_at(&fake, "/proc/self/root/etc/passwd", "magic");
	link_at(&fake, "loop", "loop");
	CHECK_EQ(root_read(&fake.root, "absolute", 100, &text, &err), 0);
	CHECK_EQ(root_read(&fake.root, "climbs", 100, &text, &err), 0);
	CHECK_STR(text.data, "inside\ninside\n");
	CHECK_EQ(root_read(&fake.root, "magic", 100, &text, &err), -ENOENT);
	CHECK_EQ(root_read(&fake.root, "loop", 100, &text, &err), -ELOOP);
	CHECK_EQ(root_read(&fake.root, "etc/hostname", 3, &text, &err), -EFBIG);
	CHECK_EQ(root_read(&fake.root, "etc", 3, &text, &err), -EISDIR);
}

TEST(this_host_by_any_name)
{
	static const char *const names[] = { "/", "//", "/.", "/proc/..", "/proc/self/root" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		AUTO_ROOT struct root root = { .fd = -1 };
		CHECK_EQ(root_open(names[i], &root, NULL), 0);
		CHECK(root.live);
	}
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	CHECK(!fake.root.live);
}

TEST(a_fifo_does_not_block)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	struct err err;
	char path[128];

	snprintf(path, sizeof(path), "%s/pipe", fake.dir);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(root_read(&fake.root, "pipe", 100, &text, &err), -ENXIO);
}

/* The fallback for kernels before 5.6 gives the same answers. */
TEST(the_walk_agrees_with_openat2)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	static const char *const paths[] = { "etc/hostname",
					     "absolute",
					     "climbs",
					     "magic",
					     "loop",
					     "etc",
					     ".",
					     "..",
					     "etc/../etc/hostname",
					     "none",
					     "etc/hostname/x",
					     "dir/hostname" };

	fake_root_put(&fake, "etc/hostname", "inside\n");
	link_at(&fake, "/etc/hostname", "absolute");
	link_at(&fake, "../../../../../../etc/hostname", "climbs");
	link_at(&fake, "/proc/self/root/etc/passwd", "magic");
	link_at(&fake, "loop", "loop");
	link_at(&fake, "etc", "dir");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int a = root_resolve(fake.root.fd, paths[i], O_RDONLY, false);
		int b = root_resolve_walk(fake.root.fd, paths[i], O_RDONLY, false);
		struct stat sa = { 0 }, sb = { 0 };
		CHECK_EQ(a < 0 ? a : 0, b < 0 ? b : 0);
		if (a >= 0) {
			fstat(a, &sa);
			fstat(b, &sb);
			close(a);
			close(b);
		}
		CHECK_EQ(sa.st_ino, sb.st_ino);
	}
}

TEST(rereads_what_changed)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	struct reread file;

	fake_root_put(&fake, "proc/stat", "one");
	CHECK_EQ(reread_open(&file, &fake.root, "proc/stat", NULL), 0);
	CHECK_EQ(reread_text(&file, &text, NULL), 0);
	CHECK_STR(text.data, "one");
	fake_root_put(&fake, "proc/stat", "second");
	CHECK_EQ(reread_text(&file, &text, NULL), 0);
	CHECK_STR(text.data, "second");
	reread_close(&file);
}

/* Whatever fails, the file is named below the tree as it was given. */
TEST(errors_name_the_tree)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	struct reread file;
	struct stat st;
	struct err err;

	fake_root_put(&fake, "proc/stat", "one");
	text_copy(fake.root.path, sizeof(fake.root.path), "h");
	CHECK(root_read(&fake.root, "proc/none", 100, &text, &err) < 0);
	CHECK_STR(err.text, "h/proc/none: No such file or directory");
	CHECK(root_read(&fake.root, "proc", 100, &text, &err) < 0);
	CHECK_STR(err.text, "h/proc: Is a directory");
	CHECK(root_read(&fake.root, "proc/stat", 2, &text, &err) < 0);
	CHECK_STR(err.text, "h/proc/stat: larger than 2 bytes");
	CHECK(root_readlink(&fake.root, "proc/stat", &text, &err) < 0);
	CHECK_STR(err.text, "h/proc/stat: Invalid argument");
	CHECK(root_lstat(&fake.root, "proc/none", &st, &err) < 0);
	CHECK_STR(err.text, "h/proc/none: No such file or directory");
	CHECK_EQ(mkfifoat(fake.root.fd, "proc/fifo", 0600), 0);
	CHECK(root_read(&fake.root, "proc/fifo", 100, &text, &err) < 0);
	CHECK_STR(err.text, "h/proc/fifo: not a regular file");
	CHECK_EQ(reread_open(&file, &fake.root, "proc/stat", &err), 0);
	reread_close(&file);
	CHECK(reread_text(&file, &text, &err) < 0);
	CHECK_STR(err.text, "h/proc/stat: Bad file descriptor");

	err_set(&err, -ENODATA, "/proc/stat: no line of any core");
	CHECK_EQ(root_err(&fake.root, -ENODATA, &err), -ENODATA);
	CHECK_STR(err.text, "h/proc/stat: no line of any core");
	root_err(&fake.root, -ENODATA, &err); /* once */
	CHECK_STR(err.text, "h/proc/stat: no line of any core");
	text_copy(fake.root.path, sizeof(fake.root.path), "/h");
	err_set(&err, -ENODATA, "/h/proc/stat: no line of any core");
	root_err(&fake.root, -ENODATA, &err);
	CHECK_STR(err.text, "/h/proc/stat: no line of any core");
}

TEST_MAIN
