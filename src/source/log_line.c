#include "log_line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "auto.h"
#include "buf.h"
#include "kmsg.h"
#include "text.h"
#include "timefmt.h"

enum { LOG_MOST_PREFIXES = 6 };

/* What is left of the line while prefixes are taken off its front. */
struct log_cursor {
	const char *p, *end;
	uint64_t now_ns;
};

static size_t log_left(const struct log_cursor *c)
{
	return (size_t)(c->end - c->p);
}

static bool log_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly `digits` digits, blanks count as leading zeros. */
static bool log_number(const char *p, unsigned digits, unsigned *ret)
{
	unsigned value = 0;
	bool any = false;

	for (unsigned i = 0; i < digits; i++) {
		if (p[i] == ' ' && !any)
			continue;
		if (!log_digit(p[i]))
			return false;
		any = true;
		value = value * 10 + (unsigned)(p[i] - '0');
	}
	*ret = value;
	return any;
}

static bool log_month(const char *p, unsigned *ret)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (unsigned i = 0; i < 12; i++) {
		if (memcmp(p, names + 3 * (size_t)i, 3) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool log_clock(const char *p, struct tm *tm)
{
	unsigned h, m, s;

	if (p[2] != ':' || p[5] != ':' || !log_number(p, 2, &h) || !log_number(p + 3, 2, &m) ||
	    !log_number(p + 6, 2, &s) || h > 23 || m > 59 || s > 60)
		return false;
	tm->tm_hour = (int)h;
	tm->tm_min = (int)m;
	tm->tm_sec = (int)s;
	return true;
}

static bool log_set_wall(struct log_line *ret, struct tm *tm)
{
	time_t at = mktime(tm);

	if (at < 0)
		return false;
	ret->wall_ns = (uint64_t)at * NS_PER_S;
	ret->have_wall = true;
	return true;
}

/* "Jul 14 10:10:21": the latest such day that is not in the future. */
static bool log_take_syslog_time(struct log_cursor *c, struct log_line *ret)
{
	struct tm tm = { .tm_isdst = -1 }, now;
	unsigned month, day;
	time_t now_s = (time_t)(c->now_ns / NS_PER_S);
	const char *p = c->p;

	if (log_left(c) < 16 || !log_month(p, &month) || p[3] != ' ' ||
	    !log_number(p + 4, 2, &day) || p[6] != ' ' || !log_clock(p + 7, &tm) || day < 1 ||
	    day > 31)
		return false;
	localtime_r(&now_s, &now);
	tm.tm_year = now.tm_year;
	tm.tm_mon = (int)month;
	tm.tm_mday = (int)day;
	struct tm copy = tm;
	if (!log_set_wall(ret, &copy))
		return false;
	if (ret->wall_ns > c->now_ns + 86400 * NS_PER_S) {
		tm.tm_year--;
		log_set_wall(ret, &tm);
	}
	c->p += 15;
	if (log_left(c) > 1 && *c->p == '.')
		for (c->p++; log_left(c) && log_digit(*c->p); c->p++)
			;
	ret->shapes |= LOG_SYSLOG;
	return true;
}

/* An RFC 3339 time, fraction divided by a dot or a comma. */
static bool log_take_iso_time(struct log_cursor *c, struct log_line *ret)
{
	char text[48];
	const char *blank = memchr(c->p, ' ', MIN_OF(log_left(c), sizeof(text)));

	if (!blank || blank - c->p < 19 || !log_digit(c->p[0]) || c->p[4] != '-' || c->p[10] != 'T')
		return false;
	text_copy_n(text, sizeof(text), c->p, (size_t)(blank - c->p));
	if (timefmt_parse(text, c->now_ns, &ret->wall_ns, NULL) < 0)
		return false;
	ret->have_wall = true;
	ret->shapes |= LOG_ISO;
	c->p = blank;
	return true;
}

/* One of the names, ended by a character of `stop`; its index, or -1. */
static int log_name(const char **at, const char *end, const char *const *names, size_t n,
		    const char *stop)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);
		if ((size_t)(end - *at) > len && memcmp(*at, names[i], len) == 0 &&
		    strchr(stop, (*at)[len])) {
			*at += len;
			return (int)i;
		}
	}
	return -1;
}

/* "kern.err: " and "kern  :err   : " of dmesg -x, with the facility of whoever wrote the line. */
static bool log_take_named_priority(struct log_cursor *c, struct log_line *ret)
{
	static const char *const facilities[] = {
		"kern",   "user",   "mail",     "daemon", "auth",   "syslog", "lpr",    "news",
		"uucp",   "cron",   "authpriv", "ftp",    "ntp",    "audit",  "alert",  "clock",
		"local0", "local1", "local2",   "local3", "local4", "local5", "local6", "local7",
	};
	/* the numbers of the first eight, then other words for two of them */
	static const char *const levels[] = { "emerg",  "alert", "crit",  "err",   "warn",
					      "notice", "info",  "debug", "error", "warning" };
	const char *p = c->p;
	int facility = log_name(&p, c->end, facilities, ARRAY_LEN(facilities), " :.");

	if (facility < 0)
		return false;
	while (p < c->end && *p == ' ')
		p++;
	if (p == c->end || (*p != ':' && *p != '.'))
		return false;
	p++;
	int level = log_name(&p, c->end, levels, ARRAY_LEN(levels), " :");
	if (level < 0)
		return false;
	while (p < c->end && *p == ' ')
		p++;
	if (c->end - p < 2 || p[0] != ':' || p[1] != ' ')
		return false;
	ret->facility = (unsigned)facility;
	ret->level = (unsigned)(level < 8 ? level : level - 5);
	ret->have_facility = true;
	c->p = p + 2;
	return true;
}

/* "<30>" before a syslog line, or the priority in words. */
static bool log_take_priority(struct log_cursor *c, struct log_line *ret)
{
	const char *p = c->p;

	if (log_left(c) > 3 && *p == '<') {
		unsigned value = 0;
		for (p++; p < c->end && log_digit(*p) && value < 10000; p++)
			value = value * 10 + (unsigned)(*p - '0');
		if (p == c->end || *p != '>' || p == c->p + 1)
			return false;
		ret->facility = value >> 3;
		ret->level = value & 7;
		ret->have_facility = true;
		c->p = p + 1;
	} else if (!log_take_named_priority(c, ret)) {
		return false;
	}
	ret->shapes |= LOG_TAG;
	return true;
}

/* Digits with an optional fraction, as nanoseconds. */
static bool log_seconds(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t s = 0, ns = 0, unit = NS_PER_S / 10;

	if (p == end || !log_digit(*p))
		return false;
	for (; p < end && log_digit(*p); p++) {
		if (s > UINT64_C(9000000000))
			return false;
		s = s * 10 + (uint64_t)(*p - '0');
	}
	if (p == end || *p != '.')
		return false;
	for (p++; p < end && log_digit(*p); p++, unit /= 10)
		ns += (uint64_t)(*p - '0') * unit;
	*at = p;
	*ret = s * NS_PER_S + ns;
	return true;
}

static bool log_bracket_ctime(const char *p, size_t len, struct log_line *ret)
{
	struct tm tm = { .tm_isdst = -1 };
	unsigned month, day, year;

	if (len != 24 || p[3] != ' ' || !log_month(p + 4, &month) || p[7] != ' ' ||
	    !log_number(p + 8, 2, &day) || p[10] != ' ' || !log_clock(p + 11, &tm) ||
	    p[19] != ' ' || !log_number(p + 20, 4, &year) || year < 1970 || day > 31)
		return false;
	tm.tm_year = (int)year - 1900;
	tm.tm_mon = (int)month;
	tm.tm_mday = (int)day;
	if (!log_set_wall(ret, &tm))
		return false;
	ret->shapes |= LOG_DMESG_CTIME;
	return true;
}

/* "Nov16 00:44" and "  +0.000012" of dmesg --reltime. */
static bool log_bracket_relative(const char *p, size_t len, uint64_t now_ns, struct log_line *ret)
{
	const char *end = p + len;
	unsigned month, day;

	if (len == 11 && log_month(p, &month) && log_number(p + 3, 2, &day) && p[5] == ' ' &&
	    p[8] == ':') {
		char syslog[32];
		snprintf(syslog, sizeof(syslog), "%.3s %2u %.5s:00 x", p, day, p + 6);
		struct log_cursor c = { syslog, syslog + strlen(syslog), now_ns };
		struct log_line line = { 0 };
		if (!log_take_syslog_time(&c, &line))
			return false;
		ret->wall_ns = line.wall_ns;
		ret->have_wall = true;
	} else {
		while (p < end && *p == ' ')
			p++;
		if (p == end || *p++ != '+' || !log_seconds(&p, end, &ret->delta_ns) || p != end)
			return false;
		ret->have_delta = true;
	}
	ret->shapes |= LOG_DMESG_RELATIVE;
	return true;
}

static bool log_bracket_dmesg(const char *p, size_t len, struct log_line *ret)
{
	const char *end = p + len;

	while (p < end && *p == ' ')
		p++;
	if (!log_seconds(&p, end, &ret->mono_ns))
		return false;
	/* "<    0.000012>" of --show-delta */
	if (p != end && !(end - p > 3 && p[0] == ' ' && p[1] == '<' && end[-1] == '>'))
		return false;
	ret->have_mono = true;
	ret->shapes |= LOG_DMESG;
	return true;
}

static bool log_take_bracket(struct log_cursor *c, struct log_line *ret)
{
	if (log_left(c) < 4 || *c->p != '[')
		return false;
	const char *close = memchr(c->p, ']', MIN_OF(log_left(c), 48u));
	if (!close)
		return false;
	const char *in = c->p + 1;
	size_t len = (size_t)(close - in);
	if (!log_bracket_dmesg(in, len, ret) && !log_bracket_ctime(in, len, ret) &&
	    !log_bracket_relative(in, len, c->now_ns, ret))
		return false;
	c->p = close + 1;
	if (log_left(c) > 4 && c->p[0] == '[') { /* "[    T1] ": the caller */
		close = memchr(c->p, ']', MIN_OF(log_left(c), 16u));
		if (close)
			c->p = close + 1;
	}
	if (log_left(c) && *c->p == ' ')
		c->p++;
	return true;
}

/* "6,1234,5678,-,caller=C0;text" */
static bool log_take_kmsg(struct log_cursor *c, char *scratch, struct log_line *ret)
{
	struct kmsg_record record;
	size_t commas = 0;

	if (!log_left(c) || !log_digit(*c->p))
		return false;
	for (const char *p = c->p; p < c->end && *p != ';' && commas < 3; p++) {
		if (*p == ',')
			commas++;
		else if (!log_digit(*p))
			return false;
	}
	if (commas < 3 || kmsg_parse(c->p, log_left(c), scratch, &record, NULL) < 0)
		return false;
	ret->shapes |= LOG_KMSG;
	ret->facility = record.facility;
	ret->level = record.level;
	ret->have_facility = ret->have_seq = ret->have_mono = true;
	ret->facility_proven = true;
	ret->seq = record.seq;
	ret->mono_ns = record.mono_ns;
	ret->device = record.device;
	c->p = record.text;
	c->end = record.text + record.len;
	return true;
}

/* "kernel: " or "kernel[0]: ", and true for any program when it is followed by a colon. */
static bool log_take_program(struct log_cursor *c, struct log_line *ret)
{
	const char *p = c->p;

	while (p < c->end && *p != ' ' && *p != ':')
		p++;
	if (p == c->p || p == c->end || *p != ':' || (p + 1 < c->end && p[1] != ' '))
		return false;
	size_t len = (size_t)(p - c->p);
	bool kernel = len >= 6 && memcmp(c->p, "kernel", 6) == 0 && (len == 6 || c->p[6] == '[');
	ret->other = !kernel;
	c->p = MIN_OF(p + 2, c->end);
	ret->shapes |= LOG_TAG;
	return true;
}

static void log_skip_blanks(struct log_cursor *c)
{
	while (c->p < c->end && *c->p == ' ')
		c->p++;
}

/* What follows a receiver's time: host, perhaps "!WARNING |", then the program or a raw record. */
static void log_take_host(struct log_cursor *c, char *scratch, struct log_line *ret)
{
	struct log_cursor at = *c;

	log_skip_blanks(&at);
	const char *host_end = memchr(at.p, ' ', log_left(&at));
	if (!host_end)
		return;
	at.p = host_end;
	log_skip_blanks(&at);
	if (log_left(&at) && *at.p == '!') {
		const char *bar = memchr(at.p, '|', MIN_OF(log_left(&at), 24u));
		if (bar) {
			at.p = bar + 1;
			log_skip_blanks(&at);
		}
	}
	if (log_take_kmsg(&at, scratch, ret) || log_take_program(&at, ret))
		*c = at;
}

static uint64_t log_json_number(const json_t *object, const char *key, uint64_t least)
{
	const json_t *value = json_object_get(object, key);
	uint64_t number;

	if (json_is_string(value) && text_u64(json_string_value(value), &number) == 0)
		return number;
	return json_is_integer(value) && json_integer_value(value) >= 0
		       ? (uint64_t)json_integer_value(value)
		       : least;
}

/* A string, or the array of bytes that journald writes when it is not valid UTF-8. */
static size_t log_json_text(const json_t *value, char *to, size_t size)
{
	size_t n = 0;

	if (json_is_string(value)) {
		n = MIN_OF(json_string_length(value), size);
		memcpy(to, json_string_value(value), n);
	} else if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value) && n < size; i++)
			to[n++] = (char)json_integer_value(json_array_get(value, i));
	}
	return n;
}

static bool log_json_is(const json_t *object, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(object, key));
	return value && strcmp(value, text) == 0;
}

static bool log_take_json(struct log_cursor *c, char *scratch, struct log_line *ret)
{
	if (log_left(c) < 2 || *c->p != '{' || !memmem(c->p, log_left(c), "\"MESSAGE\"", 9))
		return false;
	size_t size = log_left(c);
	json_t *object = json_loadb(c->p, size, JSON_ALLOW_NUL, NULL);
	if (!object)
		return false;
	uint64_t none = UINT64_MAX;
	uint64_t wall_us = log_json_number(object, "__REALTIME_TIMESTAMP", none);
	uint64_t mono_us = log_json_number(object, "_SOURCE_MONOTONIC_TIMESTAMP", none);
	uint64_t facility = log_json_number(object, "SYSLOG_FACILITY", none);
	uint64_t level = log_json_number(object, "PRIORITY", none);
	bool kernel = log_json_is(object, "_TRANSPORT", "kernel");
	ret->shapes |= LOG_JSON;
	ret->other = !kernel;
	/* fields that begin with _ are journald's own; a client cannot set them */
	ret->facility_proven = ret->have_facility = kernel && facility < 128;
	ret->facility = ret->have_facility ? (unsigned)facility : 0;
	ret->level = level < 8 ? (unsigned)level : 6;
	if (wall_us < UINT64_MAX / 1000) {
		ret->wall_ns = wall_us * 1000;
		ret->have_wall = true;
	}
	if (mono_us < UINT64_MAX / 1000) {
		ret->mono_ns = mono_us * 1000;
		ret->have_mono = true;
	}
	size_t n = log_json_text(json_object_get(object, "MESSAGE"), scratch, size);
	scratch[n] = '\0';
	c->p = scratch;
	c->end = scratch + n;
	const json_t *device = json_object_get(object, "_KERNEL_DEVICE");
	if (json_is_string(device) && n + 1 < size) {
		size_t m = log_json_text(device, scratch + n + 1, size - n - 1);
		scratch[n + 1 + m] = '\0';
		ret->device = scratch + n + 1;
	}
	json_decref(object);
	return true;
}

/* One prefix off the front; false when there is none any more. */
static bool log_take_prefix(struct log_cursor *c, char *scratch, struct log_line *ret)
{
	if (log_take_json(c, scratch, ret))
		return false; /* nothing can follow */
	if (log_take_syslog_time(c, ret)) {
		log_take_host(c, scratch, ret);
		return !(ret->shapes & LOG_KMSG) && !ret->other;
	}
	if (log_take_iso_time(c, ret)) {
		/* dmesg writes the fraction behind a comma and names no host */
		bool dmesg = c->p[-1] && memchr(c->p - MIN_OF((size_t)(c->p - ret->text), 20u), ',',
						MIN_OF((size_t)(c->p - ret->text), 20u));
		if (!dmesg)
			log_take_host(c, scratch, ret);
		else if (log_left(c) && *c->p == ' ')
			c->p++;
		return !(ret->shapes & LOG_KMSG) && !ret->other;
	}
	if (log_take_bracket(c, ret)) {
		/* journalctl -o short-monotonic: "[  123.456789] host kernel: text" */
		struct log_cursor at = *c;
		struct log_line line = *ret;
		log_take_host(&at, scratch, &line);
		if (at.p != c->p && !line.other && !(line.shapes & LOG_KMSG) &&
		    memcmp(at.p - 8, "kernel: ", 8) == 0) {
			*c = at;
			*ret = line;
		}
		return true;
	}
	if (log_take_kmsg(c, scratch, ret))
		return false;
	if (log_left(c) > 8 && memcmp(c->p, "kernel: ", 8) == 0) {
		c->p += 8;
		ret->shapes |= LOG_TAG;
		return true;
	}
	return log_take_priority(c, ret);
}

void log_line_parse(const char *line, size_t len, uint64_t now_ns, char *scratch,
		    struct log_line *ret)
{
	if (len && line[len - 1] == '\r')
		len--;
	struct log_cursor c = { line, line + len, now_ns };

	*ret = (struct log_line){ .text = line };
	for (unsigned i = 0; i < LOG_MOST_PREFIXES && log_take_prefix(&c, scratch, ret); i++)
		;
	ret->text = c.p;
	ret->len = log_left(&c);
}

const char *log_shape_name(unsigned shapes, char *ret, size_t size)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ LOG_SYSLOG, "syslog" },
		{ LOG_ISO, "ISO times" },
		{ LOG_JSON, "journal JSON" },
		{ LOG_KMSG, "raw kmsg" },
		{ LOG_DMESG, "dmesg" },
		{ LOG_DMESG_CTIME, "dmesg -T" },
		{ LOG_DMESG_RELATIVE, "dmesg -e" },
		{ LOG_TAG, "tags" },
	};
	size_t n = 0;

	snprintf(ret, size, "bare text");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (shapes & names[i].bit && n < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? " + " : "",
					      names[i].name);
	return ret;
}
