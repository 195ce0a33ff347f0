/* Times as people write them and as machines compare them. All times are nanoseconds since the
 * epoch. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

enum { TIMEFMT_MAX = 40, TIMEFMT_RANGE_MAX = 2 * TIMEFMT_MAX + 4 };

/* A time before 1980 is no wall clock but that of an imported file which does not say when it was
 * made: seconds since the boot of a host, mostly. It is printed as "+2679.317031149s" and never as
 * a date of 1970. */
bool timefmt_is_relative(uint64_t ns);
/* RFC 3339 in UTC with nanoseconds: 2026-11-16T00:39:53.000000000Z */
const char *timefmt_rfc3339(char ret[TIMEFMT_MAX], uint64_t ns);
/* For people, local time: "2026-11-16 00:39:53" and "00:39:53". */
const char *timefmt_local(char ret[TIMEFMT_MAX], uint64_t ns);
/* The same of a time that a user gave for a file: as the file's own times are printed, so that the
 * epoch is a date beside dates. */
const char *timefmt_beside(char ret[TIMEFMT_MAX], uint64_t ns, uint64_t beside_ns);
/* "2026-11-16 00:39:53 to 2026-11-16 00:40:10", with as many more digits as make the two differ;
 * one time when they do not. */
const char *timefmt_range(char ret[TIMEFMT_RANGE_MAX], uint64_t from_ns, uint64_t to_ns);
/* The same with its zone, for what is read elsewhere: "2026-11-16 00:39:53 UTC". */
const char *timefmt_zoned(char ret[TIMEFMT_MAX], uint64_t ns);
const char *timefmt_clock(char ret[TIMEFMT_MAX], uint64_t ns);
/* A duration for people: "5.2 s", "3 min 20 s", "2 d 4 h". */
const char *timefmt_span(char ret[TIMEFMT_MAX], uint64_t ns);

/* RFC 3339, "YYYY-MM-DD HH:MM[:SS[.frac]]", "HH:MM[:SS]" (the latest such time not after now),
 * "@EPOCH[.frac]",
 * "+SECONDS[.frac][s]" (of a file without wall time), "-15m" (before now), "now". Local time zone
 * unless the text carries one. */
int timefmt_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct err *err);
/* "500ms", "5s", "2m", "12h", "3d"; a bare number is seconds. */
int timefmt_parse_duration(const char *text, uint64_t *ret_ns, struct err *err);

uint64_t clock_real_ns(void);
uint64_t clock_mono_ns(void);
uint64_t clock_boot_ns(void); /* counts suspended time too */
uint64_t clock_cpu_ns(void);  /* CPU time of this process */
uint64_t
clock_thread_cpu_ns(void); /* of this thread: what a piece of work cost, however busy the host is */
