#include "kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "scan.h"
#include "text.h"
#include "timefmt.h"

/* NTP slews up to 500 ppm; between two looks (a second) that is 0.5 ms. More is a step. */
#define KMSG_STEP_NS (10 * (int64_t)NS_PER_MS)

enum { KMSG_TRIES = 64 };

size_t kmsg_unescape(char *to, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		if (from[i] == '\\' && len - i >= 4 && from[i + 1] == 'x' &&
		    scan_hex_digit(from[i + 2]) >= 0 && scan_hex_digit(from[i + 3]) >= 0) {
			to[n++] = (char)(scan_hex_digit(from[i + 2]) << 4 |
					 scan_hex_digit(from[i + 3]));
			i += 4;
		} else {
			to[n++] = from[i++];
		}
	}
	return n;
}

/* The decimal at *at, which must end before `end`. */
static bool kmsg_take_number(const char **at, const char *end, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = *at;

	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');
		if (value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*at = p;
	*ret = value;
	return true;
}

/* "prio,seq,usec,flag[,key=value...]" up to the semicolon. */
static bool kmsg_parse_head(const char *p, const char *end, struct kmsg_record *ret,
			    const char **ret_caller, size_t *ret_caller_len)
{
	uint64_t prio, seq, usec;

	if (!kmsg_take_number(&p, end, 8191, &prio) || p == end || *p++ != ',' ||
	    !kmsg_take_number(&p, end, UINT64_MAX, &seq) || p == end || *p++ != ',' ||
	    !kmsg_take_number(&p, end, UINT64_MAX / 1000, &usec) || p == end || *p++ != ',' ||
	    p == end)
		return false;
	ret->facility = (unsigned)prio >> 3;
	ret->level = prio & 7;
	ret->seq = seq;
	ret->mono_ns = usec * 1000;
	ret->flag = *p;
	*ret_caller = NULL;
	while ((p = memchr(p, ',', (size_t)(end - p)))) {
		p++;
		if (end - p > 7 && memcmp(p, "caller=", 7) == 0) {
			const char *comma = memchr(p, ',', (size_t)(end - p));
			*ret_caller = p + 7;
			*ret_caller_len = (size_t)((comma ? comma : end) - p - 7);
		}
	}
	return true;
}

static void kmsg_parse_dictionary(const char *p, const char *end, char *to, struct kmsg_record *ret)
{
	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		if (!line_end)
			line_end = end;
		const char **slot = NULL;
		size_t skip = 0;
		if (line_end - p > 11 && memcmp(p, " SUBSYSTEM=", 11) == 0)
			slot = &ret->subsystem, skip = 11;
		else if (line_end - p > 8 && memcmp(p, " DEVICE=", 8) == 0)
			slot = &ret->device, skip = 8;
		if (slot && !*slot) {
			size_t n = kmsg_unescape(to, p + skip, (size_t)(line_end - p) - skip);
			to[n] = '\0';
			*slot = to;
			to += n + 1;
		}
		p = line_end + 1;
	}
}

int kmsg_parse(const char *bytes, size_t len, char *scratch, struct kmsg_record *ret,
	       struct err *err)
{
	struct kmsg_record rec = { 0 };
	const char *end = bytes + len, *caller;
	const char *semicolon = memchr(bytes, ';', MIN_OF(len, 128u));
	size_t caller_len = 0;

	if (!semicolon || !kmsg_parse_head(bytes, semicolon, &rec, &caller, &caller_len))
		return err_set(err, -EBADMSG, "kmsg: no record: '%.*s'", (int)MIN_OF(len, 60u),
			       bytes);
	const char *text = semicolon + 1;
	const char *text_end = memchr(text, '\n', (size_t)(end - text));
	if (!text_end)
		text_end = end;
	char *to = scratch;
	if (caller) { /* fits: the head is longer than its caller by more than a NUL */
		memcpy(to, caller, caller_len);
		to[caller_len] = '\0';
		rec.caller = to;
		to += caller_len + 1;
	}
	rec.len = kmsg_unescape(to, text, (size_t)(text_end - text));
	to[rec.len] = '\0';
	rec.text = to;
	if (text_end < end)
		kmsg_parse_dictionary(text_end + 1, end, to + rec.len + 1, &rec);
	*ret = rec;
	return 0;
}

void kmsg_clock_start(struct kmsg_clock *c, uint64_t real_ns, uint64_t mono_ns)
{
	*c = (struct kmsg_clock){
		.offset_ns = (int64_t)(real_ns - mono_ns),
		.real_minus_ns = (int64_t)(real_ns - mono_ns),
	};
}

bool kmsg_clock_check(struct kmsg_clock *c, uint64_t real_ns, uint64_t mono_ns)
{
	int64_t now = (int64_t)(real_ns - mono_ns), by = now - c->real_minus_ns;

	c->real_minus_ns = now;
	if (by <= KMSG_STEP_NS && by >= -KMSG_STEP_NS)
		return false;
	c->offset_ns += by;
	c->steps++;
	return true;
}

void kmsg_clock_learn(struct kmsg_clock *c, uint64_t real_ns, uint64_t record_ns)
{
	int64_t offset = (int64_t)(real_ns - record_ns);

	if (!c->learned || offset < c->offset_ns)
		c->offset_ns = offset;
	c->learned = true;
}

uint64_t kmsg_clock_real(const struct kmsg_clock *c, uint64_t record_ns)
{
	return record_ns + (uint64_t)c->offset_ns;
}

void kmsg_attach(struct kmsg_reader *r, int fd)
{
	r->fd = fd;
	r->caught_up = r->have_seq = false;
	r->next_seq = r->lost = r->overruns = r->bad = 0;
	r->raw_len = 0;
	kmsg_clock_start(&r->clock, clock_real_ns(), clock_mono_ns());
}

int kmsg_open(struct kmsg_reader *r, const struct root *root, bool from_start, struct err *err)
{
	r->fd = -1;
	if (!root->live)
		return err_set(err, -ENODEV, "/dev/kmsg: only the running host has one");
	/* a character device: root_open_file() takes regular files only, on purpose */
	AUTO_CLOSE int fd = openat(root->fd, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_path(err, -errno, "/dev/kmsg");
	if (!from_start && lseek(fd, 0, SEEK_END) < 0)
		return err_path(err, -errno, "/dev/kmsg");
	kmsg_attach(r, TAKE_FD(fd));
	r->caught_up = !from_start;
	return 0;
}

static void kmsg_count_gap(struct kmsg_reader *r, uint64_t seq)
{
	if (r->have_seq && seq > r->next_seq)
		r->lost += seq - r->next_seq;
	r->have_seq = true;
	r->next_seq = seq + 1;
}

int kmsg_next(struct kmsg_reader *r, struct kmsg_record *ret, struct err *err)
{
	for (unsigned tries = 0; tries < KMSG_TRIES; tries++) {
		ssize_t n = read(r->fd, r->raw, sizeof(r->raw));
		if (n < 0 && errno == EPIPE) { /* overwritten; the next read goes on after it */
			r->overruns++;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return err_path(err, -errno, "/dev/kmsg");
		if (n <= 0) {
			r->caught_up = true;
			return 0;
		}
		struct err bad;
		if (kmsg_parse(r->raw, (size_t)n, r->scratch, ret, &bad) < 0) {
			r->bad++;
			continue;
		}
		r->raw_len = (size_t)n;
		kmsg_count_gap(r, ret->seq);
		if (r->caught_up)
			kmsg_clock_learn(&r->clock, clock_real_ns(), ret->mono_ns);
		ret->real_ns = kmsg_clock_real(&r->clock, ret->mono_ns);
		return 1;
	}
	return 0; /* a flood overwrites faster than we read: let the caller breathe */
}

void kmsg_close(struct kmsg_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}
