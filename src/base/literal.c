#include "literal.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LITERAL_BUCKETS = 8, LITERAL_TABLE_BITS = 13, LITERAL_NONE = 0xffff };

struct literal_item {
	char *text;
	size_t len;
	size_t fragment_at; /* the 4 bytes that are looked for */
	uint32_t fragment;
	uint16_t next; /* in its table chain, LITERAL_NONE = last */
};

struct literal_set {
	struct literal_item *items;
	size_t n;
	bool vector;
	/* per fragment byte: which buckets a low and a high nibble can belong to */
	uint8_t low[4][16], high[4][16];
	/* first item of a fragment's hash; LITERAL_NONE = empty */
	uint16_t table[1 << LITERAL_TABLE_BITS];
	uint64_t pairs[65536 / 64]; /* first two bytes of any fragment */
};

/* How common a byte is in log text, roughly: letters of English, digits, blanks. */
static unsigned literal_commonness(unsigned char c)
{
	if (c == ' ')
		return 12;
	if (strchr("etaoinsr", c) && c)
		return 10;
	if (c >= 'a' && c <= 'z')
		return strchr("jqxzkvw", c) ? 5 : 8;
	if (c >= '0' && c <= '9')
		return 9;
	return strchr(":=.,[]()/-", c) && c ? 7 : 3;
}

static uint32_t literal_load(const char *p)
{
	uint32_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

static size_t literal_rarest(const char *text, size_t len)
{
	size_t best = 0;
	unsigned best_score = ~0u;

	for (size_t i = 0; i + 4 <= len; i++) {
		unsigned score = 0;
		for (size_t k = 0; k < 4; k++)
			score += literal_commonness((unsigned char)text[i + k]);
		if (score < best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

static unsigned literal_slot(uint32_t fragment)
{
	return (fragment * UINT32_C(0x9e3779b1)) >> (32 - LITERAL_TABLE_BITS);
}

static int literal_compare(const void *a, const void *b)
{
	const struct literal_item *const *x = a, *const *y = b;
	return memcmp((*x)->text + (*x)->fragment_at, (*y)->text + (*y)->fragment_at, 4);
}

/* Neighbours in sorted order share a bucket, so that few nibbles fall into each. */
static bool literal_fill_buckets(struct literal_set *s)
{
	struct literal_item **sorted = malloc((s->n + 1) * sizeof(*sorted));

	if (!sorted)
		return false;
	for (size_t i = 0; i < s->n; i++)
		sorted[i] = &s->items[i];
	qsort(sorted, s->n, sizeof(struct literal_item *), literal_compare);
	for (size_t i = 0; i < s->n; i++) {
		const char *fragment = sorted[i]->text + sorted[i]->fragment_at;
		uint8_t bit = (uint8_t)(1u << (i * LITERAL_BUCKETS / s->n));
		for (size_t k = 0; k < 4; k++) {
			unsigned char c = (unsigned char)fragment[k];
			s->low[k][c & 15] |= bit;
			s->high[k][c >> 4] |= bit;
		}
	}
	free(sorted);
	return true;
}

static bool literal_add(struct literal_set *s, size_t i, const char *text)
{
	struct literal_item *item = &s->items[i];

	item->len = strlen(text);
	item->text = strdup(text);
	s->n = i + 1;
	if (!item->text || item->len < LITERAL_LEAST)
		return false;
	item->fragment_at = literal_rarest(text, item->len);
	item->fragment = literal_load(text + item->fragment_at);
	uint16_t *slot = &s->table[literal_slot(item->fragment)];
	item->next = *slot;
	*slot = (uint16_t)i;
	unsigned pair = (unsigned char)text[item->fragment_at] |
			(unsigned)(unsigned char)text[item->fragment_at + 1] << 8;
	s->pairs[pair / 64] |= UINT64_C(1) << (pair % 64);
	return true;
}

struct literal_set *literal_new(const char *const *texts, size_t n)
{
	struct literal_set *s = calloc(1, sizeof(*s));

	if (!s || n > LITERAL_MOST || !(s->items = calloc(n + 1, sizeof(*s->items)))) {
		free(s);
		return NULL;
	}
	memset(s->table, 0xff, sizeof(s->table));
	for (size_t i = 0; i < n; i++) {
		if (!literal_add(s, i, texts[i])) {
			literal_free(s);
			return NULL;
		}
	}
	if (!literal_fill_buckets(s)) {
		literal_free(s);
		return NULL;
	}
#if defined(__x86_64__)
	s->vector = __builtin_cpu_supports("avx2");
#endif
	return s;
}

void literal_free(struct literal_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].text);
	free(s->items);
	free(s);
}

void literal_use_portable(struct literal_set *s)
{
	s->vector = false;
}

size_t literal_which(const struct literal_set *s, const char *bytes, size_t len, size_t at,
		     unsigned *ret, size_t most)
{
	uint32_t fragment = literal_load(bytes + at);
	size_t n = 0;

	for (uint16_t i = s->table[literal_slot(fragment)]; i != LITERAL_NONE && n < most;
	     i = s->items[i].next) {
		const struct literal_item *item = &s->items[i];
		if (item->fragment == fragment && item->fragment_at <= at &&
		    item->len <= len - (at - item->fragment_at) &&
		    memcmp(bytes + at - item->fragment_at, item->text, item->len) == 0)
			ret[n++] = i;
	}
	return n;
}

static bool literal_check(const struct literal_set *s, const char *bytes, size_t len, size_t at)
{
	unsigned any;
	return literal_which(s, bytes, len, at, &any, 1) > 0;
}

static size_t literal_find_portable(const struct literal_set *s, const char *bytes, size_t len,
				    size_t from)
{
	for (size_t at = from; at + 4 <= len; at++) {
		unsigned pair = (unsigned char)bytes[at] | (unsigned)(unsigned char)bytes[at + 1]
								   << 8;
		if (s->pairs[pair / 64] >> (pair % 64) & 1 && literal_check(s, bytes, len, at))
			return at;
	}
	return len;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static size_t
literal_find_avx2(const struct literal_set *s, const char *bytes, size_t len, size_t from)
{
	const __m256i nibble = _mm256_set1_epi8(15);
	__m256i low[4], high[4];
	size_t at = from;

	for (size_t k = 0; k < 4; k++) {
		low[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)s->low[k]));
		high[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)s->high[k]));
	}
	for (; at + 32 + 3 <= len; at += 32) {
		__m256i all = _mm256_set1_epi8(-1);
		for (size_t k = 0; k < 4; k++) {
			__m256i c = _mm256_loadu_si256((const __m256i *)(bytes + at + k));
			__m256i up = _mm256_and_si256(_mm256_srli_epi16(c, 4), nibble);
			__m256i fits = _mm256_and_si256(
				_mm256_shuffle_epi8(low[k], _mm256_and_si256(c, nibble)),
				_mm256_shuffle_epi8(high[k], up));
			all = _mm256_and_si256(all, fits);
		}
		uint32_t mask = ~(uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(all, _mm256_setzero_si256()));
		for (; mask; mask &= mask - 1) {
			size_t here = at + (size_t)__builtin_ctz(mask);
			if (literal_check(s, bytes, len, here))
				return here;
		}
	}
	return literal_find_portable(s, bytes, len, at);
}
#endif

size_t literal_next(const struct literal_set *s, const char *bytes, size_t len, size_t from)
{
#if defined(__x86_64__)
	if (s->vector)
		return literal_find_avx2(s, bytes, len, from);
#endif
	return literal_find_portable(s, bytes, len, from);
}
