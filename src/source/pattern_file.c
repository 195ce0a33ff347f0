#include "pattern_file.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "literal.h"
#include "text.h"

enum column {
	COLUMN_ID,
	COLUMN_EVENT,
	COLUMN_ROLE,
	COLUMN_SEVERITY,
	COLUMN_CAUSE,
	COLUMN_LITERAL,
	COLUMN_REGEX,
	COLUMN_FIELDS,
	COLUMN_VERSIONS,
	COLUMN_MEANING,
	COLUMN_SOURCE,
	COLUMN_EXAMPLE,
	COLUMN_END,
};

static const char *const role_names[PATTERN_ROLE_END] = {
	[PATTERN_EVENT] = "event",     [PATTERN_HEAD] = "head",     [PATTERN_ROW] = "row",
	[PATTERN_LATE] = "late",       [PATTERN_LOST] = "lost",     [PATTERN_WATCHDOG] = "watchdog",
	[PATTERN_TIMEOUT] = "timeout", [PATTERN_CAUSE] = "cause",   [PATTERN_HANG] = "hang",
	[PATTERN_VERDICT] = "verdict", [PATTERN_START] = "start",   [PATTERN_STAT] = "stat",
	[PATTERN_DETAIL] = "detail",   [PATTERN_BODY] = "body",     [PATTERN_PHASE] = "phase",
	[PATTERN_DONE] = "done",       [PATTERN_FAILED] = "failed", [PATTERN_PROBE] = "probe",
	[PATTERN_PICK] = "pick",       [PATTERN_KILLED] = "killed", [PATTERN_SCOPE] = "scope",
	[PATTERN_HINT] = "hint",       [PATTERN_BANNER] = "banner", [PATTERN_TASK] = "task",
	[PATTERN_LOCK] = "lock",       [PATTERN_IGNORE] = "ignore",
};

void pattern_file_open(struct pattern_file *f, const char *text)
{
	*f = (struct pattern_file){ .at = text };
}

/* "-" stands for an empty cell, so that a row stays readable. */
static const char *pattern_cell(const char *text)
{
	return strcmp(text, "-") == 0 ? "" : text;
}

static int pattern_fields(char *list, struct pattern *ret, struct err *err)
{
	for (char *p = list; *p;) {
		char *comma = strchr(p, ',');
		if (comma)
			*comma = '\0';
		if (ret->n_fields == PATTERN_MOST_FIELDS)
			return err_set(err, -E2BIG, "%s: more than %d fields", ret->id,
				       PATTERN_MOST_FIELDS);
		if (!*p)
			return err_set(err, -EINVAL, "%s: a field without a name", ret->id);
		ret->fields[ret->n_fields++] = p;
		p = comma ? comma + 1 : p + strlen(p);
	}
	return 0;
}

static int pattern_words(char **cells, struct pattern *ret, struct err *err)
{
	static const char *const severities[] = { "info", "warn", "crit" };
	size_t i;

	for (i = 0; i < PATTERN_ROLE_END && strcmp(role_names[i], cells[COLUMN_ROLE]) != 0; i++)
		;
	if (i == PATTERN_ROLE_END)
		return err_set(err, -EINVAL, "%s: role '%s' is unknown (event, head, row, ...)",
			       ret->id, cells[COLUMN_ROLE]);
	ret->role = (enum pattern_role)i;
	for (i = 0; i < 3 && strcmp(severities[i], cells[COLUMN_SEVERITY]) != 0; i++)
		;
	if (i == 3)
		return err_set(err, -EINVAL, "%s: severity '%s' is none of info, warn, crit",
			       ret->id, cells[COLUMN_SEVERITY]);
	ret->severity = (enum event_severity)i;
	return 0;
}

static int pattern_literal(struct arena *arena, const char *cell, struct pattern *ret,
			   struct err *err)
{
	char derived[128];

	if (*cell) {
		if (strlen(cell) < LITERAL_LEAST)
			return err_set(err, -EINVAL, "%s: literal '%s' is shorter than %d bytes",
				       ret->id, cell, LITERAL_LEAST);
		if (!pattern_requires(ret->regex, cell))
			return err_set(err, -EINVAL,
				       "%s: the regex can match lines without the literal '%s'",
				       ret->id, cell);
		ret->literal = cell;
		return 0;
	}
	pattern_required(ret->regex, derived, sizeof(derived));
	ret->literal = strlen(derived) >= LITERAL_LEAST ? arena_strdup(arena, derived) : "";
	return ret->literal ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int pattern_row(char *line, struct arena *arena, struct pattern *ret, struct err *err)
{
	char *cells[COLUMN_END] = { 0 };
	size_t n = 0;

	for (char *p = line; p && n < COLUMN_END; n++) {
		cells[n] = p;
		p = strchr(p, '\t');
		if (p)
			*p++ = '\0';
		if (p && n == COLUMN_END - 1)
			return err_set(err, -EINVAL, "more than %d columns", COLUMN_END);
	}
	if (n < COLUMN_END)
		return err_set(err, -EINVAL,
			       "%zu columns, %d wanted: id event role severity cause "
			       "literal regex fields versions meaning source example",
			       n, COLUMN_END);
	*ret = (struct pattern){
		.id = cells[COLUMN_ID],
		.event = cells[COLUMN_EVENT],
		.cause = pattern_cell(cells[COLUMN_CAUSE]),
		.regex = cells[COLUMN_REGEX],
		.versions = cells[COLUMN_VERSIONS],
		.meaning = cells[COLUMN_MEANING],
		.source = cells[COLUMN_SOURCE],
		.example = cells[COLUMN_EXAMPLE],
	};
	if (!*ret->id || !*ret->event || !*ret->regex)
		return err_set(err, -EINVAL, "id, event and regex must not be empty");
	int r = pattern_words(cells, ret, err);
	if (r >= 0 && *pattern_cell(cells[COLUMN_FIELDS]))
		r = pattern_fields(cells[COLUMN_FIELDS], ret, err);
	if (r >= 0)
		r = pattern_literal(arena, pattern_cell(cells[COLUMN_LITERAL]), ret, err);
	return r;
}

int pattern_file_next(struct pattern_file *f, struct arena *arena, struct pattern *ret,
		      struct err *err)
{
	while (f->at && *f->at) {
		size_t len = text_line_len(f->at);
		char *line = arena_strndup(arena, f->at, len);
		f->at = text_next_line(f->at);
		f->line++;
		if (!line)
			return err_set(err, -ENOMEM, "out of memory");
		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (!*line || *line == '#' || text_starts(line, "id\tevent\t"))
			continue;
		int r = pattern_row(line, arena, ret, err);
		ret->line = f->line;
		return r < 0 ? r : 1;
	}
	return 0;
}

/* Walks a POSIX extended regex and gives the runs of plain bytes that every match contains: outside
 * of groups (they may be optional or alternate), not followed by ? * or {. Stops at the first
 * alternation on the top level, where nothing is required any more. */
static bool pattern_each_run(const char *regex, bool (*each)(void *arg, const char *run), void *arg)
{
	char run[256];
	size_t n = 0;
	unsigned depth = 0;

	if (strlen(regex) >= sizeof(run) * 16)
		return false;
	for (const char *p = regex;; p++) {
		char c = *p;
		bool plain = c && !strchr("()[].^$|*+?{}\\", c);
		const char *atom = p;
		if (c == '\\' && p[1]) {
			c = *++p;
			/* \. is a dot; \d, \b ... are classes */
			plain = !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				  (c >= '0' && c <= '9'));
		} else if (c == '[') {
			p++;
			p += *p == '^';
			p += *p == ']';
			for (; *p && *p != ']'; p++)
				if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=') &&
				    strchr(p + 2, ']'))
					p = strchr(p + 2, ']');
			if (!*p)
				return false;
		} else if (c == '{') {
			while (*p && *p != '}')
				p++;
			if (!*p)
				return false;
		}
		bool optional = *p && (p[1] == '?' || p[1] == '*' || p[1] == '{');
		if (plain && !depth && !optional && n + 1 < sizeof(run)) {
			run[n++] = c;
			/* "a+": the run ends behind this a */
			if (p[1] != '+')
				continue;
		}
		if (*atom == '|' && !depth)
			return false;
		run[n] = '\0';
		if (!depth && n && each(arg, run))
			return true;
		n = 0;
		depth += *atom == '(';
		depth -= *atom == ')' && depth;
		if (!*p)
			return false;
	}
}

static bool pattern_has_top_alternative(const char *regex)
{
	unsigned depth = 0;

	for (const char *p = regex; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			continue;
		}
		depth += *p == '(';
		depth -= *p == ')' && depth;
		if (*p == '|' && !depth)
			return true; /* also inside [...|...]: then no literal is told, only slower
				      */
	}
	return false;
}

static bool pattern_run_holds(void *arg, const char *run)
{
	return strstr(run, arg) != NULL;
}

bool pattern_requires(const char *regex, const char *literal)
{
	return !pattern_has_top_alternative(regex) &&
	       pattern_each_run(regex, pattern_run_holds, (void *)literal);
}

struct pattern_longest {
	char *ret;
	size_t size;
};

static bool pattern_run_longer(void *arg, const char *run)
{
	struct pattern_longest *best = arg;
	if (strlen(run) > strlen(best->ret))
		text_copy(best->ret, best->size, run);
	return false;
}

void pattern_required(const char *regex, char *ret, size_t size)
{
	struct pattern_longest best = { .ret = ret, .size = size };

	ret[0] = '\0';
	if (!pattern_has_top_alternative(regex))
		pattern_each_run(regex, pattern_run_longer, &best);
}
