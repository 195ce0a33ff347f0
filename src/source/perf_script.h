/* The text of `perf script`, in all the shapes that perf versions, options and other tools
 * (simpleperf, hand-cut files) give it. Pure: fed with bytes, calls back per sample. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "vec.h"

enum {
	PERF_SCRIPT_LINE_MAX = 64 << 10, /* longer lines are cut, and counted */
	PERF_SCRIPT_FRAMES_MAX = 1024,   /* deeper stacks lose their callers */
};

enum perf_script_have {
	PERF_SCRIPT_TIME = 1,
	PERF_SCRIPT_CPU = 2,
	PERF_SCRIPT_PID = 4,
	PERF_SCRIPT_TID = 8,
	PERF_SCRIPT_PERIOD = 16,
};

struct perf_script_text {
	const char *at;
	size_t len;
};

struct perf_script_frame {
	uint64_t address;
	struct perf_script_text symbol; /* without +0xOFFSET; len 0 = "[unknown]" or not printed */
	uint64_t offset;                /* behind the symbol's start */
	struct perf_script_text module; /* len 0 = "[unknown]" or not printed */
	bool inlined;                   /* perf says "(inlined)" in place of the module */
};

struct perf_script_sample {
	struct perf_script_text comm, event; /* event: without its colon; len 0 = not printed */
	unsigned have;
	uint64_t time_ns; /* on the recording's own clock */
	uint64_t period;
	uint32_t cpu, pid, tid;
	const struct perf_script_frame *frames; /* leaf first */
	size_t n_frames;
};

struct perf_script_ops {
	/* Texts live until it returns. Non-zero ends the reading and is passed on. */
	int (*sample)(void *arg, const struct perf_script_sample *sample, struct err *err);
	/* A line "# key : value" of --header; may be NULL. */
	void (*header)(void *arg, struct perf_script_text key, struct perf_script_text value);
};

struct perf_script {
	const struct perf_script_ops *ops;
	void *arg;
	uint64_t n_samples, n_lines;
	uint64_t n_strange; /* lines that are neither header, frame, comment nor source line */
	uint64_t n_cut;     /* lines over PERF_SCRIPT_LINE_MAX */
	bool open_end;      /* the last sample was left out */

	/* private */
	struct buf line; /* the start of a line whose end has not come yet */
	bool line_over;
	struct buf loose; /* the line before, when it may be a header with few fields */
	struct buf text;  /* of the sample that is being read */
	struct perf_script_sample sample;
	bool in_sample, one_line;
	size_t comm_at, event_at;
	VEC(struct perf_script_frame) frames; /* texts as offsets into text until the end */
};

void perf_script_init(struct perf_script *s, const struct perf_script_ops *ops, void *arg);
int perf_script_feed(struct perf_script *s, const char *bytes, size_t len, struct err *err);
/* The last line may lack its newline. A last stack that no blank line closes may have lost its
 * callers (a cut file): like FlameGraph's script, this leaves it out, and says so in `open_end`;
 * alone in its file it is kept. -EBADMSG when nothing in the text was a sample. */
int perf_script_end(struct perf_script *s, struct err *err);
void perf_script_free(struct perf_script *s);

/* One header line, also of one that carries its only frame; false = it is none. For tests. */
bool perf_script_parse_header(const char *line, size_t len, struct perf_script_sample *ret,
			      struct perf_script_text *ret_rest);
/* One frame line; false = it is none. */
bool perf_script_parse_frame(const char *line, size_t len, struct perf_script_frame *ret);

#define AUTO_PERF_SCRIPT __attribute__((cleanup(perf_script_free)))
