#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "tick_path.h"

uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ len;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		h = hash_u64(h ^ word);
	}
	uint64_t tail = 0;
	if (len)
		memcpy(&tail, p, len);
	return hash_u64(h ^ tail);
}

struct map_u64_slot {
	uint64_t key, value;
	bool used;
};

static struct map_u64_slot *map_u64_find(struct map_u64_slot *slots, size_t cap, uint64_t key)
{
	size_t at = hash_u64(key) & (cap - 1);
	while (slots[at].used && slots[at].key != key)
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

static bool map_u64_grow(struct map_u64 *m)
{
	if (m->cap && m->len < m->cap / 4 * 3)
		return true;
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct map_u64_slot *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*map_u64_find(slots, cap, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return true;
}

uint64_t *map_u64_put(struct map_u64 *m, uint64_t key, bool *ret_new)
{
	if (!map_u64_grow(m))
		return NULL;
	struct map_u64_slot *slot = map_u64_find(m->slots, m->cap, key);
	if (ret_new)
		*ret_new = !slot->used;
	if (!slot->used) {
		*slot = (struct map_u64_slot){ .key = key, .used = true };
		m->len++;
	}
	return &slot->value;
}

uint64_t *map_u64_get(const struct map_u64 *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	struct map_u64_slot *slot = map_u64_find(m->slots, m->cap, key);
	return slot->used ? &slot->value : NULL;
}

bool map_u64_remove(struct map_u64 *m, uint64_t key)
{
	if (!m->cap)
		return false;
	struct map_u64_slot *slot = map_u64_find(m->slots, m->cap, key);
	if (!slot->used)
		return false;
	/* Move later members of the run up, so that no probe stops at the hole. */
	size_t hole = (size_t)(slot - m->slots);
	for (size_t at = (hole + 1) & (m->cap - 1); m->slots[at].used;
	     at = (at + 1) & (m->cap - 1)) {
		size_t home = hash_u64(m->slots[at].key) & (m->cap - 1);
		if (((at - home) & (m->cap - 1)) >= ((at - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[at];
			hole = at;
		}
	}
	m->slots[hole].used = false;
	m->len--;
	return true;
}

bool map_u64_next(const struct map_u64 *m, size_t *at, uint64_t *ret_key, uint64_t **ret_value)
{
	while (*at < m->cap) {
		struct map_u64_slot *slot = &m->slots[(*at)++];
		if (!slot->used)
			continue;
		*ret_key = slot->key;
		*ret_value = &slot->value;
		return true;
	}
	return false;
}

void map_u64_free(struct map_u64 *m)
{
	free(m->slots);
	*m = (struct map_u64){ 0 };
}

struct map_str_slot {
	char *key; /* NULL = free */
	size_t key_len;
	uint64_t hash, value;
};

static struct map_str_slot *map_str_find(struct map_str_slot *slots, size_t cap, uint64_t hash,
					 const char *key, size_t key_len)
{
	size_t at = hash & (cap - 1);
	while (slots[at].key) {
		if (slots[at].hash == hash && slots[at].key_len == key_len &&
		    memcmp(slots[at].key, key, key_len) == 0)
			break;
		at = (at + 1) & (cap - 1);
	}
	return &slots[at];
}

static bool map_str_grow(struct map_str *m)
{
	if (m->cap && m->len < m->cap / 4 * 3)
		return true;
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct map_str_slot *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < m->cap; i++) {
		struct map_str_slot *old = &m->slots[i];
		if (old->key)
			*map_str_find(slots, cap, old->hash, old->key, old->key_len) = *old;
	}
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	return true;
}

uint64_t *map_str_put(struct map_str *m, const char *key, size_t key_len, bool *ret_new)
{
	if (!map_str_grow(m))
		return NULL;
	uint64_t hash = hash_bytes(key, key_len);
	struct map_str_slot *slot = map_str_find(m->slots, m->cap, hash, key, key_len);
	if (ret_new)
		*ret_new = !slot->key;
	if (!slot->key) {
		char *copy = malloc(key_len + 1);
		if (!copy)
			return NULL;
		memcpy(copy, key, key_len);
		copy[key_len] = '\0';
		*slot = (struct map_str_slot){ .key = copy, .key_len = key_len, .hash = hash };
		m->len++;
	}
	return &slot->value;
}

uint64_t *map_str_get(const struct map_str *m, const char *key, size_t key_len)
{
	if (!m->cap)
		return NULL;
	struct map_str_slot *slot =
		map_str_find(m->slots, m->cap, hash_bytes(key, key_len), key, key_len);
	return slot->key ? &slot->value : NULL;
}

bool map_str_next(const struct map_str *m, size_t *at, const char **ret_key, size_t *ret_key_len,
		  uint64_t **ret_value)
{
	while (*at < m->cap) {
		struct map_str_slot *slot = &m->slots[(*at)++];
		if (!slot->key)
			continue;
		*ret_key = slot->key;
		if (ret_key_len)
			*ret_key_len = slot->key_len;
		*ret_value = &slot->value;
		return true;
	}
	return false;
}

EVERY_TICK void map_str_free(struct map_str *m)
{
	if (!m->slots)
		return;
	for (size_t i = 0; i < m->cap; i++)
		free(m->slots[i].key);
	free(m->slots);
	*m = (struct map_str){ 0 };
}
