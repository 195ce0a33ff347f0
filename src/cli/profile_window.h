/* Options and steps that flame and diff share: which recording, which window, which samples. */
#pragma once

#include "command.h"
#include "envelope.h"
#include "flame.h"
#include "profile.h"
#include "stream.h"

struct profile_window_options {
	struct option_number cpu, pid;
	const char *comm, *cgroup, *unit;
	bool kernel, user;
	const char *only;   /* as kernel and user, but never a mark */
	const char *before; /* event */
};

/* The options of the struct above; `member` is its place in the command's own struct. */
#define PROFILE_WINDOW_OPTIONS(struct_, member)                                                 \
	OPTION(struct_, member.cpu, "cpu", 0, OPTION_NUMBER, "N", "only samples of this core"), \
		OPTION(struct_, member.pid, "pid", 0, OPTION_NUMBER, "[PID]",                   \
		       "only samples of this process; with --folded and without PID: the "      \
		       "process id behind its name"),                                           \
		OPTION(struct_, member.comm, "comm", 0, OPTION_TEXT, "NAME",                    \
		       "only threads of that name (may hold * and ?)"),                         \
		OPTION(struct_, member.cgroup, "cgroup", 0, OPTION_TEXT, "PATH",                \
		       "only samples in that cgroup and below it"),                             \
		OPTION(struct_, member.unit, "unit", 0, OPTION_TEXT, "UNIT",                    \
		       "only samples of that systemd unit"),                                    \
		OPTION(struct_, member.kernel, "kernel", 0, OPTION_FLAG, NULL,                  \
		       "only kernel frames; with --folded: mark them with _[k]"),               \
		OPTION(struct_, member.user, "user", 0, OPTION_FLAG, NULL, "only user frames"), \
		OPTION(struct_, member.only, "only", 0, OPTION_TEXT, "kernel|user",             \
		       "only frames of that side, in every form of output"),                    \
		OPTION(struct_, member.before, "before", 0, OPTION_TEXT, "EVENT-ID",            \
		       "the time before that event (--for, 5 s by default)")

/* [from, to) by --before or the common window options; the whole recording without any. */
int profile_window_resolve(const struct invocation *in, const struct profile_window_options *o,
			   struct stream *s, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			   struct err *err);
/* Read the window and apply the filter. *ret is ready to be freed in any case. */
int profile_window_read(const struct profile_window_options *o, struct stream *s, uint64_t from_ns,
			uint64_t to_ns, struct profile *ret, struct err *err);
struct flame_filter profile_window_flame_filter(const struct profile_window_options *o);
void profile_window_filter(const struct profile_window_options *o, struct profile *p);
/* The host that was recorded, which need not be this one. */
void profile_window_envelope(const struct profile *p, struct envelope *ret);
