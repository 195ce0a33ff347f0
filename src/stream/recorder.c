#include "recorder.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "auto.h"
#include "recorder_meter.h"
#include "text.h"
#include "tick_path.h"
#include "timefmt.h"

#define STEP_NS        (NS_PER_S / 2)  /* a wall clock that moved further was set */
#define PIN_AROUND_NS  (60 * NS_PER_S) /* kept on both sides of a critical event */
#define MISALIGNED_NS  (5 * NS_PER_MS)
#define SHED_SHARE     2  /* raise the level when a tick takes more than 1/2 of its interval */
#define RESTORE_SHARE  5  /* a tick below 1/5 is a calm one */
#define RESTORE_AFTER  30 /* so many calm ticks lower the level */
#define MOST_LATE_SAID 160
#define RETRY_EVERY    60                /* ticks between two tries of a part that did not open */
#define METER_EVERY    10                /* ticks between two looks at our own cost */
#define DRAIN_NS       (2 * NS_PER_S)    /* at the end, for what is waiting to be read */
#define DROPPED_NS     (3600 * NS_PER_S) /* deletions by a full disk are summed up so long */

struct recorder_slot {
	const struct recorder_part *part;
	struct recorder_context context;
	void *state;
	bool open;
	char said[MOST_LATE_SAID]; /* last trouble, so that it is told once */
};

struct recorder {
	const struct recorder_options *options;
	uint64_t interval_ns;
	struct store_writer *writer;
	struct recorder_slot slots[RECORDER_MOST_PARTS];
	size_t n_slots;
	struct rec_self self;
	struct recorder_meter meter;
	struct core_times *cores;
	struct store_clock clock; /* of the last tick */
	uint64_t ticks, calm_ticks;
	uint64_t next_mono_ns; /* of the next tick */
	long n_cores;          /* that may come up; libc opens a file to tell */
	sigset_t signals;      /* that end the recording; blocked */
	int signal_fd;         /* the same, to poll */
	char degraded[160];
	struct store_dropped dropped; /* by a full disk, as last told */
	uint64_t dropped_mono_ns;     /* when more of it may be told */
};

int recorder_put_event(struct store_writer *w, const struct rec_event *event, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };

	rec_event_encode(&bytes, event);
	if (bytes.failed)
		return err_set(err, -ENOMEM, "out of memory");
	/* what led to it and what came of it outlives retention */
	if (event->severity == EVENT_CRIT && event->source != EVENT_SELF &&
	    (event->trusted || event->injected)) {
		store_writer_pin(w, event->time_ns - MIN_OF(event->time_ns, PIN_AROUND_NS),
				 event->time_ns + PIN_AROUND_NS, NULL);
		store_writer_sync_soon(w);
	}
	return store_writer_append(w, FRAME_EVENT, 1, event->time_ns, bytes.data, bytes.len, err);
}

static void recorder_say(struct recorder *r, const char *line)
{
	if (r->options->say)
		r->options->say(r->options->arg, line);
}

/* The recorder's own word, on stderr and in the recording. */
__attribute__((format(printf, 4, 5))) RARELY static void recorder_tell(struct recorder *r,
								       enum event_severity severity,
								       const char *id,
								       const char *format, ...)
{
	char text[500];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	struct rec_event event = {
		.time_ns = r->clock.real_ns,
		.end_ns = r->clock.real_ns,
		.source = EVENT_SELF,
		.severity = severity,
		.trusted = true,
		.count = 1,
		.id = id,
		.text = text,
	};
	recorder_put_event(r->writer, &event, NULL);
	recorder_say(r, text);
}

RARELY static void recorder_part_failed(struct recorder *r, struct recorder_slot *slot,
					struct err *err)
{
	char text[MOST_LATE_SAID];

	snprintf(text, sizeof(text), "%s: %s", slot->part->name, err->text);
	if (strcmp(text, slot->said) == 0)
		return;
	text_copy(slot->said, sizeof(slot->said), text);
	recorder_tell(r, EVENT_WARN, "recorder-part-trouble", "%s", text);
}

/* What makes a segment readable on another machine, as lines of key=value. Only the name of a host
 * may change while it runs. */
static int recorder_put_meta(struct recorder *r, struct err *err)
{
	char text[600];
	struct utsname u;

	if (uname(&u) < 0)
		return 0;
	int n = snprintf(text, sizeof(text),
			 "version=" ZSCOPE_VERSION "\nhost=%s\nkernel=%s\nmachine=%s\nuser_hz=%ld\n"
			 "cores=%ld\npage_bytes=%ld\ninterval_ns=%" PRIu64 "\n",
			 u.nodename, u.release, u.machine, sysconf(_SC_CLK_TCK), r->n_cores,
			 sysconf(_SC_PAGESIZE), r->interval_ns);
	return store_writer_append(r->writer, FRAME_META, 1, store_writer_clock(r->writer)->real_ns,
				   text, MIN_OF((size_t)n, sizeof(text) - 1), err);
}

static int recorder_begin_segment(void *arg, struct store_writer *w, struct err *err)
{
	struct recorder *r = arg;
	struct err why = { 0 };

	r->writer = w;
	recorder_put_meta(r, &why);
	for (size_t i = 0; i < r->n_slots; i++) {
		struct recorder_slot *slot = &r->slots[i];
		if (slot->open && slot->part->begin_segment &&
		    slot->part->begin_segment(slot->state, store_writer_clock(w), w, &why) < 0)
			recorder_part_failed(r, slot, &why);
	}
	return 0;
}

static int recorder_end_segment(void *arg, struct store_writer *w, struct err *err)
{
	struct recorder *r = arg;
	struct err why = { 0 };

	for (size_t i = 0; i < r->n_slots; i++) {
		struct recorder_slot *slot = &r->slots[i];
		if (slot->open && slot->part->end_segment &&
		    slot->part->end_segment(slot->state, store_writer_clock(w), w, &why) < 0)
			recorder_part_failed(r, slot, &why);
	}
	return 0;
}

/* A part that does not open keeps its reason in `said` until the recording can take it. */
static void recorder_open_part(struct recorder_slot *slot, struct err *err)
{
	*err = (struct err){ 0 };
	slot->open = slot->part->open(&slot->state, &slot->context, err) >= 0;
}

/* What was missing at the start may have come: a module, a right, a service. */
RARELY static void recorder_retry_parts(struct recorder *r)
{
	struct err err;

	for (size_t i = 0; i < r->n_slots; i++) {
		struct recorder_slot *slot = &r->slots[i];
		if (slot->open)
			continue;
		recorder_open_part(slot, &err);
		if (!slot->open) {
			recorder_part_failed(r, slot, &err);
			continue;
		}
		slot->said[0] = '\0';
		recorder_tell(r, EVENT_INFO, "recorder-part-back", "%s is recorded from now on",
			      slot->part->name);
		if (slot->part->shed && r->self.shed_level)
			slot->part->shed(slot->state, (unsigned)r->self.shed_level);
		if (slot->part->begin_segment &&
		    slot->part->begin_segment(slot->state, &r->clock, r->writer, &err) < 0)
			recorder_part_failed(r, slot, &err);
	}
}

static void recorder_open_parts(struct recorder *r)
{
	for (size_t i = 0; i < r->options->n_parts && i < RECORDER_MOST_PARTS; i++) {
		struct recorder_slot *slot = &r->slots[r->n_slots++];
		struct err err;

		slot->part = r->options->parts[i].part;
		slot->context = (struct recorder_context){ .root = r->options->root,
							   .store_dir = r->options->store_dir,
							   .options = r->options->parts[i].options,
							   .self = &r->self,
							   .cores = r->cores,
							   .say = r->options->say,
							   .say_arg = r->options->arg };
		recorder_open_part(slot, &err);
		if (!slot->open)
			snprintf(slot->said, sizeof(slot->said), "%s: %s", slot->part->name,
				 err.text);
	}
}

/* Late is the recorder's worst vice: first in the queue, never swapped out. What the host does not
 * allow is said, and the recording goes on. */
static void recorder_harden(struct recorder *r)
{
	struct rlimit lock = { 0 };
	int future = 0;

	errno = 0;
	if (getpriority(PRIO_PROCESS, 0) > -20 && setpriority(PRIO_PROCESS, 0, -20) < 0)
		recorder_tell(r, EVENT_INFO, "recorder-no-priority",
			      "no right to a higher priority (CAP_SYS_NICE): ticks may be late "
			      "under load");
	/* with a limit, locking what comes later would make it fail */
	if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY)
		future = MCL_FUTURE;
	/* what was touched stays; whole libraries of which a page is used need not */
	if (mlockall(MCL_CURRENT | MCL_ONFAULT | future) < 0)
		recorder_tell(
			r, EVENT_INFO, "recorder-no-memory-lock",
			"memory cannot be locked (%s): ticks may be late when memory is short",
			strerror(errno));
}

/* Ticks fall on whole seconds of the wall clock. */
static void recorder_align(struct recorder *r)
{
	uint64_t real = clock_real_ns();

	r->next_mono_ns = clock_mono_ns() + r->interval_ns - real % r->interval_ns;
}

static void recorder_shed(struct recorder *r, uint64_t level, const char *why)
{
	r->self.shed_level = level;
	r->calm_ticks = 0;
	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slots[i].open && r->slots[i].part->shed)
			r->slots[i].part->shed(r->slots[i].state, (unsigned)level);
	recorder_tell(r, level ? EVENT_WARN : EVENT_INFO, "recorder-detail",
		      "level of detail left out is now %" PRIu64 " of %d: %s", level,
		      RECORDER_MOST_SHED, why);
}

static void recorder_judge_pace(struct recorder *r, uint64_t took_ns, uint64_t missed)
{
	/* the first tick opens and measures things: it is no measure itself */
	if ((missed || (took_ns > r->interval_ns / SHED_SHARE && r->ticks > 1)) &&
	    r->self.shed_level < RECORDER_MOST_SHED) {
		recorder_shed(r, r->self.shed_level + 1,
			      missed ? "ticks were missed" : "a tick took too long");
		return;
	}
	r->calm_ticks = took_ns < r->interval_ns / RESTORE_SHARE ? r->calm_ticks + 1 : 0;
	if (r->self.shed_level && r->calm_ticks >= RESTORE_AFTER)
		recorder_shed(r, r->self.shed_level - 1, "there is room again");
}

/* Steps of the wall clock and time asleep, as events: later readers must not guess. */
static void recorder_judge_clocks(struct recorder *r, const struct store_clock *now)
{
	int64_t wall = (int64_t)(now->real_ns - r->clock.real_ns);
	int64_t boot = (int64_t)(now->boot_ns - r->clock.boot_ns);
	int64_t awake = (int64_t)(now->mono_ns - r->clock.mono_ns);
	struct store_clock before = r->clock;

	r->clock = *now;
	if (!before.real_ns)
		return;
	if (wall - boot > (int64_t)STEP_NS || boot - wall > (int64_t)STEP_NS)
		recorder_tell(r, EVENT_WARN, "clock-step",
			      "the wall clock was set: it moved %.3f s in %.3f s",
			      (double)wall / 1e9, (double)boot / 1e9);
	if (boot - awake > (int64_t)STEP_NS)
		recorder_tell(r, EVENT_WARN, "suspended", "the host was suspended for %.1f s",
			      (double)(boot - awake) / 1e9);
}

/* On a disk that stays full a segment goes for each that comes: the first is told at once, then
 * what went in an hour. */
RARELY static void recorder_tell_dropped(struct recorder *r)
{
	const struct store_dropped *all = store_writer_dropped(r->writer);
	uint64_t n = all->segments - r->dropped.segments;
	char many[40] = "", from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	if (n > 1)
		snprintf(many, sizeof(many), "%" PRIu64 " ", n);
	timefmt_local(from, n == all->segments ? all->from_ns : r->dropped.to_ns);
	timefmt_local(to, all->to_ns);
	recorder_tell(r, EVENT_WARN, "recorder-dropped",
		      "the disk is full: the %soldest segment%s of the recording, %s to %s, %s "
		      "deleted to make room (%" PRIu64 " KiB)",
		      many, n == 1 ? "" : "s", from, to, n == 1 ? "was" : "were",
		      (all->bytes - r->dropped.bytes + 1023) / 1024);
	r->dropped = *all;
	r->dropped_mono_ns = r->clock.mono_ns + DROPPED_NS;
}

static void recorder_judge_store(struct recorder *r)
{
	const char *degraded = store_writer_degraded(r->writer);

	if (store_writer_dropped(r->writer)->segments != r->dropped.segments &&
	    r->clock.mono_ns >= r->dropped_mono_ns)
		recorder_tell_dropped(r);
	if ((!degraded && !r->degraded[0]) || (degraded && strcmp(degraded, r->degraded) == 0))
		return;
	text_copy(r->degraded, sizeof(r->degraded), degraded ? degraded : "");
	recorder_tell(r, degraded ? EVENT_CRIT : EVENT_INFO, "recorder-store", "store: %s",
		      degraded ? degraded : "writing to disk again");
}

RARELY static void recorder_first_words(struct recorder *r)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (!r->slots[i].open)
			recorder_tell(r, EVENT_WARN, "recorder-part-missing",
				      "cannot be recorded: %s (tried again every %" PRIu64 " s)",
				      r->slots[i].said,
				      MAX_OF(RETRY_EVERY * r->interval_ns / NS_PER_S, UINT64_C(1)));
	recorder_harden(r);
}

/* Our own cost: CPU time, memory, faults. Asked for every second, it would be a good part of what
 * it measures. */
static void recorder_read_meter(struct recorder *r)
{
	uint64_t before_ns = r->self.cpu_ns;

	if (r->ticks++ % METER_EVERY == 0) {
		recorder_meter_read(&r->meter, &r->self);
		if (r->ticks > 1) {
			r->self.tick_cpu_ns = (r->self.cpu_ns - before_ns) / METER_EVERY;
			r->self.have |= REC_SELF_TICK_CPU;
		}
	}
	r->self.ticks = r->ticks;
	r->self.store_bytes = store_writer_bytes(r->writer);
	r->self.lost_frames = store_writer_lost_frames(r->writer);
}

EVERY_TICK static int recorder_tick(struct recorder *r, uint64_t now_mono_ns, struct err *err)
{
	struct store_clock now = r->clock;
	struct err why;
	uint64_t late_ns = now_mono_ns - r->next_mono_ns;
	uint64_t missed = r->ticks ? late_ns / r->interval_ns : 0;

	why.text[0] = '\0'; /* all of it as zeroes would be seven more cache lines */
	now.real_ns = clock_real_ns();
	now.mono_ns = now_mono_ns;
	now.boot_ns = clock_boot_ns();
	r->self.lateness_ns = late_ns % r->interval_ns;
	r->self.missed_ticks += missed;
	r->next_mono_ns += r->interval_ns * (late_ns / r->interval_ns + 1);
	recorder_read_meter(r);

	int code = store_writer_tick(r->writer, &now, err);
	if (code < 0)
		return code;
	recorder_judge_clocks(r, &now);
	if (r->ticks == 1)
		recorder_first_words(r);
	for (size_t i = 0; i < r->n_slots; i++) {
		struct recorder_slot *slot = &r->slots[i];
		if (slot->open && slot->part->tick &&
		    slot->part->tick(slot->state, &now, r->writer, &why) < 0)
			recorder_part_failed(r, slot, &why);
	}
	store_writer_flush(r->writer);
	recorder_judge_store(r);
	recorder_judge_pace(r, clock_mono_ns() - now.mono_ns, missed);
	if (r->ticks % RETRY_EVERY == 0)
		recorder_retry_parts(r);
	uint64_t phase = (now.real_ns - r->self.lateness_ns) % r->interval_ns;
	if (MIN_OF(phase, r->interval_ns - phase) > MISALIGNED_NS && !missed)
		recorder_align(r);
	return 0;
}

static void recorder_ready(struct recorder *r, struct recorder_slot *slot)
{
	struct err why = { 0 };

	if (slot->part->ready && slot->part->ready(slot->state, r->writer, &why) < 0)
		recorder_part_failed(r, slot, &why);
}

/* Where only the time and a signal are waited for: poll costs some ten microseconds more. It fails
 * when the time has come, or when a signal came that is not waited for: the clock tells which. */
static bool recorder_wait_time(struct recorder *r, const struct timespec *timeout)
{
	return sigtimedwait(&r->signals, NULL, timeout) < 0;
}

/* The descriptors of the parts, -1 where there is none just now. true = any. */
EVERY_TICK static bool recorder_descriptors(const struct recorder *r, struct pollfd *fds)
{
	bool any = false;

	for (size_t i = 0; i < r->n_slots; i++) {
		const struct recorder_slot *slot = &r->slots[i];
		/* before the first tick there is no segment that takes anything */
		bool asks = slot->open && slot->part->fd && r->ticks;
		fds[i] = (struct pollfd){ asks ? slot->part->fd(slot->state) : -1, POLLIN, 0 };
		any |= fds[i].fd >= 0;
	}
	return any;
}

static void recorder_ready_parts(struct recorder *r, const struct pollfd *fds)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (fds[i].revents)
			recorder_ready(r, &r->slots[i]);
}

/* The last lines before the end say most about it: what has come already is still taken, unless it
 * comes faster than it can be read. */
RARELY static void recorder_drain(struct recorder *r)
{
	struct pollfd fds[RECORDER_MOST_PARTS];
	uint64_t end_ns = clock_mono_ns() + DRAIN_NS;

	while (recorder_descriptors(r, fds) && poll(fds, r->n_slots, 0) > 0 &&
	       clock_mono_ns() < end_ns)
		recorder_ready_parts(r, fds);
	for (size_t i = 0; r->ticks && i < r->n_slots; i++) {
		struct recorder_slot *slot = &r->slots[i];
		struct err why = { 0 };
		if (slot->open && slot->part->finish &&
		    slot->part->finish(slot->state, store_writer_clock(r->writer), r->writer,
				       &why) < 0)
			recorder_part_failed(r, slot, &why);
	}
}

/* A single call for signals, the parts' descriptors and the time of the next tick. */
static int recorder_wait_parts(struct recorder *r, struct pollfd *fds,
			       const struct timespec *timeout, struct err *err)
{
	int n = ppoll(fds, 1 + r->n_slots, timeout, NULL);

	if (n < 0 && errno != EINTR)
		return err_set(err, -errno, "poll: %s", strerror(errno));
	if (n > 0 && fds[r->n_slots].revents) {
		struct signalfd_siginfo taken; /* or it would strike when it is let in again */
		return read(r->signal_fd, &taken, sizeof(taken)) < 0 && errno == EAGAIN;
	}
	if (n > 0)
		recorder_ready_parts(r, fds);
	return 1;
}

/* One wait, and the tick when it is due. 1 = go on, 0 = asked to end. */
EVERY_TICK static int recorder_wait(struct recorder *r, struct err *err)
{
	struct pollfd fds[RECORDER_MOST_PARTS + 1];
	uint64_t now_ns = clock_mono_ns();
	uint64_t left_ns = r->next_mono_ns > now_ns ? r->next_mono_ns - now_ns : 0;
	struct timespec timeout = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };
	bool any = recorder_descriptors(r, fds);

	fds[r->n_slots] = (struct pollfd){ r->signal_fd, POLLIN, 0 };
	int go_on =
		any ? recorder_wait_parts(r, fds, &timeout, err) : recorder_wait_time(r, &timeout);
	if (go_on <= 0)
		return go_on;
	now_ns = clock_mono_ns();
	if (now_ns < r->next_mono_ns)
		return 1;
	int code = recorder_tick(r, now_ns, err);
	if (code < 0)
		return code;
	if (r->options->alive)
		r->options->alive(r->options->arg, r->ticks == 1);
	return 1;
}

/* By itself, so that what runs once does not stand between what runs every second. */
__attribute__((noinline)) EVERY_TICK static int recorder_loop(struct recorder *r, struct err *err)
{
	uint64_t end_ns = clock_mono_ns() + r->options->duration_ns;
	int code;

	recorder_align(r);
	do {
		code = recorder_wait(r, err);
	} while (code > 0 && (!r->options->duration_ns || clock_mono_ns() < end_ns));
	return code < 0 ? code : 0;
}

static int recorder_prepare(struct recorder *r, struct err *err)
{
	struct store_hooks hooks = { recorder_begin_segment, recorder_end_segment, r };
	AUTO_BUF struct buf boot_id = { 0 };
	struct offer offer;

	r->interval_ns = r->options->interval_ns ? r->options->interval_ns : NS_PER_S;
	if (root_read(r->options->root, "proc/sys/kernel/random/boot_id", 100, &boot_id, NULL) == 0)
		text_copy_n(r->clock.boot_id, sizeof(r->clock.boot_id), boot_id.data,
			    strcspn(boot_id.data, "\n"));
	r->n_cores = sysconf(_SC_NPROCESSORS_CONF);
	int code = store_writer_open(r->options->store_dir, &r->options->store, &hooks, &r->writer,
				     err);
	if (code == -EACCES || code == -EROFS)
		return err_set(err, code, "%s: %s: needs root, or --store DIR that you may write",
			       r->options->store_dir, strerror(-code));
	if (code < 0)
		return code;
	r->signal_fd = signalfd(-1, &r->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return err_set(err, -errno, "signalfd: %s", strerror(errno));
	recorder_meter_open(&r->meter, r->options->root);
	offer_read(r->options->root, &offer);
	r->cores = core_times_open(r->options->root, &offer);
	if (!r->cores)
		return err_set(err, -ENOMEM, "out of memory");
	recorder_open_parts(r);
	return 0;
}

static void recorder_close(struct recorder *r)
{
	store_writer_close(r->writer);
	for (size_t i = r->n_slots; i-- > 0;)
		if (r->slots[i].open && r->slots[i].part->close)
			r->slots[i].part->close(r->slots[i].state);
	core_times_close(r->cores);
	recorder_meter_close(&r->meter);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
}

/* What stays true when the terminal is closed: how much there is, and what is missing. */
RARELY static int recorder_finish(struct recorder *r, uint64_t took_ns, struct err *err)
{
	struct store_end end;
	char line[200];

	const struct store_dropped *dropped = store_writer_dropped(r->writer);
	if (dropped->segments != r->dropped.segments)
		recorder_tell_dropped(r);
	store_writer_finish(r->writer, &end); /* calls end_segment of the parts */
	int n = snprintf(line, sizeof(line),
			 "%" PRIu64 " tick%s in %.0f s, %" PRIu64 " KiB written, %" PRIu64
			 " missed",
			 r->ticks, r->ticks == 1 ? "" : "s", (double)took_ns / 1e9,
			 (end.written_bytes + 1023) / 1024, r->self.missed_ticks);
	if (dropped->segments)
		snprintf(line + n, sizeof(line) - (size_t)n,
			 ", %" PRIu64 " older segment%s deleted: the disk is full",
			 dropped->segments, dropped->segments == 1 ? "" : "s");
	else if (!end.unwritten_ns && !end.dropped_frames)
		snprintf(line + n, sizeof(line) - (size_t)n, ", nothing lost");
	recorder_say(r, line);
	if (end.unwritten_ns)
		return err_set(err, -ENOSPC, "the last %.1f s never reached the disk: %s",
			       (double)(end.unwritten_ns + r->interval_ns - 1) / 1e9, end.why);
	if (end.dropped_frames)
		return err_set(err, -ENOSPC,
			       "%" PRIu64 " records never reached the disk; the recording names "
			       "the gaps",
			       end.dropped_frames);
	return 0;
}

/* The terminal's end is a reason like the others, unless we were told to outlive it (nohup). */
static void recorder_take_signals(struct recorder *r, sigset_t *ret_before)
{
	struct sigaction hangup;

	sigemptyset(&r->signals);
	sigaddset(&r->signals, SIGTERM);
	sigaddset(&r->signals, SIGINT);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&r->signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &r->signals, ret_before);
}

int recorder_run(const struct recorder_options *options, struct err *err)
{
	AUTO_FREE struct recorder *r = calloc(1, sizeof(*r));
	sigset_t before;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->options = options;
	r->signal_fd = -1;
	recorder_take_signals(r, &before);
	int code = recorder_prepare(r, err);
	uint64_t began_ns = clock_mono_ns();
	if (code == 0)
		code = recorder_loop(r, err);
	if (code == 0) {
		recorder_drain(r);
		code = recorder_finish(r, clock_mono_ns() - began_ns, err);
	}
	recorder_close(r);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return code;
}
