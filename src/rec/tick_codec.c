#include "tick_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "column_codec.h"
#include "tick_base.h"
#include "timefmt.h"
#include "wire.h"

enum {
	BLOCK_SAME_ROWS = 1, /* as many rows as the key has, in the same order */
	BLOCK_SAME_HAVE = 2, /* each with the same fields known as its key row */
	CODEC_MOST_ROWS = 1 << 17,
	CODEC_MOST_FIELDS = 64,
	CODEC_MOST_RECORD = 1024,    /* size of the largest record struct */
	CODEC_MOST_BYTES = 64 << 20, /* of the rows of one kind */
	CODEC_MOST_STRINGS = 1 << 17,
};

#define NO_ROW SIZE_MAX
/* string columns: 0 = as in the key row, 1 = none, else number + 2 */
enum { STRING_SAME, STRING_NONE, STRING_FIRST };

struct tick_codec {
	struct tick_base base;
	struct map_str fresh; /* strings of this frame that the base has not -> index + 1 */
	VEC(const char *) fresh_list;
	VEC(uint64_t) values;  /* one column */
	VEC(uint64_t) guesses; /* what the values of the column are predicted to be */
	/* Per row: the sum of the deltas of all counters but the balancing one; in the key, of the
	 * counters themselves: cores that came up together have lived equally long. */
	VEC(uint64_t) totals;
	VEC(size_t) bases;           /* per row: index of its key row or NO_ROW */
	VEC(const char *) base_rows; /* per row: its key row, or a row of zeroes */
	VEC(uint8_t) hints;          /* per row: likely bits of the value */
	struct buf block, blocks;
};

/* What one block is about, on either side. */
struct block {
	const struct rec_desc *desc;
	char *rows;
	size_t n_rows;
	size_t n_fields; /* as written; may be more or fewer than desc has */
	bool key;        /* a block of the key itself: no base, columns against the row before */
	uint64_t elapsed_ms;
	bool balances; /* it has a balancing field: c->totals is kept */
};

struct tick_codec *tick_codec_new(void)
{
	return calloc(1, sizeof(struct tick_codec));
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

static bool codec_reserve(struct tick_codec *c, size_t n_rows)
{
	return vec_reserve(&c->values, n_rows) && vec_reserve(&c->guesses, n_rows) &&
	       vec_reserve(&c->totals, n_rows) && vec_reserve(&c->bases, n_rows) &&
	       vec_reserve(&c->base_rows, n_rows) && vec_reserve(&c->hints, n_rows);
}

static uint64_t elapsed_ms(const struct tick *from, uint64_t mono_ns)
{
	return mono_ns > from->mono_ns ? (mono_ns - from->mono_ns) / 1000000 : 0;
}

/* Prediction ----------------------------------------------------------------------------------- */

static inline bool row_knows(const void *row, size_t f)
{
	return rec_have(row) >> f & 1;
}

/* Unknown fields are 0 on both sides, whatever stands in the writer's struct. */
static inline uint64_t row_value(const struct block *b, size_t i, size_t f)
{
	const char *row = b->rows + i * b->desc->size;
	return row_knows(row, f) ? tick_field_u64(row, &b->desc->fields[f]) : 0;
}

static bool field_is_paced(const struct rec_field *field)
{
	return field->type == REC_U64 && (field->flags & REC_COUNTER) &&
	       !(field->flags & REC_BALANCE);
}

/* Remember each row's base; after c->bases is filled. */
static void codec_set_bases(struct tick_codec *c, const struct block *b)
{
	static const char zeroes[CODEC_MOST_RECORD];

	memset(c->totals.items, 0, b->n_rows * sizeof(*c->totals.items));
	for (size_t i = 0; i < b->n_rows; i++)
		c->base_rows.items[i] =
			c->bases.items[i] == NO_ROW
				? zeroes
				: tick_base_row(&c->base, b->desc, c->bases.items[i]);
}

/* Fill c->guesses for field f of a block that is not a key's. Returns hints of how far off they may
 * be (a counter that advanced far: like the root of the advance), NULL = no idea. */
static const uint8_t *codec_guess(struct tick_codec *c, const struct block *b, size_t f)
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
		c->hints.items[i] =
			advance ? (uint8_t)((65 - (unsigned)__builtin_clzll(advance)) / 2) : 0;
	}
	return c->hints.items;
}

/* The field in the row that row i is coded against, 0 without one. */
static inline uint64_t base_value(const struct tick_codec *c, const struct rec_field *field,
				  size_t i)
{
	return tick_field_u64(c->base_rows.items[i], field);
}

static bool codec_balances(const struct rec_desc *desc)
{
	for (size_t f = 0; f < desc->n_fields; f++)
		if (desc->fields[f].flags & REC_BALANCE)
			return true;
	return false;
}

/* A running guess of what all counters of a row add up to: the row before knew. */
struct balance {
	uint64_t total;
	const struct rec_field *field;
};

static struct balance codec_balance(const struct block *b, size_t f)
{
	const struct rec_field *field = &b->desc->fields[f];
	bool paced = field->unit == REC_TICKS && !b->key;
	return (struct balance){ paced ? b->elapsed_ms / 10 : 0, field };
}

static uint64_t codec_predict_balance(const struct tick_codec *c, const struct block *b,
				      const struct balance *balance, size_t i)
{
	return base_value(c, balance->field, i) + balance->total - c->totals.items[i];
}

static void codec_learn_balance(const struct tick_codec *c, const struct block *b,
				struct balance *balance, size_t i, uint64_t value)
{
	balance->total = value - base_value(c, balance->field, i) + c->totals.items[i];
}

/* Encoding ------------------------------------------------------------------------------------- */

static bool any(const uint64_t *values, size_t n)
{
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++)
		all |= values[i];
	return all != 0;
}

/* Returns the hints for the column. */
static const uint8_t *encode_numbers(struct tick_codec *c, const struct block *b, size_t f)
{
	size_t size = b->desc->size, offset = b->desc->fields[f].offset;
	const uint8_t *hints = b->key ? NULL : codec_guess(c, b, f);
	bool sum = b->balances && field_is_paced(&b->desc->fields[f]);
	const char *row = b->rows;

	for (size_t i = 0; i < b->n_rows; i++, row += size) {
		uint64_t value;
		memcpy(&value, row + offset, sizeof(value));
		uint64_t guess = !b->key ? c->guesses.items[i] : i ? row_value(b, i - 1, f) : 0;
		bool known = row_knows(row, f);
		c->values.items[i] = known ? column_zigzag(value - guess) : 0;
		if (sum && known)
			c->totals.items[i] += value;
	}
	return hints;
}

static void encode_balance(struct tick_codec *c, const struct block *b, size_t f)
{
	struct balance balance = codec_balance(b, f);

	for (size_t i = 0; i < b->n_rows; i++) {
		const char *row = b->rows + i * b->desc->size;
		uint64_t value = tick_field_u64(row, balance.field);
		c->values.items[i] = 0;
		if (!row_knows(row, f))
			continue;
		c->values.items[i] =
			column_zigzag(value - codec_predict_balance(c, b, &balance, i));
		codec_learn_balance(c, b, &balance, i, value);
	}
}

/* The string's number among those of the key and of this frame. */
static uint64_t encode_string(struct tick_codec *c, const char *text)
{
	size_t len = strlen(text);
	const uint64_t *number = map_str_get(&c->base.numbers, text, len);
	bool is_new;

	if (number)
		return *number - 1;
	uint64_t *fresh = map_str_put(&c->fresh, text, len, &is_new);
	if (!fresh)
		return UINT64_MAX;
	if (is_new) {
		if (!vec_push(&c->fresh_list, text))
			return UINT64_MAX;
		*fresh = c->fresh_list.len;
	}
	return c->base.strings.len + *fresh - 1;
}

static int encode_strings(struct tick_codec *c, const struct block *b, size_t f)
{
	const struct rec_field *field = &b->desc->fields[f];

	for (size_t i = 0; i < b->n_rows; i++) {
		const char *row = b->rows + i * b->desc->size, *before = NULL;
		const char *text = row_knows(row, f) ? tick_field_str(row, field) : NULL;
		if (!b->key && c->bases.items[i] != NO_ROW)
			before = tick_field_str(tick_base_row(&c->base, b->desc, c->bases.items[i]),
						field);
		if (text == before || (text && before && strcmp(text, before) == 0)) {
			c->values.items[i] = STRING_SAME;
			continue;
		}
		uint64_t number = text ? encode_string(c, text) : 0;
		if (number == UINT64_MAX)
			return -ENOMEM;
		c->values.items[i] = text ? number + STRING_FIRST : STRING_NONE;
	}
	return 0;
}

/* Row map and known-masks; returns the flags that stand for what need not be written. */
static unsigned encode_rows(struct tick_codec *c, const struct block *b, struct buf *out)
{
	const struct rec_desc *desc = b->desc;
	unsigned flags =
		b->key || b->n_rows != c->base.tick.rows[desc->kind].len ? 0 : BLOCK_SAME_ROWS;
	size_t at = out->len, guess = 0;

	for (size_t i = 0; i < b->n_rows; i++) {
		size_t base =
			b->key ? NO_ROW
			       : tick_base_find(&c->base, desc, b->rows + i * desc->size, guess);
		c->bases.items[i] = base;
		c->values.items[i] = base == NO_ROW ? 0 : column_zigzag(base - guess) + 1;
		if (base != guess)
			flags &= ~(unsigned)BLOCK_SAME_ROWS;
		if (base != NO_ROW)
			guess = base + 1;
	}
	codec_set_bases(c, b);
	buf_add_char(out, 0); /* flags, below */
	if (!(flags & BLOCK_SAME_ROWS))
		wire_put_u64(out, b->n_rows);
	if (!(flags & BLOCK_SAME_ROWS) && !b->key)
		column_put(out, c->values.items, NULL, b->n_rows);
	for (size_t i = 0; i < b->n_rows; i++) {
		uint64_t have = rec_have(b->rows + i * desc->size);
		if (b->key)
			have ^= i ? rec_have(b->rows + (i - 1) * desc->size) : 0;
		else if (c->bases.items[i] != NO_ROW)
			have ^= rec_have(tick_base_row(&c->base, desc, c->bases.items[i]));
		c->values.items[i] = have;
	}
	if (any(c->values.items, b->n_rows))
		column_put(out, c->values.items, NULL, b->n_rows);
	else
		flags |= BLOCK_SAME_HAVE;
	if (!out->failed)
		out->data[at] = (char)flags;
	return flags;
}

/* The columns that are not all zero, in field order, the balancing ones last. */
static int encode_columns(struct tick_codec *c, const struct block *b, struct buf *out)
{
	const struct rec_desc *desc = b->desc;
	size_t bitmap = out->len;

	for (size_t f = 0; f < desc->n_fields; f += 8)
		buf_add_char(out, 0);
	for (int balance = 0; balance < 2; balance++) {
		for (size_t f = 0; f < desc->n_fields; f++) {
			const struct rec_field *field = &desc->fields[f];
			if (!!(field->flags & REC_BALANCE) != balance)
				continue;
			const uint8_t *hints = NULL;
			int r = 0;
			if (field->type == REC_STR)
				r = encode_strings(c, b, f);
			else if (balance)
				encode_balance(c, b, f);
			else
				hints = encode_numbers(c, b, f);
			if (r < 0 || out->failed)
				return -ENOMEM;
			if (!any(c->values.items, b->n_rows))
				continue;
			out->data[bitmap + f / 8] |= (char)(1 << f % 8);
			column_put(out, c->values.items, hints, b->n_rows);
		}
	}
	return out->failed ? -ENOMEM : 0;
}

static int encode_block(struct tick_codec *c, const struct block *b)
{
	buf_clear(&c->block);
	wire_put_u64(&c->block, b->desc->n_fields);
	encode_rows(c, b, &c->block);
	return encode_columns(c, b, &c->block);
}

static int encode_blocks(struct tick_codec *c, const struct tick *t, bool key,
			 int (*more)(struct tick_codec *c, const struct block *b))
{
	buf_clear(&c->blocks);
	map_str_free(&c->fresh);
	c->fresh_list.len = 0;
	for (unsigned kind = 1; kind < REC_KIND_END; kind++) {
		struct block b = { .desc = rec_desc(kind),
				   .rows = t->rows[kind].items,
				   .n_rows = MIN_OF(t->rows[kind].len, (size_t)CODEC_MOST_ROWS),
				   .key = key,
				   .elapsed_ms = elapsed_ms(&c->base.tick, t->mono_ns) };
		if (!b.desc || !b.n_rows)
			continue;
		b.balances = codec_balances(b.desc);
		int r = codec_reserve(c, b.n_rows) ? encode_block(c, &b) : -ENOMEM;
		if (r == 0 && more)
			r = more(c, &b);
		if (r < 0)
			return r;
		wire_put_u64(&c->blocks, kind);
		wire_put_bytes(&c->blocks, c->block.data, c->block.len);
	}
	return c->blocks.failed ? -ENOMEM : 0;
}

static void encode_finish(struct tick_codec *c, struct buf *out)
{
	wire_put_u64(out, c->fresh_list.len);
	vec_foreach (&c->fresh_list, text)
		wire_put_bytes(out, *text, strlen(*text));
	buf_add(out, c->blocks.data, c->blocks.len);
}

int tick_codec_encode(struct tick_codec *c, const struct tick *t, struct buf *out)
{
	const struct tick *key = &c->base.tick;

	if (!c->base.set)
		return -ENODATA;
	int r = encode_blocks(c, t, false, NULL);
	if (r < 0)
		return r;
	uint64_t mono = t->mono_ns - key->mono_ns;
	/* ticks come in whole seconds, nearly */
	uint64_t whole = mono < UINT64_MAX - NS_PER_S ? (mono + NS_PER_S / 2) / NS_PER_S : 0;
	wire_put_u64(out, whole);
	wire_put_i64(out, (int64_t)(mono - whole * NS_PER_S));
	wire_put_i64(out, (int64_t)(t->real_ns - key->real_ns - mono));
	wire_put_i64(out, (int64_t)(t->boot_ns - key->boot_ns - mono));
	encode_finish(c, out);
	return out->failed ? -ENOMEM : 0;
}

/* The pace of the counters since the old key, columns of the new key's block. */
static int encode_rates(struct tick_codec *c, const struct block *b)
{
	const struct rec_desc *desc = b->desc;
	size_t bitmap = c->block.len;
	size_t guess = 0;

	for (size_t f = 0; f < desc->n_fields; f += 8)
		buf_add_char(&c->block, 0);
	for (size_t i = 0; i < b->n_rows; i++) {
		size_t base = c->base.set ? tick_base_find(&c->base, desc, b->rows + i * desc->size,
							   guess)
					  : NO_ROW;
		c->bases.items[i] = base;
		guess = base == NO_ROW ? guess : base + 1;
	}
	for (size_t f = 0; f < desc->n_fields; f++) {
		const struct rec_field *field = &desc->fields[f];
		if (!field_is_paced(field) || !b->elapsed_ms || c->block.failed)
			continue;
		for (size_t i = 0; i < b->n_rows; i++) {
			size_t base = c->bases.items[i];
			uint64_t delta = 0;
			if (base != NO_ROW)
				delta = row_value(b, i, f) -
					tick_field_u64(tick_base_row(&c->base, desc, base), field);
			/* a reset, or far too fast: no pace is better than a wrong one */
			c->values.items[i] = delta >> 40 ? 0 : (delta << 13) / b->elapsed_ms;
		}
		if (!any(c->values.items, b->n_rows))
			continue;
		c->block.data[bitmap + f / 8] |= (char)(1 << f % 8);
		column_put(&c->block, c->values.items, NULL, b->n_rows);
	}
	return c->block.failed ? -ENOMEM : 0;
}

int tick_codec_encode_key(struct tick_codec *c, const struct tick *t, struct buf *out)
{
	/* strings of the key are numbered anew */
	vec_free(&c->base.strings);
	map_str_free(&c->base.numbers);
	int r = encode_blocks(c, t, true, encode_rates);
	if (r < 0)
		return r;
	size_t start = out->len;
	wire_put_u64(out, t->real_ns);
	wire_put_u64(out, t->mono_ns);
	wire_put_u64(out, t->boot_ns);
	encode_finish(c, out);
	if (out->failed)
		return -ENOMEM;
	/* from here on this side holds what the other side will hold */
	return tick_codec_decode_key(c, out->data + start, out->len - start);
}

/* Decoding ------------------------------------------------------------------------------------- */

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
