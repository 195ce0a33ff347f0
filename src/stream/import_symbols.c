#include "import_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "kallsyms.h"
#include "map.h"
#include "process_maps.h"
#include "symbol_loader.h"
#include "text.h"

enum {
	FILES_MAX = 65536,
	STACK_MEMOS = 1 << 16,
	LAST_CORES = 64,
	LAST_DEPTH = 128,
	KALLSYMS_TOP = 1 << 20, /* bytes in which _text or _stext must stand */
};

#define IMAGE_BYTES_MAX (UINT64_C(1) << 30)          /* of all symbol tables held */
#define CONTEXT_MAX     UINT64_C(0xfffffffffffff000) /* markers in chains lie above */

struct import_file {
	char *path;
	uint8_t build_id[PERF_BUILD_ID_BYTES];
	uint8_t build_id_len;
	uint32_t module; /* of the profile */
	bool tried;
	struct symbol_image *image;
	struct map_u64 frames; /* address in the file → frame */
};

/* A caller's stack and the address that it calls → the callee's stack. Direct-mapped: a place that
 * another one took is looked up the long way. */
struct stack_memo {
	uint64_t address, context; /* context: whose mappings, and how often they changed; | 1 */
	uint32_t parent, stack;
};

struct chain_frame {
	uint64_t address;
	bool kernel;
};

/* The last sample of a core, root first. */
struct last_chain {
	uint64_t user, kernel; /* contexts, as in stack_memo */
	size_t n;
	struct chain_frame frames[LAST_DEPTH];
	uint32_t stacks[LAST_DEPTH];
};

struct import_symbols {
	struct profile *p;
	const struct root *root;
	const char *extra;
	VEC(struct import_file *) files;
	struct map_str file_ids; /* path + build id → index + 1 */
	struct process_table processes;
	struct process kernel;
	struct kallsyms kallsyms;
	bool kallsyms_tried;
	int64_t kernel_moved; /* address in kallsyms minus address in the recording */
	uint64_t reference;   /* where the recording's kernel had `reference_name` */
	char reference_name[32];
	struct map_u64 kernel_frames;
	uint32_t unmapped; /* frame */
	struct stack_memo *memo;
	struct last_chain *last; /* by core */
	/* How often the maps of a pid (and those of the kernel) changed: makes cached stacks stale.
	 */
	struct map_u64 generations;
	uint64_t kernel_generation;
	uint64_t image_bytes;
};

struct import_symbols *import_symbols_new(struct profile *p, const struct root *root,
					  const char *extra)
{
	struct import_symbols *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->memo = calloc(STACK_MEMOS, sizeof(*s->memo));
	s->last = calloc(LAST_CORES, sizeof(*s->last));
	if (!s->memo || !s->last) {
		free(s->memo);
		free(s->last);
		free(s);
		return NULL;
	}
	s->p = p;
	s->root = root;
	s->extra = extra;
	return s;
}

void import_symbols_free(struct import_symbols *s)
{
	if (!s)
		return;
	vec_foreach (&s->files, f) {
		free((*f)->path);
		symbol_image_free((*f)->image);
		map_u64_free(&(*f)->frames);
		free(*f);
	}
	vec_free(&s->files);
	map_str_free(&s->file_ids);
	process_table_free(&s->processes);
	vec_free(&s->kernel.maps);
	kallsyms_free(&s->kallsyms);
	map_u64_free(&s->kernel_frames);
	map_u64_free(&s->generations);
	free(s->memo);
	free(s->last);
	free(s);
}

/* --- files --- */

static const struct perf_build_id *header_build_id(const struct perf_data *d, const char *path)
{
	vec_foreach (&d->build_ids, b)
		if (b->file && strcmp(b->file, path) == 0)
			return b;
	return NULL;
}

/* "/lib/modules/6.1/kernel/net/nf_conntrack.ko.xz" → "[nf_conntrack]", as perf script shows it. */
static void kernel_module_name(const char *path, char *ret, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *ko = strstr(base, ".ko");

	if (text_starts(path, "[kernel.kallsyms]") || text_starts(path, "[guest.kernel")) {
		const char *end = strchr(path, ']');
		text_copy_n(ret, size, path, (size_t)(end - path) + 1);
		return;
	}
	if (path[0] == '[' || !ko) {
		text_copy(ret, size, path);
		return;
	}
	snprintf(ret, size, "[%.*s]", (int)(ko - base), base);
	for (char *c = ret; *c; c++)
		if (*c == '-')
			*c = '_';
}

static uint32_t file_add(struct import_symbols *s, const char *path, const char *module_name,
			 const uint8_t *build_id, uint8_t build_id_len)
{
	char key[PROFILE_MAX_NAME + PERF_BUILD_ID_BYTES];
	size_t len = strnlen(path, PROFILE_MAX_NAME);

	memcpy(key, path, len);
	memcpy(key + len, build_id, build_id_len);
	uint64_t *id = map_str_put(&s->file_ids, key, len + build_id_len, NULL);
	if (!id)
		return PROCESS_NO_FILE;
	if (*id)
		return (uint32_t)*id - 1;
	if (s->files.len >= FILES_MAX)
		return PROCESS_NO_FILE;
	struct import_file *f = calloc(1, sizeof(*f));
	if (!f || !(f->path = strndup(path, PROFILE_MAX_NAME)) || !vec_push(&s->files, f)) {
		if (f)
			free(f->path);
		free(f);
		return PROCESS_NO_FILE;
	}
	memcpy(f->build_id, build_id, build_id_len);
	f->build_id_len = build_id_len;
	f->module = profile_add_module(s->p, profile_add_text(s->p, module_name), build_id,
				       build_id_len);
	*id = s->files.len;
	return (uint32_t)s->files.len - 1;
}

static bool image_fits(const struct symbol_image *image, const struct import_file *f)
{
	return f->build_id_len && image->build_id_len == f->build_id_len &&
	       memcmp(image->build_id, f->build_id, f->build_id_len) == 0;
}

static struct symbol_image *image_of_fd(int fd, const struct import_file *f)
{
	struct elf_source source;
	struct symbol_image *image = NULL;

	if (fd < 0 || elf_source_of_fd(fd, &source, NULL) < 0 ||
	    symbol_image_read(&source, &image, NULL) < 0)
		return NULL;
	if (image_fits(image, f))
		return image;
	symbol_image_free(image);
	return NULL;
}

/* A debug file knows more names; where it is loaded, only the file itself knows. */
static struct symbol_image *image_merge(struct symbol_image *file, struct symbol_image *debug)
{
	if (!file || !debug)
		return file ? file : debug;
	if (debug->table.entries.len > file->table.entries.len) {
		struct symtab more = debug->table;
		debug->table = file->table;
		file->table = more;
	}
	symbol_image_free(debug);
	return file;
}

/* The file itself, a file of that name in the extra directory, or one named by its build id. A name
 * from a file that merely has the same path would be worse than none. */
static struct symbol_image *image_find(const struct import_symbols *s, const struct import_file *f)
{
	char path[PROFILE_MAX_NAME + 512], id[2 * PERF_BUILD_ID_BYTES + 1] = "";
	const char *slash = strrchr(f->path, '/');
	struct symbol_image *image = NULL;

	if (!f->build_id_len || s->image_bytes > IMAGE_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < f->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", f->build_id[i]);
	if (s->extra) {
		snprintf(path, sizeof(path), "%s/%s", s->extra, slash ? slash + 1 : f->path);
		AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		image = image_of_fd(fd, f);
	}
	if (!image && s->root && f->path[0] == '/') {
		AUTO_CLOSE int fd = root_open_file(s->root, f->path + 1, 0, NULL);
		image = image_of_fd(fd, f);
	}
	if (s->root) {
		snprintf(path, sizeof(path), "usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
		AUTO_CLOSE int fd = root_open_file(s->root, path, 0, NULL);
		image = image_merge(image, image_of_fd(fd, f));
	}
	return image;
}

static const struct symbol_image *file_image(struct import_symbols *s, struct import_file *f)
{
	if (!f->tried) {
		f->tried = true;
		f->image = image_find(s, f);
		if (f->image)
			s->image_bytes += symtab_bytes(&f->image->table);
	}
	return f->image;
}

/* --- what the records say --- */

static void maps_changed(struct import_symbols *s, uint32_t pid)
{
	uint64_t *generation = NULL;

	if (s->generations.len < 4 * (size_t)PROCESS_MAX)
		generation = map_u64_put(&s->generations, pid, NULL);
	if (generation)
		(*generation)++;
	else
		s->kernel_generation++; /* no room: all are stale */
}

void import_symbols_map(struct import_symbols *s, const struct perf_data *d,
			const struct perf_rec *rec)
{
	const struct perf_map *m = &rec->map;
	unsigned mode = rec->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL || m->pid == UINT32_MAX;
	const uint8_t *id = m->build_id;
	uint8_t id_len = m->build_id_len;
	char name[PROFILE_MAX_NAME];
	uint64_t end;

	if (__builtin_add_overflow(m->start, m->len, &end))
		end = UINT64_MAX;
	text_copy(name, sizeof(name), m->file);
	if (kernel) {
		kernel_module_name(m->file, name, sizeof(name));
		if (text_starts(m->file, "[kernel.kallsyms]_") && !s->reference) {
			/* its suffix names the symbol whose address is in pgoff */
			s->reference = m->pgoff;
			text_copy(s->reference_name, sizeof(s->reference_name),
				  m->file + strlen("[kernel.kallsyms]"));
		}
	}
	if (!id_len) {
		const struct perf_build_id *known =
			header_build_id(d, text_starts(name, "[kernel.") ? name : m->file);
		if (known) {
			id = known->bytes;
			id_len = known->len;
		}
	}
	uint32_t file = file_add(s, m->file, name, id, id_len);
	struct process *p = kernel ? &s->kernel : process_table_put(&s->processes, m->pid);
	if (p)
		process_add_map(p, m->start, end, m->pgoff, file);
	if (kernel)
		s->kernel_generation++;
	else
		maps_changed(s, m->pid);
}

void import_symbols_fork(struct import_symbols *s, uint32_t pid, uint32_t parent)
{
	if (pid == parent)
		return; /* a thread */
	process_table_fork(&s->processes, pid, parent);
	maps_changed(s, pid);
}

void import_symbols_exec(struct import_symbols *s, uint32_t pid)
{
	struct process *p = process_table_get(&s->processes, pid);
	if (p)
		process_clear(p, true);
	maps_changed(s, pid);
}

/* Samples of a dying process still come; the dead go when there are many. */
void import_symbols_exit(struct import_symbols *s, uint32_t pid)
{
	process_table_exit(&s->processes, pid);
	if (s->processes.dead.len >= 4096)
		process_table_forget_dead(&s->processes, 0);
}

void import_symbols_ksymbol(struct import_symbols *s, uint64_t start, uint32_t len,
			    const char *name)
{
	kallsyms_add(&s->kallsyms, start, len, name, true);
	map_u64_free(&s->kernel_frames);
	s->kernel_generation++;
}

/* --- frames --- */

/* A symbol's address by its name: the table itself keeps one name per address. */
static bool kallsyms_address(const char *text, const char *name, uint64_t *ret)
{
	char line[48];

	snprintf(line, sizeof(line), " T %s\n", name);
	const char *at = strstr(text, line);
	if (!at)
		return false;
	while (at > text && at[-1] != '\n')
		at--;
	return text_take_hex(&at, ret) == 0;
}

static void kallsyms_top(const struct root *root, struct buf *ret)
{
	AUTO_CLOSE int fd = root_open_file(root, "proc/kallsyms", 0, NULL);
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && ret->len < KALLSYMS_TOP && buf_reserve(ret, 64 << 10)) {
		n = read(fd, ret->data + ret->len, 64 << 10);
		ret->len += n > 0 ? (size_t)n : 0;
	}
}

/* Is this host's kernel the recording's? Same build id; and where it was moved to (KASLR) is the
 * difference of one symbol's addresses. */
static void kallsyms_check(struct import_symbols *s, const struct perf_data *d)
{
	AUTO_BUF struct buf notes = { 0 };
	uint8_t id[20];
	const struct perf_build_id *known = header_build_id(d, "[kernel.kallsyms]");

	s->kallsyms_tried = true;
	if (!s->root || !known || !s->reference ||
	    root_read(s->root, "sys/kernel/notes", 1 << 20, &notes, NULL) < 0)
		return;
	size_t len = elf_note_build_id(notes.data, notes.len, id);
	if (!len || len != known->len || memcmp(id, known->bytes, len) != 0)
		return;
	AUTO_BUF struct buf text = { 0 };
	struct kallsyms k = { 0 };
	uint64_t here;
	/* it stands near the top: reading all is what asking one by one is there to avoid */
	kallsyms_top(s->root, &text);
	if (!kallsyms_address(buf_str(&text), s->reference_name, &here) || here == 0 ||
	    kallsyms_open(s->root, &k, NULL) < 0)
		return;
	s->kernel_moved = (int64_t)(here - s->reference);
	kallsyms_free(&s->kallsyms);
	s->kallsyms = k;
}

static uint32_t kernel_frame(struct import_symbols *s, const struct perf_data *d, uint64_t address)
{
	bool fresh;

	if (!s->kallsyms_tried)
		kallsyms_check(s, d);
	uint64_t *cached = map_u64_put(&s->kernel_frames, address, &fresh);
	if (!cached)
		return 0;
	if (!fresh)
		return (uint32_t)*cached;
	struct profile_frame f = { .address = address, .kind = PROFILE_KERNEL };
	const struct process_map *m = process_find_map(&s->kernel, address);
	if (m && m->file < s->files.len)
		f.module = s->files.items[m->file]->module;
	else
		f.module = profile_add_module(s->p, profile_add_text(s->p, "[kernel.kallsyms]"),
					      NULL, 0);
	uint64_t start;
	const char *module, *name;
	name = kallsyms_find(&s->kallsyms, address + (uint64_t)s->kernel_moved, &start, &module);
	if (name) {
		/* the function's start, as the recorder stores it: samples share their stacks */
		f.symbol = profile_add_text(s->p, name);
		f.address = start - (uint64_t)s->kernel_moved;
	}
	*cached = profile_add_frame(s->p, &f);
	return (uint32_t)*cached;
}

static bool image_address(const struct symbol_image *image, uint64_t offset, uint64_t *ret)
{
	vec_foreach (&image->loads, l) {
		if (offset >= l->offset && offset - l->offset < l->file_size) {
			*ret = offset - l->offset + l->address;
			return true;
		}
	}
	return false;
}

/* An address in no mapping: mostly not an address at all, but what code without frame pointers left
 * in the register. It stays visible as an unknown caller; its value would only tell stacks apart
 * that are the same. */
static uint32_t unmapped_frame(struct import_symbols *s)
{
	if (!s->unmapped)
		s->unmapped =
			profile_add_frame(s->p, &(struct profile_frame){ .kind = PROFILE_USER });
	return s->unmapped;
}

static uint32_t user_frame(struct import_symbols *s, const struct process *p, uint64_t address)
{
	const struct process_map *m = p ? process_find_map(p, address) : NULL;
	bool fresh;

	if (!m || m->file >= s->files.len)
		return unmapped_frame(s);
	struct import_file *f = s->files.items[m->file];
	uint64_t offset = address - m->start + m->file_offset;
	uint64_t *cached = map_u64_put(&f->frames, offset, &fresh);
	if (!cached)
		return 0;
	if (!fresh)
		return (uint32_t)*cached;
	struct profile_frame frame = { .address = offset,
				       .module = f->module,
				       .kind = PROFILE_USER };
	const struct symbol_image *image = file_image(s, f);
	uint64_t elf_address;
	if (image && image_address(image, offset, &elf_address)) {
		const struct symtab_entry *e = symtab_find(&image->table, elf_address);
		frame.address = elf_address;
		if (e) {
			frame.symbol = profile_add_text(s->p, symtab_name(&image->table, e));
			frame.address = e->start;
		}
	} else if (f->path[0] != '/') {
		frame.address = address; /* [vdso], //anon: an offset would say nothing */
	}
	*cached = profile_add_frame(s->p, &frame);
	return (uint32_t)*cached;
}

static bool mode_is_kernel(uint64_t mode)
{
	return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL ||
	       mode == PERF_RECORD_MISC_HYPERVISOR;
}

/* The last branch of a call stack that the CPU recorded may be the one into the kernel, whatever
 * the marker before it says: no user has that half of the address space (but its vsyscall page). */
static bool ip_is_kernel(const struct process *p, uint64_t ip)
{
	return ip >= UINT64_C(0xffff800000000000) && !(p && process_find_map(p, ip));
}

/* Addresses of the chain without the markers; leaf first. */
static size_t chain_frames(const struct perf_rec *rec, const struct process *p,
			   struct chain_frame ret[PERF_CHAIN_MAX + 1])
{
	bool kernel = mode_is_kernel(rec->misc & PERF_RECORD_MISC_CPUMODE_MASK);
	size_t n = 0;

	for (size_t i = 0; i < rec->n_chain; i++) {
		uint64_t ip = rec->chain[i];
		if (ip >= CONTEXT_MAX)
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL ||
				 ip == (uint64_t)PERF_CONTEXT_HV ||
				 ip == (uint64_t)PERF_CONTEXT_GUEST_KERNEL;
		else
			ret[n++] = (struct chain_frame){ ip, kernel || ip_is_kernel(p, ip) };
	}
	if (n == 0 && (rec->have & PERF_HAVE_IP))
		ret[n++] = (struct chain_frame){ rec->ip, kernel };
	return n;
}

/* How many frames, from the root, are those of the core's last sample: calls come back to the same
 * callers. *ret_stack is the stack of the last of them. */
static size_t last_shared(struct last_chain *l, uint64_t user, uint64_t kernel,
			  const struct chain_frame *frames, size_t n, uint32_t *ret_stack)
{
	size_t same = 0;

	if (l->user != user || l->kernel != kernel)
		l->n = 0;
	while (same < n && same < l->n && l->frames[same].address == frames[n - 1 - same].address &&
	       l->frames[same].kernel == frames[n - 1 - same].kernel)
		same++;
	l->user = user;
	l->kernel = kernel;
	l->n = MIN_OF(n, (size_t)LAST_DEPTH);
	*ret_stack = same ? l->stacks[same - 1] : 0;
	return same;
}

uint32_t import_symbols_stack(struct import_symbols *s, const struct perf_data *d,
			      const struct perf_rec *rec)
{
	const uint64_t *known = map_u64_get(&s->generations, rec->pid);
	uint64_t generation = known ? *known : 0;
	struct chain_frame frames[PERF_CHAIN_MAX + 1];
	const struct process *p = process_table_get(&s->processes, rec->pid);
	size_t n = chain_frames(rec, p, frames);
	uint64_t user = hash_u64((uint64_t)rec->pid << 32 ^ generation) | 1;
	uint64_t kernel = s->kernel_generation << 1 | 1;
	struct last_chain *last = &s->last[rec->cpu % LAST_CORES];
	uint32_t stack;

	if (p && !p->maps.len && p->parent) {
		process_table_inherit(&s->processes, process_table_put(&s->processes, rec->pid));
		p = process_table_get(&s->processes, rec->pid);
	}
	for (size_t at = last_shared(last, user, kernel, frames, n, &stack); at < n; at++) {
		const struct chain_frame *f = &frames[n - 1 - at];
		uint64_t context = f->kernel ? kernel : user;
		uint64_t place = (f->address ^ context) * UINT64_C(0x9e3779b97f4a7c15) + stack;
		struct stack_memo *m = &s->memo[(place * UINT64_C(0xff51afd7ed558ccd)) >> 48];
		if (m->context != context || m->address != f->address || m->parent != stack) {
			uint32_t frame = f->kernel ? kernel_frame(s, d, f->address)
						   : user_frame(s, p, f->address);
			*m = (struct stack_memo){ f->address, context, stack,
						  profile_add_stack(s->p, stack, frame) };
		}
		stack = m->stack;
		if (at < LAST_DEPTH) {
			last->frames[at] = *f;
			last->stacks[at] = stack;
		}
	}
	return stack;
}
