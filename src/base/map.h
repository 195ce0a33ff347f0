/* Hash maps with open addressing: 64-bit keys, and byte-string keys (the map copies the bytes).
 * Values are 64-bit: an index, a count, or a pointer cast by the caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_u64_slot;
struct map_u64 {
	struct map_u64_slot *slots;
	size_t len, cap;
};

/* The place of key's value, made with value 0 when absent (*ret_new says so); NULL when out of
 * memory. Valid until the next map_u64_put. */
uint64_t *map_u64_put(struct map_u64 *m, uint64_t key, bool *ret_new);
uint64_t *map_u64_get(const struct map_u64 *m, uint64_t key); /* NULL = absent */
bool map_u64_remove(struct map_u64 *m, uint64_t key);
/* Iterate: start with *at = 0; false at the end. Order is unspecified. */
bool map_u64_next(const struct map_u64 *m, size_t *at, uint64_t *ret_key, uint64_t **ret_value);
void map_u64_free(struct map_u64 *m);

struct map_str_slot;
struct map_str {
	struct map_str_slot *slots;
	size_t len, cap;
};

uint64_t *map_str_put(struct map_str *m, const char *key, size_t key_len, bool *ret_new);
uint64_t *map_str_get(const struct map_str *m, const char *key, size_t key_len);
/* The map's own copy of the key is NUL-terminated and lives as long as the map. */
bool map_str_next(const struct map_str *m, size_t *at, const char **ret_key, size_t *ret_key_len,
		  uint64_t **ret_value);
void map_str_free(struct map_str *m);

uint64_t hash_bytes(const void *bytes, size_t len);
uint64_t hash_u64(uint64_t value);

#define AUTO_MAP_U64 __attribute__((cleanup(map_u64_free)))
#define AUTO_MAP_STR __attribute__((cleanup(map_str_free)))
