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
	/* Something of [from, to) was not readable (0 = unknown bound); from = to: damage that cost
	 * nothing, because what it hit is there twice. */
	uint64_t from_ns, to_ns;
	char why[160]; /* "segment-...: byte 4711: checksum" */
};

struct store_losses {
	VEC(struct store_loss) list;
};

int store_reader_open(const char *dir, struct store_reader **ret, struct err *err);
void store_reader_close(struct store_reader *r);
/* First and one past the last second in the store; -ENODATA when it is empty. */
int store_reader_span(struct store_reader *r, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
		      struct err *err);
/* -ERANGE with the span in the text when nothing of [from, to) was recorded. */
int store_reader_check_window(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			      struct err *err);
/* From here on, store_reader_next gives frames of the kinds with from <= time < to, in time order.
 * Dictionaries and keys (FRAME_KEY, FRAME_STACKS, FRAME_META) of a touched segment come first,
 * whatever their time, when their kind is asked for. */
int store_reader_seek(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, uint32_t kinds,
		      struct err *err);
/* After a seek: of the profile's frames only those of one second in `every_s`, without a look into
 * the others. For windows that are too long to read every sample. */
void store_reader_thin(struct store_reader *r, unsigned every_s);
/* 1 = *ret is a frame, 0 = end of the window (more may come later in a live store), negative =
 * error. */
int store_reader_next(struct store_reader *r, struct frame *ret, struct err *err);
/* What was skipped since the seek. */
const struct store_losses *store_reader_losses(const struct store_reader *r);
/* For layers above that cannot use what the store gave them. */
void store_reader_add_loss(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			   const char *what);
/* The clock anchor at or before time_ns; -ENODATA when none. */
int store_reader_clock(struct store_reader *r, uint64_t time_ns, struct store_clock *ret,
		       struct err *err);

/* The footers of the segments that touch [from, to), in time order, without reading anything else.
 * A segment that has no footer (still being written, or cut off) is given with n_blobs = 0 and
 * sealed = false: read its frames instead. each() ends the walk by returning non-zero, which is
 * then the result. */
struct store_footer_blob {
	enum footer_kind kind;
	const void *bytes; /* valid during the call */
	size_t len;
};

struct store_footer {
	uint64_t segment;        /* as in struct frame */
	uint64_t from_ns, to_ns; /* to_ns = 0: unknown (not sealed) */
	bool sealed;
	const struct store_footer_blob *blobs;
	size_t n_blobs;
};

int store_reader_footers(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			 int (*each)(void *arg, const struct store_footer *footer), void *arg,
			 struct err *err);
const struct store_footer_blob *store_footer_blob(const struct store_footer *footer,
						  enum footer_kind kind); /* NULL = none */
