/* The writing side of the flight recorder's disk: one writer per directory, 60 s segments,
 * append-only CRC'd frames. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"
#include "store_retain.h"

struct store_writer;

struct store_options {
	uint64_t max_bytes;  /* retention: oldest segments go first; 0 = no limit */
	uint64_t max_age_ns; /* 0 = no limit */
	uint64_t segment_ns; /* 0 = 60 s */
	uint64_t ring_bytes; /* kept in memory while the disk takes nothing; 0 = 8 MiB */
	uint64_t sync_ns;    /* fdatasync so often, off the tick path; 0 = 10 s */
};

struct store_clock {
	uint64_t real_ns, mono_ns, boot_ns;
	char boot_id[40]; /* zeroes behind its end */
};

/* What the caller adds to each segment; both may be NULL. begin: what makes the segment readable
 * alone (META, keys, dictionaries). end: just before it is sealed (footer blobs). Must not call
 * store_writer_tick. */
struct store_hooks {
	int (*begin)(void *arg, struct store_writer *w, struct err *err);
	int (*end)(void *arg, struct store_writer *w, struct err *err);
	void *arg;
};

/* Makes the directory (0700) when it is missing. -EWOULDBLOCK: another writer holds it. hooks may
 * be NULL. The first segment begins with the first store_writer_tick. */
int store_writer_open(const char *dir, const struct store_options *options,
		      const struct store_hooks *hooks, struct store_writer **ret, struct err *err);
/* Once a second: anchors the clocks, rotates the segment when due, applies retention. */
int store_writer_tick(struct store_writer *w, const struct store_clock *clock, struct err *err);
/* Write out what is pending. store_writer_tick does so for the second before; call it after the
 * tick's frames to lose less than a second to a kill. */
void store_writer_flush(struct store_writer *w);
/* What was appended matters: to the disk with the next flush, not when it is due. */
void store_writer_sync_soon(struct store_writer *w);
/* Append one frame. time_ns is what readers seek by: more than 2 s away from the present tick it is
 * replaced by the tick's time (the payload keeps its own times). A full or failing disk is no
 * error: the frame is kept in memory (bounded), the gap is marked, and writing resumes by itself;
 * store_writer_degraded() says so meanwhile. */
int store_writer_append(struct store_writer *w, enum frame_kind kind, unsigned version,
			uint64_t time_ns, const void *payload, size_t len, struct err *err);
/* The clocks of the last store_writer_tick; valid inside the hooks too. */
const struct store_clock *store_writer_clock(const struct store_writer *w);
/* Put bytes into the footer of the present segment, where readers find them without touching the
 * rest (store_reader_footer). One blob per kind and segment: a later one replaces it. */
int store_writer_footer_blob(struct store_writer *w, enum footer_kind kind, const void *bytes,
			     size_t len, struct err *err);
/* Where it writes, for parts that read back what others wrote. */
const char *store_writer_dir(const struct store_writer *w);
/* NULL = all is well, else what is wrong, in words. */
const char *store_writer_degraded(const struct store_writer *w);
uint64_t store_writer_lost_frames(const struct store_writer *w);
uint64_t store_writer_bytes(const struct store_writer *w); /* of the whole store */
/* What a full disk made it delete since it was opened. */
const struct store_dropped *store_writer_dropped(const struct store_writer *w);
/* Keep the segments that touch [from, to) whatever retention says. */
int store_writer_pin(struct store_writer *w, uint64_t from_ns, uint64_t to_ns, struct err *err);
/* What came of it all. */
struct store_end {
	uint64_t written_bytes;
	uint64_t unwritten_ns;   /* how much of the end never reached the disk */
	uint64_t dropped_frames; /* given up before that, while the disk took nothing */
	char why[160];           /* "" = all is well */
};
/* Seal the segment; nothing but store_writer_close may follow. */
void store_writer_finish(struct store_writer *w, struct store_end *ret);
void store_writer_close(struct store_writer *w); /* seals the segment; NULL is fine */
