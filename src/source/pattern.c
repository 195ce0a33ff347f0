#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "arena.h"
#include "auto.h"
#include "literal.h"
#include "pattern_file.h"
#include "vec.h"

/* Bounds the work of one match on hostile text; a line that needs more is no match. */
enum { PATTERN_MATCH_LIMIT = 200000, PATTERN_MOST_AT_PLACE = 64 };

struct pattern_code {
	pcre2_code *code;
	int literal; /* index among the literals, -1 = none */
	uint16_t next_of_literal;
};

struct pattern_set {
	struct arena arena;
	VEC(struct pattern) rows;
	VEC(struct pattern_code) codes; /* beside rows */
	VEC(const char *) literals;     /* without repetition */
	VEC(uint16_t) first_of_literal; /* first row of a literal */
	VEC(uint16_t) always;           /* rows without a literal */
	struct literal_set *scan;
	pcre2_match_data *match;
	pcre2_match_context *context;
	uint64_t wanted[LITERAL_MOST / 64 + 1]; /* rows to try on the present line */
};

enum { PATTERN_END_OF_LIST = 0xffff };

static int pattern_compile(struct pattern_set *s, const struct pattern *row, struct err *err)
{
	struct pattern_code code = { .literal = -1, .next_of_literal = PATTERN_END_OF_LIST };
	int number;
	PCRE2_SIZE at;
	uint32_t groups;

	/* as POSIX: a dot takes newlines too, $ is the very end */
	code.code = pcre2_compile((PCRE2_SPTR)row->regex, PCRE2_ZERO_TERMINATED,
				  PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &number, &at, NULL);
	if (!code.code) {
		char why[120];
		pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why));
		return err_set(err, -EINVAL, "%s: the regex does not compile: %s at character %zu",
			       row->id, why, (size_t)at + 1);
	}
	pcre2_pattern_info(code.code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups != row->n_fields) {
		pcre2_code_free(code.code);
		return err_set(err, -EINVAL, "%s: %u groups in the regex but %zu names in fields",
			       row->id, groups, row->n_fields);
	}
	pcre2_jit_compile(code.code, PCRE2_JIT_COMPLETE); /* without it the same, slower */
	if (!vec_push(&s->codes, code)) {
		pcre2_code_free(code.code);
		return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static bool pattern_link_literal(struct pattern_set *s, uint16_t row)
{
	const char *literal = s->rows.items[row].literal;
	size_t i = 0;

	if (!*literal)
		return vec_push(&s->always, row);
	while (i < s->literals.len && strcmp(s->literals.items[i], literal) != 0)
		i++;
	if (i == s->literals.len && (!vec_push(&s->literals, literal) ||
				     !vec_push(&s->first_of_literal, PATTERN_END_OF_LIST)))
		return false;
	s->codes.items[row].literal = (int)i;
	s->codes.items[row].next_of_literal = s->first_of_literal.items[i];
	s->first_of_literal.items[i] = row;
	return true;
}

static int pattern_add_file(struct pattern_set *s, const char *text, const char *name, bool user,
			    struct err *err)
{
	struct pattern_file file;
	struct pattern row;
	int r;

	pattern_file_open(&file, text);
	while ((r = pattern_file_next(&file, &s->arena, &row, err)) != 0) {
		if (r > 0 && s->rows.len >= LITERAL_MOST)
			r = err_set(err, -E2BIG, "more than %d rows", LITERAL_MOST);
		if (r > 0)
			r = pattern_compile(s, &row, err);
		if (r < 0)
			return err_prefix(err, r, "%s:%u", name, file.line);
		row.user = user;
		if (!vec_push(&s->rows, row) ||
		    !pattern_link_literal(s, (uint16_t)(s->rows.len - 1)))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int pattern_set_new(const char *user_text, const char *user_name, struct pattern_set **ret,
		    struct err *err)
{
	struct pattern_set *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	int r = pattern_add_file(s, patterns_tsv, "patterns.tsv", false, err);
	if (r >= 0 && user_text)
		r = pattern_add_file(s, user_text, user_name, true, err);
	if (r >= 0) {
		s->scan = literal_new(s->literals.items, s->literals.len);
		s->match = pcre2_match_data_create(PATTERN_MOST_FIELDS + 1, NULL);
		s->context = pcre2_match_context_create(NULL);
		if (!s->scan || !s->match || !s->context)
			r = err_set(err, -ENOMEM, "out of memory");
		else
			pcre2_set_match_limit(s->context, PATTERN_MATCH_LIMIT);
	}
	if (r < 0) {
		pattern_set_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void pattern_set_free(struct pattern_set *s)
{
	if (!s)
		return;
	vec_foreach (&s->codes, code)
		pcre2_code_free(code->code);
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->context);
	literal_free(s->scan);
	vec_free(&s->rows);
	vec_free(&s->codes);
	vec_free(&s->literals);
	vec_free(&s->first_of_literal);
	vec_free(&s->always);
	arena_free(&s->arena);
	free(s);
}

size_t pattern_set_len(const struct pattern_set *s)
{
	return s->rows.len;
}

const struct pattern *pattern_set_row(const struct pattern_set *s, size_t i)
{
	return i < s->rows.len ? &s->rows.items[i] : NULL;
}

size_t pattern_next(const struct pattern_set *s, const char *bytes, size_t len, size_t from)
{
	if (s->always.len) /* some row wants to see every line */
		return from < len ? from : len;
	return literal_next(s->scan, bytes, len, from);
}

static bool pattern_try(struct pattern_set *s, size_t row, const char *text, size_t len,
			struct pattern_hit *ret)
{
	const struct pattern *p = &s->rows.items[row];
	int n = pcre2_match(s->codes.items[row].code, (PCRE2_SPTR)text, len, 0, 0, s->match,
			    s->context);

	if (n <= 0)
		return false;
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->match);
	ret->pattern = p;
	for (size_t i = 0; i < p->n_fields; i++) {
		bool took = (int)i + 1 < n && at[2 * i + 2] != PCRE2_UNSET;
		ret->values[i].at = took ? text + at[2 * i + 2] : NULL;
		ret->values[i].len = took ? at[2 * i + 3] - at[2 * i + 2] : 0;
	}
	return true;
}

/* Mark the rows whose literal is in the text; false when there is none. */
static bool pattern_mark(struct pattern_set *s, const char *text, size_t len)
{
	unsigned which[PATTERN_MOST_AT_PLACE];
	bool any = s->always.len > 0;

	for (size_t at = 0; (at = literal_next(s->scan, text, len, at)) < len; at++) {
		if (!any)
			memset(s->wanted, 0, (s->rows.len / 64 + 1) * sizeof(s->wanted[0]));
		any = true;
		size_t n = literal_which(s->scan, text, len, at, which, PATTERN_MOST_AT_PLACE);
		for (size_t i = 0; i < n; i++)
			for (uint16_t row = s->first_of_literal.items[which[i]];
			     row != PATTERN_END_OF_LIST; row = s->codes.items[row].next_of_literal)
				s->wanted[row / 64] |= UINT64_C(1) << (row % 64);
	}
	return any;
}

bool pattern_match(struct pattern_set *s, const char *text, size_t len, struct pattern_hit *ret)
{
	len = MIN_OF(len, (size_t)PATTERN_LINE_MAX);
	if (s->always.len)
		memset(s->wanted, 0, (s->rows.len / 64 + 1) * sizeof(s->wanted[0]));
	if (!pattern_mark(s, text, len))
		return false;
	vec_foreach (&s->always, row)
		s->wanted[*row / 64] |= UINT64_C(1) << (*row % 64);
	for (size_t word = 0; word <= s->rows.len / 64; word++)
		for (uint64_t bits = s->wanted[word]; bits; bits &= bits - 1)
			if (pattern_try(s, word * 64 + (size_t)__builtin_ctzll(bits), text, len,
					ret))
				return true;
	return false;
}

bool pattern_value(const struct pattern_hit *hit, const char *field, const char **ret,
		   size_t *ret_len)
{
	for (size_t i = 0; i < hit->pattern->n_fields; i++) {
		if (!hit->values[i].at || !hit->values[i].len ||
		    strcmp(hit->pattern->fields[i], field) != 0)
			continue;
		*ret = hit->values[i].at;
		*ret_len = hit->values[i].len;
		return true;
	}
	return false;
}

size_t pattern_check(const char *text, void (*say)(void *arg, unsigned line, const char *what),
		     void *arg, size_t *ret_rows)
{
	struct pattern_set s = { 0 };
	struct pattern_file file;
	struct pattern row;
	size_t problems = 0, rows = 0;
	int r;

	pattern_file_open(&file, text);
	for (;;) {
		struct err err = { 0 };
		r = pattern_file_next(&file, &s.arena, &row, &err);
		if (r == 0)
			break;
		if (r > 0 && (r = pattern_compile(&s, &row, &err)) >= 0) {
			struct pattern_hit hit;
			bool matches = false;
			rows++;
			s.match = s.match ? s.match
					  : pcre2_match_data_create(PATTERN_MOST_FIELDS + 1, NULL);
			if (s.match && vec_push(&s.rows, row))
				matches = pattern_try(&s, s.rows.len - 1, row.example,
						      strlen(row.example), &hit);
			if (!matches) {
				r = err_set(&err, -EINVAL,
					    "%s: the regex does not match its own example", row.id);
			} else if (!*row.literal) {
				say(arg, file.line,
				    "remark: no literal of 4 bytes can be told from the regex, so "
				    "it is tried on every line");
			}
		}
		if (r < 0) {
			problems++;
			say(arg, file.line, err.text);
		}
	}
	vec_foreach (&s.codes, code)
		pcre2_code_free(code->code);
	pcre2_match_data_free(s.match);
	vec_free(&s.codes);
	vec_free(&s.rows);
	arena_free(&s.arena);
	*ret_rows = rows;
	return problems;
}
