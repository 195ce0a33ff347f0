/* The reading side: any number of readers, also while a writer appends. Damage is skipped, counted
 * and named; nothing that fails its checksum is ever returned. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"
#include "store_writer.h"
#include "vec.h"

struct store_reader;

struct store_loss {
	uint64_t from_ns, to_ns; /* nothing of [from, to) was readable (0 = unknown bound) */
	char why[160];           /* "segment-...: byte 4711: checksum" */
};

struct store_losses {
	VEC(struct store_loss) list;
};

int store_reader_open(const char *dir, struct store_reader **ret, struct err *err);
void store_reader_close(struct store_reader *r);
/* First and one past the last second in the store; -ENODATA when it is empty. */
int store_reader_span(struct store_reader *r, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
		      struct err *err);
/* From here on, store_reader_next gives frames of the kinds with from <= time < to, in time order.
 * Dictionaries and keys (FRAME_KEY, FRAME_STACKS, FRAME_META) of a touched segment come first,
 * whatever their time, when their kind is asked for. */
int store_reader_seek(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, uint32_t kinds,
		      struct err *err);
/* 1 = *ret is a frame, 0 = end of the window (more may come later in a live store), negative =
 * error. */
int store_reader_next(struct store_reader *r, struct frame *ret, struct err *err);
/* What was skipped since the seek. */
const struct store_losses *store_reader_losses(const struct store_reader *r);
/* The clock anchor at or before time_ns; -ENODATA when none. */
int store_reader_clock(struct store_reader *r, uint64_t time_ns, struct store_clock *ret,
		       struct err *err);
