#include "esc.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t esc_utf8_len(const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (!len)
		return 0;
	if (p[0] < 0x80)
		return 1;
	size_t n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	if (!n || p[0] >= 0xf5 || n > len)
		return 0;
	uint32_t code = p[0] & (0xff >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	bool surrogate = code >= 0xd800 && code < 0xe000;
	return code < least[n] || code > 0x10ffff || surrogate ? 0 : n;
}

/* Bytes that could move the cursor, hide text or reverse reading order (CVE-2021-42574). */
static bool esc_unsafe_on_tty(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (n == 1)
		return u[0] < 0x20 || u[0] == 0x7f;
	if (n == 2)
		return u[0] == 0xc2 && u[1] < 0xa0; /* C1 */
	if (n == 3 && u[0] == 0xe2 && u[1] == 0x80)
		return u[2] >= 0xa8 && u[2] <= 0xae; /* line separators, bidi embedding */
	if (n == 3 && u[0] == 0xe2 && u[1] == 0x81)
		return u[2] >= 0xa6 && u[2] <= 0xa9; /* bidi isolates */
	return false;
}

void esc_tty(struct buf *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t plain = i;
		while (i < len && bytes[i] >= 0x20 && bytes[i] < 0x7f)
			i++;
		buf_add(out, bytes + plain, i - plain);
		size_t n = esc_utf8_len(bytes + i, len - i);
		if (i == len)
			break;
		if (n && !esc_unsafe_on_tty(bytes + i, n)) {
			buf_add(out, bytes + i, n);
			i += n;
			continue;
		}
		buf_addf(out, "\\x%02x", (unsigned char)bytes[i]);
		i++;
	}
}

void esc_tty_in_place(char *text)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len;) {
		size_t n = esc_utf8_len(text + i, len - i);
		if (n && !esc_unsafe_on_tty(text + i, n)) {
			i += n;
			continue;
		}
		text[i++] = '?';
	}
}

/* Eight bytes at once: none below 0x20, none above 0x7e, no quote, no backslash. */
static bool esc_json_plain(uint64_t w)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t quote = w ^ ones * '"', back = w ^ ones * '\\';
	uint64_t odd = w | (w + ones) | (w - ones * 0x20) | (quote - ones) | (back - ones);
	return !(odd & high);
}

static uint64_t eight_bytes(const char *bytes)
{
	uint64_t w;

	memcpy(&w, bytes, sizeof(w));
	return w;
}

char *esc_json_copy(char *at, const char *bytes, size_t len)
{
	size_t i = 0;

	for (; len - i >= 8; i += 8) {
		uint64_t w = eight_bytes(bytes + i);
		if (!esc_json_plain(w))
			return NULL;
		memcpy(at + i, &w, sizeof(w));
	}
	/* the rest, in a word of which every other byte is plain */
	char rest[8] = "        ";
	memcpy(rest, bytes + i, len - i);
	if (!esc_json_plain(eight_bytes(rest)))
		return NULL;
	memcpy(at + i, rest, sizeof(rest));
	return at + len;
}

void esc_json(struct buf *out, const char *bytes, size_t len)
{
	size_t plain = 0;

	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)bytes[i];
		if (len - i >= 8 && esc_json_plain(eight_bytes(bytes + i))) {
			i += 8;
			continue;
		}
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			i++;
			continue;
		}
		buf_add(out, bytes + plain, i - plain);
		size_t n = esc_utf8_len(bytes + i, len - i);
		if (!n)
			buf_add_str(out, "\xef\xbf\xbd");
		else if (n > 1)
			buf_add(out, bytes + i, n);
		else if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", c);
		else if (c == '\n')
			buf_add_str(out, "\\n");
		else if (c == '\t')
			buf_add_str(out, "\\t");
		else
			buf_addf(out, "\\u%04x", c);
		i += n ? n : 1;
		plain = i;
	}
	buf_add(out, bytes + plain, len - plain);
}

void esc_html(struct buf *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = esc_utf8_len(bytes + i, len - i);
		char c = bytes[i];
		if (c == '<')
			buf_add_str(out, "&lt;");
		else if (c == '>')
			buf_add_str(out, "&gt;");
		else if (c == '&')
			buf_add_str(out, "&amp;");
		else if (c == '"')
			buf_add_str(out, "&quot;");
		else if (c == '\'')
			buf_add_str(out, "&#39;");
		else if (c == '\n' || c == '\t')
			buf_add_char(out, c);
		else if (!n || esc_unsafe_on_tty(bytes + i, n))
			buf_add_str(out, "\xef\xbf\xbd");
		else
			buf_add(out, bytes + i, n);
		i += n ? n : 1;
	}
}

void esc_metrics(struct buf *out, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = esc_utf8_len(bytes + i, len - i);
		if (bytes[i] == '\\' || bytes[i] == '"')
			buf_addf(out, "\\%c", bytes[i]);
		else if (bytes[i] == '\n')
			buf_add_str(out, "\\n");
		else if (!n || esc_unsafe_on_tty(bytes + i, n))
			buf_add_str(out, "\xef\xbf\xbd");
		else
			buf_add(out, bytes + i, n);
		i += n ? n : 1;
	}
}
