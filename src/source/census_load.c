/* Which programs this kernel can run, and how they are run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "bpf_types.h"
#include "census_abi.h"
#include "census_impl.h"
/* generated: needs census_abi.h */
#include "census.skel.h"
#include "text.h"

static unsigned kernel_version(void)
{
	struct utsname name;
	const char *p = name.release;
	uint64_t major = 0, minor = 0;

	if (uname(&name) < 0 || text_take_u64(&p, &major) < 0 || *p++ != '.' ||
	    text_take_u64(&p, &minor) < 0)
		return 0;
	return (unsigned)(major << 8 | minor);
}

/* ZSCOPE_CENSUS = loop | run | trigger: a lower rung than this kernel has, for tests of the ladder.
 */
static enum census_variant best_variant(void)
{
	const char *wish = getenv("ZSCOPE_CENSUS");

	if (wish && strcmp(wish, "run") == 0)
		return CENSUS_RUN;
	if (wish && strcmp(wish, "trigger") == 0)
		return CENSUS_TRIGGER;
	if (kernel_version() < (5 << 8 | 10))
		return CENSUS_TRIGGER;
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1 &&
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_SYSCALL, BPF_FUNC_loop, NULL) == 1)
		return CENSUS_LOOP;
	return CENSUS_RUN;
}

/* The walk, and with pins what they need. To tell shared memory from anonymous needs the pins, too,
 * but only where there is some: census_load_pins. */
static void choose_programs(const struct census *c, struct census_bpf *skel, bool only_pins)
{
	struct bpf_program *program;
	bool loop = c->variant == CENSUS_LOOP;
	bool paths = c->want & CENSUS_WANT_PINS && !only_pins;
	bool pins = paths || only_pins;

	bpf_object__for_each_program(program, skel->obj) bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(loop ? skel->progs.census_walk : skel->progs.census_walk_chunk,
				  !only_pins);
	bpf_program__set_autoload(loop ? skel->progs.census_pins : skel->progs.census_pins_chunk,
				  pins);
	bpf_program__set_autoload(loop ? skel->progs.census_paths : skel->progs.census_paths_chunk,
				  paths);
	bpf_program__set_autoload(skel->progs.census_tasks,
				  paths && kernel_version() >= (5 << 8 | 8));
	bpf_program__set_autoload(skel->progs.census_sockets,
				  paths && kernel_version() >= (5 << 8 | 8));
	if (kernel_version() >= (5 << 8 | 5)) {
		bpf_map__set_map_flags(skel->maps.records, BPF_F_MMAPABLE);
		bpf_map__set_map_flags(skel->maps.pins, BPF_F_MMAPABLE);
		bpf_map__set_map_flags(skel->maps.names, BPF_F_MMAPABLE);
	}
}

static size_t out_stride(enum census_job job)
{
	static const size_t sizes[] = {
		[CENSUS_JOB_WALK] = sizeof(struct census_rec),
		[CENSUS_JOB_PINS] = sizeof(struct census_pin),
		[CENSUS_JOB_PATHS] = sizeof(struct census_part),
	};
	return (sizes[job] + 7) & ~(size_t)7;
}

static int out_fd(const struct census *c, enum census_job job)
{
	const struct bpf_map *maps[] = {
		[CENSUS_JOB_WALK] = c->skel->maps.records,
		[CENSUS_JOB_PINS] = c->skel->maps.pins,
		[CENSUS_JOB_PATHS] = c->skel->maps.names,
	};
	return bpf_map__fd(maps[job]);
}

static void map_outputs(struct census *c)
{
	for (enum census_job job = CENSUS_JOB_WALK; job <= CENSUS_JOB_PATHS; job++) {
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		size_t bytes = (out_stride(job) * CENSUS_OUT + page - 1) / page * page;
		void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, out_fd(c, job), 0);
		if (map == MAP_FAILED)
			continue;
		c->maps[job] = map;
		c->map_bytes[job] = bytes;
	}
}

const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf)
{
	if (c->maps[job])
		return (const char *)c->maps[job] + n * out_stride(job);
	return bpf_map_lookup_elem(out_fd(c, job), &n, buf) < 0 ? NULL : buf;
}

static void pull(struct census *c)
{
	unsigned zero = 0;

	if (!c->st_mapped)
		bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.bss), &zero, &c->st_copy);
}

static void push(struct census *c)
{
	unsigned zero = 0;

	if (!c->st_mapped)
		bpf_map_update_elem(bpf_map__fd(c->skel->maps.bss), &zero, &c->st_copy, 0);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int attach(struct census *c, enum census_job job, struct err *err)
{
	struct bpf_program *programs[] = {
		[CENSUS_JOB_WALK] = c->skel->progs.census_walk_chunk,
		[CENSUS_JOB_PINS] = (c->more ? c->more : c->skel)->progs.census_pins_chunk,
		[CENSUS_JOB_PATHS] = c->skel->progs.census_paths_chunk,
	};

	if (c->links[job])
		return 0;
	c->links[job] = bpf_program__attach(programs[job]);
	if (!c->links[job])
		return err_set(err, -errno, "attaching to sys_enter: %s", strerror(errno));
	return 0;
}

int census_slice(struct census *c, enum census_job job, struct err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	unsigned ran = c->st->ran;
	uint64_t before, took;
	int r = 0;

	c->st->job = job;
	if (c->variant == CENSUS_TRIGGER) {
		r = attach(c, job, err);
		if (r < 0)
			return r;
	}
	push(c);
	before = thread_cpu_ns();
	if (c->variant == CENSUS_TRIGGER)
		syscall(SYS_getppid);
	else
		r = bpf_prog_test_run_opts(c->programs[job], &run);
	took = thread_cpu_ns() - before;
	pull(c);
	if (r < 0 && c->variant == CENSUS_RUN) {
		c->variant = CENSUS_TRIGGER; /* no test run for raw tracepoints before 5.10 */
		return census_slice(c, job, err);
	}
	if (r < 0)
		return err_set(err, r, "running the census program: %s", strerror(-r));
	if (c->st->ran == ran)
		return err_set(err, -EIO, "the census program did not run");
	c->slices++;
	if (took > c->longest_slice_ns)
		c->longest_slice_ns = took;
	return 0;
}

int census_set_targets(struct census *c, const struct census_target *targets, unsigned n,
		       struct err *err)
{
	int fd = bpf_map__fd(c->skel->maps.targets);

	for (unsigned i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &i, &targets[i], 0) < 0)
			return err_set(err, -errno, "giving the census its targets: %s",
				       strerror(errno));
	return 0;
}

/* Why it could not be loaded, in words that say what to do. */
static int load_failed(const struct census *c, int code, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	if (!root_exists(c->root, "sys/kernel/btf/vmlinux"))
		return err_set(err, code,
			       "no BTF: this kernel was built without CONFIG_DEBUG_INFO_BTF "
			       "(/sys/kernel/btf/vmlinux is missing)");
	if (root_read(c->root, "sys/kernel/security/lockdown", 4096, &text, NULL) == 0 &&
	    strstr(buf_str(&text), "[confidentiality]"))
		return err_set(err, code, "bpf: kernel lockdown is in confidentiality mode");
	if (code == -EPERM || code == -EACCES)
		return err_set(err, code, "bpf: %s: needs root, or CAP_BPF and CAP_PERFMON",
			       strerror(-code));
	return err_set(err, code, "bpf: the census program cannot be loaded: %s", strerror(-code));
}

/* Both objects work on the same memory. */
static int share_maps(const struct census_bpf *from, const struct census_bpf *to)
{
	const struct bpf_map *have[] = { from->maps.records, from->maps.pins, from->maps.names,
					 from->maps.targets, from->maps.bss };
	struct bpf_map *want[] = { to->maps.records, to->maps.pins, to->maps.names,
				   to->maps.targets, to->maps.bss };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(have); i++)
		r = bpf_map__reuse_fd(want[i], bpf_map__fd(have[i]));
	return r;
}

/* only_pins: for the maps of c->skel, which is loaded already. */
static int load_once(struct census *c, bool only_pins, struct census_bpf **ret, struct err *err)
{
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));

	struct census_bpf *skel = census_bpf__open_opts(&opts);
	if (!skel)
		return err_set(err, -errno, "bpf: opening the census program: %s", strerror(errno));
	choose_programs(c, skel, only_pins);
	int r = bpf_types_fill(&types, c->root, skel->obj, err);
	int loaded = r == 0 && only_pins ? share_maps(c->skel, skel) : 0;
	if (r == 0 && loaded == 0)
		loaded = census_bpf__load(skel);
	if (r == 0 && loaded == 0) {
		*ret = skel;
		return 0;
	}
	census_bpf__destroy(skel);
	if (loaded < 0 || r == -ENOENT)
		return load_failed(c, loaded < 0 ? loaded : r, err);
	return err_prefix(err, r, "bpf");
}

int census_load_pins(struct census *c, struct err *err)
{
	if (c->programs[CENSUS_JOB_PINS] >= 0)
		return 0;
	int r = load_once(c, true, &c->more, err);
	if (r == 0)
		c->programs[CENSUS_JOB_PINS] = bpf_program__fd(
			c->variant == CENSUS_LOOP ? c->more->progs.census_pins
						  : c->more->progs.census_pins_chunk);
	return r;
}

static void take_programs(struct census *c)
{
	const struct census_bpf *s = c->skel;
	bool loop = c->variant == CENSUS_LOOP;

	c->programs[CENSUS_JOB_WALK] =
		bpf_program__fd(loop ? s->progs.census_walk : s->progs.census_walk_chunk);
	c->programs[CENSUS_JOB_PINS] =
		bpf_program__fd(loop ? s->progs.census_pins : s->progs.census_pins_chunk);
	c->programs[CENSUS_JOB_PATHS] =
		bpf_program__fd(loop ? s->progs.census_paths : s->progs.census_paths_chunk);
	c->st_mapped = bpf_map__map_flags(s->maps.bss) & BPF_F_MMAPABLE;
	c->st = c->st_mapped ? &c->skel->bss->st : &c->st_copy;
}

int census_load(struct census *c, struct err *err)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	bpf_types_quiet();
	if (kernel_version() < (5 << 8 | 11))
		setrlimit(RLIMIT_MEMLOCK, &all); /* maps were charged to it */
	c->variant = best_variant();
	int r = load_once(c, false, &c->skel, err);
	if (r < 0 && r != -EPERM && c->variant == CENSUS_LOOP) {
		c->variant = CENSUS_RUN; /* a kernel that says it can and then cannot */
		r = load_once(c, false, &c->skel, err);
	}
	if (r < 0)
		return r;
	take_programs(c);
	map_outputs(c);
	return 0;
}

void census_close(struct census *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < 4; i++) {
		if (c->maps[i])
			munmap(c->maps[i], c->map_bytes[i]);
		bpf_link__destroy(c->links[i]);
	}
	buf_free(&c->prefix);
	buf_free(&c->paths);
	free(c->copies);
	vec_free(&c->pins);
	vec_free(&c->refs);
	vec_free(&c->own);
	mounts_free(&c->mounts);
	census_bpf__destroy(c->more);
	census_bpf__destroy(c->skel);
	free(c);
}
