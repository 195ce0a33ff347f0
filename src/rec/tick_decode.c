#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "column_codec.h"
#include "tick_codec.h"
#include "tick_guess.h"
#include "timefmt.h"
#include "wire.h"

struct decode {
	struct tick_codec *c;
	struct tick *tick;
	struct arena *arena; /* of the strings in tick */
	VEC(const char *) strings;
	struct tick_base *base; /* key only: what is being made */
};

static int decode_strings(struct decode *d, struct wire_reader *r)
{
	uint64_t n = wire_get_u64(r);

	if (n > CODEC_MOST_STRINGS || n > (size_t)(r->end - r->at))
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		size_t len;
		const char *bytes = wire_get_bytes(r, &len);
		const char *copy = bytes ? arena_strndup(d->arena, bytes, len) : NULL;
		if (bytes && (!copy || !vec_push(&d->strings, copy)))
			return -ENOMEM;
	}
	return r->failed ? -EBADMSG : 0;
}

static void decode_numbers(struct tick_codec *c, const struct block *b, size_t f)
{
	const struct rec_field *field = &b->desc->fields[f];
	bool sum = b->balances && field_is_paced(field);

	for (size_t i = 0; i < b->n_rows; i++) {
		char *row = b->rows + i * b->desc->size;
		uint64_t guess = !b->key ? c->guesses.items[i] : i ? row_value(b, i - 1, f) : 0;
		if (!row_knows(row, f))
			continue;
		uint64_t value = guess + column_unzigzag(c->values.items[i]);
		*(uint64_t *)(row + field->offset) = value;
		if (sum)
			c->totals.items[i] += value;
	}
}

static void decode_balance(struct tick_codec *c, const struct block *b, size_t f)
{
	struct balance balance = codec_balance(b, f);

	for (size_t i = 0; i < b->n_rows; i++) {
		char *row = b->rows + i * b->desc->size;
		uint64_t *value = (uint64_t *)(row + balance.field->offset);
		if (!row_knows(row, f))
			continue;
		*value = codec_predict_balance(c, b, &balance, i) +
			 column_unzigzag(c->values.items[i]);
		codec_learn_balance(c, b, &balance, i, *value);
	}
}

/* The text of a number; NULL = no such string. */
static const char *decode_string(struct decode *d, bool key, uint64_t number)
{
	size_t n_base = key ? 0 : d->c->base.strings.len;

	if (number < n_base)
		return arena_strdup(d->arena, d->c->base.strings.items[number]);
	number -= n_base;
	return number < d->strings.len ? d->strings.items[number] : NULL;
}

static int decode_texts(struct decode *d, const struct block *b, size_t f)
{
	const struct rec_field *field = &b->desc->fields[f];
	struct tick_codec *c = d->c;

	for (size_t i = 0; i < b->n_rows; i++) {
		const char **text = (const char **)(b->rows + i * b->desc->size + field->offset);
		uint64_t code = c->values.items[i];
		*text = NULL;
		if (code == STRING_SAME && !b->key && c->bases.items[i] != NO_ROW) {
			const char *before = tick_field_str(
				tick_base_row(&c->base, b->desc, c->bases.items[i]), field);
			*text = before ? arena_strdup(d->arena, before) : NULL;
		} else if (code >= STRING_FIRST) {
			*text = decode_string(d, b->key, code - STRING_FIRST);
			if (!*text)
				return -EBADMSG;
		}
	}
	return 0;
}

/* Which key row each row is coded against, and which of its fields are known. */
static int decode_rows(struct decode *d, const struct block *b, unsigned flags,
		       struct wire_reader *r)
{
	struct tick_codec *c = d->c;
	const struct rec_desc *desc = b->desc;
	size_t guess = 0, n_base = c->base.tick.rows[desc->kind].len;
	uint64_t mask = b->n_fields >= 64 ? UINT64_MAX : (UINT64_C(1) << b->n_fields) - 1;

	if (!b->key && !(flags & BLOCK_SAME_ROWS))
		column_get(r, c->values.items, NULL, b->n_rows);
	for (size_t i = 0; i < b->n_rows; i++) {
		size_t base = NO_ROW;
		if (!b->key && flags & BLOCK_SAME_ROWS)
			base = i;
		else if (!b->key && c->values.items[i])
			base = guess + column_unzigzag(c->values.items[i] - 1);
		if (base != NO_ROW && base >= n_base)
			return -EBADMSG;
		c->bases.items[i] = base;
		guess = base == NO_ROW ? guess : base + 1;
	}
	codec_set_bases(c, b);
	memset(c->values.items, 0, b->n_rows * sizeof(*c->values.items));
	if (!(flags & BLOCK_SAME_HAVE))
		column_get(r, c->values.items, NULL, b->n_rows);
	if (desc->n_fields < 64)
		mask &= (UINT64_C(1) << desc->n_fields) - 1;
	for (size_t i = 0; i < b->n_rows; i++) {
		uint64_t have = c->values.items[i];
		if (b->key)
			have ^= i ? rec_have(b->rows + (i - 1) * desc->size) : 0;
		else if (c->bases.items[i] != NO_ROW)
			have ^= rec_have(tick_base_row(&c->base, desc, c->bases.items[i]));
		*(uint64_t *)(b->rows + i * desc->size) = have & mask;
	}
	return r->failed ? -EBADMSG : 0;
}

/* Take field f's column, zeroes when its bit is not set. */
static void decode_column(struct tick_codec *c, const uint8_t *bitmap, size_t f,
			  const uint8_t *hints, size_t n, struct wire_reader *r)
{
	if (bitmap[f / 8] >> f % 8 & 1)
		column_get(r, c->values.items, hints, n);
	else
		memset(c->values.items, 0, n * sizeof(*c->values.items));
}

static const uint8_t *decode_bitmap(struct wire_reader *r, size_t n_fields)
{
	size_t len = (n_fields + 7) / 8;
	const uint8_t *bitmap = r->at;

	if ((size_t)(r->end - r->at) < len) {
		r->failed = true;
		return NULL;
	}
	r->at += len;
	return bitmap;
}

static int decode_columns(struct decode *d, const struct block *b, struct wire_reader *r)
{
	const struct rec_desc *desc = b->desc;
	const uint8_t *bitmap = decode_bitmap(r, b->n_fields);

	for (int balance = 0; bitmap && balance < 2; balance++) {
		for (size_t f = 0; f < b->n_fields; f++) {
			const struct rec_field *field =
				f < desc->n_fields ? &desc->fields[f] : NULL;
			if ((field && field->flags & REC_BALANCE) != !!balance)
				continue;
			const uint8_t *hints = NULL;
			if (field && field->type == REC_U64 && !b->key)
				hints = codec_guess(d->c, b, f);
			decode_column(d->c, bitmap, f, balance ? NULL : hints, b->n_rows, r);
			if (r->failed)
				return -EBADMSG;
			int code = 0;
			if (field && field->type == REC_STR)
				code = decode_texts(d, b, f);
			else if (field && balance)
				decode_balance(d->c, b, f);
			else if (field)
				decode_numbers(d->c, b, f);
			if (code < 0)
				return code;
		}
	}
	return r->failed ? -EBADMSG : 0;
}

static int decode_rates(struct decode *d, const struct block *b, struct wire_reader *r)
{
	size_t n_fields = b->desc->n_fields;
	const uint8_t *bitmap = decode_bitmap(r, b->n_fields);

	if (!bitmap)
		return -EBADMSG;
	uint64_t *rates = calloc(b->n_rows * n_fields, sizeof(*rates));
	if (!rates)
		return -ENOMEM;
	free(d->base->rates[b->desc->kind]);
	d->base->rates[b->desc->kind] = rates;
	for (size_t f = 0; f < b->n_fields && !r->failed; f++) {
		decode_column(d->c, bitmap, f, NULL, b->n_rows, r);
		for (size_t i = 0; f < n_fields && i < b->n_rows; i++)
			rates[f * b->n_rows + i] = d->c->values.items[i];
		if (f < n_fields && any(d->c->values.items, b->n_rows))
			d->base->paced[b->desc->kind] |= UINT64_C(1) << f;
	}
	return r->failed ? -EBADMSG : 0;
}

static int decode_block(struct decode *d, const struct rec_desc *desc, const void *bytes,
			size_t len, bool key)
{
	struct rec_rows *rows = &d->tick->rows[desc->kind];
	struct wire_reader r;

	wire_open(&r, bytes, len);
	uint64_t n_fields = wire_get_u64(&r);
	unsigned flags = r.at < r.end ? *r.at++ : 0;
	bool same = flags & BLOCK_SAME_ROWS && !key;
	uint64_t n_rows = same ? d->c->base.tick.rows[desc->kind].len : wire_get_u64(&r);
	uint64_t bound = same ? n_rows : len * 8 + 64;
	/* nothing may make us allocate much more than was there */
	if (r.failed || !n_rows || n_rows > bound || n_rows > CODEC_MOST_ROWS || rows->len ||
	    n_fields > CODEC_MOST_FIELDS || n_rows * desc->size > CODEC_MOST_BYTES)
		return -EBADMSG;
	if (!codec_reserve(d->c, n_rows) || !vec_grow(&rows->items, &rows->cap, n_rows, desc->size))
		return -ENOMEM;
	memset(rows->items, 0, n_rows * desc->size);
	struct block b = { .desc = desc,
			   .rows = rows->items,
			   .n_rows = n_rows,
			   .n_fields = n_fields,
			   .key = key,
			   .elapsed_ms = elapsed_ms(&d->c->base.tick, d->tick->mono_ns),
			   .balances = codec_balances(desc) };
	int code = decode_rows(d, &b, flags, &r);
	if (code == 0)
		code = decode_columns(d, &b, &r);
	if (code == 0 && key)
		code = decode_rates(d, &b, &r);
	if (code == 0)
		rows->len = n_rows;
	return code;
}

static int decode_blocks(struct decode *d, struct wire_reader *r, bool key)
{
	while (!r->failed && r->at < r->end) {
		uint64_t kind = wire_get_u64(r);
		size_t len;
		const void *bytes = wire_get_bytes(r, &len);
		const struct rec_desc *desc = kind < REC_KIND_END ? rec_desc((unsigned)kind) : NULL;
		if (!bytes || !desc)
			continue; /* a kind that a newer version wrote */
		int code = decode_block(d, desc, bytes, len, key);
		if (code < 0)
			return code;
	}
	return r->failed ? -EBADMSG : 0;
}

int tick_codec_decode_key(struct tick_codec *c, const void *bytes, size_t len)
{
	struct tick_base base = { .set = true };
	struct decode d = { .c = c, .tick = &base.tick, .arena = &base.arena, .base = &base };
	struct wire_reader r;

	wire_open(&r, bytes, len);
	base.tick.real_ns = wire_get_u64(&r);
	base.tick.mono_ns = wire_get_u64(&r);
	base.tick.boot_ns = wire_get_u64(&r);
	int code = r.failed ? -EBADMSG : decode_strings(&d, &r);
	if (code == 0)
		code = decode_blocks(&d, &r, true);
	for (size_t i = 0; code == 0 && i < d.strings.len; i++)
		if (tick_base_string(&base, d.strings.items[i], strlen(d.strings.items[i])) != i)
			code = -EBADMSG; /* a number twice: the table would not be the writer's */
	if (code == 0 && !tick_base_index(&base))
		code = -ENOMEM;
	vec_free(&d.strings);
	if (code < 0) {
		tick_base_free(&base);
		return code;
	}
	tick_base_free(&c->base);
	c->base = base;
	return 0;
}

int tick_codec_decode(struct tick_codec *c, const void *bytes, size_t len, struct tick *ret)
{
	const struct tick *key = &c->base.tick;
	struct decode d = { .c = c, .tick = ret, .arena = &ret->strings };
	struct wire_reader r;

	if (!c->base.set)
		return -ENODATA;
	tick_clear(ret);
	wire_open(&r, bytes, len);
	uint64_t mono = wire_get_u64(&r) * NS_PER_S;
	mono += (uint64_t)wire_get_i64(&r);
	ret->mono_ns = key->mono_ns + mono;
	ret->real_ns = key->real_ns + mono + (uint64_t)wire_get_i64(&r);
	ret->boot_ns = key->boot_ns + mono + (uint64_t)wire_get_i64(&r);
	int code = r.failed ? -EBADMSG : decode_strings(&d, &r);
	if (code == 0)
		code = decode_blocks(&d, &r, false);
	vec_free(&d.strings);
	if (code < 0)
		tick_clear(ret);
	return code;
}
