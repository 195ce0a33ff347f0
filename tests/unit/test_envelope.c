#include "envelope.h"

#include <string.h>

#include "check.h"
#include "fake_root.h"

TEST(host_and_kernel_of_a_tree)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct envelope e;

	envelope_read(&fake.root, &e);
	CHECK_STR(e.host, "");
	fake_root_put(&fake, "etc/hostname", "image\n");
	envelope_read(&fake.root, &e);
	CHECK_STR(e.host, "image");
	fake_root_put(&fake, "proc/sys/kernel/hostname", "running\n");
	envelope_read(&fake.root, &e);
	CHECK_STR(e.host, "running");
}

TEST(host_of_a_recording)
{
	struct envelope e = { .host = "here", .kernel = "6.1" };
	static const char meta[] = "version=1\nhost=there\nkernel=5.10\nhost";

	envelope_parse_meta(meta, sizeof(meta) - 1, &e);
	CHECK_STR(e.host, "there");
	CHECK_STR(e.kernel, "5.10");
	envelope_parse_meta("host=", 5, &e);
	CHECK_STR(e.host, "there");
	envelope_parse_meta("", 0, &e);
}

TEST(what_is_not_known_is_absent_and_named)
{
	struct envelope e = { .kernel = "5.10" };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &e, "check", 1770000000000000000);
	json_end_object(&j);
	CHECK(!strstr(buf_str(&out), "\"host\""));
	CHECK(!strstr(buf_str(&out), "null"));
	CHECK(strstr(buf_str(&out), "\"kernel\":\"5.10\""));
	envelope_unknowns(&e, &unknown);
	CHECK_EQ(unknown.list.len, 1);
	CHECK_STR(unknown.list.items[0].what, "host");
}

TEST_MAIN
