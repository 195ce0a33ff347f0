#include "captured.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "keys.h"
#include "text.h"
#include "timefmt.h"

struct captured_clock {
	uint64_t have, real_ns, mono_ns, boot_ns;
};

int captured_clock_parse(const char *text, struct tick *ret, struct err *err)
{
	static const struct key_field fields[] = {
		KEY_FIELD(captured_clock, real_ns, 1, "real_ns", 1),
		KEY_FIELD(captured_clock, mono_ns, 2, "mono_ns", 1),
		KEY_FIELD(captured_clock, boot_ns, 4, "boot_ns", 1),
	};
	struct captured_clock c = { 0 };

	keys_parse(text, ' ', fields, ARRAY_LEN(fields), &c);
	if (c.have != 7)
		return err_set(err, -EBADMSG, "/" CAPTURED_CLOCK ": not the three clocks");
	ret->real_ns = c.real_ns;
	ret->mono_ns = c.mono_ns;
	ret->boot_ns = c.boot_ns;
	return 0;
}

static int captured_read(const struct root *root, const struct tick_source_options *options,
			 struct tick *ret, struct offer *ret_offer, struct unknowns *unknowns,
			 struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct tick_source *source;

	int r = tick_source_open(root, options, &source, err);
	if (r < 0)
		return r;
	r = tick_source_read(source, ret, unknowns);
	if (ret_offer)
		*ret_offer = *tick_source_offer(source);
	tick_source_close(source);
	if (r < 0)
		return err_set(err, r, "out of memory");
	if (root_read(root, CAPTURED_CLOCK, 4096, &text, NULL) == 0)
		r = captured_clock_parse(buf_str(&text), ret, err);
	return root_err(root, r, err);
}

int captured_before(const struct root *root, struct root *ret)
{
	int fd = root_open_dir(root, CAPTURED_BEFORE, 0, NULL);

	if (fd < 0)
		return fd;
	*ret = (struct root){ .fd = fd, .live = false };
	snprintf(ret->path, sizeof(ret->path), "%.200s/" CAPTURED_BEFORE, root->path);
	return 0;
}

static int captured_static(const struct root *root, const struct tick_source_options *options,
			   struct tick *before, struct tick *after, struct offer *ret_offer,
			   struct unknowns *unknowns, struct err *err)
{
	AUTO_ROOT struct root earlier = { .fd = -1 };
	AUTO_UNKNOWNS struct unknowns ignored = { 0 };

	int r = captured_read(root, options, after, ret_offer, unknowns, err);
	if (r < 0)
		return r;
	if (captured_before(root, &earlier) < 0) {
		unknowns_add(unknowns, "rates",
			     "%s holds one reading only; 'zscope capture' takes two", root->path);
		return 0;
	}
	r = captured_read(&earlier, options, before, NULL, &ignored, err);
	if (r == 0 && after->mono_ns <= before->mono_ns)
		unknowns_add(unknowns, "rates", "%s/" CAPTURED_CLOCK ": %s", root->path,
			     root_exists(root, CAPTURED_CLOCK)
				     ? "not after the clock in " CAPTURED_BEFORE
				       ": the two readings cannot be compared"
				     : "is missing: the two readings cannot be compared");
	return r < 0 ? r : 1;
}

static void captured_wait(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

int captured_pair(const struct root *root, const struct tick_source_options *options,
		  uint64_t interval_ns, struct tick *before, struct tick *after,
		  struct offer *ret_offer, struct unknowns *unknowns, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns ignored = { 0 };
	struct tick_source *source;

	if (!root->live)
		return captured_static(root, options, before, after, ret_offer, unknowns, err);
	int r = tick_source_open(root, options, &source, err);
	if (r < 0)
		return r;
	*ret_offer = *tick_source_offer(source);
	r = tick_source_read(source, before, unknowns);
	if (r == 0) {
		captured_wait(interval_ns);
		r = tick_source_read(source, after, &ignored);
	}
	tick_source_close(source);
	return r < 0 ? err_set(err, r, "out of memory") : 1;
}
