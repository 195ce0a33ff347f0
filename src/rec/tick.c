#include "tick.h"

#include <stdlib.h>
#include <string.h>

#include "vec.h"

void *tick_add_row(struct tick *t, enum rec_kind kind)
{
	const struct rec_desc *desc = rec_desc(kind);
	struct rec_rows *rows = &t->rows[kind];

	if (!desc || !vec_grow(&rows->items, &rows->cap, rows->len + 1, desc->size))
		return NULL;
	void *row = (char *)rows->items + rows->len++ * desc->size;
	return memset(row, 0, desc->size);
}

void *tick_only_row(struct tick *t, enum rec_kind kind)
{
	return t->rows[kind].len ? t->rows[kind].items : tick_add_row(t, kind);
}

void tick_clear(struct tick *t)
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
