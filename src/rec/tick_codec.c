#include "tick_codec.h"

#include <stdlib.h>
#include <string.h>

#include "tick_guess.h"
#include "tick_path.h"

struct tick_codec *tick_codec_new(void)
{
	struct tick_codec *c = calloc(1, sizeof(*c));

	for (unsigned kind = 0; c && kind < REC_KIND_END; kind++)
		if (rec_desc(kind))
			c->balances[kind] = codec_balances(rec_desc(kind));
	return c;
}

void tick_codec_free(struct tick_codec *c)
{
	if (!c)
		return;
	tick_base_free(&c->base);
	map_str_free(&c->fresh);
	vec_free(&c->fresh_list);
	vec_free(&c->values);
	vec_free(&c->guesses);
	vec_free(&c->totals);
	vec_free(&c->bases);
	vec_free(&c->base_rows);
	vec_free(&c->hints);
	buf_free(&c->block);
	buf_free(&c->blocks);
	free(c);
}

bool tick_codec_has_key(const struct tick_codec *c)
{
	return c->base.set;
}

EVERY_TICK bool codec_reserve(struct tick_codec *c, size_t n_rows)
{
	return vec_reserve(&c->values, n_rows) && vec_reserve(&c->guesses, n_rows) &&
	       vec_reserve(&c->totals, n_rows) && vec_reserve(&c->bases, n_rows) &&
	       vec_reserve(&c->base_rows, n_rows) && vec_reserve(&c->hints, n_rows);
}

EVERY_TICK void codec_set_bases(struct tick_codec *c, const struct block *b)
{
	static const char zeroes[CODEC_MOST_RECORD];

	for (size_t i = 0; i < b->n_rows; i++) {
		c->totals.items[i] = 0;
		c->base_rows.items[i] =
			c->bases.items[i] == NO_ROW
				? zeroes
				: tick_base_row(&c->base, b->desc, c->bases.items[i]);
	}
}

const uint8_t *codec_guess(struct tick_codec *c, const struct block *b, size_t f)
{
	size_t offset = b->desc->fields[f].offset, n_base = c->base.tick.rows[b->desc->kind].len;
	const uint64_t *rates = c->base.rates[b->desc->kind];

	for (size_t i = 0; i < b->n_rows; i++)
		memcpy(&c->guesses.items[i], c->base_rows.items[i] + offset, sizeof(uint64_t));
	if (b->balances && field_is_paced(&b->desc->fields[f]))
		for (size_t i = 0; i < b->n_rows; i++)
			c->totals.items[i] -= c->guesses.items[i];
	if (!(c->base.paced[b->desc->kind] >> f & 1))
		return NULL;
	rates += f * n_base;
	for (size_t i = 0; i < b->n_rows; i++) {
		size_t base = c->bases.items[i];
		uint64_t advance =
			base == NO_ROW ? 0 : tick_base_advance(rates[base], b->elapsed_ms);
		c->guesses.items[i] += advance;
		c->hints.items[i] = codec_hint(advance);
	}
	return c->hints.items;
}
