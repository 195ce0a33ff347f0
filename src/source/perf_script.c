#include "perf_script.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "scan.h"

/* --- tokens --- */

enum {
	TOKENS_MAX = 48,  /* looked at in one header line; what follows is the event's own text */
	COMM_LEN = 15,    /* TASK_COMM_LEN without its NUL */
	BETWEEN_MAX = 5,  /* between tid and time: cpu, misc letters, date, time of day */
	MISC_LETTERS = 5, /* `-F +misc` pads to this */
	LOOSE_MAX = 256,  /* of a header with few fields */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t tokenize(const char *line, size_t len, struct perf_script_text ret[TOKENS_MAX])
{
	size_t n = 0, at = 0;

	while (n < TOKENS_MAX) {
		while (at < len && is_blank(line[at]))
			at++;
		if (at == len)
			break;
		size_t start = at;
		while (at < len && !is_blank(line[at]))
			at++;
		ret[n++] = (struct perf_script_text){ line + start, at - start };
	}
	return n;
}

/* All digits, no overflow. */
static bool take_number(const char *at, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	if (len == 0 || len > 20)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(at[i]) || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(at[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

/* "5791/5860", "5860"; idle tasks of guests show -1. */
static bool take_ids(struct perf_script_text t, struct perf_script_sample *ret)
{
	uint64_t pid = 0, tid;
	const char *slash = memchr(t.at, '/', t.len);
	const char *tid_at = slash ? slash + 1 : t.at;
	size_t tid_len = t.len - (size_t)(tid_at - t.at);

	if (tid_len == 2 && memcmp(tid_at, "-1", 2) == 0)
		tid = UINT32_MAX;
	else if (!take_number(tid_at, tid_len, &tid))
		return false;
	if (slash) {
		size_t pid_len = (size_t)(slash - t.at);
		if (pid_len == 2 && memcmp(t.at, "-1", 2) == 0)
			pid = UINT32_MAX;
		else if (!take_number(t.at, pid_len, &pid))
			return false;
	}
	if (tid > UINT32_MAX || pid > UINT32_MAX)
		return false;
	ret->tid = (uint32_t)tid;
	ret->pid = (uint32_t)pid;
	ret->have |= PERF_SCRIPT_TID | (slash ? PERF_SCRIPT_PID : 0);
	return true;
}

/* "[003]" */
static bool take_cpu(struct perf_script_text t, struct perf_script_sample *ret)
{
	uint64_t cpu;

	if (t.len < 3 || t.at[0] != '[' || t.at[t.len - 1] != ']' ||
	    !take_number(t.at + 1, t.len - 2, &cpu) || cpu > UINT32_MAX)
		return false;
	ret->cpu = (uint32_t)cpu;
	ret->have |= PERF_SCRIPT_CPU;
	return true;
}

/* "666709.771979:" or with --ns "666709.771979123:" */
static bool take_time(struct perf_script_text t, struct perf_script_sample *ret)
{
	uint64_t s, fraction;
	const char *dot = memchr(t.at, '.', t.len);

	if (!dot || t.at[t.len - 1] != ':')
		return false;
	size_t digits = t.len - (size_t)(dot - t.at) - 2;
	if (digits == 0 || digits > 9 || !take_number(t.at, (size_t)(dot - t.at), &s) ||
	    !take_number(dot + 1, digits, &fraction))
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	if (__builtin_mul_overflow(s, UINT64_C(1000000000), &s) ||
	    __builtin_add_overflow(s, fraction, &s))
		return false;
	ret->time_ns = s;
	ret->have |= PERF_SCRIPT_TIME;
	return true;
}

/* Between tid and time: cpu, misc letters ("K", "Ds"), date and time of day (+tod). */
static bool take_between(struct perf_script_text t, struct perf_script_sample *ret)
{
	bool letters = t.len <= MISC_LETTERS, clock = true;

	if (take_cpu(t, ret))
		return true;
	for (size_t i = 0; i < t.len; i++) {
		char c = t.at[i];
		letters &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		clock &= is_digit(c) || c == ':' || c == '-' || c == '.';
	}
	return letters || (clock && t.at[t.len - 1] != ':' && t.len >= 8 &&
			   (memchr(t.at, ':', t.len) || memchr(t.at, '-', t.len)));
}

/* --- header lines --- */

/* tokens[i] is the tid: do cpu and time follow? *ret_next = the token behind the time. */
static bool header_anchor(const struct perf_script_text *tokens, size_t n, size_t i,
			  struct perf_script_sample *ret, size_t *ret_next)
{
	struct perf_script_sample s = { 0 };

	if (!take_ids(tokens[i], &s))
		return false;
	for (size_t k = i + 1; k < n && k <= i + 1 + BETWEEN_MAX; k++) {
		if (take_time(tokens[k], &s)) {
			*ret = s;
			*ret_next = k + 1;
			return true;
		}
		if (!take_between(tokens[k], &s))
			return false;
	}
	return false;
}

/* A comm may itself look like "x 1 2.0:". It has at most 15 bytes, so the last anchor that such a
 * comm leaves room for is the true one; failing that, the first at all. */
static bool header_with_time(const struct perf_script_text *tokens, size_t n,
			     struct perf_script_sample *ret, size_t *ret_tid, size_t *ret_next)
{
	bool found = false;

	for (size_t i = 1; i < n; i++) {
		struct perf_script_sample s;
		size_t next;
		size_t comm = (size_t)(tokens[i - 1].at + tokens[i - 1].len - tokens[0].at);
		if (found && comm > COMM_LEN)
			break;
		if (!header_anchor(tokens, n, i, &s, &next))
			continue;
		*ret = s;
		*ret_tid = i;
		*ret_next = next;
		found = true;
	}
	return found;
}

/* "java 19983 cycles:", "comm 12/13 [000] 1 cycles:": numbers right before the event. */
static bool header_without_time(const struct perf_script_text *tokens, size_t n,
				struct perf_script_sample *ret, size_t *ret_tid, size_t *ret_next)
{
	for (size_t e = 2; e < n; e++) {
		struct perf_script_sample s = { 0 };
		uint64_t number;
		if (tokens[e].at[tokens[e].len - 1] != ':' || tokens[e].len < 2)
			continue;
		size_t tid = e - 1;
		if (tid >= 2 && take_number(tokens[tid].at, tokens[tid].len, &number) &&
		    (take_cpu(tokens[tid - 1], &s) || take_ids(tokens[tid - 1], &s)))
			tid--; /* it was the period */
		s = (struct perf_script_sample){ 0 };
		if (tid >= 2 && take_cpu(tokens[tid], &s))
			tid--;
		if (tid < 1 || !take_ids(tokens[tid], &s))
			continue;
		*ret = s;
		*ret_tid = tid;
		*ret_next = tid + (s.have & PERF_SCRIPT_CPU ? 2 : 1);
		return true;
	}
	return false;
}

bool perf_script_parse_header(const char *line, size_t len, struct perf_script_sample *ret,
			      struct perf_script_text *ret_rest)
{
	struct perf_script_text tokens[TOKENS_MAX];
	struct perf_script_sample s = { 0 };
	size_t n = tokenize(line, len, tokens), tid = 1, next = n;

	if (n < 2 || !(header_with_time(tokens, n, &s, &tid, &next) ||
		       header_without_time(tokens, n, &s, &tid, &next)))
		return false;
	s.comm.at = tokens[0].at;
	s.comm.len = (size_t)(tokens[tid - 1].at + tokens[tid - 1].len - tokens[0].at);
	if (next < n && take_number(tokens[next].at, tokens[next].len, &s.period)) {
		s.have |= PERF_SCRIPT_PERIOD;
		next++;
	}
	if (next < n && tokens[next].len > 1 && tokens[next].at[tokens[next].len - 1] == ':') {
		s.event = (struct perf_script_text){ tokens[next].at, tokens[next].len - 1 };
		next++;
	}
	const char *end = line + len;
	*ret_rest = next < n ? (struct perf_script_text){ tokens[next].at,
							  (size_t)(end - tokens[next].at) }
			     : (struct perf_script_text){ end, 0 };
	*ret = s;
	return true;
}

/* What `perf script -F` leaves of a header when fields are not asked for: any of "comm", "tid",
 * "[cpu]", "time:", "period", "event:", in this order. Everything is one, so that only the frame
 * that follows makes it a header. */
static void header_loose(const char *line, size_t len, struct perf_script_sample *ret)
{
	struct perf_script_text tokens[TOKENS_MAX];
	struct perf_script_sample s = { 0 }, time = { 0 };
	size_t k = tokenize(line, len, tokens);

	if (k && tokens[k - 1].len > 1 && tokens[k - 1].at[tokens[k - 1].len - 1] == ':' &&
	    !take_time(tokens[k - 1], &time)) {
		k--;
		s.event = (struct perf_script_text){ tokens[k].at, tokens[k].len - 1 };
		if (k > 1 && take_number(tokens[k - 1].at, tokens[k - 1].len, &s.period)) {
			s.have |= PERF_SCRIPT_PERIOD;
			k--;
		}
	}
	if (k && take_time(tokens[k - 1], &s))
		k--;
	if (k && take_cpu(tokens[k - 1], &s))
		k--;
	if (k && take_ids(tokens[k - 1], &s))
		k--;
	if (k)
		s.comm = (struct perf_script_text){
			tokens[0].at, (size_t)(tokens[k - 1].at + tokens[k - 1].len - tokens[0].at)
		};
	*ret = s;
}

/* --- frame lines --- */

static bool text_is(struct perf_script_text t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* "sym+0x1f" → "sym", 0x1f */
static void frame_take_offset(struct perf_script_frame *f)
{
	size_t at = f->symbol.len;
	uint64_t offset = 0;

	while (at > 0 && scan_hex_digit(f->symbol.at[at - 1]) >= 0)
		at--;
	if (at < 3 || at == f->symbol.len || memcmp(f->symbol.at + at - 3, "+0x", 3) != 0)
		return;
	for (size_t i = at; i < f->symbol.len; i++)
		offset = offset << 4 | (unsigned)scan_hex_digit(f->symbol.at[i]);
	f->offset = offset;
	f->symbol.len = at - 3;
}

/* Start of the last " (": a module's name may itself end in " (deleted)". */
static const char *frame_module_at(const char *at, const char *end)
{
	static const char deleted[] = " (deleted))";
	size_t skip = sizeof(deleted) - 1;

	if ((size_t)(end - at) > skip && memcmp(end - skip, deleted, skip) == 0)
		end -= skip;
	for (const char *p = end - 1; p > at; p--)
		if (p[0] == '(' && p[-1] == ' ')
			return p;
	return at < end && *at == '(' ? at : NULL;
}

static const char *take_address(const char *at, const char *end, uint64_t *ret)
{
	const char *start = at;
	uint64_t v = 0;

	if (end - at > 2 && at[0] == '0' && at[1] == 'x')
		start = at += 2;
	for (; at < end && scan_hex_digit(*at) >= 0; at++)
		v = v << 4 | (unsigned)scan_hex_digit(*at);
	if (at == start || at - start > 16 || (at < end && !is_blank(*at)))
		return NULL;
	*ret = v;
	return at;
}

bool perf_script_parse_frame(const char *line, size_t len, struct perf_script_frame *ret)
{
	struct perf_script_frame f = { 0 };
	const char *at = line, *end = line + len;

	while (at < end && is_blank(*at))
		at++;
	while (end > at && is_blank(end[-1]))
		end--;
	at = at < end ? take_address(at, end, &f.address) : NULL;
	if (!at)
		return false;
	const char *behind = at;
	while (at < end && is_blank(*at))
		at++;
	const char *module = at < end && end[-1] == ')' ? frame_module_at(at, end) : NULL;
	if (!module) {
		/* without -F dso only an indented line is a frame */
		if (at == end || !is_blank(line[0]))
			return false;
		f.symbol = (struct perf_script_text){ at, (size_t)(end - at) };
	} else {
		f.module = (struct perf_script_text){ module + 1, (size_t)(end - module) - 2 };
		while (module > at && is_blank(module[-1]))
			module--;
		f.symbol = (struct perf_script_text){ at, (size_t)(module - at) };
		/* a symbol that has no letters: perf prints its blanks, and so does FlameGraph */
		if (module == at && at - behind >= 2)
			f.symbol = (struct perf_script_text){ at - 1, 1 };
	}
	frame_take_offset(&f);
	f.inlined = text_is(f.module, "inlined");
	if (text_is(f.symbol, "[unknown]"))
		f.symbol.len = 0;
	if (text_is(f.module, "[unknown]"))
		f.module.len = 0;
	*ret = f;
	return true;
}

/* --- lines → samples --- */

void perf_script_init(struct perf_script *s, const struct perf_script_ops *ops, void *arg)
{
	*s = (struct perf_script){ .ops = ops, .arg = arg };
}

void perf_script_free(struct perf_script *s)
{
	buf_free(&s->line);
	buf_free(&s->text);
	buf_free(&s->loose);
	vec_free(&s->frames);
}

/* Copy a text; what is returned has the offset in place of the address. */
static struct perf_script_text script_keep(struct perf_script *s, struct perf_script_text t)
{
	struct perf_script_text kept = { (const char *)(uintptr_t)s->text.len, t.len };
	buf_add(&s->text, t.at, t.len);
	return kept;
}

static void script_point(const struct perf_script *s, struct perf_script_text *t)
{
	t->at = buf_str(&s->text) + (t->len ? (uintptr_t)t->at : 0);
}

static int script_give(struct perf_script *s, struct err *err)
{
	if (!s->in_sample)
		return 0;
	s->in_sample = false;
	if (s->text.failed)
		return err_set(err, -ENOMEM, "out of memory");
	script_point(s, &s->sample.comm);
	script_point(s, &s->sample.event);
	for (size_t i = 0; i < s->frames.len; i++) {
		struct perf_script_frame *f = &s->frames.items[i];
		script_point(s, &f->symbol);
		script_point(s, &f->module);
	}
	s->sample.frames = s->frames.items;
	s->sample.n_frames = s->frames.len;
	s->n_samples++;
	return s->ops->sample(s->arg, &s->sample, err);
}

static int script_add_frame(struct perf_script *s, const struct perf_script_frame *frame,
			    struct err *err)
{
	struct perf_script_frame f = *frame;

	/* "(comm)" in place of a symbol: old perf printed the process here */
	if (f.symbol.len && f.symbol.at[0] == '(')
		return 0;
	if (s->frames.len >= PERF_SCRIPT_FRAMES_MAX)
		return 0;
	f.symbol = script_keep(s, f.symbol);
	f.module = script_keep(s, f.module);
	return vec_push(&s->frames, f) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int script_begin(struct perf_script *s, const struct perf_script_sample *sample,
			struct perf_script_text rest, struct err *err)
{
	struct perf_script_frame frame;
	int r = script_give(s, err);
	if (r)
		return r;
	buf_clear(&s->text);
	s->frames.len = 0;
	s->sample = *sample;
	s->sample.comm = script_keep(s, sample->comm);
	s->sample.event = script_keep(s, sample->event);
	s->in_sample = true;
	/* with its "(module)": a tracepoint's own text may begin with a number */
	s->one_line = rest.len && perf_script_parse_frame(rest.at, rest.len, &frame) &&
		      rest.at[rest.len - 1] == ')';
	return s->one_line ? script_add_frame(s, &frame, err) : 0;
}

static void script_comment(struct perf_script *s, const char *line, size_t len)
{
	const char *end = line + len, *at = line;
	struct perf_script_text key, value;

	while (at < end && (*at == '#' || is_blank(*at)))
		at++;
	const char *colon = memchr(at, ':', (size_t)(end - at));
	if (!s->ops->header || !colon)
		return;
	key = (struct perf_script_text){ at, (size_t)(colon - at) };
	while (key.len && is_blank(key.at[key.len - 1]))
		key.len--;
	for (colon++; colon < end && is_blank(*colon); colon++)
		;
	value = (struct perf_script_text){ colon, (size_t)(end - colon) };
	s->ops->header(s->arg, key, value);
}

/* The first frame under a line that may have been a header with few fields. */
static int script_begin_loose(struct perf_script *s, const struct perf_script_frame *frame,
			      struct err *err)
{
	struct perf_script_sample sample;

	header_loose(s->loose.data, s->loose.len, &sample);
	s->n_strange--;
	int r = script_begin(s, &sample, (struct perf_script_text){ "", 0 }, err);
	buf_clear(&s->loose);
	return r ? r : script_add_frame(s, frame, err);
}

/* Outside of a sample, and no header with time or event. */
static int script_strange(struct perf_script *s, const char *line, size_t len, struct err *err)
{
	struct perf_script_frame frame;

	bool is_frame = is_blank(line[0]) && perf_script_parse_frame(line, len, &frame);
	if (s->loose.len && is_frame)
		return script_begin_loose(s, &frame, err);
	s->n_strange++;
	buf_clear(&s->loose);
	if (!is_frame || line[0] != '\t') /* "  12  9.5: cycles:" could be either */
		buf_add(&s->loose, line, MIN_OF(len, (size_t)LOOSE_MAX));
	return s->loose.failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int script_line(struct perf_script *s, const char *line, size_t len, struct err *err)
{
	struct perf_script_sample sample;
	struct perf_script_text rest;
	struct perf_script_frame frame;

	s->n_lines++;
	while (len && is_blank(line[len - 1]))
		len--;
	if (len == 0) {
		buf_clear(&s->loose);
		return script_give(s, err);
	}
	if (line[0] == '#') {
		script_comment(s, line, len);
		return 0;
	}
	/* In a sample a line is a frame if it can be one; outside it must be a header. A one-line
	 * sample is complete: what follows is the next header. */
	bool frame_first = s->in_sample && !s->one_line;
	if (frame_first && perf_script_parse_frame(line, len, &frame))
		return script_add_frame(s, &frame, err);
	if (perf_script_parse_header(line, len, &sample, &rest))
		return script_begin(s, &sample, rest, err);
	if (s->in_sample && perf_script_parse_frame(line, len, &frame)) {
		if (s->one_line)
			s->frames.len = 0; /* the header showed the address, here is the stack */
		s->one_line = false;
		return script_add_frame(s, &frame, err);
	}
	if (!s->in_sample)
		return script_strange(s, line, len, err);
	/* source lines (-F +srcline) are indented and follow a frame */
	if (!is_blank(line[0]))
		s->n_strange++;
	return 0;
}

int perf_script_feed(struct perf_script *s, const char *bytes, size_t len, struct err *err)
{
	const char *end = bytes + len;

	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t n = (size_t)((newline ? newline : end) - bytes);
		size_t room =
			s->line.len < PERF_SCRIPT_LINE_MAX ? PERF_SCRIPT_LINE_MAX - s->line.len : 0;
		int r = 0;
		if (n > room) {
			s->n_cut += !s->line_over;
			s->line_over = true;
		}
		if (newline && s->line.len == 0) {
			r = script_line(s, bytes, MIN_OF(n, room), err);
		} else {
			buf_add(&s->line, bytes, MIN_OF(n, room));
			if (s->line.failed)
				return err_set(err, -ENOMEM, "out of memory");
			if (newline)
				r = script_line(s, s->line.data, s->line.len, err);
		}
		if (newline) {
			buf_clear(&s->line);
			s->line_over = false;
		}
		if (r)
			return r;
		bytes += n + (newline != NULL);
	}
	return 0;
}

int perf_script_end(struct perf_script *s, struct err *err)
{
	int r = s->line.len ? script_line(s, s->line.data, s->line.len, err) : 0;

	if (s->in_sample && !s->one_line && s->n_samples) {
		s->in_sample = false;
		s->open_end = true;
	}
	if (!r)
		r = script_give(s, err);
	if (!r && s->n_samples == 0)
		r = err_set(err, -EBADMSG,
			    "no perf script text: no sample in %llu lines (of -F it needs one of "
			    "comm, tid, cpu, time or event beside ip and sym)",
			    (unsigned long long)s->n_lines);
	return r;
}
