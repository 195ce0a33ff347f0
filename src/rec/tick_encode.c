#include <errno.h>
#include <string.h>

#include "auto.h"
#include "column_codec.h"
#include "tick_codec.h"
#include "tick_guess.h"
#include "tick_path.h"
#include "timefmt.h"
#include "wire.h"

/* A column, and what all its values are when ORed: 0 = nothing to write. */
struct column {
	uint64_t largest;
	const uint8_t *hints;
};

/* What stands in a row where the field lies. */
static inline uint64_t value_at(const char *row, size_t offset)
{
	uint64_t value;

	memcpy(&value, row + offset, sizeof(value));
	return value;
}

/* In the key: against the row before. */
static struct column encode_key_numbers(struct tick_codec *c, const struct block *b, size_t f)
{
	bool sum = b->balances && field_is_paced(&b->desc->fields[f]);
	struct column column = { 0 };
	uint64_t before = 0;

	for (size_t i = 0; i < b->n_rows; i++) {
		uint64_t value = row_value(b, i, f);
		bool known = row_knows(b->rows + i * b->desc->size, f);
		c->values.items[i] = known ? column_zigzag(value - before) : 0;
		column.largest |= c->values.items[i];
		before = value;
		if (sum)
			c->totals.items[i] += value;
	}
	return column;
}

/* Counters that do not move, and what is no counter: the guess is the key's value. */
EVERY_TICK static struct column encode_still(struct tick_codec *c, const struct block *b, size_t f)
{
	size_t size = b->desc->size, offset = b->desc->fields[f].offset, n = b->n_rows;
	uint64_t sum = -(uint64_t)(b->balances && field_is_paced(&b->desc->fields[f]));
	const char *const *base_rows = c->base_rows.items;
	uint64_t *values = c->values.items, *totals = c->totals.items;
	const char *row = b->rows;
	uint64_t largest = 0;

	for (size_t i = 0; i < n; i++, row += size) {
		uint64_t known = -(rec_have(row) >> f & 1); /* all ones, or none */
		uint64_t value = value_at(row, offset), guess = value_at(base_rows[i], offset);
		totals[i] += ((value & known) - guess) & sum;
		values[i] = column_zigzag(value - guess) & known;
		largest |= values[i];
	}
	return (struct column){ largest, NULL };
}

/* Counters that run: the guess is how far their pace has taken them. */
EVERY_TICK static struct column encode_paced(struct tick_codec *c, const struct block *b, size_t f)
{
	size_t size = b->desc->size, offset = b->desc->fields[f].offset, n = b->n_rows;
	const uint64_t *rates =
		c->base.rates[b->desc->kind] + f * c->base.tick.rows[b->desc->kind].len;
	uint64_t sum = -(uint64_t) !!b->balances; /* what is paced is summed */
	const char *const *base_rows = c->base_rows.items;
	const size_t *bases = c->bases.items;
	uint64_t *values = c->values.items, *totals = c->totals.items;
	uint64_t elapsed = b->elapsed_ms, largest = 0;
	uint8_t *hints = c->hints.items;
	const char *row = b->rows;

	for (size_t i = 0; i < n; i++, row += size) {
		uint64_t known = -(rec_have(row) >> f & 1);
		uint64_t value = value_at(row, offset), guess = value_at(base_rows[i], offset);
		uint64_t rate = bases[i] == NO_ROW ? 0 : rates[bases[i]];
		uint64_t advance = tick_base_advance(rate, elapsed);
		totals[i] += ((value & known) - guess) & sum;
		hints[i] = codec_hint(advance);
		values[i] = column_zigzag(value - guess - advance) & known;
		largest |= values[i];
	}
	return (struct column){ largest, hints };
}

/* The same guesses as codec_guess makes for the other side, in one pass with what follows from
 * them: this runs for every core every second. */
EVERY_TICK static struct column encode_numbers(struct tick_codec *c, const struct block *b,
					       size_t f)
{
	return c->base.paced[b->desc->kind] >> f & 1 ? encode_paced(c, b, f)
						     : encode_still(c, b, f);
}

EVERY_TICK static struct column encode_balance(struct tick_codec *c, const struct block *b,
					       size_t f)
{
	struct balance balance = codec_balance(b, f);
	struct column column = { 0 };

	for (size_t i = 0; i < b->n_rows; i++) {
		const char *row = b->rows + i * b->desc->size;
		uint64_t value = tick_field_u64(row, balance.field);
		c->values.items[i] = 0;
		if (!row_knows(row, f))
			continue;
		c->values.items[i] =
			column_zigzag(value - codec_predict_balance(c, b, &balance, i));
		column.largest |= c->values.items[i];
		codec_learn_balance(c, b, &balance, i, value);
	}
	return column;
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

static int encode_strings(struct tick_codec *c, const struct block *b, size_t f, struct column *ret)
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
		ret->largest |= c->values.items[i];
	}
	return 0;
}

/* Two words of a record, wherever it lies. */
typedef uint64_t words __attribute__((vector_size(16)));

static inline words words_at(const char *place)
{
	words two;

	memcpy(&two, place, sizeof(two));
	return two;
}

/* Every word of a record in which any row differs from the key's row in its place is not 0 in ret:
 * along the rows, six words at a time, because most times of a core are of kinds that its host
 * never spends. */
EVERY_TICK static void encode_differences(const struct tick_codec *c, const struct block *b,
					  uint64_t *ret)
{
	const char *base = c->base.tick.rows[b->desc->kind].items;
	size_t size = b->desc->size, end = b->n_rows * size, at = 0;

	for (; at + 3 * sizeof(words) <= size; at += 3 * sizeof(words)) {
		words found[3] = { 0 };
		for (size_t i = at; i < end; i += size) {
			found[0] |= words_at(b->rows + i) ^ words_at(base + i);
			found[1] |= words_at(b->rows + i + 16) ^ words_at(base + i + 16);
			found[2] |= words_at(b->rows + i + 32) ^ words_at(base + i + 32);
		}
		memcpy((char *)ret + at, found, sizeof(found));
	}
	for (; at < size; at += sizeof(uint64_t)) {
		uint64_t found = 0;
		for (size_t i = at; i < end; i += size)
			found |= value_at(b->rows, i) ^ value_at(base, i);
		memcpy((char *)ret + at, &found, sizeof(found));
	}
}

/* What is as in the key's row in its place, in every row: a bit for each field, and the mask of
 * those that are known. A string that is the same one is the same. */
struct same {
	uint64_t fields;
	bool have;
};

EVERY_TICK static struct same encode_same(const struct tick_codec *c, const struct block *b)
{
	uint64_t different[CODEC_MOST_RECORD / sizeof(uint64_t)];
	struct same same = { 0 };

	if (b->key || b->n_rows != c->base.tick.rows[b->desc->kind].len)
		return same;
	encode_differences(c, b, different);
	same.have = !different[0];
	for (size_t f = 0; f < b->desc->n_fields; f++) /* one word each, in order: rec.h */
		same.fields |= (uint64_t)!different[1 + f] << f;
	return same;
}

/* Index of the key row of each row; whether that is everywhere the one in its place. */
EVERY_TICK static bool encode_bases(struct tick_codec *c, const struct block *b,
				    const struct same *same)
{
	uint64_t keys = c->base.keys[b->desc->kind];
	bool in_place = b->n_rows == c->base.tick.rows[b->desc->kind].len;
	size_t guess = 0;

	if (in_place && (keys & same->fields) == keys) { /* nearly always */
		for (size_t i = 0; i < b->n_rows; i++)
			c->bases.items[i] = i;
		return true;
	}
	for (size_t i = 0; i < b->n_rows; i++) {
		size_t base = tick_base_find(&c->base, b->desc, b->rows + i * b->desc->size, guess);
		c->bases.items[i] = base;
		c->values.items[i] = base == NO_ROW ? 0 : column_zigzag(base - guess) + 1;
		in_place &= base == guess;
		if (base != NO_ROW)
			guess = base + 1;
	}
	return in_place;
}

/* Masks of known fields against those of the key rows; whether they are the same everywhere. */
static bool encode_have(struct tick_codec *c, const struct block *b)
{
	size_t size = b->desc->size;

	for (size_t i = 0; i < b->n_rows; i++) {
		uint64_t have = rec_have(b->rows + i * size);
		if (b->key)
			have ^= i ? rec_have(b->rows + (i - 1) * size) : 0;
		else if (c->bases.items[i] != NO_ROW)
			have ^= rec_have(tick_base_row(&c->base, b->desc, c->bases.items[i]));
		c->values.items[i] = have;
	}
	return !any(c->values.items, b->n_rows);
}

/* Row map and known-masks; returns the flags that stand for what need not be written. */
EVERY_TICK static unsigned encode_rows(struct tick_codec *c, const struct block *b,
				       const struct same *same, struct buf *out)
{
	unsigned flags = 0;
	size_t at = out->len;

	if (b->key)
		for (size_t i = 0; i < b->n_rows; i++)
			c->bases.items[i] = NO_ROW;
	else if (encode_bases(c, b, same))
		flags = BLOCK_SAME_ROWS;
	codec_set_bases(c, b);
	buf_add_char(out, 0); /* flags, below */
	if (!(flags & BLOCK_SAME_ROWS))
		wire_put_u64(out, b->n_rows);
	if (!(flags & BLOCK_SAME_ROWS) && !b->key)
		column_put(out, c->values.items, NULL, b->n_rows);
	if ((flags & BLOCK_SAME_ROWS && same->have) || encode_have(c, b))
		flags |= BLOCK_SAME_HAVE;
	else
		column_put(out, c->values.items, NULL, b->n_rows);
	if (!out->failed)
		out->data[at] = (char)flags;
	return flags;
}

/* The column of one field, unless it is all zero. */
EVERY_TICK static int encode_column(struct tick_codec *c, const struct block *b, size_t f,
				    size_t bitmap, struct buf *out)
{
	const struct rec_desc *desc = b->desc;
	struct column column = { 0 };
	int r = 0;

	if (desc->fields[f].type == REC_STR)
		r = encode_strings(c, b, f, &column);
	else if (b->balances >> f & 1)
		column = encode_balance(c, b, f);
	else
		column = b->key ? encode_key_numbers(c, b, f) : encode_numbers(c, b, f);
	if (r < 0 || out->failed)
		return -ENOMEM;
	if (!column.largest)
		return 0;
	out->data[bitmap + f / 8] |= (char)(1 << f % 8);
	if (b->key)
		column_put(out, c->values.items, NULL, b->n_rows);
	else
		column_put_again(out, c->values.items, column.hints, b->n_rows, column.largest,
				 &c->memory[desc->kind][f]);
	return 0;
}

/* The columns that are not all zero, in field order, the balancing ones last. */
EVERY_TICK static int encode_columns(struct tick_codec *c, const struct block *b, uint64_t still,
				     struct buf *out)
{
	size_t n_fields = b->desc->n_fields, bitmap = out->len;
	uint64_t all = n_fields ? UINT64_MAX >> (CODEC_MOST_FIELDS - n_fields) : 0;
	int r = 0;

	for (size_t f = 0; f < n_fields; f += 8)
		buf_add_char(out, 0);
	for (uint64_t left = all & ~b->balances & ~still; left && r == 0; left &= left - 1)
		r = encode_column(c, b, (size_t)__builtin_ctzll(left), bitmap, out);
	for (uint64_t left = b->balances; left && r == 0; left &= left - 1)
		r = encode_column(c, b, (size_t)__builtin_ctzll(left), bitmap, out);
	return out->failed ? -ENOMEM : r;
}

EVERY_TICK static int encode_block(struct tick_codec *c, const struct block *b)
{
	const unsigned in_place = BLOCK_SAME_ROWS | BLOCK_SAME_HAVE;
	struct same same = encode_same(c, b);

	buf_clear(&c->block);
	wire_put_u64(&c->block, b->desc->n_fields);
	unsigned flags = encode_rows(c, b, &same, &c->block);
	/* a counter that stands still where its pace is not 0 is news */
	uint64_t still =
		(flags & in_place) == in_place ? same.fields & ~c->base.paced[b->desc->kind] : 0;
	return encode_columns(c, b, still, &c->block);
}

EVERY_TICK static int encode_blocks(struct tick_codec *c, const struct tick *t, bool key,
				    int (*more)(struct tick_codec *c, const struct block *b))
{
	buf_clear(&c->blocks);
	map_str_free(&c->fresh);
	c->fresh_list.len = 0;
	for (unsigned kind = 1; kind < REC_KIND_END; kind++) {
		if (!t->rows[kind].len)
			continue;
		struct block b = { .desc = rec_desc(kind),
				   .rows = t->rows[kind].items,
				   .n_rows = MIN_OF(t->rows[kind].len, (size_t)CODEC_MOST_ROWS),
				   .key = key,
				   .elapsed_ms = elapsed_ms(&c->base.tick, t->mono_ns),
				   .balances = c->balances[kind] };
		if (!b.desc)
			continue;
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

EVERY_TICK static void encode_finish(struct tick_codec *c, struct buf *out)
{
	wire_put_u64(out, c->fresh_list.len);
	vec_foreach (&c->fresh_list, text)
		wire_put_bytes(out, *text, strlen(*text));
	buf_add(out, c->blocks.data, c->blocks.len);
}

EVERY_TICK int tick_codec_encode(struct tick_codec *c, const struct tick *t, struct buf *out)
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
