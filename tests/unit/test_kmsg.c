#include "kmsg.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auto.h"
#include "check.h"
#include "fake_root.h"
#include "timefmt.h"

static struct kmsg_record parse(const char *text)
{
	static char scratch[KMSG_RECORD_MAX + 1];
	struct kmsg_record r;
	struct err err = { 0 };
	CHECK_EQ(kmsg_parse(text, strlen(text), scratch, &r, &err), 0);
	return r;
}

TEST(a_record_with_its_dictionary)
{
	struct kmsg_record r = parse("3,1234,5000001,-,caller=T42;ena 0000:00:05.0 eth0: TX\n"
				     " SUBSYSTEM=pci\n DEVICE=+pci:0000:00:05.0\n");
	CHECK_EQ(r.facility, 0);
	CHECK_EQ(r.level, 3);
	CHECK_EQ(r.seq, 1234);
	CHECK_EQ(r.mono_ns, UINT64_C(5000001000));
	CHECK_STR(r.caller, "T42");
	CHECK_STR(r.text, "ena 0000:00:05.0 eth0: TX");
	CHECK_STR(r.subsystem, "pci");
	CHECK_STR(r.device, "+pci:0000:00:05.0");
}

TEST(user_facility_is_told_apart)
{
	CHECK_EQ(parse("11,1,2,-;ena eth0: TX\n").facility, 1);
}

TEST(escaped_newline_stays_in_its_record)
{
	struct kmsg_record r = parse("6,1,2,-;q\\x0aena eth0: TX[9]: segfault\\x\n");
	CHECK_STR(r.text, "q\nena eth0: TX[9]: segfault\\x");
	CHECK(!r.device);
}

TEST(what_is_no_record_is_refused)
{
	static const char *const bad[] = { "",
					   "x",
					   "6,1,2;t",
					   "6,,2,-;t",
					   "-1,2,3,-;t",
					   "99999,1,2,-;t",
					   "6,1,99999999999999999999,-;t",
					   "6,1,2,;t" };
	char scratch[100];
	struct kmsg_record r;
	for (size_t i = 0; i + 1 < ARRAY_LEN(bad); i++)
		CHECK(kmsg_parse(bad[i], strlen(bad[i]), scratch, &r, NULL) < 0);
}

TEST(time_is_the_least_offset_and_follows_clock_steps)
{
	struct kmsg_clock c;
	kmsg_clock_start(&c, 1000 * NS_PER_S, 10 * NS_PER_S);
	CHECK_EQ(kmsg_clock_real(&c, 20 * NS_PER_S), 1010 * NS_PER_S);
	kmsg_clock_learn(&c, 1011 * NS_PER_S, 20 * NS_PER_S); /* read a second late */
	kmsg_clock_learn(&c, 1012 * NS_PER_S + 5 * NS_PER_MS, 22 * NS_PER_S);
	CHECK_EQ(kmsg_clock_real(&c, 22 * NS_PER_S), 1012 * NS_PER_S + 5 * NS_PER_MS);
	CHECK(!kmsg_clock_check(&c, 1013 * NS_PER_S, 23 * NS_PER_S));
	CHECK(kmsg_clock_check(&c, 2013 * NS_PER_S, 23 * NS_PER_S)); /* set by 1000 s */
	CHECK_EQ(kmsg_clock_real(&c, 22 * NS_PER_S), 2012 * NS_PER_S + 5 * NS_PER_MS);
	CHECK_EQ(c.steps, 1);
}

TEST(gaps_are_counted_and_garbage_skipped)
{
	static struct kmsg_reader r;
	struct kmsg_record record;
	int pair[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	kmsg_attach(&r, pair[0]);
	static const char *const sent[] = { "6,5,1,-;a\n", "rubbish", "6,9,2,-;b\n" };
	for (size_t i = 0; i < ARRAY_LEN(sent); i++)
		CHECK(write(pair[1], sent[i], strlen(sent[i])) > 0);
	CHECK_EQ(kmsg_next(&r, &record, NULL), 1);
	CHECK_STR(record.text, "a");
	CHECK_EQ(kmsg_next(&r, &record, NULL), 1);
	CHECK_EQ(record.seq, 9);
	CHECK_EQ(r.lost, 3);
	CHECK_EQ(r.bad, 1);
	CHECK_EQ(kmsg_next(&r, &record, NULL), 0);
	kmsg_close(&r);
	close(pair[1]);
}

TEST(a_captured_host_has_no_kmsg)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	static struct kmsg_reader r;
	struct err err = { 0 };
	CHECK_EQ(kmsg_open(&r, &fake.root, true, &err), -ENODEV);
	CHECK(err.text[0]);
}

TEST_MAIN
