#include "text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "auto.h"
#include "scan.h"

int text_take_u64(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t value = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		uint64_t digit = (uint64_t)(*s - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*p = s;
	*ret = value;
	return 0;
}

int text_take_hex(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t value = 0;

	if (scan_hex_digit(*s) < 0)
		return -EINVAL;
	for (; scan_hex_digit(*s) >= 0; s++) {
		if (value >> 60)
			return -ERANGE;
		value = value << 4 | (uint64_t)scan_hex_digit(*s);
	}
	*p = s;
	*ret = value;
	return 0;
}

int text_u64(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = text_take_u64(&text, &value);
	if (r < 0)
		return r;
	if (*text == '\n')
		text++;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

int text_i64(const char *text, int64_t *ret)
{
	bool negative = *text == '-';
	uint64_t value;
	int r = text_u64(text + negative, &value);
	if (r < 0)
		return r;
	if (value > (uint64_t)INT64_MAX)
		return -ERANGE;
	*ret = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

const char *text_skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

int text_column_u64(const char *line, unsigned n, uint64_t *ret)
{
	const char *p = text_skip_blanks(line);

	for (; n; n--) {
		while (*p && *p != ' ' && *p != '\t' && *p != '\n')
			p++;
		p = text_skip_blanks(p);
	}
	if (!*p || *p == '\n')
		return -ENODATA;
	return text_take_u64(&p, ret);
}

const char *text_next_line(const char *p)
{
	p = strchr(p, '\n');
	return p && p[1] ? p + 1 : NULL;
}

size_t text_line_len(const char *p)
{
	return strcspn(p, "\n");
}

int text_key_u64(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = text_next_line(line)) {
		if (strncmp(line, key, len) != 0 || (line[len] != ' ' && line[len] != '\t'))
			continue;
		const char *p = text_skip_blanks(line + len);
		return text_take_u64(&p, ret);
	}
	return -ENODATA;
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

bool text_copy_n(char *ret, size_t size, const char *text, size_t len)
{
	size_t n = len < size ? len : size - 1;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return n == len;
}

bool text_copy(char *ret, size_t size, const char *text)
{
	return text_copy_n(ret, size, text, strlen(text));
}

bool text_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

int text_cpu_list(const char *text, unsigned most, void (*each)(void *arg, unsigned n), void *arg)
{
	const char *p = text;
	unsigned told = 0;

	while (*p && *p != '\n') {
		uint64_t from, to;
		int r = text_take_u64(&p, &from);
		if (r < 0)
			return r;
		to = from;
		if (*p == '-') {
			p++;
			r = text_take_u64(&p, &to);
			if (r < 0)
				return r;
		}
		if (to < from)
			return -EINVAL;
		if (to >= UINT32_MAX || to - from >= most - told)
			return -ERANGE;
		for (uint64_t n = from; n <= to; n++, told++)
			each(arg, (unsigned)n);
		if (*p == ',')
			p++;
		else if (*p && *p != '\n')
			return -EINVAL;
	}
	return 0;
}

bool text_is_choice(const char *choices, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = choices; *p;) {
		size_t n = strcspn(p, "|");
		if (n == len && memcmp(p, word, n) == 0)
			return true;
		p += n + (p[n] == '|');
	}
	return false;
}

unsigned text_slips(const char *a, const char *b)
{
	enum { MOST = 32 };
	unsigned rows[MOST][MOST];
	size_t n = strlen(a), m = strlen(b);

	if (n >= MOST || m >= MOST)
		return UINT_MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				rows[i][j] = (unsigned)(i + j);
				continue;
			}
			unsigned least = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			least = MIN_OF(least, MIN_OF(rows[i - 1][j], rows[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				least = MIN_OF(least, rows[i - 2][j - 2] + 1);
			rows[i][j] = least;
		}
	}
	return rows[n][m];
}
