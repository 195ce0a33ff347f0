#include <errno.h>

#include "check.h"
#include "disable_unit.h"
#include "fake_root.h"
#include "plan_file.h"
#include "undo.h"
#include "unit_guard.h"

static void state_of(const struct fake_root *fake, char ret[128])
{
	snprintf(ret, 128, "%s/state", fake->dir);
}

static struct undo opened(const struct fake_root *fake)
{
	struct undo u;
	char state[128];
	struct err err;

	state_of(fake, state);
	CHECK_EQ(undo_open(state, &u, &err), 0);
	return u;
}

static void undo_all(struct fake_root *fake)
{
	AUTO_UNDO struct undo u = opened(fake);
	struct undo_report report;
	char name[64];

	while (undo_newest(&u, name, NULL) == 0)
		CHECK_EQ(undo_reverse(&u, &fake->root, name, NULL, NULL, &report, NULL), 0);
}

static void text_of(struct fake_root *fake, const char *path, struct buf *out)
{
	buf_clear(out);
	root_read(&fake->root, path, 1000, out, NULL);
}

/* Without a manager: an unbooted tree, files only. */
TEST(mask_and_undo_leave_no_difference)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };
	static const enum disable_how hows[] = { DISABLE_MASK, DISABLE_PRESET, DISABLE_DROPIN };

	fake_root_put(&fake, "etc/systemd/system/ecs.service", "[Service]\nExecStart=/bin/false\n");
	for (size_t i = 0; i < 3; i++) {
		AUTO_UNDO struct undo u = opened(&fake);
		CHECK_EQ(undo_begin(&u, NULL), 0);
		CHECK_EQ(disable_unit(&u, NULL, &fake.root, "ecs.service", hows[i], 0, NULL, NULL,
				      NULL),
			 0);
		CHECK_EQ(undo_end(&u, NULL), 0);
		undo_close(&u);
		text_of(&fake, "etc/systemd/system/ecs.service", &text);
		CHECK_EQ(text.len == 0, hows[i] != DISABLE_DROPIN);
		undo_all(&fake);
		text_of(&fake, "etc/systemd/system/ecs.service", &text);
		CHECK_STR(text.data, "[Service]\nExecStart=/bin/false\n");
		CHECK(!root_exists(&fake.root, "etc/systemd/system-preset"));
		CHECK(!root_exists(&fake.root, "etc/systemd/system/ecs.service.d"));
		CHECK(!root_exists(&fake.root, "etc/systemd/system/.ecs.service.zscope-saved"));
	}
}

/* A crash after the note and before the act: the journal speaks of what never happened. */
TEST(undo_of_what_never_happened_does_nothing)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_BUF struct buf text = { 0 };

	fake_root_put(&fake, "etc/systemd/system/a.service", "mine");
	{
		AUTO_UNDO struct undo u = opened(&fake);
		CHECK_EQ(undo_begin(&u, NULL), 0);
		CHECK_EQ(undo_note(&u, NULL, "moved", "etc/systemd/system/a.service",
				   ".a.service.zscope-saved"),
			 0);
		CHECK_EQ(undo_note(&u, NULL, "made-link", "etc/systemd/system/a.service",
				   "/dev/null"),
			 0);
	}
	undo_all(&fake);
	text_of(&fake, "etc/systemd/system/a.service", &text);
	CHECK_STR(text.data, "mine");
}

TEST(a_second_fix_is_refused)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_UNDO struct undo first = opened(&fake);
	struct undo second;
	char state[128];
	struct err err = { 0 };

	CHECK(first.lock_fd >= 0);
	state_of(&fake, state);
	CHECK_EQ(undo_open(state, &second, &err), -EWOULDBLOCK);
	CHECK(strstr(err.text, "under way") != NULL);
}

TEST(names_are_checked)
{
	CHECK(unit_name_ok("ecs.service"));
	CHECK(unit_name_ok("a@b\\x2d.service"));
	static const char *const bad[] = { "../x.service", "a b.service", "$(x).service",
					   ".service",     "x",           "a/b.service",
					   "-rf.service",  "x.service;y" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!unit_name_ok(bad[i]));
	CHECK(unit_is_protected("sshd.service"));
	CHECK(unit_is_protected("kubelet.service"));
	CHECK(!unit_is_protected("ecs.service"));
}

TEST(plans_go_stale)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_PLAN_FILE struct plan_file p = { 0 };
	struct err err = { 0 };
	static const char text[] =
		"zscope-plan\t1\nboot\tb1\ntime\t1000\n"
		"step\t1\t0\tecs.service\tloaded enabled /x 5\nstep\t2\t1\t-\t-\nstep\tx\n";

	fake_root_put(&fake, "proc/sys/kernel/random/boot_id", "b1\n");
	CHECK_EQ(plan_file_parse(text, &p, &err), 0);
	CHECK_EQ(p.steps.len, 2);
	CHECK(plan_file_find(&p, 3) == NULL);
	CHECK_EQ(plan_file_check(&p, plan_file_find(&p, 2), &fake.root, NULL, 2000, &err), 0);
	CHECK_EQ(plan_file_check(&p, plan_file_find(&p, 1), &fake.root, NULL, 2000, &err), -ESTALE);
	CHECK_EQ(plan_file_check(&p, plan_file_find(&p, 2), &fake.root, NULL, UINT64_C(1) << 60,
				 &err),
		 -ESTALE);
	fake_root_put(&fake, "proc/sys/kernel/random/boot_id", "b2\n");
	CHECK_EQ(plan_file_check(&p, plan_file_find(&p, 2), &fake.root, NULL, 2000, &err), -ESTALE);
	CHECK(strstr(err.text, "rebooted") != NULL);
	CHECK(plan_file_parse("", &p, &err) < 0);
}

TEST_MAIN
