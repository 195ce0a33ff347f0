#include "bundle.h"

#include <errno.h>

#include "capture.h"
#include "captured.h"
#include "check.h"
#include "fake_root.h"
#include "tar.h"

static void put(struct buf *tar, enum tar_type type, const char *path, const char *data)
{
	tar_put(tar, type, path, 0, data, strlen(data));
}

TEST(what_goes_in_comes_out)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	AUTO_BUF struct buf again = { 0 };
	AUTO_BUF struct buf text = { 0 };
	char deep[1200] = "sys";

	for (unsigned i = 0; i < 20; i++)
		memcpy(deep + strlen(deep), "/a-rather-long-cgroup-name-\033[31m<b>\"x",
		       sizeof("/a-rather-long-cgroup-name-\033[31m<b>\"x"));
	put(&tar, TAR_DIR, "proc", "");
	put(&tar, TAR_FILE, "proc/stat", "cpu0 1 2 3 4\n");
	put(&tar, TAR_FILE, deep, "deep");
	put(&tar, TAR_LINK, "proc/ns", "cgroup:[4026531835]");
	tar_end(&tar);
	CHECK_EQ(bundle_pack(&tar, &packed, NULL), 0);
	CHECK_EQ(bundle_unpack(packed.data, packed.len, &again, NULL), 0);
	CHECK_EQ(again.len, tar.len);
	CHECK_EQ(bundle_extract(&again, fake.dir, NULL), 0);
	CHECK_EQ(root_read(&fake.root, "proc/stat", 100, &text, NULL), 0);
	CHECK_EQ(root_read(&fake.root, deep, 100, &text, NULL), 0);
	CHECK_STR(text.data, "cpu0 1 2 3 4\ndeep");
	buf_clear(&text);
	CHECK_EQ(root_readlink(&fake.root, "proc/ns", &text, NULL), 0);
	CHECK_STR(text.data, "cgroup:[4026531835]");
}

static int extract(struct fake_root *fake, enum tar_type type, const char *path, const char *data)
{
	AUTO_BUF struct buf tar = { 0 };

	put(&tar, type, path, data);
	tar_end(&tar);
	return bundle_extract(&tar, fake->dir, NULL);
}

TEST(nothing_leads_out)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();

	CHECK_EQ(extract(&fake, TAR_FILE, "../outside", "x"), -EXDEV);
	CHECK_EQ(extract(&fake, TAR_FILE, "a/../../outside", "x"), -EXDEV);
	CHECK_EQ(extract(&fake, TAR_DIR, "..", ""), -EXDEV);
	CHECK_EQ(extract(&fake, TAR_LINK, "link", "/tmp"), 0);
	CHECK_EQ(extract(&fake, TAR_FILE, "link/through", "x"), -EXDEV);
	CHECK_EQ(extract(&fake, TAR_FILE, "/etc/absolute", "x"), 0); /* below the directory */
	CHECK(root_exists(&fake.root, "etc/absolute"));
	CHECK(access("/tmp/through", F_OK) < 0);
}

/* A path that could be made, a directory at a time, but not removed again by its name. */
TEST(paths_too_deep_are_refused)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	char deep[5000];

	for (size_t i = 0; i < sizeof(deep) - 1; i++)
		deep[i] = i % 2 ? '/' : 'd';
	deep[sizeof(deep) - 1] = '\0';
	CHECK_EQ(extract(&fake, TAR_DIR, deep, ""), -ENAMETOOLONG);
	CHECK(!root_exists(&fake.root, "d"));
}

TEST(damage_is_named)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct err err;

	put(&tar, TAR_FILE, "proc/stat", "cpu0 1 2 3 4\n");
	tar_end(&tar);
	CHECK_EQ(bundle_pack(&tar, &packed, NULL), 0);
	CHECK_EQ(bundle_unpack(packed.data, packed.len - 3, &out, &err), -EBADMSG);
	buf_clear(&out);
	CHECK_EQ(bundle_unpack("junk", 4, &out, &err), 0); /* then it must be a tar */
	CHECK_EQ(bundle_extract(&out, fake.dir, &err), -EPROTO);
	CHECK_STR(err.text, "not a tar archive");
	tar.len = 700;
	CHECK_EQ(bundle_extract(&tar, fake.dir, &err), -EBADMSG);
	CHECK_STR(err.text, "archive cut short");
}

/* A header behind the first: the archive was one. */
TEST(a_tar_that_breaks_off_is_damaged)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf tar = { 0 };
	struct err err;

	put(&tar, TAR_FILE, "proc/stat", "cpu0 1 2 3 4\n");
	size_t second = tar.len;
	put(&tar, TAR_FILE, "proc/meminfo", "MemTotal: 1 kB\n");
	tar_end(&tar);
	tar.data[second + 5] ^= 1;
	CHECK_EQ(bundle_extract(&tar, fake.dir, &err), -EBADMSG);
	CHECK_STR(err.text, "broken header of a file");
}

/* Whatever byte of a capture is hit, it never looks like another host. */
TEST(every_flipped_byte_is_noticed)
{
	AUTO_BUF struct buf tar = { 0 }, packed = { 0 };

	for (unsigned i = 0; i < 40; i++) {
		char path[40], text[60];
		snprintf(path, sizeof(path), "proc/%u/comm", i * 37);
		snprintf(text, sizeof(text), "cpu%u %u %u\n", i, i * 7919, i * i * 104729);
		put(&tar, TAR_FILE, path, text);
	}
	tar_end(&tar);
	CHECK_EQ(bundle_pack(&tar, &packed, NULL), 0);
	for (size_t at = 4; at < packed.len; at++) { /* another magic: then it must be a tar */
		AUTO_BUF struct buf out = { 0 };
		packed.data[at] ^= 0x21;
		if (bundle_unpack(packed.data, packed.len, &out, NULL) == 0)
			CHECK(out.len == tar.len && memcmp(out.data, tar.data, tar.len) == 0);
		packed.data[at] ^= 0x21;
	}
}

TEST(units_lose_their_secrets)
{
	AUTO_BUF struct buf out = { 0 };

	capture_redact_unit("[Service]\n"
			    "# token=hunter2\n"
			    "Environment=PASSWORD=hunter2 \\\n"
			    "  MORE=hunter2\n"
			    "ExecStart=/usr/bin/agent --token hunter2 \\\n"
			    "  --also hunter2\n"
			    "Restart=always\n",
			    &out);
	CHECK_STR(out.data, "[Service]\nExecStart=/usr/bin/agent\nRestart=always\n");
}

TEST(a_title_is_no_program)
{
	CHECK_EQ(capture_program_len("mysqld --password=hunter2"), 6);
	CHECK_EQ(capture_program_len("nginx:\tworker hunter2"), 6);
	CHECK_EQ(capture_program_len("TOKEN=hunter2"), 5);
	CHECK_EQ(capture_program_len("/usr/bin/python3"), 16);
	CHECK_EQ(capture_program_len(""), 0);
}

TEST(the_kernel_log_loses_its_secrets)
{
	AUTO_BUF struct buf out = { 0 };

	capture_redact_kmsg(
		"6,1,0,-;Command line: root=/dev/hunter2 quiet a.b=\"hunter2 hunter2\" -- x "
		"hunter2\n"
		"5,2,0,-;Unknown kernel command line parameters \"splash tok=hunter2\", will be "
		"passed to user space.\n"
		"7,3,9,-;  with environment:\n"
		"7,4,9,-;    tok=hunter2\n"
		"5,5,9,-;audit: type=1309 audit(1.0:2): argc=2 a0=\"sh\" a1=\"hunter2\"\n"
		"30,6,9,-;systemd[1]: hunter2\n SUBSYSTEM=hunter2\n"
		"12,7,9,-;zscope-lab: a line of the lab\n"
		"4,8,9,-;eth0: hello=1\n SUBSYSTEM=net\n"
		"[    0.0] Kernel command line: x=hunter2 \"y=hunter2 z\" \"hunter2 a=b\" quiet\n",
		&out);
	CHECK_STR(out.data,
		  "6,1,0,-;Command line: root=… quiet a.b=… -- …\n"
		  "5,2,0,-;Unknown kernel command line parameters \"splash tok=…\", will be "
		  "passed to user space.\n"
		  "7,3,9,-;  with environment:\n"
		  "7,4,9,-;    tok=…\n"
		  "5,5,9,-;audit: type=1309 audit(1.0:2): …\n"
		  "30,6,9,-;…\n"
		  "12,7,9,-;zscope-lab: a line of the lab\n"
		  "4,8,9,-;eth0: hello=1\n SUBSYSTEM=net\n"
		  "[    0.0] Kernel command line: x=… \"y=… … quiet\n");
}

TEST(clocks_of_a_reading)
{
	struct tick t = { 0 };

	CHECK_EQ(captured_clock_parse("real_ns 3\nmono_ns 2\nboot_ns 1\n", &t, NULL), 0);
	CHECK_EQ(t.real_ns, 3);
	CHECK_EQ(captured_clock_parse("real_ns 3\n", &t, NULL), -EBADMSG);
}

TEST_MAIN
