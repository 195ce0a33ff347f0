#include "cure.h"

#include <time.h>

#include "auto.h"
#include "timefmt.h"

/* A purge stops when a round frees nothing. What was dirty or just being released then is gone a
 * moment later, so it is asked again; this is the longest that it takes. */
static const uint64_t cure_most_ns = 30 * NS_PER_S;
static const uint64_t cure_pause_ns = 300 * NS_PER_MS;

static int cure_pass(const struct root *root, const struct offer *offer, struct cure_purge *c,
		     bool apply, struct purge_result *ret, struct unknowns *unknowns,
		     struct err *err)
{
	const struct purge_options options = {
		.method = PURGE_FILES,
		.below = c->below,
		.apply = apply,
	};
	return purge_run(root, offer, &options, ret, unknowns, err);
}

int cure_purge(const struct root *root, const struct offer *offer, struct cure_purge *c,
	       struct unknowns *unknowns, struct err *err)
{
	uint64_t began = clock_mono_ns();
	bool falls = true;

	c->passes = 0;
	while (falls && clock_mono_ns() - began < cure_most_ns) {
		AUTO(purge_result_free) struct purge_result r = { 0 };
		struct timespec pause = { .tv_nsec = (long)cure_pause_ns };

		int code = cure_pass(root, offer, c, true, &r, unknowns, err);
		if (code < 0)
			return code;
		if (!c->passes++) {
			c->before = r.before.dying;
			c->bytes_before = r.before.bytes;
		}
		c->after = r.after.dying;
		c->bytes_after = r.after.bytes;
		falls = r.after.dying < r.before.dying && r.after.dying;
		if (falls)
			nanosleep(&pause, NULL);
	}
	AUTO(purge_result_free) struct purge_result left = { 0 };
	int r = cure_pass(root, offer, c, false, &left, unknowns, err);
	if (r < 0)
		return r;
	c->left = left.plan;
	c->after = left.before.dying;
	c->bytes_after = left.before.bytes;
	c->wall_ns = clock_mono_ns() - began;
	return 0;
}
