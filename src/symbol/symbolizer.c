#include "symbolizer.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "auto.h"
#include "idle_name.h"
#include "kallsyms.h"
#include "map.h"
#include "offer.h"
#include "proc_pid.h"
#include "process_maps.h"
#include "symbol_loader.h"
#include "text.h"
#include "timefmt.h"

enum { SYMBOLIZER_MAX_BYTES = 128 << 20, JIT_REREAD_S = 10 };

enum file_state { FILE_NEW, FILE_QUEUED, FILE_READY, FILE_FAILED };

struct symbol_file {
	char *path;
	uint8_t build_id[20];
	uint8_t build_id_len;
	enum file_state state;
	struct symbol_image *image; /* NULL = no symbols */
	uint32_t module;            /* in the profile in use; 0 = not added yet */
};

struct symbolizer {
	struct symbol_loader *loader;
	struct kallsyms kallsyms;
	struct symbol_image *vdso;
	struct process_table processes;
	VEC(struct symbol_file) files;
	struct map_str file_index;
	size_t bytes; /* of symbol tables */
	struct profile *profile;
	struct map_u64 kernel_frames; /* address → frame, of the profile in use */
	struct map_u64 user_frames;   /* hash of (file, offset) → frame, final ones only */
	struct map_u64 idle;          /* address → 1 + is idle */
	bool unified;                 /* ids of samples' cgroups are v2's */
	struct map_u64 cgroups;       /* id → path (char *), when unified */
};

/* The kernel maps one vdso into every 64-bit process: ours is theirs. */
static struct symbol_image *read_vdso(void)
{
	const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct symbol_image *image;
	Elf64_Ehdr head;

	if (!bytes)
		return NULL;
	memcpy(&head, bytes, sizeof(head));
	size_t len = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
	struct elf_source source = elf_source_of_bytes(bytes, len);
	return symbol_image_read(&source, &image, NULL) == 0 ? image : NULL;
}

int symbolizer_open(const struct root *root, struct unknowns *unknowns, struct symbolizer **ret,
		    struct err *err)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	struct err why = { 0 };

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	int r = symbol_loader_open(root, &s->loader, err);
	if (r < 0) {
		free(s);
		return r;
	}
	if (kallsyms_open(root, &s->kallsyms, &why) < 0 && unknowns)
		unknowns_add(unknowns, "names of kernel functions", "%s", why.text);
	s->vdso = read_vdso();
	struct offer offer;
	offer_read(root, &offer);
	s->unified = offer.mode == CGROUP_MODE_V2;
	*ret = s;
	return 0;
}

void symbolizer_close(struct symbolizer *s)
{
	if (!s)
		return;
	symbol_loader_close(s->loader);
	kallsyms_free(&s->kallsyms);
	symbol_image_free(s->vdso);
	process_table_free(&s->processes);
	vec_foreach (&s->files, file) {
		free(file->path);
		if (file->image != s->vdso)
			symbol_image_free(file->image);
	}
	vec_free(&s->files);
	map_str_free(&s->file_index);
	map_u64_free(&s->kernel_frames);
	map_u64_free(&s->user_frames);
	map_u64_free(&s->idle);
	size_t at = 0;
	uint64_t id, *path;
	while (map_u64_next(&s->cgroups, &at, &id, &path))
		free((char *)(uintptr_t)*path);
	map_u64_free(&s->cgroups);
	free(s);
}

/* One file per build id and path, or per path and identity where the id is not known yet. */
static uint32_t file_of(struct symbolizer *s, const char *path, size_t path_len,
			const uint8_t *build_id, uint8_t build_id_len, uint64_t inode)
{
	char key[600];
	bool is_new;
	size_t len = MIN_OF(path_len, (size_t)511);

	memcpy(key, path, len);
	key[len] = '\0';
	size_t at = len + 1;
	memcpy(key + at, build_id_len ? (const void *)build_id : &inode, build_id_len ? 20 : 8);
	at += build_id_len ? 20 : 8;
	uint64_t *slot = map_str_put(&s->file_index, key, at, &is_new);
	if (!slot)
		return PROCESS_NO_FILE;
	if (!is_new)
		return (uint32_t)*slot;
	struct symbol_file file = { .path = strndup(path, len) };
	if (build_id_len) {
		memcpy(file.build_id, build_id, 20);
		file.build_id_len = build_id_len;
	}
	if (strcmp(file.path ? file.path : "", "[vdso]") == 0) {
		file.state = FILE_READY;
		file.image = s->vdso;
	}
	*slot = s->files.len;
	if (!file.path || !vec_push(&s->files, file)) {
		free(file.path);
		*slot = PROCESS_NO_FILE;
	}
	return (uint32_t)*slot;
}

void symbolizer_mmap(struct symbolizer *s, uint32_t pid, const struct symbolizer_map *map)
{
	struct process *p = process_table_put(&s->processes, pid);
	const char *path = map->path;
	bool anonymous = strcmp(path, "//anon") == 0;

	if (!p || !map->len)
		return;
	/* the inode is not in a record with build id; without either the path alone must do */
	uint32_t file =
		anonymous ? PROCESS_NO_FILE
			  : file_of(s, path, strlen(path), map->build_id, map->build_id_len, 0);
	process_add_map(p, map->start, map->start + map->len, map->file_offset, file);
}

void symbolizer_fork(struct symbolizer *s, uint32_t pid, uint32_t parent)
{
	if (pid != parent)
		process_table_fork(&s->processes, pid, parent);
}

void symbolizer_exec(struct symbolizer *s, uint32_t pid)
{
	struct process *p = process_table_put(&s->processes, pid);
	if (p)
		process_clear(p, true);
}

void symbolizer_exit(struct symbolizer *s, uint32_t pid)
{
	process_table_exit(&s->processes, pid);
}

void symbolizer_forget_dead(struct symbolizer *s)
{
	process_table_forget_dead(&s->processes, SYMBOLIZER_KEEP_DEAD);
}

void symbolizer_forget_maps(struct symbolizer *s)
{
	process_table_forget_maps(&s->processes);
}

void symbolizer_ksymbol(struct symbolizer *s, uint64_t start, uint32_t len, const char *name,
			bool bpf)
{
	if (s->kallsyms.modules.len)
		kallsyms_add(&s->kallsyms, start, len, name, bpf);
}

static void request_maps(struct symbolizer *s, struct process *p)
{
	struct symbol_job *job = calloc(1, sizeof(*job));

	if (!job)
		return;
	job->kind = SYMBOL_JOB_MAPS;
	job->pid = p->pid;
	p->asked_mono_ns = clock_mono_ns();
	p->asked = true;
	if (!symbol_loader_submit(s->loader, job))
		symbol_job_free(job);
}

static void request_file(struct symbolizer *s, const struct process *p,
			 const struct process_map *map)
{
	struct symbol_file *file = &s->files.items[map->file];
	struct symbol_job *job = calloc(1, sizeof(*job));

	if (!job)
		return;
	job->kind = SYMBOL_JOB_FILE;
	job->pid = p->pid;
	job->file = map->file;
	job->start = map->start;
	job->end = map->end;
	memcpy(job->build_id, file->build_id, sizeof(job->build_id));
	job->build_id_len = file->build_id_len;
	text_copy(job->path, sizeof(job->path), file->path);
	file->state = FILE_QUEUED;
	if (!symbol_loader_submit(s->loader, job)) {
		file->state = FILE_FAILED;
		symbol_job_free(job);
	}
}

struct symbolizer_place symbolizer_locate(struct symbolizer *s, uint32_t pid, uint64_t address,
					  bool quiet)
{
	struct process *p = quiet ? process_table_get(&s->processes, pid)
				  : process_table_put(&s->processes, pid);
	struct symbolizer_place place = { address, SYMBOLIZER_NOWHERE };

	if (!p)
		return place;
	if (!quiet && !p->complete && !p->asked)
		request_maps(s, p);
	const struct process_map *map = process_find_map(p, address);
	if (!map) {
		place.file = p->asked && !p->complete ? SYMBOLIZER_PENDING : SYMBOLIZER_NOWHERE;
		return place;
	}
	place.file = map->file;
	if (map->file == PROCESS_NO_FILE) {
		/* code of a JIT: its perf map grows */
		if (!quiet && !symtab_find(&p->jit, address) &&
		    clock_mono_ns() - p->asked_mono_ns > JIT_REREAD_S * NS_PER_S)
			request_maps(s, p);
		return place;
	}
	place.offset = address - map->start + map->file_offset;
	struct symbol_file *file = &s->files.items[map->file];
	if (!quiet && file->state == FILE_NEW) {
		if (s->bytes > SYMBOLIZER_MAX_BYTES)
			file->state = FILE_FAILED;
		else
			request_file(s, p, map);
	}
	return place;
}

const char *symbolizer_cgroup(struct symbolizer *s, uint32_t pid, uint64_t id)
{
	uint64_t *known = s->unified && id ? map_u64_get(&s->cgroups, id) : NULL;
	struct process *p = pid ? process_table_put(&s->processes, pid) : NULL;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (p && id)
		p->cgroup_id = id;
	if (!p || p->cgroup || p->asked_cgroup)
		return p ? p->cgroup : NULL;
	struct symbol_job *job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	job->kind = SYMBOL_JOB_CGROUP;
	job->pid = pid;
	job->start = id;
	p->asked_cgroup = true;
	if (!symbol_loader_submit(s->loader, job))
		symbol_job_free(job);
	return NULL;
}

/* Hybrid hosts keep units in v2 or in systemd's own hierarchy, containers in memory's. */
static char *pick_cgroup(const char *text)
{
	static const char *const controllers[] = { NULL, "name=systemd", "memory", "perf_event" };
	const char *path;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (proc_pid_cgroup_parse(text, controllers[i], &path, &len) == 0 && len > 1)
			return strndup(path, len);
	return strdup("/");
}

static void take_cgroup(struct symbolizer *s, struct symbol_job *job)
{
	struct process *p = process_table_get(&s->processes, job->pid);

	if (job->status < 0) {
		/* Gone. It was born in its parent's cgroup: that is known to be its own when the
		 * kernel gave both the same id, unless systemd moved it to its unit. Else it stays
		 * unknown. */
		const struct process *parent =
			p ? process_table_get(&s->processes, p->parent) : NULL;
		if (parent && parent->pid != 1 && parent->cgroup && !p->cgroup && job->start &&
		    parent->cgroup_id == job->start)
			p->cgroup = strdup(parent->cgroup);
		return;
	}
	if (p && !p->cgroup)
		p->cgroup = pick_cgroup(buf_str(&job->maps_text));
	uint64_t *slot =
		s->unified && job->start ? map_u64_put(&s->cgroups, job->start, NULL) : NULL;
	if (slot && !*slot)
		*slot = (uintptr_t)pick_cgroup(buf_str(&job->maps_text));
}

struct maps_target {
	struct symbolizer *s;
	struct process *p;
};

static void take_map(void *arg, const struct proc_maps_entry *e)
{
	struct maps_target *t = arg;
	uint32_t file = PROCESS_NO_FILE;

	/* the same program may be known by build id already: then share its file */
	if (e->path_len)
		file = file_of(t->s, e->path, e->path_len, NULL, 0, e->inode ^ e->device << 20);
	process_add_map(t->p, e->start, e->end, e->file_offset, file);
}

static void take_maps(struct symbolizer *s, struct symbol_job *job)
{
	struct process *p = process_table_get(&s->processes, job->pid);

	if (!p)
		return;
	if (job->status < 0) { /* gone: what its parent had is the best guess, and often right */
		process_table_inherit(&s->processes, p);
		return;
	}
	struct maps_target target = { s, p };
	/* mappings that records brought meanwhile are newer, but /proc shows them as well */
	process_clear(p, true);
	proc_maps_parse(buf_str(&job->maps_text), take_map, &target);
	if (job->jit.entries.len) {
		symtab_free(&p->jit);
		p->jit = job->jit;
		job->jit = (struct symtab){ 0 };
	}
}

static void take_file(struct symbolizer *s, struct symbol_job *job)
{
	struct symbol_file *file = &s->files.items[job->file];

	file->state = job->status < 0 ? FILE_FAILED : FILE_READY;
	if (!job->image)
		return;
	file->image = job->image;
	job->image = NULL;
	s->bytes += symtab_bytes(&file->image->table) +
		    file->image->unnamed.list.cap * sizeof(struct eh_range);
	memcpy(file->build_id, file->image->build_id, sizeof(file->build_id));
	file->build_id_len = file->image->build_id_len;
}

bool symbolizer_collect(struct symbolizer *s)
{
	struct symbol_job *job;

	while ((job = symbol_loader_take(s->loader))) {
		if (job->kind == SYMBOL_JOB_MAPS)
			take_maps(s, job);
		else if (job->kind == SYMBOL_JOB_CGROUP)
			take_cgroup(s, job);
		else
			take_file(s, job);
		symbol_job_free(job);
	}
	return symbol_loader_pending(s->loader) == 0;
}

void symbolizer_wait(struct symbolizer *s, uint64_t most_ns)
{
	symbol_loader_wait(s->loader, most_ns);
}

void symbolizer_use(struct symbolizer *s, struct profile *p)
{
	s->profile = p;
	map_u64_free(&s->kernel_frames);
	map_u64_free(&s->user_frames);
	vec_foreach (&s->files, file)
		file->module = 0;
}

static uint32_t kernel_frame(struct symbolizer *s, uint64_t address)
{
	uint64_t *known = map_u64_put(&s->kernel_frames, address, NULL), start;
	struct profile_frame frame = { .kind = PROFILE_KERNEL };
	const char *module = "[kernel.kallsyms]";

	if (!known)
		return 0;
	if (*known)
		return (uint32_t)*known;
	const char *name = kallsyms_find(&s->kallsyms, address, &start, &module);
	frame.symbol = profile_add_text(s->profile, name);
	frame.address = name ? 0 : address;
	frame.module =
		profile_add_module(s->profile, profile_add_text(s->profile, module), NULL, 0);
	*known = profile_add_frame(s->profile, &frame);
	return (uint32_t)*known;
}

bool symbolizer_is_idle(struct symbolizer *s, uint64_t address)
{
	uint64_t *known = map_u64_put(&s->idle, address, NULL), start;
	const char *module;

	if (known && *known)
		return *known == 2;
	const char *name = kallsyms_find(&s->kallsyms, address, &start, &module);
	bool idle = name && idle_name(name);
	if (known)
		*known = 1 + idle;
	return idle;
}

static uint32_t jit_frame(struct symbolizer *s, const struct process *p, uint64_t address)
{
	const struct symtab_entry *entry = symtab_find(&p->jit, address);
	struct profile_frame frame = { .kind = PROFILE_USER };
	char name[32];

	if (entry) {
		frame.symbol = profile_add_text(s->profile, symtab_name(&p->jit, entry));
		snprintf(name, sizeof(name), "perf-%u.map", p->pid);
	} else { /* anonymous memory has no address worth keeping */
		snprintf(name, sizeof(name), "//anon");
	}
	frame.module = profile_add_module(s->profile, profile_add_text(s->profile, name), NULL, 0);
	return profile_add_frame(s->profile, &frame);
}

static uint64_t elf_address(const struct symbol_image *image, uint64_t file_offset)
{
	for (size_t i = 0; image && i < image->loads.len; i++) {
		const struct elf_segment *load = &image->loads.items[i];
		if (load->flags & PF_X && file_offset >= load->offset &&
		    file_offset - load->offset < load->file_size)
			return file_offset - load->offset + load->address;
	}
	return file_offset;
}

static uint32_t file_frame(struct symbolizer *s, struct symbol_file *file, uint64_t file_offset)
{
	struct profile_frame frame = { .kind = PROFILE_USER };
	const struct symtab_entry *entry = NULL;
	uint64_t address = elf_address(file->image, file_offset);

	if (!file->module)
		file->module = profile_add_module(
			s->profile, profile_add_text(s->profile, file->path),
			file->build_id_len ? file->build_id : NULL, file->build_id_len);
	frame.module = file->module;
	if (file->image)
		entry = symtab_find(&file->image->table, address);
	if (entry)
		frame.symbol =
			profile_add_text(s->profile, symtab_name(&file->image->table, entry));
	else if (!file->image || !eh_ranges_find(&file->image->unnamed, address, &frame.address))
		frame.address = address;
	return profile_add_frame(s->profile, &frame);
}

uint32_t symbolizer_frame(struct symbolizer *s, uint32_t pid, struct symbolizer_place place)
{
	if (place.file == SYMBOLIZER_KERNEL)
		return kernel_frame(s, place.offset);
	if (place.file == SYMBOLIZER_PENDING)
		place = symbolizer_locate(s, pid, place.offset, true);
	if (place.file == SYMBOLIZER_PENDING || place.file == SYMBOLIZER_NOWHERE)
		return 0;
	if (place.file == SYMBOLIZER_ANONYMOUS) {
		struct process *p = process_table_get(&s->processes, pid);
		return p ? jit_frame(s, p, place.offset) : 0;
	}
	struct symbol_file *file = &s->files.items[place.file];
	if (file->state == FILE_NEW || file->state == FILE_QUEUED)
		return file_frame(s, file, place.offset); /* not final: not remembered */
	uint64_t key = hash_u64(place.offset) ^ (uint64_t)place.file << 40;
	uint64_t *known = map_u64_put(&s->user_frames, key, NULL);
	if (!known)
		return file_frame(s, file, place.offset);
	if (!*known)
		*known = file_frame(s, file, place.offset);
	return (uint32_t)*known;
}
