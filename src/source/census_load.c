/* Which programs this kernel can run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "auto.h"
#include "census_impl.h"
/* generated: need the headers above */
#include "census_direct.skel.h"
#include "census_paths.skel.h"
#include "census_pins.skel.h"
#include "census_walk.skel.h"
#include "census_writeback.skel.h"
#include "text.h"

#define KERNEL(major, minor) ((major) << 8 | (minor))

static const struct {
	const void *(*elf)(size_t *ret_bytes);
	const char *loop, *chunk; /* programs by variant */
	const char *out;          /* map of the records */
	size_t out_bytes;         /* of one */
	unsigned want;            /* enum census_want that needs it */
} jobs[CENSUS_JOBS] = {
	[CENSUS_JOB_WALK] = { census_walk_bpf__elf_bytes, "census_walk", "census_walk_chunk",
			      "records", sizeof(struct census_rec), ~0u },
	[CENSUS_JOB_PINS] = { census_pins_bpf__elf_bytes, "census_pins", "census_pins_chunk",
			      "pins", sizeof(struct census_pin), ~0u },
	[CENSUS_JOB_PATHS] = { census_paths_bpf__elf_bytes, "census_paths", "census_paths_chunk",
			       "names", sizeof(struct census_part), CENSUS_WANT_PINS },
	[CENSUS_JOB_WRITEBACK] = { census_writeback_bpf__elf_bytes, "census_writeback",
				   "census_writeback_chunk", "held",
				   sizeof(struct census_writeback), CENSUS_WANT_PINS },
};

static unsigned kernel_version(void)
{
	struct utsname name;
	const char *p = name.release;
	uint64_t major = 0, minor = 0;

	if (uname(&name) < 0 || text_take_u64(&p, &major) < 0 || *p++ != '.' ||
	    text_take_u64(&p, &minor) < 0)
		return 0;
	return (unsigned)KERNEL(major, minor);
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
	if (wish && strcmp(wish, "loop") == 0)
		return CENSUS_LOOP;
	if (kernel_version() < KERNEL(5, 10))
		return CENSUS_TRIGGER;
	if (kernel_version() >= KERNEL(6, 2))
		return CENSUS_DIRECT;
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1 &&
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_SYSCALL, BPF_FUNC_loop, NULL) == 1)
		return CENSUS_LOOP;
	return CENSUS_RUN;
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

static int open_object(const struct bpf_types *types, const void *elf, size_t elf_bytes,
		       struct bpf_object **ret, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(types),
		    .object_name = "census");

	*ret = bpf_object__open_mem(elf, elf_bytes, &opts);
	if (!*ret)
		return err_set(err, -errno, "bpf: opening the census program: %s", strerror(errno));
	return 0;
}

/* What bpf_types_fill() said, in the words of a user. */
static int types_failed(const struct census *c, int r, struct err *err)
{
	return r == -ENOENT ? load_failed(c, r, err) : err_prefix(err, r, "bpf");
}

int census_load_object(const struct census *c, const void *elf, size_t elf_bytes,
		       struct bpf_object **ret, struct err *err)
{
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();

	int r = open_object(&types, elf, elf_bytes, ret, err);
	if (r < 0)
		return r;
	r = bpf_types_fill(&types, c->root, *ret, err);
	if (r < 0)
		r = types_failed(c, r, err);
	else if ((r = bpf_object__load(*ret)) < 0)
		r = load_failed(c, r, err);
	if (r < 0)
		bpf_object__close(*ret);
	return r;
}

static bool is_direct(const struct census *c, enum census_job job)
{
	return job == CENSUS_JOB_WALK && c->variant == CENSUS_DIRECT;
}

static const char *program_name(const struct census *c, enum census_job job)
{
	if (is_direct(c, job))
		return "census_direct";
	return c->variant <= CENSUS_LOOP ? jobs[job].loop : jobs[job].chunk;
}

static void choose_program(const struct census *c, struct bpf_object *obj, enum census_job job)
{
	struct bpf_map *host = bpf_object__find_map_by_name(obj, ".rodata");
	struct bpf_map *out = bpf_object__find_map_by_name(obj, jobs[job].out);
	struct census_host constants = {
		.nodes = c->nodes,
		.v1 = c->v1,
		.detail = (c->opened_for ? CENSUS_DETAIL_REFS : 0) |
			  (c->swap_on ? CENSUS_DETAIL_SWAP : 0),
	};
	struct bpf_program *program;

	bpf_object__for_each_program(program, obj) bpf_program__set_autoload(
		program, strcmp(bpf_program__name(program), program_name(c, job)) == 0);
	if (kernel_version() >= KERNEL(5, 5))
		bpf_map__set_map_flags(out, BPF_F_MMAPABLE);
	if (host)
		bpf_map__set_initial_value(host, &constants, sizeof(constants));
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t out_stride(enum census_job job)
{
	return (jobs[job].out_bytes + 7) & ~(size_t)7;
}

static void *map_fd(int fd, size_t bytes, int how)
{
	void *map = mmap(NULL, whole_pages(bytes), how, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* The job's state and output, mapped where the kernel can. */
static int take_maps(struct census_program *p, enum census_job job, struct err *err)
{
	struct bpf_map *state = bpf_object__find_map_by_name(p->obj, ".bss");
	struct bpf_map *targets = bpf_object__find_map_by_name(p->obj, "targets");

	p->out_fd = bpf_object__find_map_fd_by_name(p->obj, jobs[job].out);
	p->targets_fd = targets ? bpf_map__fd(targets) : -1;
	p->state_fd = bpf_map__fd(state);
	p->state_bytes = bpf_map__value_size(state);
	p->out = map_fd(p->out_fd, out_stride(job) * CENSUS_OUT, PROT_READ);
	if (bpf_map__map_flags(state) & BPF_F_MMAPABLE)
		p->ctl = map_fd(p->state_fd, p->state_bytes, PROT_READ | PROT_WRITE);
	p->mapped = p->ctl;
	if (!p->ctl)
		p->ctl = calloc(1, p->state_bytes);
	return p->ctl ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int open_job(struct census *c, enum census_job job, struct err *err)
{
	struct census_program *p = &c->programs[job];
	size_t bytes;
	const void *elf =
		is_direct(c, job) ? census_direct_bpf__elf_bytes(&bytes) : jobs[job].elf(&bytes);

	int r = open_object(&c->types, elf, bytes, &p->obj, err);
	if (r == 0)
		choose_program(c, p->obj, job);
	return r;
}

/* All that may be needed, so that the kernel's types are gone through once. */
static int open_jobs(struct census *c, struct err *err)
{
	struct bpf_object *objs[CENSUS_JOBS];
	size_t n = 0;

	for (enum census_job job = 0; job < CENSUS_JOBS; job++) {
		if (job != CENSUS_JOB_WALK && !(c->opened_for & jobs[job].want))
			continue;
		if (job == CENSUS_JOB_WRITEBACK && c->v1) /* has one for all */
			continue;
		int r = open_job(c, job, err);
		if (r < 0)
			return r;
		objs[n++] = c->programs[job].obj;
	}
	int r = bpf_types_fill_all(&c->types, c->root, objs, n, err);
	return r < 0 ? types_failed(c, r, err) : 0;
}

static void unload(struct census *c, enum census_job job)
{
	struct census_program *p = &c->programs[job];

	bpf_link__destroy(p->link);
	if (p->out)
		munmap(p->out, whole_pages(out_stride(job) * CENSUS_OUT));
	if (p->mapped)
		munmap(p->ctl, whole_pages(p->state_bytes));
	else
		free(p->ctl);
	bpf_object__close(p->obj);
	*p = (struct census_program){ 0 };
}

int census_load(struct census *c, enum census_job job, struct err *err)
{
	struct census_program *p = &c->programs[job];
	struct err failed = { 0 };

	if (p->program)
		return 0;
	if (p->failed.code)
		return err_set(err, p->failed.code, "%s", p->failed.text);
	int r = bpf_object__load(p->obj);
	r = r < 0 ? load_failed(c, r, &failed) : take_maps(p, job, &failed);
	if (r < 0) {
		unload(c, job);
		p->failed = failed;
		return err_set(err, r, "%s", failed.text);
	}
	p->program = bpf_object__find_program_by_name(p->obj, program_name(c, job));
	return 0;
}

static void unload_all(struct census *c)
{
	for (enum census_job job = 0; job < CENSUS_JOBS; job++)
		unload(c, job);
}

/* The walk decides how far this kernel can follow; the other jobs run like it. */
int census_prepare(struct census *c, struct err *err)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	if (kernel_version() < KERNEL(5, 11))
		setrlimit(RLIMIT_MEMLOCK, &all); /* maps were charged to it */
	c->types = bpf_types_open();
	c->variant = best_variant();
	for (;;) {
		int r = open_jobs(c, err);
		if (r == 0)
			r = census_load(c, CENSUS_JOB_WALK, err);
		/* a kernel whose version says that it can, and then cannot */
		if (r == 0 || r == -EPERM || c->variant >= CENSUS_RUN)
			return r;
		unload_all(c);
		c->variant++;
	}
}

void census_unload(struct census *c)
{
	unload_all(c);
	bpf_types_close(&c->types);
}

const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf)
{
	const struct census_program *p = &c->programs[job];

	if (p->out)
		return (const char *)p->out + n * out_stride(job);
	return bpf_map_lookup_elem(p->out_fd, &n, buf) < 0 ? NULL : buf;
}
