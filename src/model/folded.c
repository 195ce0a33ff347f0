#include "folded.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "vec.h"

#define FOLDED_BYTES_MAX (UINT64_C(4) << 30)

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* "stack 12", "stack 12.5", "stack 12."; false when there is no count. */
static bool line_split(const char *line, size_t len, size_t *ret_stack, uint64_t *ret_count)
{
	size_t end = len, at;
	uint64_t count = 0;

	while (end && is_space(line[end - 1]))
		end--;
	for (at = end; at && (isdigit((unsigned char)line[at - 1]) || line[at - 1] == '.');)
		at--;
	if (at == end || at == 0 || !is_space(line[at - 1]) || !isdigit((unsigned char)line[at]))
		return false;
	for (; at < end && line[at] != '.'; at++)
		if (__builtin_mul_overflow(count, UINT64_C(10), &count) ||
		    __builtin_add_overflow(count, (uint64_t)(line[at] - '0'), &count))
			return false;
	if (at < end && memchr(line + at + 1, '.', end - at - 1))
		return false;
	while (at && !is_space(line[at - 1]))
		at--;
	while (at && is_space(line[at - 1]))
		at--;
	*ret_stack = at;
	*ret_count = count;
	return true;
}

int folded_parse(const char *text, size_t len, struct folded *ret, struct err *err)
{
	const char *end = text + len;

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((newline ? newline : end) - line), stack;
		uint64_t count;
		ret->n_lines++;
		if (n && !(n == 1 && *line == '\r')) {
			if (!line_split(line, n, &stack, &count))
				return err_set(err, -EBADMSG,
					       "line %llu of the folded stacks has no count: %.*s",
					       (unsigned long long)ret->n_lines,
					       (int)MIN_OF(n, 100), line);
			uint64_t *sum = map_str_put(&ret->stacks, line, stack, NULL);
			if (!sum)
				return err_set(err, -ENOMEM, "out of memory");
			*sum += count;
			ret->total += count;
		}
		line += n + 1;
	}
	return 0;
}

int folded_read(const char *path, struct folded *ret, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	AUTO_BUF struct buf text = { 0 };
	char chunk[64 << 10];
	ssize_t n;

	if (fd < 0)
		return err_path(err, -errno, path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		buf_add(&text, chunk, (size_t)n);
		if (text.failed || text.len > FOLDED_BYTES_MAX)
			return err_set(err, -EFBIG, "%s is too large", path);
	}
	if (n < 0)
		return err_path(err, -errno, path);
	int r = folded_parse(buf_str(&text), text.len, ret, err);
	return r < 0 ? err_prefix(err, r, "%s", path) : 0;
}

void folded_free(struct folded *f)
{
	map_str_free(&f->stacks);
}

struct diff_line {
	const char *stack;
	size_t len;
	uint64_t before, after;
};

struct diff {
	struct map_str at; /* stack → index of its line */
	VEC(struct diff_line) lines;
};

static void strip_hex(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		if (len - i > 2 && text[i] == '0' && text[i + 1] == 'x' &&
		    isxdigit((unsigned char)text[i + 2])) {
			buf_add_str(out, "0x...");
			for (i += 2; i < len && isxdigit((unsigned char)text[i]);)
				i++;
			continue;
		}
		buf_add_char(out, text[i++]);
	}
}

static bool diff_add(struct diff *d, const struct folded *f, bool before, bool strip)
{
	AUTO_BUF struct buf name = { 0 };
	const char *key;
	size_t key_len, at = 0;
	uint64_t *count;

	while (map_str_next(&f->stacks, &at, &key, &key_len, &count)) {
		bool fresh;
		buf_clear(&name);
		if (strip)
			strip_hex(&name, key, key_len);
		else
			buf_add(&name, key, key_len);
		uint64_t *line = map_str_put(&d->at, buf_str(&name), name.len, &fresh);
		if (!line || name.failed)
			return false;
		if (fresh) {
			*line = d->lines.len;
			if (!vec_push(&d->lines, ((struct diff_line){ 0 })))
				return false;
		}
		struct diff_line *l = &d->lines.items[*line];
		if (before)
			l->before += *count;
		else
			l->after += *count;
	}
	return true;
}

static int diff_compare(const void *a, const void *b)
{
	const struct diff_line *x = a, *y = b;
	int r = memcmp(x->stack, y->stack, MIN_OF(x->len, y->len));

	if (r)
		return r;
	return x->len < y->len ? -1 : x->len > y->len;
}

int folded_diff(struct buf *out, const struct folded *before, const struct folded *after,
		const struct folded_diff_options *options, struct err *err)
{
	struct diff d = { 0 };
	const char *key;
	size_t key_len, at = 0;
	uint64_t *line;
	bool ok = diff_add(&d, before, true, options->strip_hex) &&
		  diff_add(&d, after, false, options->strip_hex);

	while (ok && map_str_next(&d.at, &at, &key, &key_len, &line)) {
		d.lines.items[*line].stack = key;
		d.lines.items[*line].len = key_len;
	}
	if (ok)
		vec_sort(&d.lines, diff_compare);
	for (size_t i = 0; ok && i < d.lines.len; i++) {
		struct diff_line *l = &d.lines.items[i];
		if (options->normalize && before->total && before->total != after->total)
			l->before = (uint64_t)((unsigned __int128)l->before * after->total /
					       before->total);
		buf_add(out, l->stack, l->len);
		buf_addf(out, " %llu %llu\n", (unsigned long long)l->before,
			 (unsigned long long)l->after);
	}
	map_str_free(&d.at);
	vec_free(&d.lines);
	return ok && !out->failed ? 0 : err_set(err, -ENOMEM, "out of memory");
}
