/* A store in a temporary directory, with a clock that the test moves. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fake_root.h"
#include "store_reader.h"
#include "store_writer.h"
#include "timefmt.h"

#define T0 UINT64_C(1700000000000000000)

struct fixture {
	struct fake_root fake;
	char dir[96];
	struct store_writer *w;
	struct store_clock clock;
};

static inline struct fixture fixture_new(void)
{
	struct fixture f = { .fake = fake_root_new() };
	snprintf(f.dir, sizeof(f.dir), "%s/store", f.fake.dir);
	f.clock = (struct store_clock){ .real_ns = T0,
					.mono_ns = 5 * NS_PER_S,
					.boot_ns = 6 * NS_PER_S,
					.boot_id = "0b2b7ab4-cd83-4f8b-b8c5-07d9a1c3f3a1" };
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	store_writer_close(f->w);
	fake_root_free(&f->fake);
}

#define AUTO_FIXTURE __attribute__((cleanup(fixture_free)))

static inline void fixture_open(struct fixture *f, const struct store_options *options)
{
	struct err err = { 0 };
	int r = store_writer_open(f->dir, options, NULL, &f->w, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(r, 0);
}

static inline void fixture_close(struct fixture *f)
{
	store_writer_close(f->w);
	f->w = NULL;
}

static inline void fixture_pass(struct fixture *f, uint64_t ns)
{
	f->clock.real_ns += ns;
	f->clock.mono_ns += ns;
	f->clock.boot_ns += ns;
}

/* One second with one frame whose text says which it is. */
static inline void fixture_second(struct fixture *f)
{
	char text[200];
	struct err err;

	CHECK_EQ(store_writer_tick(f->w, &f->clock, &err), 0);
	int n = snprintf(text, sizeof(text), "second %" PRIu64 " %080d",
			 (f->clock.real_ns - T0) / NS_PER_S, 0);
	CHECK_EQ(store_writer_append(f->w, FRAME_EVENT, 1, f->clock.real_ns, text, (size_t)n, &err),
		 0);
	store_writer_flush(f->w);
	fixture_pass(f, NS_PER_S);
}

/* What the text of a frame says, -1 when it is no such frame: then it is false data. */
static inline long fixture_second_of(const struct frame *frame)
{
	char text[200];
	unsigned long n;

	if (frame->len >= sizeof(text))
		return -1;
	memcpy(text, frame->payload, frame->len);
	text[frame->len] = '\0';
	if (sscanf(text, "second %lu ", &n) != 1 || frame->time_ns != T0 + n * NS_PER_S)
		return -1;
	char again[200];
	snprintf(again, sizeof(again), "second %lu %080d", n, 0);
	return strcmp(again, text) == 0 ? (long)n : -1;
}
