#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fake_root.h"
#include "unit_boot.h"

#define VENDOR "usr/lib/systemd/system/"
#define ETC    "etc/systemd/system/"

static void fake_link(struct fake_root *fake, const char *path, const char *target)
{
	char full[4300];

	fake_root_put(fake, path, "");
	snprintf(full, sizeof(full), "%s/%s", fake->dir, path);
	if (unlink(full) < 0 || symlink(target, full) < 0)
		abort();
}

static struct unit_tree *read_tree(struct fake_root *fake)
{
	struct unit_tree *t;
	struct err err = { 0 };

	if (unit_tree_read(&fake->root, &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static const char *state_of(struct unit_tree *t, const char *name)
{
	return unit_file_state_name(unit_tree_state(t, name));
}

#define INSTALL "[Install]\nWantedBy=multi-user.target\n"

TEST(states_as_systemctl_names_them)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();

	fake_root_put(&fake, "etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	fake_root_put(&fake, VENDOR "on.service", INSTALL);
	fake_link(&fake, ETC "multi-user.target.wants/on.service", "/" VENDOR "on.service");
	fake_root_put(&fake, VENDOR "off.service", INSTALL);
	fake_root_put(&fake, VENDOR "static.service", "[Unit]\nDescription=x\n");
	fake_root_put(&fake, VENDOR "masked.service", INSTALL);
	fake_link(&fake, ETC "masked.service", "/dev/null");
	fake_root_put(&fake, ETC "empty.service", "");
	fake_link(&fake, VENDOR "also-on.service", "on.service");
	fake_link(&fake, ETC "linked.service", "/opt/linked.service");
	fake_root_put(&fake, "opt/linked.service", INSTALL);
	fake_link(&fake, ETC "gone.service", "/opt/gone.service");
	fake_link(&fake, ETC "round1.service", "round2.service");
	fake_link(&fake, ETC "round2.service", "round1.service");
	fake_link(&fake, ETC "proc.service", "/proc/self/root/etc/passwd");
	fake_root_put(&fake, VENDOR "also.service", "[Install]\nAlso=on.service\n");
	fake_root_put(&fake, VENDOR "t@.service", "[Install]\nWantedBy=multi-user.target\n");
	fake_link(&fake, ETC "multi-user.target.wants/t@x.service", "/" VENDOR "t@.service");
	fake_root_put(&fake, VENDOR "bad.service", "[Unit\n");
	AUTO_UNIT_TREE struct unit_tree *t = read_tree(&fake);
	CHECK_STR(state_of(t, "on.service"), "enabled");
	CHECK_STR(state_of(t, "off.service"), "disabled");
	CHECK_STR(state_of(t, "static.service"), "static");
	CHECK_STR(state_of(t, "masked.service"), "masked");
	CHECK_STR(state_of(t, "empty.service"), "masked");
	CHECK_STR(state_of(t, "also-on.service"), "alias");
	CHECK_STR(state_of(t, "linked.service"), "linked");
	CHECK_STR(state_of(t, "gone.service"), "bad");
	CHECK_STR(state_of(t, "round1.service"), "bad");
	CHECK_STR(state_of(t, "proc.service"), "bad");
	CHECK_STR(state_of(t, "also.service"), "indirect");
	CHECK_STR(state_of(t, "t@.service"), "indirect");
	CHECK_STR(state_of(t, "t@x.service"), "enabled");
	CHECK_STR(state_of(t, "bad.service"), "bad");
	CHECK_STR(state_of(t, "nothing.service"), "bad");
}

TEST(first_boot_undoes_a_disable_but_not_a_mask_or_a_preset)
{
	static const struct {
		const char *machine_id; /* NULL = absent */
		bool enabled;
	} cases[] = {
		{ NULL, true },
		{ "uninitialized\n", true },
		{ "", false },
		{ "0123456789abcdef0123456789abcdef\n", false },
	};

	for (size_t i = 0; i < 4; i++) {
		AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
		AUTO_UNIT_BOOT_PLAN struct unit_boot_plan plan = { 0 };

		fake_root_put(&fake, VENDOR "multi-user.target", "[Unit]\nDescription=x\n");
		fake_root_put(&fake, VENDOR "ecs.service", "[Service]\nExecStart=/x\n" INSTALL);
		fake_root_put(&fake, VENDOR "no.service", "[Service]\nExecStart=/x\n" INSTALL);
		fake_root_put(&fake, VENDOR "mask.service", "[Service]\nExecStart=/x\n" INSTALL);
		fake_link(&fake, ETC "mask.service", "/dev/null");
		fake_root_put(&fake, "etc/systemd/system-preset/00-x.preset",
			      "disable no.service\n");
		fake_root_put(&fake, "usr/lib/systemd/system-preset/90-x.preset",
			      "enable no.service\n");
		if (cases[i].machine_id)
			fake_root_put(&fake, "etc/machine-id", cases[i].machine_id);
		AUTO_UNIT_TREE struct unit_tree *t = read_tree(&fake);
		CHECK_EQ(unit_boot_plan(t, &plan, NULL), 0);
		CHECK_STR(plan.default_target, "multi-user.target");
		const struct unit_boot *u = unit_boot_find(&plan, "ecs.service");
		CHECK_EQ(u->state, UNIT_STATE_DISABLED);
		CHECK_EQ(u->enabled, cases[i].enabled);
		CHECK_EQ(u->starts, cases[i].enabled);
		if (u->enabled)
			CHECK(strstr(u->why, "no rule names it") != NULL);
		u = unit_boot_find(&plan, "no.service");
		CHECK(!u->enabled && !u->starts);
		if (plan.first_boot)
			CHECK(strstr(u->why, "00-x.preset line 1 says disable") != NULL);
		CHECK(!unit_boot_find(&plan, "mask.service")->starts);
	}
}

TEST(drop_ins_of_every_kind)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();

	fake_root_put(&fake, VENDOR "foo-bar@.service", "[Service]\nRestart=no\nRestartSec=1\n");
	fake_root_put(&fake, VENDOR "service.d/10-a.conf", "[Service]\nA=type\nB=type\n");
	fake_root_put(&fake, VENDOR "foo-.service.d/20-b.conf", "[Service]\nB=prefix\n");
	fake_root_put(&fake, VENDOR "foo-bar@.service.d/30-c.conf", "[Service]\nRestart=always\n");
	fake_root_put(&fake, ETC "foo-bar@x.service.d/40-d.conf", "[Service]\nRestartSec=\n");
	/* the same file name in /etc hides the vendor's */
	fake_root_put(&fake, ETC "foo-bar@.service.d/30-c.conf", "[Service]\nRestart=on-abort\n");
	AUTO_UNIT_TREE struct unit_tree *t = read_tree(&fake);
	const struct unit_loaded *u = unit_tree_load(t, "foo-bar@x.service");
	CHECK_EQ(u->r, 0);
	CHECK_STR(unit_file_get(&u->file, "Service", "A"), "type");
	CHECK_STR(unit_file_get(&u->file, "Service", "B"), "prefix");
	CHECK_STR(unit_file_get(&u->file, "Service", "Restart"), "on-abort");
	CHECK(!unit_file_get(&u->file, "Service", "RestartSec"));
	CHECK_EQ(u->dropins, 4);
}

TEST(hostile_trees_are_read_to_the_end)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	char path[200];

	fake_root_put(&fake, VENDOR "many.service", "[Service]\nExecStart=/x\n");
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), ETC "many.service.d/%05d.conf", i);
		fake_root_put(&fake, path, "[Service]\nEnvironment=A=b\n");
	}
	snprintf(path, sizeof(path), "%s/" ETC "fifo.service", fake.dir);
	CHECK_EQ(mkfifo(path, 0600), 0);
	fake_link(&fake, ETC "many.service.d/fifo.conf", "/" ETC "fifo.service");
	fake_link(&fake, ETC "out.service", "../../../../../../../../etc/passwd");
	fake_link(&fake, ETC "multi-user.target.wants", "/");
	AUTO_UNIT_TREE struct unit_tree *t = read_tree(&fake);
	const struct unit_loaded *u = unit_tree_load(t, "many.service");
	CHECK_EQ(u->dropins, 10001);
	CHECK(u->r < 0); /* the FIFO among the drop-ins is named, as a regular file was expected */
	CHECK(strstr(u->why, "not a regular file") != NULL);
	CHECK_STR(state_of(t, "out.service"), "bad");
}

TEST_MAIN
