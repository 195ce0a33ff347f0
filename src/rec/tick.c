#include "tick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tick_path.h"
#include "vec.h"

EVERY_TICK void *tick_add_row(struct tick *t, enum rec_kind kind)
{
	const struct rec_desc *desc = rec_desc(kind);
	void *row = desc ? tick_next_row(t, desc) : NULL;

	if (!row)
		return NULL;
	t->rows[kind].len++;
	return memset(row, 0, desc->size);
}

EVERY_TICK void *tick_only_row(struct tick *t, enum rec_kind kind)
{
	return t->rows[kind].len ? t->rows[kind].items : tick_add_row(t, kind);
}

static int tick_copy_strings(struct tick *to, const struct rec_desc *desc, char *row)
{
	for (size_t f = 0; f < desc->n_fields; f++) {
		const char **text = (const char **)(row + desc->fields[f].offset);
		if (desc->fields[f].type != REC_STR || !*text)
			continue;
		*text = arena_strdup(&to->strings, *text);
		if (!*text)
			return -ENOMEM;
	}
	return 0;
}

int tick_copy(struct tick *to, const struct tick *from)
{
	tick_clear(to);
	to->real_ns = from->real_ns;
	to->mono_ns = from->mono_ns;
	to->boot_ns = from->boot_ns;
	for (unsigned kind = 0; kind < REC_KIND_END; kind++) {
		const struct rec_desc *desc = rec_desc(kind);
		struct rec_rows *rows = &to->rows[kind];
		size_t len = from->rows[kind].len;
		if (!desc || !len)
			continue;
		if (!vec_grow(&rows->items, &rows->cap, len, desc->size))
			return -ENOMEM;
		memcpy(rows->items, from->rows[kind].items, len * desc->size);
		rows->len = len;
		for (size_t i = 0; i < len; i++)
			if (tick_copy_strings(to, desc, (char *)rows->items + i * desc->size) < 0)
				return -ENOMEM;
	}
	return 0;
}

EVERY_TICK void tick_clear(struct tick *t)
{
	for (unsigned kind = 0; kind < REC_KIND_END; kind++)
		t->rows[kind].len = 0;
	arena_free(&t->strings);
}

void tick_free(struct tick *t)
{
	for (unsigned kind = 0; kind < REC_KIND_END; kind++)
		free(t->rows[kind].items);
	arena_free(&t->strings);
	*t = (struct tick){ 0 };
}
