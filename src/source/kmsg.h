/* The kernel log as /dev/kmsg gives it: one record per read,
 *   prio,seq,usec,flag[,caller=T1];text\n[ KEY=VALUE\n]...
 * Bytes that the kernel escaped (\x0a ...) are put back only after the record was split, so that a
 * process name with a newline in it never becomes a line of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "root.h"

enum {
	KMSG_RECORD_MAX = 16384, /* longer than any record: CONSOLE_EXT_LOG_MAX is 8192 */
	KMSG_USER_FACILITY = 1,
};

struct kmsg_record {
	unsigned facility; /* 0 = the kernel itself; userspace can only make 1 and above */
	unsigned level;
	uint64_t seq;
	uint64_t mono_ns; /* local_clock() of the printing CPU, microsecond grain */
	uint64_t real_ns; /* filled by kmsg_next; 0 after kmsg_parse */
	char flag;        /* '-', or 'c' for a continuation */
	const char *caller;
	const char *text;
	size_t len;
	const char *subsystem; /* dictionary; NULL = absent */
	const char *device;
};

/* bytes: one record as read. scratch holds the unescaped strings that *ret points to and needs
 * len + 1 bytes. -EBADMSG with the reason in err when it is no record. */
int kmsg_parse(const char *bytes, size_t len, char *scratch, struct kmsg_record *ret,
	       struct err *err);
/* Undo \xHH; returns the new length. In place is fine (to == from). */
size_t kmsg_unescape(char *to, const char *from, size_t len);

/* Record time → wall clock. local_clock() runs a few milliseconds off CLOCK_MONOTONIC, so the
 * offset is the least (CLOCK_REALTIME - record time) over records that were read as they came. */
struct kmsg_clock {
	int64_t offset_ns;
	bool learned;          /* false: offset is REALTIME - MONOTONIC, good to some 10 ms */
	int64_t real_minus_ns; /* REALTIME - MONOTONIC at the last look */
	uint64_t steps;        /* clock steps seen */
};

void kmsg_clock_start(struct kmsg_clock *c, uint64_t real_ns, uint64_t mono_ns);
/* Every so often: shifts the offset when the wall clock was set. True when it was. */
bool kmsg_clock_check(struct kmsg_clock *c, uint64_t real_ns, uint64_t mono_ns);
/* A record that was read right after it was printed. */
void kmsg_clock_learn(struct kmsg_clock *c, uint64_t real_ns, uint64_t record_ns);
uint64_t kmsg_clock_real(const struct kmsg_clock *c, uint64_t record_ns);

struct kmsg_reader {
	int fd;
	bool caught_up; /* the ring was read to its end once: what comes now is live */
	bool have_seq;
	uint64_t next_seq;
	uint64_t lost;     /* records that the ring dropped before we read them (sequence gaps) */
	uint64_t overruns; /* EPIPE from the kernel */
	uint64_t bad;      /* reads that were no record */
	struct kmsg_clock clock;
	size_t raw_len; /* of the record given last, as read */
	char raw[KMSG_RECORD_MAX];
	char scratch[KMSG_RECORD_MAX + 1];
};

/* From the start of the ring, or from now on. Only on a live root. */
int kmsg_open(struct kmsg_reader *r, const struct root *root, bool from_start, struct err *err);
/* A descriptor that gives one record per read (tests: a SEQPACKET socket). Owned from now on. */
void kmsg_attach(struct kmsg_reader *r, int fd);
/* 1 = *ret is the next record (valid until the next call), 0 = none there now, negative = error.
 * Overruns and gaps are counted, never fatal. */
int kmsg_next(struct kmsg_reader *r, struct kmsg_record *ret, struct err *err);
void kmsg_close(struct kmsg_reader *r);
