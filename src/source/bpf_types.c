#include "bpf_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "auto.h"
#include "btf_slice.h"
#include "direct_abi.h"

enum { BPF_TYPES_MOST_BYTES = 64 << 20 };

/* Programs that are made what they are just before loading (bpf_types.h). */
enum { SECTION_TASKS, SECTION_TASK_FILES, SECTION_DIRECT, SECTION_END };
static const char *const sections[SECTION_END] = { "tasks", "task_files", DIRECT_SECTION };
/* What each needs, with the kernel's ids: libbpf hands the load callback nothing to find them by.
 * From FIND_TYPES on in the order of enum direct_type. */
enum { FIND_CAST = SECTION_DIRECT, FIND_TYPES, FIND_END = FIND_TYPES + DIRECT_END - DIRECT_CSS };
static _Thread_local struct btf_slice_find finds[FIND_END] = {
	{ .name = "bpf_iter_task", .what = BTF_SLICE_FUNC },
	{ .name = "bpf_iter_task_file", .what = BTF_SLICE_FUNC },
	{ .name = "bpf_rdonly_cast", .what = BTF_SLICE_FUNC },
	{ .name = "cgroup_subsys_state" },
	{ .name = "mem_cgroup" },
	{ .name = "mem_cgroup_per_node" },
	{ .name = "list_head" },
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	if (getenv("ZSCOPE_BPF_LOG"))
		vfprintf(stderr, format, args);
	return 0;
}

void bpf_types_quiet(void)
{
	libbpf_set_print(quiet);
}

/* Only now is it a tracing program: as one it would have made libbpf read all of the BTF. */
static int make_iterator(struct bpf_program *program, struct bpf_prog_load_opts *opts, long which)
{
	if (!finds[which].id)
		return -EOPNOTSUPP;
	int r = bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
	opts->expected_attach_type = BPF_TRACE_ITER;
	opts->attach_btf_id = finds[which].id;
	return r;
}

/* Replaces the placeholders of direct_abi.h; the program is relocated by now. */
static int make_direct(struct bpf_program *program, struct bpf_prog_load_opts *opts, long unused)
{
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(program);
	size_t n = bpf_program__insn_cnt(program);

	(void)unused;
	for (size_t i = FIND_CAST; i < FIND_END; i++)
		if (!finds[i].id)
			return -EOPNOTSUPP;
	for (size_t i = 0; i < n; i++) {
		bool is_call = insns[i].code == (BPF_JMP | BPF_CALL);
		bool is_set = insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_K);
		if (is_call && insns[i].src_reg == 0 && insns[i].imm == DIRECT_CAST_CALL) {
			insns[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
			insns[i].imm = (int)finds[FIND_CAST].id;
		} else if (is_set && insns[i].imm >= DIRECT_CSS && insns[i].imm < DIRECT_END) {
			insns[i].imm = (int)finds[FIND_TYPES + insns[i].imm - DIRECT_CSS].id;
		}
	}
	opts->prog_flags |= BPF_F_SLEEPABLE; /* as every program of this type is */
	return 0;
}

static void register_sections(void)
{
	static bool done;

	for (long i = 0; !done && i < SECTION_END; i++) {
		bool direct = i == SECTION_DIRECT;
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts,
			    .prog_prepare_load_fn = direct ? make_direct : make_iterator,
			    .cookie = i);
		libbpf_register_prog_handler(
			sections[i], direct ? BPF_PROG_TYPE_SYSCALL : BPF_PROG_TYPE_RAW_TRACEPOINT,
			0, &opts);
	}
	done = true;
}

/* Whether a program that will be loaded lies in one of the sections. */
static bool needs_ids(const struct bpf_object *obj)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, obj)
	{
		for (size_t i = 0; bpf_program__autoload(program) && i < SECTION_END; i++)
			if (strcmp(bpf_program__section_name(program), sections[i]) == 0)
				return true;
	}
	return false;
}

struct bpf_types bpf_types_open(void)
{
	struct bpf_types t = { .fd = memfd_create("zscope-btf", MFD_CLOEXEC) };

	bpf_types_quiet();
	register_sections();
	snprintf(t.path, sizeof(t.path), "/proc/self/fd/%d", t.fd);
	return t;
}

const char *bpf_types_path(const struct bpf_types *t)
{
	return t->fd < 0 ? NULL : t->path;
}

void bpf_types_close(struct bpf_types *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* All type names that the object knows; "page___v510" is an older layout of "page". */
static bool collect_names(const struct btf *btf, struct map_str *ret)
{
	uint32_t n = btf ? btf__type_cnt(btf) : 0;
	bool made;

	for (uint32_t id = 1; id < n; id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);
		const char *flavor = name ? strstr(name, "___") : NULL;
		size_t len = flavor ? (size_t)(flavor - name) : name ? strlen(name) : 0;
		bool can = btf_is_composite(type) || btf_is_any_enum(type) || btf_is_typedef(type);
		if (can && len && !map_str_put(ret, name, len, &made))
			return false;
	}
	return n > 0;
}

/* The kernel's own pages (6.16), else a copy in pages that are gone before libbpf needs some. */
static int map_all(const struct root *root, void **ret, size_t *ret_len, struct err *err)
{
	AUTO_CLOSE int fd = root_open_file(root, "sys/kernel/btf/vmlinux", 0, err);

	if (fd < 0)
		return fd;
	off_t size = lseek(fd, 0, SEEK_END);
	size_t len = 0;
	if (size <= 0 || size > BPF_TYPES_MOST_BYTES)
		return err_set(err, -EFBIG, "/sys/kernel/btf/vmlinux: no usable size");
	*ret_len = (size_t)size;
	*ret = mmap(NULL, *ret_len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*ret != MAP_FAILED)
		return 0;
	*ret = mmap(NULL, *ret_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*ret == MAP_FAILED)
		return err_set(err, -ENOMEM, "out of memory");
	while (len < *ret_len) {
		ssize_t n = pread(fd, (char *)*ret + len, *ret_len - len, (off_t)len);
		if (n > 0) {
			len += (size_t)n;
			continue;
		}
		munmap(*ret, *ret_len);
		return err_set(err, -EIO, "/sys/kernel/btf/vmlinux: cannot be read to its end");
	}
	return 0;
}

int bpf_types_fill_all(const struct bpf_types *t, const struct root *root,
		       struct bpf_object *const *objs, size_t n, struct err *err)
{
	AUTO_MAP_STR struct map_str names = { 0 };
	AUTO_BUF struct buf slice = { 0 };
	size_t len = 0, n_finds = 0;
	void *blob = NULL;

	for (size_t i = 0; i < FIND_END; i++)
		finds[i].id = 0;
	for (size_t i = 0; i < n; i++) {
		if (!collect_names(bpf_object__btf(objs[i]), &names))
			return err_set(err, -EBADMSG, "the BPF object has no type names");
		if (needs_ids(objs[i]))
			n_finds = FIND_END;
	}
	int r = map_all(root, &blob, &len, err);
	if (r < 0)
		return r;
	r = btf_slice_make(blob, len, &names, finds, n_finds, &slice, err);
	munmap(blob, len);
	if (r < 0)
		return r;
	if (ftruncate(t->fd, 0) < 0 ||
	    pwrite(t->fd, slice.data, slice.len, 0) != (ssize_t)slice.len)
		return err_set(err, -errno, "BTF slice: %s", strerror(errno));
	return 0;
}

int bpf_types_find(const struct root *root, struct btf_slice_find *what, size_t n, struct err *err)
{
	const struct map_str no_names = { 0 };
	AUTO_BUF struct buf nothing = { 0 };
	size_t len = 0;
	void *blob = NULL;

	int r = map_all(root, &blob, &len, err);
	if (r < 0)
		return r;
	r = btf_slice_make(blob, len, &no_names, what, n, &nothing, err);
	munmap(blob, len);
	return r;
}

int bpf_types_fill(const struct bpf_types *t, const struct root *root, const struct bpf_object *obj,
		   struct err *err)
{
	struct bpf_object *const one = (struct bpf_object *)obj;

	return bpf_types_fill_all(t, root, &one, 1, err);
}
