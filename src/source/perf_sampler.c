#include "perf_sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"
#include "vec.h"

enum {
	RING_BYTES_FEW = 1 << 20,    /* 97 Hz x 10 s x 127 frames: 1.04 MB */
	RING_BYTES_MANY = 512 << 10, /* 13 s at 400 B a sample; what perf_event_mlock_kb allows */
	RING_BYTES_LEAST = 64 << 10,
	MANY_CORES = 64,
	MAX_CORES = 8192,
	MAX_HZ = 10000,
};

struct ring {
	uint32_t cpu;
	int fd;
	uint8_t *map; /* one header page, then ring_bytes */
	uint64_t opened_mono_ns;
	uint64_t lost;
	uint64_t records; /* handed over */
	bool wanted;      /* still online, in follow_cores */
	bool dead;        /* its event ended when the core was unplugged */
	/* the drain in progress */
	uint64_t at, head;
	uint64_t last_ns; /* time of the last record */
	struct perf_ring_record next;
	bool has_next;
	uint8_t *wrapped; /* copy of a record that wraps around the end */
};

struct perf_sampler {
	const struct root *root;
	struct perf_event_attr attr;
	unsigned flags; /* of perf_ring_parse */
	bool counts_lost;
	size_t ring_bytes;
	int epoll_fd;
	uint64_t now_ns; /* no record that is there can be later */
	VEC(struct ring) rings;
};

static int event_open(struct perf_event_attr *attr, uint32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What an older kernel may refuse, in the order in which we give it up. */
static const struct degrade {
	const char *what, *since;
} degrades[] = {
	{ "build ids in mmap records", "5.12" },
	{ "cgroup of a sample", "5.7" },
	{ "lost samples per event", "6.0" },
	{ "kernel symbols that come and go", "5.1" },
};

static void degrade_apply(struct perf_sampler *s, size_t step)
{
	switch (step) {
	case 0:
		s->attr.build_id = 0;
		break;
	case 1:
		s->attr.cgroup = 0;
		s->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
		s->flags &= ~(unsigned)PERF_RING_CGROUP;
		break;
	case 2:
		s->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		s->counts_lost = false;
		break;
	default:
		s->attr.ksymbol = 0;
		break;
	}
}

static void attr_init(struct perf_sampler *s, unsigned hz)
{
	s->attr = (struct perf_event_attr){
		.size = sizeof(s->attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.freq = 1,
		.sample_freq = hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	s->flags = PERF_RING_CGROUP;
	s->counts_lost = true;
}

static int refuse(const struct root *root, int code, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	uint64_t paranoid = 0;

	if (code != -EACCES && code != -EPERM)
		return err_set(err, code, "perf_event_open: %s", strerror(-code));
	if (root_read(root, "proc/sys/kernel/perf_event_paranoid", 64, &text, NULL) == 0 &&
	    text_u64(buf_str(&text), &paranoid) == 0)
		return err_set(err, code,
			       "perf_event_open: %s: needs CAP_PERFMON (or CAP_SYS_ADMIN), or "
			       "kernel.perf_event_paranoid < 1, which is %llu",
			       strerror(-code), (unsigned long long)paranoid);
	return err_set(err, code, "perf_event_open: %s: needs CAP_PERFMON (or CAP_SYS_ADMIN)",
		       strerror(-code));
}

/* Find what this kernel accepts, on one core. */
static int probe(struct perf_sampler *s, uint32_t cpu, struct unknowns *unknowns, struct err *err)
{
	size_t step = 0;

	for (;;) {
		int fd = event_open(&s->attr, cpu);
		if (fd >= 0) {
			close(fd);
			return 0;
		}
		bool hardware = s->attr.type == PERF_TYPE_HARDWARE;
		if (hardware && (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENODEV ||
				 (fd == -EINVAL && step == ARRAY_LEN(degrades)))) {
			/* no PMU, as in most virtual machines */
			unsigned hz = (unsigned)s->attr.sample_freq;
			attr_init(s, hz);
			s->attr.type = PERF_TYPE_SOFTWARE;
			s->attr.config = PERF_COUNT_SW_CPU_CLOCK;
			step = 0;
		} else if ((fd == -EINVAL || fd == -E2BIG) && step < ARRAY_LEN(degrades)) {
			if (!hardware && unknowns)
				unknowns_add(unknowns, degrades[step].what,
					     "this kernel refuses it (needs %s)",
					     degrades[step].since);
			degrade_apply(s, step++);
		} else {
			return refuse(s->root, fd, err);
		}
	}
}

static void ring_close(struct ring *ring, size_t ring_bytes)
{
	if (ring->map)
		munmap(ring->map, (size_t)sysconf(_SC_PAGESIZE) + ring_bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->wrapped);
}

static int ring_map(struct perf_sampler *s, struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (;;) {
		void *map = mmap(NULL, page + s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				 ring->fd, 0);
		if (map != MAP_FAILED) {
			ring->map = map;
			return 0;
		}
		/* all rings have one size: only the first may find that it must be smaller */
		if (errno != EPERM || s->rings.len || s->ring_bytes <= RING_BYTES_LEAST)
			return -errno;
		s->ring_bytes /= 2;
	}
}

static int ring_open(struct perf_sampler *s, uint32_t cpu, struct err *err)
{
	struct ring ring = { .cpu = cpu, .wanted = true };

	s->attr.wakeup_watermark = (uint32_t)(s->ring_bytes / 2);
	ring.fd = event_open(&s->attr, cpu);
	if (ring.fd < 0)
		return refuse(s->root, ring.fd, err);
	ring.wrapped = malloc(UINT16_MAX + 1);
	int r = ring.wrapped ? ring_map(s, &ring) : -ENOMEM;
	if (r == 0 && ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	struct epoll_event interest = { .events = EPOLLIN };
	if (r == 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, ring.fd, &interest) < 0)
		r = -errno;
	ring.opened_mono_ns = clock_mono_ns();
	if (r == 0 && !vec_push(&s->rings, ring))
		r = -ENOMEM;
	if (r < 0) {
		ring_close(&ring, s->ring_bytes);
		return err_set(err, r, "perf ring of core %u: %s", cpu, strerror(-r));
	}
	return 0;
}

struct online {
	VEC(uint32_t) cpus;
};

static void online_add(void *arg, unsigned cpu)
{
	struct online *online = arg;
	(void)vec_push(&online->cpus, (uint32_t)cpu);
}

static int online_read(const struct root *root, struct online *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = root_read(root, "sys/devices/system/cpu/online", 4096, &text, err);

	if (r < 0)
		return r;
	char *newline = strchr(text.data, '\n');
	if (newline)
		*newline = '\0';
	r = text_cpu_list(text.data, MAX_CORES, online_add, ret);
	if (r < 0 || !ret->cpus.len)
		return err_set(err, -EINVAL, "/sys/devices/system/cpu/online: no list of cores");
	return 0;
}

static struct ring *ring_of(struct perf_sampler *s, uint32_t cpu)
{
	vec_foreach (&s->rings, ring)
		if (ring->cpu == cpu)
			return ring;
	return NULL;
}

static size_t ring_bytes_for(size_t cores)
{
	return cores > MANY_CORES ? RING_BYTES_MANY : RING_BYTES_FEW;
}

static int open_all(struct perf_sampler *s, const struct online *online,
		    const struct perf_sampler_options *options, struct unknowns *unknowns,
		    struct err *err)
{
	int r = probe(s, online->cpus.items[0], unknowns, err);

	if (r < 0)
		return r;
	size_t want = options->ring_bytes ? options->ring_bytes : ring_bytes_for(online->cpus.len);
	s->ring_bytes = want;
	for (size_t i = 0; i < online->cpus.len; i++) {
		r = ring_open(s, online->cpus.items[i], err);
		if (r == -ENODEV && i > 0) /* unplugged just now; follow_cores sees to it */
			continue;
		if (r < 0)
			return r;
	}
	if (s->ring_bytes < want && unknowns)
		unknowns_add(unknowns, "profile: ten seconds without drain",
			     "rings of %zu KiB only: kernel.perf_event_mlock_kb or RLIMIT_MEMLOCK",
			     s->ring_bytes >> 10);
	return 0;
}

int perf_sampler_open(const struct root *root, const struct perf_sampler_options *options,
		      struct unknowns *unknowns, struct perf_sampler **ret, struct err *err)
{
	struct online online = { 0 };

	if (!root->live)
		return err_set(err, -EOPNOTSUPP, "%s: profiles can only be taken of this host",
			       root->path);
	if (!options->hz || options->hz > MAX_HZ)
		return err_set(err, -EINVAL, "sampling rate: 1 to %d Hz", MAX_HZ);
	struct perf_sampler *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->root = root;
	attr_init(s, options->hz);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int r = s->epoll_fd < 0 ? err_set(err, -errno, "epoll: %s", strerror(errno))
				: online_read(root, &online, err);
	if (r == 0)
		r = open_all(s, &online, options, unknowns, err);
	vec_free(&online.cpus);
	if (r < 0) {
		perf_sampler_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void perf_sampler_close(struct perf_sampler *s)
{
	if (!s)
		return;
	vec_foreach (&s->rings, ring)
		ring_close(ring, s->ring_bytes);
	vec_free(&s->rings);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

/* The record at ring->at in one piece: in place, or copied when it wraps around the end. */
static const uint8_t *ring_record(const struct perf_sampler *s, struct ring *ring, size_t *ret_size)
{
	const uint8_t *data = ring->map + sysconf(_SC_PAGESIZE);
	size_t mask = s->ring_bytes - 1, at = ring->at & mask, have = ring->head - ring->at;
	struct perf_event_header head;

	if (have < sizeof(head))
		return NULL;
	memcpy(&head, data + at, sizeof(head)); /* 8-byte aligned: never wraps */
	if (head.size < sizeof(head) || head.size > have)
		return NULL;
	*ret_size = head.size;
	size_t first = s->ring_bytes - at;
	if (head.size <= first)
		return data + at;
	memcpy(ring->wrapped, data + at, first);
	memcpy(ring->wrapped + first, data, head.size - first);
	return ring->wrapped;
}

/* What read() gives, by read_format; `lost` only where the kernel counts it. */
struct ring_count {
	uint64_t value, enabled_ns, lost;
};

static void ring_count_lost(const struct perf_sampler *s, struct ring *ring, uint64_t said)
{
	struct ring_count count;

	/* LOST records count side-band too; the event's own counter counts samples only */
	if (s->counts_lost && read(ring->fd, &count, sizeof(count)) == sizeof(count))
		ring->lost = count.lost;
	else
		ring->lost += said;
}

/* Parse forward to the next record that is worth handing over. */
static void ring_advance(const struct perf_sampler *s, struct ring *ring)
{
	ring->has_next = false;
	while (ring->at < ring->head) {
		size_t size;
		const uint8_t *bytes = ring_record(s, ring, &size);
		if (!bytes) { /* cannot happen; rather lose the ring's content than loop */
			ring->at = ring->head;
			return;
		}
		if (perf_ring_parse(bytes, size, s->flags, &ring->next) == 0 &&
		    ring->next.kind != PERF_RING_OTHER) {
			ring->next.cpu = ring->cpu;
			ring->has_next = true;
			/* a record from the future would hold up all behind it for ever */
			if (ring->next.time_ns > s->now_ns)
				ring->next.time_ns = ring->last_ns;
			ring->last_ns = ring->next.time_ns;
			return;
		}
		ring->at += size;
	}
}

static void ring_skip(const struct perf_sampler *s, struct ring *ring)
{
	size_t size;
	if (ring_record(s, ring, &size))
		ring->at += size;
}

size_t perf_sampler_drain(struct perf_sampler *s, uint64_t until_mono_ns, perf_sampler_fn each,
			  void *arg)
{
	size_t records = 0;

	vec_foreach (&s->rings, ring) {
		struct perf_event_mmap_page *page = (void *)ring->map;
		ring->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		ring->at = page->data_tail;
	}
	s->now_ns = MAX_OF(clock_mono_ns(), until_mono_ns);
	vec_foreach (&s->rings, ring)
		ring_advance(s, ring);
	for (;;) {
		struct ring *first = NULL;
		vec_foreach (&s->rings, ring)
			if (ring->has_next && (!first || ring->next.time_ns < first->next.time_ns))
				first = ring;
		if (!first || first->next.time_ns >= until_mono_ns)
			break;
		if (first->next.kind == PERF_RING_LOST)
			ring_count_lost(s, first, first->next.lost);
		each(arg, &first->next);
		first->records++;
		records++;
		ring_skip(s, first);
		ring_advance(s, first);
	}
	vec_foreach (&s->rings, ring) {
		struct perf_event_mmap_page *page = (void *)ring->map;
		__atomic_store_n(&page->data_tail, ring->at, __ATOMIC_RELEASE);
	}
	return records;
}

/* The event of a core that was unplugged is dead for good, also when the core is back before
 * anybody looked. Its clock stands still: that of a live one goes on from one read to the next. */
bool perf_sampler_check_dead(struct perf_sampler *s, size_t i)
{
	struct ring *ring = &s->rings.items[i];
	struct ring_count one, two;
	const ssize_t least = offsetof(struct ring_count, lost);

	ssize_t n = read(ring->fd, &one, sizeof(one));
	if (n >= least)
		n = read(ring->fd, &two, sizeof(two));
	if (n >= least)
		ring->dead = one.enabled_ns == two.enabled_ns;
	else
		ring->dead = n == 0; /* an event in error ends like a file */
	return ring->dead;
}

static int close_gone(struct perf_sampler *s, const struct online *online)
{
	int closed = 0;

	vec_foreach (&s->rings, ring)
		ring->wanted = false;
	for (size_t i = 0; i < online->cpus.len; i++) {
		struct ring *ring = ring_of(s, online->cpus.items[i]);
		if (ring)
			ring->wanted = !ring->dead;
	}
	for (size_t i = s->rings.len; i-- > 0;) {
		if (s->rings.items[i].wanted)
			continue;
		ring_close(&s->rings.items[i], s->ring_bytes);
		s->rings.items[i] = s->rings.items[--s->rings.len];
		closed++;
	}
	return closed;
}

int perf_sampler_follow_cores(struct perf_sampler *s, struct unknowns *unknowns)
{
	struct online online = { 0 };
	struct err err = { 0 };
	int changed = 0, r = online_read(s->root, &online, &err);

	if (r == 0) {
		changed = close_gone(s, &online);
		for (size_t i = 0; i < online.cpus.len; i++) {
			if (ring_of(s, online.cpus.items[i]))
				continue;
			if (ring_open(s, online.cpus.items[i], &err) == 0)
				changed++;
			else if (unknowns)
				unknowns_add(unknowns, "profile of a core that came", "%s",
					     err.text);
		}
	}
	vec_free(&online.cpus);
	return r < 0 ? r : changed;
}

int perf_sampler_fd(const struct perf_sampler *s)
{
	return s->epoll_fd;
}

const char *perf_sampler_event(const struct perf_sampler *s)
{
	return s->attr.type == PERF_TYPE_HARDWARE ? "cycles" : "cpu-clock";
}

unsigned perf_sampler_hz(const struct perf_sampler *s)
{
	return (unsigned)s->attr.sample_freq;
}

size_t perf_sampler_ring_bytes(const struct perf_sampler *s)
{
	return s->ring_bytes;
}

size_t perf_sampler_cores(const struct perf_sampler *s)
{
	return s->rings.len;
}

struct perf_sampler_core perf_sampler_core(const struct perf_sampler *s, size_t i)
{
	const struct ring *ring = &s->rings.items[i];
	return (struct perf_sampler_core){ ring->cpu, ring->opened_mono_ns, ring->lost,
					   ring->records };
}
