/* A profile in memory: samples over dictionaries. Every source of samples (the kernel's rings, the
 * store, perf.data, perf script) fills one, every view (flame, heat, diff, exporters) reads one.
 *
 * Dictionaries intern: the same thing gets the same id. Id 0 is "nothing" or "unknown" in each of
 * them, so a zeroed reference is valid. Interning never returns an error: out of memory is sticky
 * (profile_failed()), and what goes over a bound becomes id 0 and is counted in `dropped`.
 *
 *   string   bytes of a symbol, module path, comm, cgroup path or event name; any byte but NUL
 *   module   an ELF file, "[kernel.kallsyms]", a kernel module, "[vdso]" ... with its build id
 *   frame    (symbol, module, address, kind, inlined)
 *   stack    a node of the call tree: (parent stack, frame). Stacks share their callers, so that
 *            100,000 of them are small, and a flame graph is the tree itself with weights. A
 *            stack's id is the node of its leaf; a parent's id is always less than its child's.
 *   cgroup   (kernel's id, path)
 *
 * Reading: the tables are plain arrays, `p->frames.items[id]`, with p->frames.len entries, entry 0
 * included. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "vec.h"

enum {
	PROFILE_MAX_NAME = 4096,       /* longer strings are cut */
	PROFILE_MAX_DEPTH = 1024,      /* deeper stacks lose their leaves */
	PROFILE_MAX_ENTRIES = 1 << 24, /* per dictionary */
	PROFILE_MAX_BUILD_ID = 20,
};

enum profile_frame_kind {
	PROFILE_UNKNOWN, /* neither is known (text without a module) */
	PROFILE_KERNEL,
	PROFILE_USER,
};

struct profile_string {
	const char *text; /* NUL-terminated, owned by the profile */
	uint32_t len;
};

struct profile_module {
	uint32_t name; /* string: path or "[...]" */
	uint8_t build_id[PROFILE_MAX_BUILD_ID];
	uint8_t build_id_len; /* 0 = unknown */
};

struct profile_frame {
	uint32_t symbol; /* string; 0 = unknown, then module + address is all there is */
	uint32_t module; /* 0 = unknown */
	/* User: ELF virtual address in the module. Kernel: address. The recorder stores
	 * no address when the symbol is known (so that samples share frames), else the start of the
	 * function by its unwind entry, or the exact address; importers store the instruction as it
	 * was printed. */
	uint64_t address;
	uint32_t symbol_offset; /* bytes behind the symbol's start, 0 when unknown */
	uint8_t kind;           /* enum profile_frame_kind */
	bool inlined;
	bool final; /* the symbol stands as it was printed (perf script): never demangled */
};

struct profile_stack {
	uint32_t parent; /* stack of the caller, 0 = this is the root frame */
	uint32_t frame;
	uint32_t depth; /* frames in the stack, 1 = only this */
};

struct profile_cgroup {
	uint64_t id;   /* inode of its directory; 0 = unknown */
	uint32_t path; /* string, "/system.slice/x.service"; 0 = unknown */
};

enum profile_sample_have {
	PROFILE_HAVE_TIME = 1,
	PROFILE_HAVE_CPU = 2,
	PROFILE_HAVE_PID = 4,
	PROFILE_HAVE_TID = 8,
	PROFILE_HAVE_WEIGHT = 16, /* the period was recorded; else weight is 1 */
};

struct profile_sample {
	uint64_t time_ns; /* wall clock; relative to an unknown start when !meta.wall_time */
	uint64_t weight;  /* period of the event, or 1 */
	uint32_t stack;
	uint32_t comm; /* string */
	uint32_t pid, tid;
	uint32_t cgroup;
	uint16_t cpu;
	uint8_t event; /* index into meta.events */
	uint8_t have;  /* enum profile_sample_have */
};

/* Ticks of one core in one second. A busy core with received + lost < expected is a finding:
 * interrupts off, steal, or a paused hypervisor. */
struct profile_cpu_second {
	uint64_t second; /* of the wall clock */
	uint32_t cpu;
	uint32_t expected; /* hz, less when the event was open for a part of the second only */
	uint32_t received; /* idle samples included, although they are not stored */
	uint32_t received_idle;
	uint32_t lost; /* the kernel said so */
	uint32_t idle; /* of `expected`, by /proc/stat's idle + iowait; ~0 = unknown */
};

#define PROFILE_IDLE_UNKNOWN UINT32_MAX

/* Ticks that should have hit a busy core and never came, by the kernel's own idle time; 0 while
 * that is unknown, and for what is in the noise of the two clocks (a tenth of a second). */
uint32_t profile_missing_ticks(const struct profile_cpu_second *row);

struct profile_meta {
	double hz;               /* 0 = unknown */
	bool wall_time;          /* sample times are wall clock */
	uint64_t from_ns, to_ns; /* the window that was asked for or recorded; 0, 0 = unknown */
	uint64_t lost;           /* samples that the kernel counted as lost, in all */
	uint64_t damaged;        /* samples that could not be read back (store damage) */
	uint64_t idle;           /* idle samples that were received and left out */
	VEC(uint32_t) events;    /* strings: "cpu-clock", "cycles:P" */
	VEC(struct profile_cpu_second) cpu_seconds; /* by second, then cpu; may be empty */
	uint32_t host, kernel;                      /* strings, 0 = unknown */
};

struct profile_index {
	struct profile_index_slot *slots;
	size_t cap, len;
};

struct profile {
	VEC(struct profile_string) strings;
	VEC(struct profile_module) modules;
	VEC(struct profile_frame) frames;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_cgroup) cgroups;
	VEC(struct profile_sample) samples;
	struct profile_meta meta;
	uint64_t dropped; /* entries over a bound */

	/* private */
	bool out_of_memory;
	size_t twins; /* stacks that are there twice, and in the index once */
	struct arena text;
	struct profile_index string_index, module_index, frame_index, stack_index, cgroup_index;
};

int profile_init(struct profile *p); /* -ENOMEM */
void profile_free(struct profile *p);
bool profile_failed(const struct profile *p); /* memory ran out somewhere */

uint32_t profile_add_string(struct profile *p, const char *bytes, size_t len);
uint32_t profile_add_text(struct profile *p, const char *text);
/* Same name and same build id = same module. build_id may be NULL. */
uint32_t profile_add_module(struct profile *p, uint32_t name, const void *build_id,
			    size_t build_id_len);
uint32_t profile_add_frame(struct profile *p, const struct profile_frame *frame);
/* The stack of `parent` calling `frame`. */
uint32_t profile_add_stack(struct profile *p, uint32_t parent, uint32_t frame);
/* The same for a stack that the caller knows to be new: it is looked for only when others are added
 * with profile_add_stack() later. */
uint32_t profile_append_stack(struct profile *p, uint32_t parent, uint32_t frame);
/* Frames as the kernel and perf give them: leaf first. */
uint32_t profile_add_chain(struct profile *p, const uint32_t *frames_leaf_first, size_t n);
uint32_t profile_add_cgroup(struct profile *p, uint64_t id, uint32_t path);
uint8_t profile_add_event(struct profile *p, const char *name); /* at most 256, then the last */
bool profile_add_sample(struct profile *p, const struct profile_sample *sample);

/* By time, stable. Importers call it once at the end. */
void profile_sort(struct profile *p);

/* "" for id 0 and for ids out of range. */
const char *profile_text(const struct profile *p, uint32_t string);
/* "symbol", or "[module's base name]" when the symbol is unknown, or "[unknown]": what a flame
 * graph shows. ret is cut, never unterminated. */
const char *profile_frame_name(const struct profile *p, uint32_t frame, char *ret, size_t size);
/* "module+0x1234" for an unknown symbol, else the symbol: what a table shows. */
const char *profile_frame_where(const struct profile *p, uint32_t frame, char *ret, size_t size);

/* Iterate from leaf to root: for (uint32_t s = sample->stack; s; s = p->stacks.items[s].parent). */

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
