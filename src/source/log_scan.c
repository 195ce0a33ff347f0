#include "log_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "text.h"

enum {
	LOG_SCAN_SAMPLE = 256, /* lines looked at to tell the format */
	LOG_SCAN_CONTEXT = 40, /* lines behind a report whose stack matters */
};

void log_scan_init(struct log_scan *s, uint64_t now_ns)
{
	memset(s, 0, offsetof(struct log_scan, scratch));
	s->now_ns = now_ns;
}

static void log_scan_clock(struct log_scan *s, const struct log_line *line,
			   struct log_scan_line *ret)
{
	if (line->have_wall && line->have_mono) {
		int64_t offset = (int64_t)(line->wall_ns - line->mono_ns);
		if (!s->have_offset || offset < s->offset_ns)
			s->offset_ns = offset;
		s->have_offset = true;
		ret->clock = LOG_CLOCK_WALL;
		ret->time_ns = line->mono_ns + (uint64_t)s->offset_ns;
		ret->lag_ns = (uint64_t)(offset - s->offset_ns);
	} else if (line->have_wall) {
		ret->clock = LOG_CLOCK_WALL;
		ret->time_ns = line->wall_ns;
	} else if (line->have_mono) {
		ret->clock = s->have_offset ? LOG_CLOCK_WALL : LOG_CLOCK_BOOT;
		ret->time_ns = line->mono_ns + (s->have_offset ? (uint64_t)s->offset_ns : 0);
	} else if (s->have_relative && line->have_delta) {
		ret->clock = LOG_CLOCK_WALL;
		ret->time_ns = s->relative_ns;
	}
}

static void log_scan_sequence(struct log_scan *s, const struct log_line *line)
{
	if (line->have_seq) {
		if (s->have_seq && line->seq > s->next_seq)
			s->lost += line->seq - s->next_seq;
		s->have_seq = true;
		s->next_seq = line->seq + 1;
	}
	if (line->shapes & LOG_DMESG_RELATIVE) {
		if (line->have_wall)
			s->relative_ns = line->wall_ns;
		else
			s->relative_ns += line->delta_ns;
		s->have_relative |= line->have_wall;
	}
}

/* Reports whose following lines (stack, registers) say what it waited for. */
static bool log_scan_wants_context(const struct pattern *p)
{
	return p->role == PATTERN_HANG || p->role == PATTERN_HINT || p->role == PATTERN_TASK ||
	       (p->role == PATTERN_HEAD && strcmp(p->event, "hung-task") == 0);
}

static void log_scan_one(struct log_scan *s, struct pattern_set *patterns, const char *raw,
			 size_t raw_len, void (*each)(void *arg, const struct log_scan_line *line),
			 void *arg)
{
	struct log_line line;
	struct pattern_hit hit;
	size_t len = MIN_OF(raw_len, (size_t)PATTERN_LINE_MAX);

	log_line_parse(raw, len, s->now_ns, s->scratch, &line);
	s->looked_at++;
	s->shapes |= line.shapes;
	log_scan_sequence(s, &line);
	if (line.other) {
		s->foreign++;
		return;
	}
	struct log_scan_line out = { .line = &line, .raw = raw, .raw_len = raw_len };
	if (pattern_match(patterns, line.text, line.len, &hit)) {
		s->matched++;
		out.hit = &hit;
		if (log_scan_wants_context(hit.pattern))
			s->context_left = LOG_SCAN_CONTEXT;
	} else if (!s->context_left) {
		return;
	}
	s->context_left -= s->context_left > 0;
	log_scan_clock(s, &line, &out);
	each(arg, &out);
}

static size_t log_scan_line_end(const char *bytes, size_t len, size_t at)
{
	const char *newline = memchr(bytes + at, '\n', len - at);
	return newline ? (size_t)(newline - bytes) : len;
}

/* Look at the first lines: is there any format that must be read line by line? */
static void log_scan_sample(struct log_scan *s, const char *bytes, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; i < LOG_SCAN_SAMPLE && at < len; i++) {
		size_t end = log_scan_line_end(bytes, len, at);
		struct log_line line;
		log_line_parse(bytes + at, MIN_OF(end - at, (size_t)PATTERN_LINE_MAX), s->now_ns,
			       s->scratch, &line);
		if (!s->has_first_line) {
			text_copy_n(s->first_line, sizeof(s->first_line), bytes + at, end - at);
			s->has_first_line = true;
		}
		s->shapes |= line.shapes;
		s->every_line |= (line.shapes & LOG_NEEDS_EVERY_LINE) != 0;
		at = end + 1;
	}
}

void log_scan_block(struct log_scan *s, struct pattern_set *patterns, const char *bytes, size_t len,
		    void (*each)(void *arg, const struct log_scan_line *line), void *arg)
{
	size_t at = 0;

	if (!s->has_first_line || !s->shapes)
		log_scan_sample(s, bytes, len);
	while (at < len) {
		if (!s->every_line && !s->context_left) {
			size_t place = pattern_next(patterns, bytes, len, at);
			if (place >= len)
				return;
			const char *newline =
				place > at ? memrchr(bytes + at, '\n', place - at) : NULL;
			if (newline)
				at = (size_t)(newline - bytes) + 1;
		}
		size_t end = log_scan_line_end(bytes, len, at);
		log_scan_one(s, patterns, bytes + at, end - at, each, arg);
		at = end + 1;
	}
}

int log_scan_file(struct log_scan *s, struct pattern_set *patterns, struct log_file *file,
		  void (*each)(void *arg, const struct log_scan_line *line), void *arg,
		  struct err *err)
{
	const char *bytes;
	size_t len;
	int r;

	while ((r = log_file_next(file, &bytes, &len, err)) > 0)
		log_scan_block(s, patterns, bytes, len, each, arg);
	if (r < 0)
		return r;
	if (!s->has_first_line)
		return err_set(err, -ENODATA, "%s is empty", log_file_name(file));
	if (!(s->shapes & ~(unsigned)LOG_TAG) && !s->matched)
		return err_set(err, -EINVAL,
			       "could not recognize the format of %s: first line '%s'",
			       log_file_name(file), s->first_line);
	return 0;
}
