#include "unit_preset.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "auto.h"
#include "map.h"
#include "text.h"

enum { PRESET_FILE_CAP = 1 << 20, PRESET_RULES_MOST = 100000 };

static void preset_add(struct presets *p, bool enable, const char *words, const char *file,
		       unsigned line)
{
	struct preset_rule rule = { .enable = enable, .file = file, .line = line };
	const char *word;

	words = text_skip_blanks(words);
	if (!enable) {
		/* systemd takes the rest of the line as the pattern */
		rule.pattern = arena_strdup(&p->arena, words);
	} else {
		rule.pattern = unit_file_take_word(&words, &p->arena);
		while (rule.pattern && (word = unit_file_take_word(&words, &p->arena)))
			if (unit_name_kind(rule.pattern) == UNIT_NAME_TEMPLATE)
				(void)!vec_push(&rule.instances.list, word);
			else
				return; /* "enable foo.service bar" is refused */
	}
	if (!rule.pattern || !*rule.pattern || p->rules.len >= PRESET_RULES_MOST ||
	    !vec_push(&p->rules, rule))
		vec_free(&rule.instances.list);
}

void presets_parse(const char *text, size_t len, const char *file, struct presets *ret)
{
	const char *end = text + len;
	const char *name = arena_strdup(&ret->arena, file);

	for (unsigned line = 1; text < end; line++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = eol ? (size_t)(eol - text) : (size_t)(end - text);
		size_t at = 0;
		while (at < n && strchr(" \t\r", text[at]) && text[at])
			at++;
		size_t stop = n;
		while (stop > at && strchr(" \t\r", text[stop - 1]) && text[stop - 1])
			stop--;
		if (stop - at < UNIT_FILE_LINE_MOST && at < stop && !strchr("#;", text[at])) {
			const char *copy = arena_strndup(&ret->arena, text + at, stop - at);
			if (copy && text_starts(copy, "enable") && strchr(" \t", copy[6]))
				preset_add(ret, true, copy + 6, name, line);
			else if (copy && text_starts(copy, "disable") && strchr(" \t", copy[7]))
				preset_add(ret, false, copy + 7, name, line);
		}
		text += n + 1;
	}
}

struct preset_scan {
	struct presets *presets;
	struct map_str seen; /* file name → 1 + index into files */
	VEC(const char *) files;
	const char *dir;
};

static int preset_each(void *arg, const char *name, unsigned char type)
{
	struct preset_scan *s = arg;
	bool is_new;

	(void)type;
	if (!text_ends(name, ".preset") || !map_str_put(&s->seen, name, strlen(name), &is_new))
		return 0;
	if (is_new) /* the same name in a directory of higher rank hides this one */
		(void)!vec_push(&s->files, arena_printf(&s->presets->arena, "%s/%s", s->dir, name));
	return 0;
}

static int preset_compare(const void *a, const void *b)
{
	const char *x = strrchr(*(const char *const *)a, '/');
	const char *y = strrchr(*(const char *const *)b, '/');

	return strcmp(x, y);
}

int presets_read(const struct root *root, struct presets *ret, struct err *err)
{
	static const char *const dirs[] = {
		"etc/systemd/system-preset",           "run/systemd/system-preset",
		"usr/local/lib/systemd/system-preset", "usr/lib/systemd/system-preset",
		"lib/systemd/system-preset",
	};
	struct preset_scan scan = { .presets = ret };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		scan.dir = dirs[i];
		(void)root_list(root, dirs[i], preset_each, &scan, NULL);
	}
	vec_sort(&scan.files, preset_compare);
	vec_foreach (&scan.files, file) {
		AUTO_BUF struct buf text = { 0 };
		struct err why = { 0 };
		int q = root_read(root, *file, PRESET_FILE_CAP, &text, &why);
		if (q < 0 && q != -ENOENT && r == 0)
			r = err_set(err, q, "%s", why.text);
		if (q == 0)
			presets_parse(buf_str(&text), text.len, *file, ret);
	}
	vec_free(&scan.files);
	map_str_free(&scan.seen);
	return r;
}

static bool preset_matches(const struct preset_rule *rule, const char *unit, struct arena *arena)
{
	const char *template = unit_name_template(unit, arena);

	if (rule->instances.list.len && template && strcmp(rule->pattern, template) == 0) {
		const char *instance = strchr(unit, '@') + 1;
		size_t len = (size_t)(unit_name_suffix(unit) - instance);
		vec_foreach (&rule->instances.list, it)
			if (strlen(*it) == len && memcmp(*it, instance, len) == 0)
				return true;
	}
	/* fnmatch can take exponential time on a hostile pattern: only where brackets need it */
	if (strchr(rule->pattern, '[') && strlen(rule->pattern) < 128)
		return fnmatch(rule->pattern, unit, FNM_NOESCAPE) == 0;
	return text_glob(rule->pattern, unit);
}

bool presets_enable(const struct presets *p, const char *unit, const struct preset_rule **ret_rule)
{
	AUTO_ARENA struct arena arena = { 0 };

	vec_foreach (&p->rules, rule) {
		if (preset_matches(rule, unit, &arena)) {
			*ret_rule = rule;
			return rule->enable;
		}
	}
	*ret_rule = NULL;
	return true;
}

void presets_free(struct presets *p)
{
	vec_foreach (&p->rules, rule)
		vec_free(&rule->instances.list);
	vec_free(&p->rules);
	arena_free(&p->arena);
}
