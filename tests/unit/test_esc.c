#include <string.h>

#include "check.h"
#include "esc.h"

static const char hostile[] =
	"a\"<img src=x onerror='1'>\\\033[31m\n\x7f\xc2\x9b\xff&\xe2\x80\xae\xc3\xa9";

TEST(no_control_byte_reaches_the_terminal)
{
	AUTO_BUF struct buf out = { 0 };

	esc_tty(&out, hostile, sizeof(hostile) - 1);
	for (size_t i = 0; i < out.len; i++)
		CHECK((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f);
	CHECK(strstr(out.data, "\\x1b[31m") != NULL);
	CHECK(strstr(out.data, "\xc2\x9b") == NULL);
	CHECK(strstr(out.data, "\xe2\x80\xae") == NULL);
	CHECK(strstr(out.data, "\xc3\xa9") != NULL);
}

TEST(json_strings_are_always_valid)
{
	AUTO_BUF struct buf out = { 0 };

	esc_json(&out, "a\"\\\n\x01\xff\xed\xa0\x80", 9);
	CHECK_STR(out.data, "a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

/* Every byte at every place of a short text: copied as it is, or refused where esc_json() would
 * have changed it. */
TEST(plain_copies_are_what_the_escaper_writes)
{
	for (size_t len = 0; len <= 20; len++) {
		for (unsigned n = 0; n < 256 * len; n++) {
			AUTO_BUF struct buf out = { 0 };
			char text[21] = "abcdefghijklmnopqrst", copy[21 + ESC_SLACK];
			text[n / 256] = (char)(n % 256);
			esc_json(&out, text, len);
			const char *end = esc_json_copy(copy, text, len);
			bool same = out.len == len && memcmp(out.data, text, len) == 0;
			CHECK_EQ(end != NULL, same);
			CHECK(!end ||
			      ((size_t)(end - copy) == len && memcmp(copy, text, len) == 0));
		}
	}
}

TEST(html_has_no_markup_left)
{
	AUTO_BUF struct buf out = { 0 };

	esc_html(&out, hostile, sizeof(hostile) - 1);
	CHECK(!strpbrk(out.data, "<>\"'"));
}

TEST(metrics_labels_stay_on_one_line)
{
	AUTO_BUF struct buf out = { 0 };

	esc_metrics(&out, "a\"b\\c\nd", 7);
	CHECK_STR(out.data, "a\\\"b\\\\c\\nd");
}

TEST(overlong_and_cut_utf8_is_invalid)
{
	CHECK_EQ(esc_utf8_len("\xc0\x80", 2), 0);
	CHECK_EQ(esc_utf8_len("\xe2\x82", 2), 0);
	CHECK_EQ(esc_utf8_len("\xf4\x90\x80\x80", 4), 0);
	CHECK_EQ(esc_utf8_len("\xe2\x82\xac", 3), 3);
}

TEST_MAIN
