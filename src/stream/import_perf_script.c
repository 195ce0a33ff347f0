/* Samples of perf script text → samples of a profile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "import_impl.h"
#include "perf_script.h"
#include "text.h"
#include "timefmt.h"

enum { READ_LEN = 1 << 20 };

static bool is_kernel(const struct perf_script_frame *f)
{
	const char *m = f->module.at;
	size_t len = f->module.len;

	if (len > 1 && m[0] == '[')
		return !(len >= 2 &&
			 (memmem(m, len, "[vdso", 5) || memmem(m, len, "[vsyscall", 9) ||
			  memmem(m, len, "[stack", 6) || memmem(m, len, "[heap", 5) ||
			  memmem(m, len, "[anon", 5)));
	if (len >= 7 && memcmp(m + len - 7, "vmlinux", 7) == 0)
		return true;
	/* the upper half of the address space on all 64-bit machines */
	return f->address >> 63 && len == 0;
}

static uint32_t script_stack(struct profile *p, const struct perf_script_sample *s)
{
	uint32_t frames[PERF_SCRIPT_FRAMES_MAX];

	for (size_t i = 0; i < s->n_frames; i++) {
		const struct perf_script_frame *f = &s->frames[i];
		uint32_t module = profile_add_string(p, f->module.at, f->module.len);
		struct profile_frame frame = {
			.symbol = profile_add_string(p, f->symbol.at, f->symbol.len),
			.module = profile_add_module(p, module, NULL, 0),
			.address = f->address,
			.symbol_offset = f->offset <= UINT32_MAX ? (uint32_t)f->offset : 0,
			.kind = is_kernel(f)                  ? PROFILE_KERNEL
				: f->module.len || f->address ? PROFILE_USER
							      : PROFILE_UNKNOWN,
			.inlined = f->inlined,
			.final = true,
		};
		frames[i] = profile_add_frame(p, &frame);
	}
	return profile_add_chain(p, frames, s->n_frames);
}

/* Without -F comm: ":tid", as perf calls a thread whose name it does not know. */
static uint32_t script_comm(struct profile *p, const struct perf_script_sample *s)
{
	char name[16];

	if (s->comm.len)
		return profile_add_string(p, s->comm.at, s->comm.len);
	if (!(s->have & PERF_SCRIPT_TID))
		return profile_add_text(p, "[unknown]");
	snprintf(name, sizeof(name), ":%d", (int)s->tid);
	return profile_add_text(p, name);
}

static int script_sample(void *arg, const struct perf_script_sample *from, struct err *err)
{
	struct import *im = arg;
	struct profile_sample s = { .weight = 1, .tid = from->tid };
	char event[256];

	s.stack = script_stack(im->p, from);
	s.comm = script_comm(im->p, from);
	text_copy_n(event, sizeof(event), from->event.at, from->event.len);
	s.event = profile_add_event(im->p, event);
	if (from->have & PERF_SCRIPT_TIME) {
		s.time_ns = import_time(im, from->time_ns);
		s.have |= PROFILE_HAVE_TIME;
	} else {
		/* all in one second: a recording has no place without a time */
		s.time_ns = NS_PER_S;
		im->info->n_untimed++;
	}
	if (from->have & PERF_SCRIPT_PID) {
		s.pid = from->pid;
		s.have |= PROFILE_HAVE_PID;
	}
	if (from->have & PERF_SCRIPT_TID)
		s.have |= PROFILE_HAVE_TID;
	if (from->have & PERF_SCRIPT_CPU) {
		s.cpu = (uint16_t)MIN_OF(from->cpu, UINT16_MAX);
		s.have |= PROFILE_HAVE_CPU;
	}
	if ((from->have & PERF_SCRIPT_PERIOD) && from->period) {
		s.weight = from->period;
		s.have |= PROFILE_HAVE_WEIGHT;
	}
	return import_add_sample(im, &s, err);
}

static void script_header(void *arg, struct perf_script_text key, struct perf_script_text value)
{
	struct import *im = arg;

	if (key.len == 8 && memcmp(key.at, "hostname", 8) == 0)
		text_copy_n(im->info->host, sizeof(im->info->host), value.at, value.len);
	else if (key.len == 10 && memcmp(key.at, "os release", 10) == 0)
		text_copy_n(im->info->kernel, sizeof(im->info->kernel), value.at, value.len);
}

int import_perf_script(struct import *im, int fd, struct err *err)
{
	static const struct perf_script_ops ops = { .sample = script_sample,
						    .header = script_header };
	AUTO_PERF_SCRIPT struct perf_script script;
	AUTO_FREE char *bytes = malloc(READ_LEN);
	uint64_t done = 0;

	im->info->text = true;
	perf_script_init(&script, &ops, im);
	if (!bytes)
		return err_set(err, -ENOMEM, "out of memory");
	for (;;) {
		ssize_t n = pread(fd, bytes, READ_LEN, (off_t)done);
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (n == 0)
			break;
		done += (uint64_t)n;
		int r = perf_script_feed(&script, bytes, (size_t)n, err);
		if (r)
			return r;
		if (im->ops && im->ops->progress)
			im->ops->progress(im->arg, done, im->size);
	}
	int r = perf_script_end(&script, err);
	im->info->n_strange = script.n_strange;
	if (script.open_end)
		text_copy(im->info->damage, sizeof(im->info->damage),
			  "no blank line closes its last stack, which may be cut and is left out");
	return r;
}
