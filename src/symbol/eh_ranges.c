#include "eh_ranges.h"

#include <string.h>

enum {
	EH_VERSION = 1,
	EH_UDATA4 = 0x03,
	EH_DATAREL_SDATA4 = 0x3b,
	EH_HEADER_BYTES = 12, /* version, three encodings, pointer, count */
	EH_MAX = 4 << 20,
};

static int32_t get_i32(const uint8_t *bytes)
{
	int32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* length, CIE, pc_begin, pc_range: the size of the function that the entry is about; 0 when the
 * entry does not begin where the table says. */
static uint32_t entry_size(const uint8_t *frame, size_t len, uint64_t frame_address,
			   uint64_t entry_address, uint64_t start)
{
	uint64_t at = entry_address - frame_address;

	if (entry_address < frame_address || at > len || len - at < 16)
		return 0;
	uint64_t pc_begin = entry_address + 8 + (uint64_t)(int64_t)get_i32(frame + at + 8);
	uint32_t size;
	memcpy(&size, frame + at + 12, sizeof(size));
	return pc_begin == start ? size : 0;
}

size_t eh_ranges_parse(const void *header, size_t header_len, uint64_t header_address,
		       const void *frame, size_t frame_len, uint64_t frame_address,
		       struct eh_ranges *ret)
{
	const uint8_t *h = header;
	uint32_t count;
	uint64_t last = 0;

	if (header_len < EH_HEADER_BYTES || h[0] != EH_VERSION || h[2] != EH_UDATA4 ||
	    h[3] != EH_DATAREL_SDATA4)
		return 0;
	memcpy(&count, h + 8, sizeof(count));
	if (count > EH_MAX || count > (header_len - EH_HEADER_BYTES) / 8)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *row = h + EH_HEADER_BYTES + (size_t)i * 8;
		uint64_t start = header_address + (uint64_t)(int64_t)get_i32(row);
		uint64_t entry = header_address + (uint64_t)(int64_t)get_i32(row + 4);
		uint32_t size = entry_size(frame, frame_len, frame_address, entry, start);
		/* a table that is not sorted cannot be searched */
		if (!size || start < last)
			continue;
		if (!vec_push(&ret->list, (struct eh_range){ start, size }))
			break;
		last = start;
	}
	return ret->list.len;
}

bool eh_ranges_find(const struct eh_ranges *r, uint64_t address, uint64_t *ret_start)
{
	size_t low = 0, high = r->list.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->list.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - r->list.items[low - 1].start >= r->list.items[low - 1].size)
		return false;
	*ret_start = r->list.items[low - 1].start;
	return true;
}

void eh_ranges_free(struct eh_ranges *r)
{
	vec_free(&r->list);
}
