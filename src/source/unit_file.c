#include "unit_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "esc.h"
#include "text.h"

static const char blanks[] = " \t\n\r";

struct unit_parse {
	struct arena *arena;
	struct unit_file *file;
	const char *section; /* NULL = outside of any */
	bool wide;
	struct err *err;
};

static bool unit_utf8_valid(const char *text, size_t len)
{
	while (len) {
		size_t n = (unsigned char)*text < 0x80 ? 1 : esc_utf8_len(text, len);
		if (n == 0)
			return false;
		text += n;
		len -= n;
	}
	return true;
}

static size_t unit_strip(const char **text, size_t len)
{
	while (len && strchr(blanks, **text) && **text) {
		(*text)++;
		len--;
	}
	while (len && (*text)[len - 1] && strchr(blanks, (*text)[len - 1]))
		len--;
	return len;
}

static int unit_parse_line(struct unit_parse *p, const char *line, size_t len)
{
	len = unit_strip(&line, len);
	if (len == 0)
		return 0;
	if (!unit_utf8_valid(line, len))
		return err_set(p->err, -EINVAL, "a line is not valid UTF-8");
	if (*line == '[') {
		if (line[len - 1] != ']')
			return err_set(p->err, -EBADMSG, "a section header without ]");
		p->section = arena_strndup(p->arena, line + 1, len - 2);
		return p->section ? 0 : err_set(p->err, -ENOMEM, "out of memory");
	}
	const char *eq = memchr(line, '=', len);
	if (!p->section || !eq || eq == line)
		return 0; /* systemd warns and goes on */
	const char *value = eq + 1;
	size_t value_len = unit_strip(&value, len - (size_t)(value - line));
	size_t key_len = unit_strip(&line, (size_t)(eq - line));
	struct unit_setting setting = {
		.section = p->section,
		.key = arena_strndup(p->arena, line, key_len),
		.value = arena_strndup(p->arena, value, value_len),
		.wide = p->wide,
	};
	if (p->file->settings.len >= UNIT_FILE_ENTRIES_MOST)
		return err_set(p->err, -E2BIG, "more than %d settings", UNIT_FILE_ENTRIES_MOST);
	if (!setting.key || !setting.value || !vec_push(&p->file->settings, setting))
		return err_set(p->err, -ENOMEM, "out of memory");
	return 0;
}

/* Does the text end in a backslash that is not itself escaped? */
static bool unit_continues(const char *text, size_t len)
{
	bool escaped = false;

	for (size_t i = 0; i < len; i++)
		escaped = !escaped && text[i] == '\\';
	return escaped;
}

int unit_file_parse(const char *text, size_t len, bool wide, struct arena *arena,
		    struct unit_file *file, struct err *err)
{
	AUTO_BUF struct buf joined = { 0 };
	struct unit_parse p = { .arena = arena, .file = file, .wide = wide, .err = err };
	const char *end = text + len;
	bool continued = false;
	int r = 0;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end && r == 0) {
		const char *eol = text;
		while (eol < end && *eol != '\n' && *eol != '\0')
			eol++;
		size_t n = (size_t)(eol - text);
		const char *line = text;
		text = eol + 1;
		if (n >= UNIT_FILE_LINE_MOST || joined.len + n > UNIT_FILE_LINE_MOST)
			return err_set(err, -ENOBUFS, "a line is longer than 1 MiB");
		if (n && line[n - 1] == '\r')
			n--;
		const char *first = line;
		while (first < line + n && *first && strchr(blanks, *first))
			first++;
		if (first < line + n && (*first == '#' || *first == ';'))
			continue; /* also in the middle of a continued line */
		bool more = unit_continues(line, n);
		if (continued || more) {
			buf_add(&joined, line, more ? n - 1 : n);
			if (more)
				buf_add_char(&joined, ' ');
			continued = more;
			if (more)
				continue;
			r = unit_parse_line(&p, buf_str(&joined), joined.len);
			buf_clear(&joined);
		} else {
			r = unit_parse_line(&p, line, n);
		}
	}
	if (r == 0 && continued)
		r = unit_parse_line(&p, buf_str(&joined), joined.len);
	return r;
}

void unit_file_free(struct unit_file *file)
{
	vec_free(&file->settings);
}

static bool unit_setting_is(const struct unit_setting *s, const char *section, const char *key)
{
	return strcmp(s->key, key) == 0 && strcmp(s->section, section) == 0 &&
	       !(s->wide && strcmp(section, "Install") == 0);
}

const char *unit_file_get(const struct unit_file *file, const char *section, const char *key)
{
	for (size_t i = file->settings.len; i-- > 0;) {
		const struct unit_setting *s = &file->settings.items[i];
		if (unit_setting_is(s, section, key))
			return *s->value ? s->value : NULL;
	}
	return NULL;
}

void unit_file_lines(const struct unit_file *file, const char *section, const char *key,
		     struct unit_words *ret)
{
	ret->list.len = 0;
	vec_foreach (&file->settings, s) {
		if (!unit_setting_is(s, section, key))
			continue;
		if (!*s->value)
			ret->list.len = 0;
		else
			(void)!vec_push(&ret->list, s->value);
	}
}

const char *unit_file_take_word(const char **p, struct arena *arena)
{
	const char *s = *p;
	AUTO_BUF struct buf word = { 0 };
	char quote = '\0';

	while (*s && strchr(blanks, *s))
		s++;
	if (!*s) {
		*p = s;
		return NULL;
	}
	for (; *s && (quote || !strchr(blanks, *s)); s++) {
		if (*s == quote) {
			quote = '\0';
		} else if (!quote && (*s == '"' || *s == '\'')) {
			quote = *s;
		} else if (*s == '\\' && s[1]) {
			buf_add_char(&word, *++s);
		} else {
			buf_add_char(&word, *s);
		}
	}
	*p = s;
	return arena_strdup(arena, buf_str(&word));
}

void unit_file_words(const struct unit_file *file, const char *section, const char *key,
		     struct arena *arena, struct unit_words *ret)
{
	ret->list.len = 0;
	vec_foreach (&file->settings, s) {
		if (!unit_setting_is(s, section, key))
			continue;
		if (!*s->value)
			ret->list.len = 0;
		const char *p = s->value, *word;
		while ((word = unit_file_take_word(&p, arena)))
			(void)!vec_push(&ret->list, word);
	}
}

static const struct {
	const char *name;
	unsigned long long us;
} spans[] = {
	{ "usec", 1 },
	{ "us", 1 },
	{ "msec", 1000 },
	{ "ms", 1000 },
	{ "seconds", 1000000 },
	{ "second", 1000000 },
	{ "sec", 1000000 },
	{ "s", 1000000 },
	{ "minutes", 60000000 },
	{ "minute", 60000000 },
	{ "min", 60000000 },
	{ "months", 2629800000000 },
	{ "month", 2629800000000 },
	{ "M", 2629800000000 },
	{ "m", 60000000 },
	{ "hours", 3600000000 },
	{ "hour", 3600000000 },
	{ "hr", 3600000000 },
	{ "h", 3600000000 },
	{ "days", 86400000000 },
	{ "day", 86400000000 },
	{ "d", 86400000000 },
	{ "weeks", 604800000000 },
	{ "week", 604800000000 },
	{ "w", 604800000000 },
	{ "years", 31557600000000 },
	{ "year", 31557600000000 },
	{ "y", 31557600000000 },
};

int unit_file_span_us(const char *text, unsigned long long *ret_us)
{
	unsigned long long total = 0;

	text = text_skip_blanks(text);
	if (strcmp(text, "infinity") == 0) {
		*ret_us = UINT64_MAX;
		return 0;
	}
	if (!*text)
		return -EINVAL;
	while (*text) {
		uint64_t whole = 0, fraction = 0, scale = 1;
		unsigned long long unit_us = 1000000;
		if (text_take_u64(&text, &whole) < 0)
			return -EINVAL;
		if (*text == '.')
			for (text++; isdigit((unsigned char)*text); text++)
				if (scale < 1000000) {
					fraction = fraction * 10 + (uint64_t)(*text - '0');
					scale *= 10;
				}
		text = text_skip_blanks(text);
		size_t name_len = strspn(text, "abcdefghijklmnopqrstuvwxyzM");
		if (name_len) {
			size_t i = 0;
			while (i < ARRAY_LEN(spans) && (strlen(spans[i].name) != name_len ||
							memcmp(spans[i].name, text, name_len) != 0))
				i++;
			if (i == ARRAY_LEN(spans))
				return -EINVAL;
			unit_us = spans[i].us;
			text = text_skip_blanks(text + name_len);
		}
		unsigned long long part;
		if (__builtin_mul_overflow(whole, unit_us, &part) ||
		    __builtin_add_overflow(total, part + fraction * unit_us / scale, &total))
			return -ERANGE;
	}
	*ret_us = total;
	return 0;
}

static const char *const unit_types[] = {
	".service", ".socket", ".target", ".device", ".mount", ".automount",
	".swap",    ".timer",  ".path",   ".slice",  ".scope",
};

const char *unit_name_suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(unit_types); i++)
		if (strcmp(dot, unit_types[i]) == 0)
			return dot;
	return "";
}

enum unit_name_kind unit_name_kind(const char *name)
{
	const char *suffix = unit_name_suffix(name), *at = NULL;

	if (!*suffix || suffix == name || strlen(name) > UNIT_NAME_MOST)
		return UNIT_NAME_BAD;
	for (const char *p = name; p < suffix; p++) {
		if (*p == '@' && !at)
			at = p;
		if (!isalnum((unsigned char)*p) && !strchr(":-_.\\@", *p))
			return UNIT_NAME_BAD;
	}
	if (at == name)
		return UNIT_NAME_BAD;
	if (!at)
		return UNIT_NAME_PLAIN;
	return at + 1 == suffix ? UNIT_NAME_TEMPLATE : UNIT_NAME_INSTANCE;
}

const char *unit_name_template(const char *name, struct arena *arena)
{
	if (unit_name_kind(name) != UNIT_NAME_INSTANCE)
		return NULL;
	return arena_printf(arena, "%.*s@%s", (int)(strchr(name, '@') - name), name,
			    unit_name_suffix(name));
}

const char *unit_name_with_instance(const char *template_name, const char *instance, size_t len,
				    struct arena *arena)
{
	const char *at = strchr(template_name, '@');

	if (!at || len > UNIT_NAME_MOST)
		return NULL;
	return arena_printf(arena, "%.*s@%.*s%s", (int)(at - template_name), template_name,
			    (int)len, instance, unit_name_suffix(template_name));
}
