/* Files of "key value" lines (vmstat, meminfo, cgroup.stat, cpu.stat): one pass over the text, one
 * table row per wanted key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct key_field {
	const char *key;
	size_t len;    /* of key */
	size_t offset; /* of a uint64_t in the record */
	uint64_t bit;  /* in its have mask */
	uint64_t scale;
};

#define KEY_FIELD(record, member, bit_, key_, scale_)                                            \
	{                                                                                        \
		.key = key_, .len = sizeof(key_) - 1, .offset = offsetof(struct record, member), \
		.bit = bit_, .scale = scale_,                                                    \
	}

/* Fields that several keys name are added up. Returns how many lines matched. */
size_t keys_parse(const char *text, char separator, const struct key_field *fields, size_t n,
		  void *record);
