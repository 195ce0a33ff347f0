#include "agents.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"

extern const char agents_tsv[];
extern const size_t agents_tsv_len;

static const struct {
	const char *head;
	size_t offset;
} agent_columns[] = {
	{ "unit", offsetof(struct agent, unit) },
	{ "product", offsetof(struct agent, product) },
	{ "vendor", offsetof(struct agent, vendor) },
	{ "typical_image", offsetof(struct agent, image) },
	{ "purpose", offsetof(struct agent, purpose) },
	{ "needs", offsetof(struct agent, needs) },
	{ "fits", offsetof(struct agent, fits) },
	{ "misfit_signature", offsetof(struct agent, signature) },
	{ "restart_policy", offsetof(struct agent, policy) },
	{ "leak_per_restart", offsetof(struct agent, leak) },
	{ "safe_action", offsetof(struct agent, action) },
	{ "source", offsetof(struct agent, source) },
	{ "container", offsetof(struct agent, container) },
};

enum { AGENT_COLUMNS = ARRAY_LEN(agent_columns) };

/* The columns of one line into the fields that `order` names; returns how many there were. */
static size_t agents_split(struct agents *a, const char *line, size_t len, const size_t *order,
			   size_t n_order, struct agent *ret)
{
	const char *end = line + len;
	size_t column = 0;

	for (; line <= end; column++) {
		const char *tab = memchr(line, '\t', (size_t)(end - line));
		size_t n = (size_t)((tab ? tab : end) - line);
		if (column < n_order && order[column] < AGENT_COLUMNS) {
			bool none = n == 1 && (*line == '?' || *line == '-');
			*(const char **)((char *)ret + agent_columns[order[column]].offset) =
				arena_strndup(&a->arena, line, none ? 0 : n);
		}
		line += n + 1;
	}
	return column;
}

static size_t agents_heads(const char *line, size_t len, size_t order[AGENT_COLUMNS])
{
	const char *end = line + len;
	size_t n = 0;

	while (line <= end && n < AGENT_COLUMNS) {
		const char *tab = memchr(line, '\t', (size_t)(end - line));
		size_t width = (size_t)((tab ? tab : end) - line);
		order[n] = AGENT_COLUMNS; /* a head that we do not know is skipped */
		for (size_t i = 0; i < AGENT_COLUMNS; i++)
			if (strlen(agent_columns[i].head) == width &&
			    memcmp(agent_columns[i].head, line, width) == 0)
				order[n] = i;
		n++;
		line += width + 1;
	}
	return n;
}

int agents_parse(const char *text, size_t len, struct agents *ret, struct err *err)
{
	const char *end = text + len;
	size_t order[AGENT_COLUMNS], n_order = 0;

	for (unsigned line = 1; text < end; line++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		const char *at = text;
		text += n + 1;
		if (n && at[n - 1] == '\r')
			n--;
		if (n == 0 || *at == '#')
			continue;
		if (n_order == 0) {
			n_order = agents_heads(at, n, order);
			if (n_order < 2)
				return err_set(err, -EBADMSG,
					       "line %u: the head line must name columns", line);
			continue;
		}
		struct agent agent = { .unit = "",
				       .product = "",
				       .vendor = "",
				       .image = "",
				       .purpose = "",
				       .needs = "",
				       .fits = "",
				       .signature = "",
				       .policy = "",
				       .leak = "",
				       .action = "",
				       .source = "",
				       .container = "" };
		size_t columns = agents_split(ret, at, n, order, n_order, &agent);
		if (columns != n_order || !agent.unit || !*agent.unit)
			return err_set(err, -EBADMSG, "line %u: %zu columns instead of %zu", line,
				       columns, n_order);
		/* "cloud-init.service (and ...)": the first word is the name */
		agent.unit = arena_strndup(&ret->arena, agent.unit, strcspn(agent.unit, " "));
		if (ret->list.len >= AGENTS_MOST || !agent.unit || !vec_push(&ret->list, agent))
			return err_set(err, -ENOMEM, "line %u: too many rows", line);
	}
	return 0;
}

int agents_builtin(struct agents *ret, struct err *err)
{
	return agents_parse(agents_tsv, agents_tsv_len, ret, err);
}

const struct agent *agents_next(const struct agents *a, const char *unit, const struct agent *after)
{
	size_t i = after ? (size_t)(after - a->list.items) + 1 : 0;

	for (; i < a->list.len; i++)
		if (text_glob(a->list.items[i].unit, unit))
			return &a->list.items[i];
	return NULL;
}

void agents_free(struct agents *a)
{
	vec_free(&a->list);
	arena_free(&a->arena);
}
