/* What the two halves of the reader share: the frames of a window one by one (store_reader.c), and
 * what names and indexes tell without them (store_reader_index.c). */
#pragma once

#include <time.h>
#include <zstd.h>

#include "segment_file.h"
#include "store_dir.h"
#include "store_reader.h"

struct store_reader {
	int dir_fd;
	char dir[256];
	struct store_segments segments;
	struct timespec listed; /* change time of the directory at the last listing */
	ZSTD_DCtx *zstd;
	struct buf payload;
	struct store_losses losses;

	uint64_t from_ns, to_ns; /* the window */
	uint32_t kinds;
	unsigned every_s;            /* profile frames of one second in so many; 0 = all */
	bool delivered, gaps_sought; /* anything in this window; its gap marker looked for */

	struct segment_file file;
	uint64_t next_start_ns; /* segments that begin before this are done */
	bool open;              /* file is the present segment */
	size_t next_dict;
	uint64_t dict_end; /* dictionaries up to this offset were given */
	uint64_t offset;   /* of the next frame */
	uint64_t frame;    /* offset of the last one */
	uint64_t good_ns;  /* time of the last intact frame of this segment, 0 = none yet */
};

/* The segments that there are now; listed again only when the directory has changed. */
int store_reader_list(struct store_reader *r, struct err *err);
