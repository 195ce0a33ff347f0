#include "tick_base.h"

#include <stdlib.h>
#include <string.h>

#include "tick_path.h"

void tick_base_free(struct tick_base *b)
{
	tick_free(&b->tick);
	for (unsigned kind = 0; kind < REC_KIND_END; kind++) {
		free(b->rates[kind]);
		map_u64_free(&b->rows[kind]);
	}
	arena_free(&b->arena);
	vec_free(&b->strings);
	map_str_free(&b->numbers);
	*b = (struct tick_base){ 0 };
}

size_t tick_base_string(struct tick_base *b, const char *text, size_t len)
{
	bool is_new;
	uint64_t *number = map_str_put(&b->numbers, text, len, &is_new);

	if (!number)
		return SIZE_MAX;
	if (is_new) {
		const char *copy = arena_strndup(&b->arena, text, len);
		if (!copy || !vec_push(&b->strings, copy))
			return SIZE_MAX;
		*number = b->strings.len;
	}
	return (size_t)*number - 1;
}

static uint64_t base_hash(const struct rec_desc *desc, const void *row)
{
	uint64_t hash = 0;

	for (size_t f = 0; f < desc->n_fields; f++) {
		const struct rec_field *field = &desc->fields[f];
		if (!(field->flags & REC_KEY))
			continue;
		if (field->type == REC_U64) {
			hash = hash_u64(hash ^ tick_field_u64(row, field));
		} else {
			const char *text = tick_field_str(row, field);
			hash = hash_u64(hash ^ (text ? hash_bytes(text, strlen(text)) : 1));
		}
	}
	return hash;
}

static bool base_same_field(const struct rec_field *field, const void *a, const void *b)
{
	if (field->type == REC_U64)
		return tick_field_u64(a, field) == tick_field_u64(b, field);
	const char *x = tick_field_str(a, field), *y = tick_field_str(b, field);
	return x == y || (x && y && strcmp(x, y) == 0);
}

EVERY_TICK static bool base_same_key(const struct tick_base *base, const struct rec_desc *desc,
				     const void *a, const void *b)
{
	for (uint64_t left = base->keys[desc->kind]; left; left &= left - 1)
		if (!base_same_field(&desc->fields[__builtin_ctzll(left)], a, b))
			return false;
	return true;
}

bool tick_base_index(struct tick_base *b)
{
	for (unsigned kind = 0; kind < REC_KIND_END; kind++) {
		const struct rec_desc *desc = rec_desc(kind);
		for (size_t f = 0; desc && f < desc->n_fields; f++)
			if (desc->fields[f].flags & REC_KEY)
				b->keys[kind] |= UINT64_C(1) << f;
		for (size_t i = 0; desc && i < b->tick.rows[kind].len; i++) {
			bool is_new;
			uint64_t *at =
				map_u64_put(&b->rows[kind],
					    base_hash(desc, tick_base_row(b, desc, i)), &is_new);
			if (!at)
				return false;
			if (is_new) /* a twin is found by guess or coded as new */
				*at = i + 1;
		}
	}
	return true;
}

EVERY_TICK size_t tick_base_find(const struct tick_base *b, const struct rec_desc *desc,
				 const void *row, size_t guess)
{
	const struct rec_rows *rows = &b->tick.rows[desc->kind];

	if (guess < rows->len && base_same_key(b, desc, row, tick_base_row(b, desc, guess)))
		return guess;
	uint64_t *at = map_u64_get(&b->rows[desc->kind], base_hash(desc, row));
	if (!at || !base_same_key(b, desc, row, tick_base_row(b, desc, (size_t)*at - 1)))
		return SIZE_MAX;
	return (size_t)*at - 1;
}
