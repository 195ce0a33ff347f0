#include "pattern.h"

#include <regex.h>
#include <string.h>

#include "auto.h"
#include "check.h"
#include "literal.h"

static struct pattern_set *builtin(void)
{
	struct pattern_set *s = NULL;
	struct err err = { 0 };
	if (pattern_set_new(NULL, NULL, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

TEST(every_row_matches_its_own_example_as_posix_does)
{
	struct pattern_set *s = builtin();
	CHECK(pattern_set_len(s) >= 120);
	for (size_t i = 0; i < pattern_set_len(s); i++) {
		const struct pattern *row = pattern_set_row(s, i);
		struct pattern_hit hit;
		regmatch_t at[PATTERN_MOST_FIELDS + 1];
		regex_t posix;
		if (regcomp(&posix, row->regex, REG_EXTENDED) != 0)
			fail_msg("%s: regcomp", row->id);
		if (regexec(&posix, row->example, ARRAY_LEN(at), at, 0) != 0)
			fail_msg("%s: POSIX does not match", row->id);
		if (!pattern_match(s, row->example, strlen(row->example), &hit))
			fail_msg("%s: no match", row->id);
		if (hit.pattern != row) { /* an earlier row that means the same */
			CHECK_STR(hit.pattern->event, row->event);
			regfree(&posix);
			continue;
		}
		for (size_t f = 0; f < row->n_fields; f++) {
			regoff_t from = at[f + 1].rm_so, to = at[f + 1].rm_eo;
			size_t len = from < 0 ? 0 : (size_t)(to - from);
			if (hit.values[f].len != len ||
			    (len && memcmp(hit.values[f].at, row->example + from, len) != 0))
				fail_msg("%s: field %s differs from POSIX", row->id,
					 row->fields[f]);
		}
		regfree(&posix);
	}
	pattern_set_free(s);
}

TEST(every_row_has_a_literal_that_each_match_contains)
{
	struct pattern_set *s = builtin();
	for (size_t i = 0; i < pattern_set_len(s); i++) {
		const struct pattern *row = pattern_set_row(s, i);
		if (strlen(row->literal) < 4 || !pattern_requires(row->regex, row->literal))
			fail_msg("%s: literal '%s'", row->id, row->literal);
	}
	pattern_set_free(s);
}

TEST(forged_second_lines_match_nothing)
{
	struct pattern_set *s = builtin();
	struct pattern_hit hit;
	static const char *const forged[] = {
		"q\nena 0000:00:05.0 eth0: Keep alive watchdog timeout.",
		"x[1]: segfault\nOut of memory: Killed process 1 (a) total-vm:1kB, anon-rss:1kB",
		"user said: ena 0000:00:05.0 eth0: Trigger reset is on",
	};
	for (size_t i = 0; i < ARRAY_LEN(forged); i++)
		CHECK(!pattern_match(s, forged[i], strlen(forged[i]), &hit));
	pattern_set_free(s);
}

TEST(required_runs_of_a_regex)
{
	char run[64];
	pattern_required("^a(b|c)defg?hij[xyz]k{2}lm+n", run, sizeof(run));
	CHECK_STR(run, "def");
	pattern_required("abc|def", run, sizeof(run));
	CHECK_STR(run, "");
	pattern_required("\\(took [0-9]{1,3} ms\\)$", run, sizeof(run));
	CHECK_STR(run, "(took ");
	CHECK(pattern_requires("^x: (a|b) fails\\.$", " fails."));
	CHECK(!pattern_requires("^x: ( fails)?$", " fails"));
	CHECK(!pattern_requires("^[a-z]{4567}$", "4567"));
}

struct said {
	unsigned n, line;
	char what[300];
};

static void say(void *arg, unsigned line, const char *what)
{
	struct said *said = arg;
	said->n++;
	said->line = line;
	snprintf(said->what, sizeof(said->what), "%s", what);
}

#define ROW(id, role, literal, regex, fields, example)                      \
	id "\tmy-event\t" role "\twarn\t-\t" literal "\t" regex "\t" fields \
	   "\tall\tm\ts\t" example "\n"

TEST(a_users_file_is_checked_row_by_row)
{
	struct said said = { 0 };
	size_t rows;
	CHECK_EQ(pattern_check("# mine\n" ROW("a", "event", "-", "^foo: hangs ([0-9]+)$", "n",
					      "foo: hangs 3"),
			       say, &said, &rows),
		 0);
	CHECK_EQ(rows, 1);
	CHECK_EQ(
		pattern_check(ROW("a", "event", "-", "^foo: (hangs$", "-", "x"), say, &said, &rows),
		1);
	CHECK(strstr(said.what, "does not compile"));
	CHECK_EQ(pattern_check(ROW("a", "event", "-", "^foo: (x)$", "-", "foo: x"), say, &said,
			       &rows),
		 1);
	CHECK(strstr(said.what, "1 groups"));
	CHECK_EQ(pattern_check(ROW("a", "bogus", "-", "^foo$", "-", "foo"), say, &said, &rows), 1);
	CHECK_EQ(pattern_check(ROW("a", "event", "quux", "^foo(quux)?$", "q", "foo"), say, &said,
			       &rows),
		 1);
	CHECK(strstr(said.what, "without the literal"));
	CHECK_EQ(pattern_check(ROW("a", "event", "-", "^foo: bar$", "-", "baz"), say, &said, &rows),
		 1);
	CHECK_EQ(pattern_check("a\tb\n", say, &said, &rows), 1);
	CHECK(strstr(said.what, "2 columns"));
}

TEST(rows_of_the_user_match_behind_the_built_in)
{
	struct pattern_set *s;
	struct pattern_hit hit;
	struct err err = { 0 };
	CHECK_EQ(pattern_set_new(ROW("mine", "event", "-", "^(a|b)+$", "x", "ab"), "u.tsv", &s,
				 &err),
		 0);
	CHECK(pattern_match(s, "abab", 4, &hit));
	CHECK_STR(hit.pattern->id, "mine");
	CHECK(hit.pattern->user);
	CHECK_EQ(pattern_next(s, "zzz", 3, 0), 0); /* no literal: every line is looked at */
	pattern_set_free(s);
	CHECK(pattern_set_new(ROW("mine", "event", "-", "^(", "x", "ab"), "u.tsv", &s, &err) < 0);
	CHECK(strstr(err.text, "u.tsv:1: mine: "));
}

TEST(vector_and_portable_scan_find_the_same)
{
	static const char *const words[] = { "watchdog", "ena ", "hog>",
					     "abcd",     "bcda", "Killed process" };
	struct literal_set *a = literal_new(words, ARRAY_LEN(words));
	struct literal_set *b = literal_new(words, ARRAY_LEN(words));
	char text[5000];
	uint64_t seed = 1;
	literal_use_portable(b);
	for (size_t i = 0; i < sizeof(text); i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		text[i] = "abcd eghnotwK"[(seed >> 40) % 13];
		if (i > 20 && seed >> 58 == 0) {
			size_t n = strlen(words[(seed >> 33) % ARRAY_LEN(words)]);
			memcpy(text + i - n, words[(seed >> 33) % ARRAY_LEN(words)], n);
		}
	}
	size_t found = 0;
	for (size_t cut = 0; cut < 70; cut++)
		for (size_t x = 0, y = 0, len = sizeof(text) - cut; x < len; x++, y++, found++) {
			x = literal_next(a, text, len, x);
			y = literal_next(b, text, len, y);
			CHECK_EQ(x, y);
		}
	CHECK(found > 1000);
	literal_free(a);
	literal_free(b);
}

TEST_MAIN
