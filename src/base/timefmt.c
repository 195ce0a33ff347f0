#include "timefmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "text.h"
#include "tick_path.h"

/* The second in which nanoseconds wrap, in July 2554, less one for the length of a window. */
#define TIMEFMT_END_S (UINT64_MAX / NS_PER_S - 1)

EVERY_TICK static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

EVERY_TICK uint64_t clock_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

EVERY_TICK uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

EVERY_TICK uint64_t clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

EVERY_TICK uint64_t clock_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool timefmt_is_relative(uint64_t ns)
{
	return ns < UINT64_C(315532800) * NS_PER_S;
}

const char *timefmt_rfc3339(char ret[TIMEFMT_MAX], uint64_t ns)
{
	struct tm tm;
	time_t s = (time_t)(ns / NS_PER_S);

	if (timefmt_is_relative(ns)) {
		snprintf(ret, TIMEFMT_MAX, "+%" PRIu64 ".%09" PRIu64 "s", ns / NS_PER_S,
			 ns % NS_PER_S);
		return ret;
	}
	gmtime_r(&s, &tm);
	size_t n = strftime(ret, TIMEFMT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + n, TIMEFMT_MAX - n, ".%09" PRIu64 "Z", ns % NS_PER_S);
	return ret;
}

static const char *timefmt_as_date(char ret[TIMEFMT_MAX], uint64_t ns, const char *format)
{
	struct tm tm;
	time_t s = (time_t)(ns / NS_PER_S);

	localtime_r(&s, &tm);
	if (!strftime(ret, TIMEFMT_MAX, format, &tm))
		ret[0] = '\0';
	return ret;
}

static const char *timefmt_with(char ret[TIMEFMT_MAX], uint64_t ns, const char *format)
{
	if (!timefmt_is_relative(ns))
		return timefmt_as_date(ret, ns, format);
	snprintf(ret, TIMEFMT_MAX, "+%" PRIu64 "s", ns / NS_PER_S);
	return ret;
}

const char *timefmt_local(char ret[TIMEFMT_MAX], uint64_t ns)
{
	return timefmt_with(ret, ns, "%Y-%m-%d %H:%M:%S");
}

const char *timefmt_beside(char ret[TIMEFMT_MAX], uint64_t ns, uint64_t beside_ns)
{
	return timefmt_is_relative(beside_ns) ? timefmt_local(ret, ns)
					      : timefmt_as_date(ret, ns, "%Y-%m-%d %H:%M:%S");
}

/* To the nanosecond when step_ns is 1, to the millisecond when it is a million. */
static const char *timefmt_finer(char ret[TIMEFMT_MAX], uint64_t ns, uint64_t step_ns)
{
	size_t n = strlen(timefmt_local(ret, ns));
	int digits = 0;

	for (uint64_t unit = NS_PER_S; unit > step_ns; unit /= 10)
		digits++;
	if (!digits)
		return ret;
	n -= timefmt_is_relative(ns); /* the "s" stands behind the digits */
	snprintf(ret + n, TIMEFMT_MAX - n, ".%0*" PRIu64 "%s", digits, ns % NS_PER_S / step_ns,
		 timefmt_is_relative(ns) ? "s" : "");
	return ret;
}

const char *timefmt_range(char ret[TIMEFMT_RANGE_MAX], uint64_t from_ns, uint64_t to_ns)
{
	uint64_t step_ns = NS_PER_S;
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	while (step_ns > 1 && from_ns / step_ns == to_ns / step_ns && from_ns != to_ns)
		step_ns /= 1000;
	timefmt_finer(from, from_ns, step_ns);
	timefmt_finer(to, to_ns, step_ns);
	snprintf(ret, TIMEFMT_RANGE_MAX, from_ns == to_ns ? "%s" : "%s to %s", from, to);
	return ret;
}

const char *timefmt_zoned(char ret[TIMEFMT_MAX], uint64_t ns)
{
	return timefmt_with(ret, ns, "%Y-%m-%d %H:%M:%S %Z");
}

const char *timefmt_clock(char ret[TIMEFMT_MAX], uint64_t ns)
{
	return timefmt_with(ret, ns, "%H:%M:%S");
}

const char *timefmt_span(char ret[TIMEFMT_MAX], uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;

	if (ns < NS_PER_MS)
		snprintf(ret, TIMEFMT_MAX, "%.1f us", (double)ns / 1e3);
	else if (ns < NS_PER_S)
		snprintf(ret, TIMEFMT_MAX, "%.1f ms", (double)ns / 1e6);
	else if (s < 60)
		snprintf(ret, TIMEFMT_MAX, "%.1f s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(ret, TIMEFMT_MAX, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(ret, TIMEFMT_MAX, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else
		snprintf(ret, TIMEFMT_MAX, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	return ret;
}

int timefmt_parse_duration(const char *text, uint64_t *ret_ns, struct err *err)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "ms", NS_PER_MS },      { "us", 1000 },           { "ns", 1 },
		{ "s", NS_PER_S },        { "", NS_PER_S },         { "m", 60 * NS_PER_S },
		{ "min", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "d", 86400 * NS_PER_S },
	};
	const char *p = text;
	uint64_t whole, fraction = 0, scale = 1;

	if (text_take_u64(&p, &whole) < 0)
		return err_set(err, -EINVAL, "'%s' is not a duration: try 500ms, 5s, 2m, 12h",
			       text);
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++)
			if (scale < NS_PER_S) {
				fraction = fraction * 10 + (uint64_t)(*p - '0');
				scale *= 10;
			}
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(p, units[i].unit) != 0)
			continue;
		if (whole > UINT64_MAX / 2 / units[i].ns)
			return err_set(err, -ERANGE, "'%s' is too long a duration", text);
		uint64_t part =
			(uint64_t)((double)fraction / (double)scale * (double)units[i].ns + 0.5);
		*ret_ns = whole * units[i].ns + part;
		return 0;
	}
	return err_set(err, -EINVAL, "'%s' is not a duration: try 500ms, 5s, 2m, 12h", text);
}

/* ".123456" at *p as nanoseconds; moves *p behind it. */
static uint64_t timefmt_fraction(const char **p)
{
	uint64_t ns = 0, unit = NS_PER_S / 10;

	if (**p != '.' && **p != ',')
		return 0;
	for ((*p)++; **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
		ns += (uint64_t)(**p - '0') * unit;
	return ns;
}

/* "Z", "+02:00", "-0530" at p: seconds east of UTC. */
static bool timefmt_zone(const char *p, long *ret_offset_s)
{
	unsigned h, m;
	int used = 0;

	if (strcmp(p, "Z") == 0 || strcmp(p, "z") == 0) {
		*ret_offset_s = 0;
		return true;
	}
	if (*p != '+' && *p != '-')
		return false;
	if (sscanf(p + 1, "%2u:%2u%n", &h, &m, &used) != 2 || p[1 + used]) {
		used = 0;
		if (sscanf(p + 1, "%2u%2u%n", &h, &m, &used) != 2 || p[1 + used])
			return false;
	}
	*ret_offset_s = (*p == '-' ? -1 : 1) * (long)(h * 3600 + m * 60);
	return true;
}

static bool timefmt_fields_ok(const struct tm *tm)
{
	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 && tm->tm_mday <= 31 &&
	       tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 61;
}

/* 0; -EINVAL = no date; -ERANGE = one that no uint64_t of nanoseconds since 1970 holds. */
static int timefmt_parse_date(const char *text, uint64_t *ret_ns)
{
	struct tm tm = { .tm_isdst = -1 };
	unsigned y, mo, d, h, mi, s = 0;
	int used = 0;
	char sep;

	if (sscanf(text, "%4u-%2u-%2u%c%2u:%2u%n", &y, &mo, &d, &sep, &h, &mi, &used) != 6 ||
	    (sep != ' ' && sep != 'T' && sep != 't'))
		return -EINVAL;
	const char *p = text + used;
	if (*p == ':' && sscanf(p, ":%2u%n", &s, &used) == 1)
		p += used;
	uint64_t frac = timefmt_fraction(&p);
	tm.tm_year = (int)y - 1900;
	tm.tm_mon = (int)mo - 1;
	tm.tm_mday = (int)d;
	tm.tm_hour = (int)h;
	tm.tm_min = (int)mi;
	tm.tm_sec = (int)s;
	if (!timefmt_fields_ok(&tm))
		return -EINVAL;
	long offset = 0;
	time_t at;
	if (!*p)
		at = mktime(&tm);
	else if (timefmt_zone(p, &offset))
		at = timegm(&tm) - offset;
	else
		return -EINVAL;
	if (tm.tm_mday != (int)d) /* the 31st of February is moved into March by the C library */
		return -EINVAL;
	if (at < 0 || (uint64_t)at >= TIMEFMT_END_S)
		return -ERANGE;
	*ret_ns = (uint64_t)at * NS_PER_S + frac;
	return 0;
}

static bool timefmt_parse_clock(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	unsigned h, mi, s = 0;
	int used = 0;

	if (sscanf(text, "%2u:%2u%n", &h, &mi, &used) != 2)
		return false;
	const char *p = text + used;
	if (*p == ':' && sscanf(p, ":%2u%n", &s, &used) == 1)
		p += used;
	uint64_t frac = timefmt_fraction(&p);
	if (*p || h > 23 || mi > 59 || s > 60)
		return false;
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm tm;
	localtime_r(&now, &tm);
	tm.tm_hour = (int)h;
	tm.tm_min = (int)mi;
	tm.tm_sec = (int)s;
	tm.tm_isdst = -1;
	time_t at = mktime(&tm);
	if (at > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		at = mktime(&tm);
	}
	*ret_ns = (uint64_t)at * NS_PER_S + frac;
	return true;
}

/* "-15m": before now. */
static int timefmt_parse_ago(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t span;
	int r = timefmt_parse_duration(text, &span, NULL);

	if (r < 0)
		return r;
	if (span > now_ns)
		return -ERANGE;
	*ret_ns = now_ns - span;
	return 0;
}

/* What stands behind "@" or "+"; the latter may end in "s", as it is printed. */
static int timefmt_parse_seconds(const char *text, const char *unit, uint64_t *ret_ns)
{
	uint64_t s;
	int r = text_take_u64(&text, &s);

	if (r < 0)
		return r;
	uint64_t frac = timefmt_fraction(&text);
	if (*text && strcmp(text, unit) != 0)
		return -EINVAL;
	if (s >= TIMEFMT_END_S)
		return -ERANGE;
	*ret_ns = s * NS_PER_S + frac;
	return 0;
}

int timefmt_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err)
{
	int r;

	if (strcmp(text, "now") == 0) {
		*ret_ns = now_ns;
		return 0;
	}
	if (*text == '-')
		r = timefmt_parse_ago(text + 1, now_ns, ret_ns);
	else if (*text == '@' || *text == '+')
		r = timefmt_parse_seconds(text + 1, *text == '+' ? "s" : "", ret_ns);
	else if (timefmt_parse_clock(text, now_ns, ret_ns))
		r = 0;
	else
		r = timefmt_parse_date(text, ret_ns);
	if (r == -ERANGE)
		return err_set(err, r, "'%s' is too far: times lie between 1970 and 2554", text);
	if (r < 0)
		return err_set(err, r,
			       "'%s' is not a time: try 03:12:07, \"2026-11-16 03:12:07\", -15m, "
			       "@EPOCH or now",
			       text);
	return 0;
}
