#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "column_codec.h"
#include "rec_cpu.h"
#include "tick_codec.h"

/* A small generator, so that a failing seed can be run again. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(columns_of_every_width)
{
	uint64_t seed = 7;

	for (unsigned width = 0; width <= 64; width++) {
		for (size_t n = 1; n < 200; n = n * 3 + 1) {
			uint64_t in[200], out[200];
			uint8_t hint_list[200];
			const uint8_t *hints = width % 2 ? hint_list : NULL;
			AUTO_BUF struct buf bytes = { 0 };
			struct wire_reader r;
			for (size_t i = 0; i < n; i++) {
				in[i] = width ? next_random(&seed) >> (64 - width) : 0;
				hint_list[i] = (uint8_t)(next_random(&seed) % (width + 3));
			}
			in[n / 2] = next_random(&seed); /* an outlier */
			column_put(&bytes, in, hints, n);
			buf_add_char(&bytes, 'x');
			wire_open(&r, bytes.data, bytes.len);
			column_get(&r, out, hints, n);
			CHECK(!r.failed);
			CHECK_EQ(r.end - r.at, 1);
			CHECK(memcmp(in, out, n * sizeof(*in)) == 0);
			wire_open(&r, bytes.data, bytes.len / 2);
			column_get(&r, out, hints, n);
		}
	}
}

static bool same_field(const struct rec_field *field, const char *a, const char *b)
{
	if (field->type == REC_U64)
		return memcmp(a + field->offset, b + field->offset, 8) == 0;
	const char *x = *(const char *const *)(a + field->offset);
	const char *y = *(const char *const *)(b + field->offset);
	return x == y || (x && y && strcmp(x, y) == 0);
}

/* Everything known is the same; what is not known comes back as unknown and 0. */
static void check_same(const struct tick *a, const struct tick *b)
{
	CHECK_EQ(a->real_ns, b->real_ns);
	CHECK_EQ(a->mono_ns, b->mono_ns);
	CHECK_EQ(a->boot_ns, b->boot_ns);
	for (unsigned kind = 1; kind < REC_KIND_END; kind++) {
		const struct rec_desc *desc = rec_desc(kind);
		if (!desc)
			continue;
		CHECK_EQ(a->rows[kind].len, b->rows[kind].len);
		for (size_t i = 0; i < a->rows[kind].len; i++) {
			const char *x = (char *)a->rows[kind].items + i * desc->size;
			const char *y = (char *)b->rows[kind].items + i * desc->size;
			CHECK_EQ(rec_have(x), rec_have(y));
			for (size_t f = 0; f < desc->n_fields; f++)
				if (rec_have(x) >> f & 1)
					CHECK(same_field(&desc->fields[f], x, y));
		}
	}
}

/* Any rows of any kind: keys that come and go, resets, unknown fields, hostile strings. */
static void fill_randomly(struct tick *t, uint64_t *seed)
{
	static const char *const names[] = { "", "kubelet", "a) R 1\n\x1b[31mX", "\xff\xfe", "b" };

	t->real_ns += next_random(seed) % 2000000000;
	t->mono_ns += next_random(seed) % 2000000000;
	t->boot_ns += next_random(seed) % 2000000000;
	tick_clear(t);
	for (unsigned kind = 1; kind < REC_KIND_END; kind++) {
		const struct rec_desc *desc = rec_desc(kind);
		uint64_t n = desc ? next_random(seed) % 40 : 0;
		for (uint64_t i = 0; i < n; i++) {
			char *row = tick_add_row(t, kind);
			uint64_t have = next_random(seed) % 3 ? UINT64_MAX : next_random(seed);
			if (desc->n_fields < 64)
				have &= (UINT64_C(1) << desc->n_fields) - 1;
			*(uint64_t *)row = have;
			for (size_t f = 0; f < desc->n_fields; f++) {
				const struct rec_field *field = &desc->fields[f];
				if (!(have >> f & 1))
					continue;
				if (field->type == REC_STR)
					*(const char **)(row + field->offset) =
						names[next_random(seed) % 5];
				else
					*(uint64_t *)(row + field->offset) =
						field->flags & REC_KEY
							? (next_random(seed) % 8 ? i : 99 - i)
							: next_random(seed) >>
								  next_random(seed) % 64;
			}
		}
	}
}

/* Against the key before, or as a new key and against that. */
static void check_round_trip(struct tick_codec *writer, struct tick_codec *reader, bool key,
			     const struct tick *t)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_TICK struct tick back = { 0 };

	if (key) {
		CHECK_EQ(tick_codec_encode_key(writer, t, &bytes), 0);
		CHECK_EQ(tick_codec_decode_key(reader, bytes.data, bytes.len), 0);
		buf_clear(&bytes);
	}
	CHECK_EQ(tick_codec_encode(writer, t, &bytes), 0);
	CHECK_EQ(tick_codec_decode(reader, bytes.data, bytes.len, &back), 0);
	check_same(t, &back);
}

/* The writer compares whole records: field f is word 1 + f of each. */
TEST(records_are_words_in_field_order)
{
	for (unsigned kind = 0; kind < REC_KIND_END; kind++) {
		const struct rec_desc *desc = rec_desc(kind);
		for (size_t f = 0; desc && f < desc->n_fields; f++)
			CHECK_EQ(desc->fields[f].offset, (1 + f) * sizeof(uint64_t));
		CHECK(!desc || desc->size == (1 + desc->n_fields) * sizeof(uint64_t));
	}
}

TEST(any_tick_comes_back)
{
	for (uint64_t round = 1; round <= 60; round++) {
		struct tick_codec *writer = tick_codec_new(), *reader = tick_codec_new();
		AUTO_TICK struct tick t = { 0 };
		uint64_t seed = round * 7919;

		for (int i = 0; i < 8; i++) {
			fill_randomly(&t, &seed);
			check_round_trip(writer, reader, i % 4 == 0, &t);
		}
		tick_codec_free(writer);
		tick_codec_free(reader);
	}
}

TEST(without_a_key_nothing_is_read)
{
	struct tick_codec *c = tick_codec_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	CHECK_EQ(tick_codec_encode(c, &t, &bytes), -ENODATA);
	CHECK_EQ(tick_codec_decode(c, "abc", 3, &t), -ENODATA);
	CHECK_EQ(tick_codec_decode_key(c, "\xff", 1), -EBADMSG);
	CHECK(!tick_codec_has_key(c));
	tick_codec_free(c);
}

/* A steady 96-core host: a tick against its key must be small, and needs no other tick. */
TEST(steady_cores_are_small_and_independent)
{
	struct tick_codec *writer = tick_codec_new(), *reader = tick_codec_new();
	AUTO_TICK struct tick t = { .mono_ns = 1 }, back = { 0 };
	AUTO_BUF struct buf key = { 0 };
	uint64_t seed = 5;

	for (int second = 0; second < 60; second++) {
		AUTO_BUF struct buf bytes = { 0 };
		tick_clear(&t);
		t.mono_ns += 1000000000;
		for (uint64_t cpu = 0; cpu < 96; cpu++) {
			struct rec_cpu *c = tick_add_row(&t, REC_CPU);
			uint64_t usr = (uint64_t)second * (cpu % 20) + next_random(&seed) % 3;
			*c = (struct rec_cpu){ .have = (1 << 11) - 1,
					       .cpu = cpu,
					       .usr = 1000000 * cpu + usr,
					       .idle = 5000000 * cpu + (uint64_t)second * 100 -
						       usr };
		}
		if (second == 0) {
			CHECK_EQ(tick_codec_encode_key(writer, &t, &key), 0);
			CHECK_EQ(tick_codec_decode_key(reader, key.data, key.len), 0);
		}
		CHECK_EQ(tick_codec_encode(writer, &t, &bytes), 0);
		CHECK(bytes.len < 200);
		if (second % 7 == 3) {
			CHECK_EQ(tick_codec_decode(reader, bytes.data, bytes.len, &back), 0);
			check_same(&t, &back);
		}
	}
	tick_codec_free(writer);
	tick_codec_free(reader);
}

/* Fields that stand still are passed over; not those whose pace says that they should have moved.
 */
TEST(what_stands_still_comes_back)
{
	struct tick_codec *writer = tick_codec_new(), *reader = tick_codec_new();
	AUTO_TICK struct tick t = { .mono_ns = 1 };

	for (uint64_t second = 0; second < 40; second++) {
		uint64_t ran = second < 20 ? second : 20; /* all of them stop in mid-segment */
		tick_clear(&t);
		t.mono_ns += 1000000000;
		for (uint64_t cpu = 0; cpu < 5; cpu++) {
			struct rec_cpu *c = tick_add_row(&t, REC_CPU);
			*c = (struct rec_cpu){ .have = (1 << 11) - 1,
					       .cpu = cpu,
					       .usr = 7000 * cpu + ran * 90,
					       .nice = 33,
					       .sys = cpu == 3 && second % 4 == 1 ? 6 : 5,
					       .idle = 100000 + second * 100 - ran * 90 };
			if (cpu == 2) {
				c->have &= ~(uint64_t)REC_CPU_IOWAIT;
				c->iowait = second; /* of no meaning */
			}
		}
		check_round_trip(writer, reader, second % 15 == 0, &t);
	}
	tick_codec_free(writer);
	tick_codec_free(reader);
}

TEST_MAIN
