#include "ksym_ask.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

enum { ASK_TEXT = 1024 };

struct ksym_ask {
	int program, format, text; /* the latter two are maps of one entry */
	char *answer;              /* the text map's memory */
};

int ksym_parse(const char *text, struct ksym *ret)
{
	const char *plus = NULL, *p = text;
	struct ksym sym = { 0 };

	while ((p = strstr(p, "+0x")))
		plus = p++;
	if (!plus || plus == text || (size_t)(plus - text) >= sizeof(sym.name))
		return -EINVAL;
	p = plus + 3;
	if (text_take_hex(&p, &sym.offset) < 0 || !text_starts(p, "/0x"))
		return -EINVAL;
	p += 3;
	if (text_take_hex(&p, &sym.size) < 0)
		return -EINVAL;
	text_copy_n(sym.name, sizeof(sym.name), text, (size_t)(plus - text));
	p = text_skip_blanks(p);
	const char *end = strchr(p, ']'), *space = strchr(p, ' ');
	if (*p == '[' && end) { /* "[module]", or "[module build-id]" */
		size_t len = (size_t)((space && space < end ? space : end) - p);
		text_copy_n(sym.module, sizeof(sym.module) - 1, p, len);
		text_copy(sym.module + strlen(sym.module), 2, "]");
	} else if (text_starts(sym.name, "bpf_prog_") || text_starts(sym.name, "bpf_trampoline_") ||
		   text_starts(sym.name, "bpf_dispatcher_")) {
		text_copy(sym.module, sizeof(sym.module), "[bpf]"); /* as kallsyms calls them */
	}
	*ret = sym;
	return 0;
}

static int call(int command, union bpf_attr *attr)
{
	int r = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
	return r < 0 ? -errno : r;
}

static int make_map(uint32_t value_bytes, uint32_t flags)
{
	union bpf_attr attr = { 0 };

	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = value_bytes;
	attr.max_entries = 1;
	attr.map_flags = flags;
	return call(BPF_MAP_CREATE, &attr);
}

/* The format must stand in a map that nobody can change any more. */
static int make_format(struct ksym_ask *a)
{
	static const char format[8] = "%pS";
	uint32_t key = 0;
	union bpf_attr attr = { 0 };

	a->format = make_map(sizeof(format), BPF_F_RDONLY_PROG);
	if (a->format < 0)
		return a->format;
	attr.map_fd = (uint32_t)a->format;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)format;
	int r = call(BPF_MAP_UPDATE_ELEM, &attr);
	if (r < 0)
		return r;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)a->format;
	return call(BPF_MAP_FREEZE, &attr);
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define LOAD_MAP_VALUE(reg, fd) \
	INSN(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, 0)

static int make_program(struct ksym_ask *a)
{
	struct bpf_insn insns[] = {
		/* the context is the address; it goes to the stack as the only argument */
		INSN(BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_1, BPF_REG_1, 0, 0),
		INSN(BPF_STX | BPF_DW | BPF_MEM, BPF_REG_10, BPF_REG_1, -8, 0),
		LOAD_MAP_VALUE(BPF_REG_1, a->text),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, ASK_TEXT),
		LOAD_MAP_VALUE(BPF_REG_3, a->format),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_4, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_4, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_5, 0, 0, 8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_snprintf),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { 0 };

	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.prog_flags = BPF_F_SLEEPABLE; /* the only kind that this type may be */
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = ARRAY_LEN(insns);
	attr.license = (uintptr_t) "GPL";
	memcpy(attr.prog_name, "zscope_ksym", sizeof("zscope_ksym"));
	return call(BPF_PROG_LOAD, &attr);
}

void ksym_ask_close(struct ksym_ask *a)
{
	if (!a)
		return;
	if (a->answer)
		munmap(a->answer, (size_t)sysconf(_SC_PAGESIZE));
	if (a->program >= 0)
		close(a->program);
	if (a->text >= 0)
		close(a->text);
	if (a->format >= 0)
		close(a->format);
	free(a);
}

int ksym_ask_open(struct ksym_ask **ret, struct err *err)
{
	struct ksym_ask *a = calloc(1, sizeof(*a));
	struct ksym self;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->program = a->text = a->format = -1;
	int r = make_format(a);
	if (r == 0) {
		a->text = make_map(ASK_TEXT, BPF_F_MMAPABLE);
		r = MIN_OF(a->text, 0);
	}
	if (r == 0) {
		a->program = make_program(a);
		r = MIN_OF(a->program, 0);
	}
	if (r == 0) {
		void *map = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
				 MAP_SHARED, a->text, 0);
		a->answer = map == MAP_FAILED ? NULL : map;
		r = a->answer ? 0 : -errno;
	}
	/* it must answer: a kernel may accept the program and still print nothing */
	if (r == 0 && ksym_ask(a, 0, &self) != -ENOENT)
		r = -EIO;
	if (r < 0) {
		ksym_ask_close(a);
		return err_set(err, r, "names of kernel functions one by one: %s", strerror(-r));
	}
	*ret = a;
	return 0;
}

int ksym_ask(struct ksym_ask *a, uint64_t address, struct ksym *ret)
{
	union bpf_attr attr = { 0 };

	attr.test.prog_fd = (uint32_t)a->program;
	attr.test.ctx_in = (uintptr_t)&address;
	attr.test.ctx_size_in = sizeof(address);
	a->answer[0] = '\0';
	int r = call(BPF_PROG_TEST_RUN, &attr);
	if (r < 0)
		return r;
	a->answer[ASK_TEXT - 1] = '\0';
	if (!a->answer[0])
		return -EIO;
	return ksym_parse(a->answer, ret) < 0 ? -ENOENT : 0;
}
