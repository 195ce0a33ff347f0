/* The profile of a window of a recording, and its heat map. */
#pragma once

#include "err.h"
#include "profile.h"
#include "profile_footer.h"
#include "store_reader.h"

/* Adds the samples of [from, to) to *out, which profile_init() made. Names are demangled. -ENODATA
 * when the recording has no profile in that window; an idle window is no error. */
int profile_read_window(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct profile *out, struct err *err);

/* The same for a window of any length: memory is bounded by what chunk() leaves. */
struct profile_read_options {
	unsigned every_s; /* read one second in so many; 0 and 1 = all of them */
	/* Called now and then and at the end: sums up or drops samples of *p, which is *out. Names
	 * are not demangled yet. */
	void (*chunk)(void *arg, struct profile *p);
	void *arg;
};
int profile_read_chunks(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			const struct profile_read_options *options, struct profile *out,
			struct err *err);
/* Heat-map rows and per-core accounts of [from, to): from footers alone where segments are sealed.
 * Seconds are in order, each once. Without `cores`, sealed segments give only their totals of lost
 * and missing ticks. */
int profile_read_heat(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, bool cores,
		      struct profile_footer *out, struct err *err);
/* C++ and Rust names of all frames, in place of the linker's. */
void profile_demangle(struct profile *p);
/* Only out->meta's host, kernel and wall_time. */
int profile_read_source(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct profile *out, struct err *err);
