#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "unit_file.h"
#include "unit_preset.h"

static int parse(struct arena *arena, struct unit_file *f, const char *text)
{
	return unit_file_parse(text, strlen(text), false, arena, f, NULL);
}

TEST(later_assignments_win_and_empty_ones_reset)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct unit_file f = { 0 };
	struct unit_words w = { 0 };

	CHECK_EQ(parse(&arena, &f,
		       "[Service]\nRestart=no\nExecStart=/a \\\n# inside\n; too\n --b\n"
		       "[Install]\nWantedBy=x.target 'y z.target'\nno equals sign\n=no key\n"),
		 0);
	CHECK_STR(unit_file_get(&f, "Service", "ExecStart"), "/a   --b");
	unit_file_words(&f, "Install", "WantedBy", &arena, &w);
	CHECK_EQ(w.list.len, 2);
	CHECK_STR(w.list.items[1], "y z.target");
	/* a drop-in */
	CHECK_EQ(parse(&arena, &f, "[Service]\nRestart=always\nExecStart=\nExecStart=/c\n"), 0);
	CHECK_STR(unit_file_get(&f, "Service", "Restart"), "always");
	unit_file_lines(&f, "Service", "ExecStart", &w);
	CHECK_EQ(w.list.len, 1);
	CHECK_STR(w.list.items[0], "/c");
	/* [Install] of a drop-in for many units does not count, the rest does */
	const char *wide = "[Install]\nWantedBy=q.target\n[Service]\nRestart=\n";
	CHECK_EQ(unit_file_parse(wide, strlen(wide), true, &arena, &f, NULL), 0);
	unit_file_words(&f, "Install", "WantedBy", &arena, &w);
	CHECK_EQ(w.list.len, 2);
	CHECK(!unit_file_get(&f, "Service", "Restart"));
	free(w.list.items);
	unit_file_free(&f);
}

TEST(what_systemd_refuses_is_refused)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct unit_file f = { 0 };
	char *line = malloc((1 << 20) + 64);

	CHECK_EQ(parse(&arena, &f, "[Unit\nA=b\n"), -EBADMSG);
	CHECK_EQ(parse(&arena, &f, "[Unit]\nA=\xff\n"), -EINVAL);
	memset(line, 'x', 1 << 20);
	memcpy(line + (1 << 20), "\n", 2);
	CHECK_EQ(parse(&arena, &f, line), -ENOBUFS);
	/* continuation without end */
	for (size_t i = 0; i < 1 << 20; i += 2)
		memcpy(line + i, "\\\n", 2);
	CHECK_EQ(parse(&arena, &f, line), 0);
	free(line);
	unit_file_free(&f);
}

TEST(spans)
{
	unsigned long long us;

	CHECK_EQ(unit_file_span_us("10", &us), 0);
	CHECK_EQ(us, 10000000);
	CHECK_EQ(unit_file_span_us("1min 30s", &us), 0);
	CHECK_EQ(us, 90000000);
	CHECK_EQ(unit_file_span_us("100ms", &us), 0);
	CHECK_EQ(us, 100000);
	CHECK_EQ(unit_file_span_us("1.5s", &us), 0);
	CHECK_EQ(us, 1500000);
	CHECK_EQ(unit_file_span_us("infinity", &us), 0);
	CHECK(us == UINT64_MAX);
	CHECK_EQ(unit_file_span_us("5 apples", &us), -EINVAL);
	CHECK_EQ(unit_file_span_us("99999999999999999999", &us), -EINVAL);
}

TEST(names)
{
	AUTO_ARENA struct arena arena = { 0 };

	CHECK_EQ(unit_name_kind("a.service"), UNIT_NAME_PLAIN);
	CHECK_EQ(unit_name_kind("a@.service"), UNIT_NAME_TEMPLATE);
	CHECK_EQ(unit_name_kind("a@b.c.service"), UNIT_NAME_INSTANCE);
	CHECK_EQ(unit_name_kind("@b.service"), UNIT_NAME_BAD);
	CHECK_EQ(unit_name_kind("a b.service"), UNIT_NAME_BAD);
	CHECK_EQ(unit_name_kind("a.conf"), UNIT_NAME_BAD);
	CHECK_STR(unit_name_template("a@b.service", &arena), "a@.service");
	CHECK_STR(unit_name_with_instance("a@.service", "xy", 1, &arena), "a@x.service");
}

TEST(the_first_preset_rule_wins_and_no_rule_means_enable)
{
	AUTO_PRESETS struct presets p = { 0 };
	const struct preset_rule *rule;
	const char *text = "# c\nenable a.*\n disable a.service\ndisable ecs*\n"
			   "enable g@.service one\ndisable g@.service\nnonsense\n";

	presets_parse(text, strlen(text), "90.preset", &p);
	CHECK(presets_enable(&p, "a.service", &rule));
	CHECK_EQ(rule->line, 2);
	CHECK(!presets_enable(&p, "ecs.service", &rule));
	CHECK_STR(rule->file, "90.preset");
	CHECK(presets_enable(&p, "other.service", &rule));
	CHECK(!rule);
	CHECK(presets_enable(&p, "g@one.service", &rule));
	CHECK_EQ(rule->line, 5);
}

TEST_MAIN
