/* Records and their field tables. A record is a plain struct that starts with `uint64_t have`: one
 * bit per field, because unknown is never 0. Its one const field table drives the codec, JSON,
 * metrics and columns.
 *
 * To add a record: a struct whose first member is `have`, the others eight bytes each in field
 * order, an enum of their bits, a rec_desc, and a kind below. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rec_type {
	REC_U64, /* uint64_t */
	REC_STR, /* const char *, owned by the tick's arena */
};

enum rec_quantity {
	REC_NONE,
	REC_TICKS, /* USER_HZ, 10 ms */
	REC_NS,
	REC_US,
	REC_BYTES,
	REC_PAGES,
	REC_COUNT,
	REC_PERCENT_X100, /* hundredths of a percent */
	REC_ID,
};

enum rec_flag {
	REC_KEY = 1,     /* identifies the row (cpu, pid, irq ...) from tick to tick */
	REC_COUNTER = 2, /* only grows, until a reset */
	REC_BALANCE = 4, /* the codec predicts it: deltas of a row's counters add up alike in all
			    rows (idle time) */
};

struct rec_field {
	const char *name; /* JSON key and column head */
	const char *help; /* one line for people and metrics */
	enum rec_type type;
	enum rec_quantity unit;
	unsigned flags;
	size_t offset;
};

/* Numbers are stored on disk: never reuse one. */
enum rec_kind {
	REC_CPU = 1,
	REC_CGROUPS = 2,
	REC_VMSTAT = 3,
	REC_MEMINFO = 4,
	REC_PRESSURE = 5,
	REC_LOAD = 6,
	REC_IRQ = 7,
	REC_SOFTIRQ = 8,
	REC_SOFTNET = 9,
	REC_TASK = 10,
	REC_QUOTA = 11,
	REC_NETDEV = 12,
	REC_NETQUEUE = 13,
	REC_SELF = 14,
	REC_KIND_END, /* one past the last */
};

struct rec_desc {
	enum rec_kind kind;
	const char *name;
	size_t size; /* of the struct */
	const struct rec_field *fields;
	size_t n_fields; /* at most 64: one have bit each, bit = index in the table */
};

#define REC_FIELD(record, member, type_, unit_, flags_, help_)                                 \
	{                                                                                      \
		.name = #member, .help = help_, .type = type_, .unit = unit_, .flags = flags_, \
		.offset = offsetof(struct record, member),                                     \
	}

/* The table of a kind; NULL when this version does not know it. */
const struct rec_desc *rec_desc(unsigned kind);

static inline uint64_t rec_have(const void *record)
{
	return *(const uint64_t *)record;
}
