#include "symbol_loader.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "go_symbols.h"
#include "perf_map.h"
#include "text.h"
#include "timefmt.h"

enum {
	LOADER_MAX_QUEUE = 4096,
	LOADER_MAX_MAPS = 4 << 20,
	LOADER_MAX_JIT = 32 << 20,
};

struct symbol_loader {
	const struct root *root;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct symbol_job *todo, **todo_end, *done;
	size_t pending;
	bool stop, stopped;
};

void symbol_image_free(struct symbol_image *image)
{
	if (!image)
		return;
	symtab_free(&image->table);
	eh_ranges_free(&image->unnamed);
	vec_free(&image->loads);
	free(image);
}

void symbol_job_free(struct symbol_job *job)
{
	if (!job)
		return;
	symbol_image_free(job->image);
	buf_free(&job->maps_text);
	symtab_free(&job->jit);
	free(job);
}

static void read_unnamed(const struct elf_image *elf, struct symbol_image *image)
{
	const struct elf_section *header = elf_image_section(elf, ".eh_frame_hdr");
	const struct elf_section *frame = elf_image_section(elf, ".eh_frame");
	AUTO_FREE void *header_bytes = NULL;
	AUTO_FREE void *frame_bytes = NULL;

	if (header && frame && !elf->narrow &&
	    elf_image_read(elf, header->offset, header->size, &header_bytes) == 0 &&
	    elf_image_read(elf, frame->offset, frame->size, &frame_bytes) == 0)
		eh_ranges_parse(header_bytes, header->size, header->address, frame_bytes,
				frame->size, frame->address, &image->unnamed);
}

int symbol_image_read(const struct elf_source *source, struct symbol_image **ret, struct err *err)
{
	struct elf_image elf;
	bool has_symtab = false;
	int r = elf_image_open(source, &elf, err);

	if (r < 0)
		return r;
	struct symbol_image *image = calloc(1, sizeof(*image));
	if (!image) {
		elf_image_close(&elf);
		return err_set(err, -ENOMEM, "out of memory");
	}
	memcpy(image->build_id, elf.build_id, sizeof(image->build_id));
	image->build_id_len = elf.build_id_len;
	elf_image_symbols(&elf, &image->table);
	for (size_t i = 0; i < elf.sections.len; i++)
		has_symtab |= elf.sections.items[i].type == SHT_SYMTAB;
	/* no section headers at all may be Go too (containerd 2.2) */
	if (!has_symtab &&
	    (!elf.sections.len || elf_image_section(&elf, ".go.buildinfo") ||
	     elf_image_section(&elf, ".gopclntab") || elf_image_section(&elf, ".note.go.buildid")))
		go_symbols_add(&elf, &image->table, &image->table);
	image->full = has_symtab;
	if (!has_symtab)
		read_unnamed(&elf, image);
	symtab_finish(&image->table);
	image->loads.items = elf.loads.items;
	image->loads.len = elf.loads.len;
	image->loads.cap = elf.loads.cap;
	elf.loads.items = NULL;
	elf_image_close(&elf);
	*ret = image;
	return 0;
}

/* Names that were split off a stripped file, as debug packages install them on the host. */
static void read_debug_file(const struct root *root, struct symbol_image *image)
{
	char path[96];
	struct elf_source source;
	struct elf_image elf;
	int n = snprintf(path, sizeof(path), "usr/lib/debug/.build-id/%02x/", image->build_id[0]);

	for (unsigned i = 1; i < image->build_id_len; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", image->build_id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	AUTO_CLOSE int fd = root_open_file(root, path, 0, NULL);
	if (fd < 0 || elf_source_of_fd(fd, &source, NULL) < 0 ||
	    elf_image_open(&source, &elf, NULL) < 0)
		return;
	if (elf.build_id_len == image->build_id_len &&
	    memcmp(elf.build_id, image->build_id, elf.build_id_len) == 0 &&
	    elf_image_symbols(&elf, &image->table) > 0)
		symtab_finish(&image->table);
	elf_image_close(&elf);
}

static int read_file(const struct root *root, const char *path, struct symbol_job *job)
{
	AUTO_CLOSE int fd = root_open_file(root, path, ROOT_MAGIC, NULL);
	struct elf_source source;
	struct symbol_image *image;

	if (fd < 0)
		return fd;
	int r = elf_source_of_fd(fd, &source, NULL);
	if (r == 0)
		r = symbol_image_read(&source, &image, NULL);
	if (r < 0)
		return r;
	if (job->build_id_len && (image->build_id_len != job->build_id_len ||
				  memcmp(image->build_id, job->build_id, job->build_id_len) != 0)) {
		symbol_image_free(image);
		return -ESTALE; /* another file took the name */
	}
	if (!image->full && image->build_id_len)
		read_debug_file(root, image);
	job->image = image;
	return 0;
}

static int run_file(const struct root *root, struct symbol_job *job)
{
	char path[600];
	int r = -ENOENT;

	if (text_ends(job->path, " (deleted)")) {
		snprintf(path, sizeof(path), "proc/%u/map_files/%llx-%llx", job->pid,
			 (unsigned long long)job->start, (unsigned long long)job->end);
		return read_file(root, path, job);
	}
	if (job->path[0] != '/')
		return -ENOENT;
	snprintf(path, sizeof(path), "proc/%u/root%s", job->pid, job->path);
	r = read_file(root, path, job);
	/* the process is gone: the host's own file will do when its build id proves it */
	if (r < 0 && job->build_id_len)
		r = read_file(root, job->path + 1, job);
	return r;
}

/* The pid inside of the container names the perf map there. */
static uint32_t inner_pid(const struct root *root, uint32_t pid)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];
	uint64_t value = pid;

	snprintf(path, sizeof(path), "proc/%u/status", pid);
	if (root_read(root, path, 64 << 10, &text, NULL) < 0)
		return pid;
	const char *line = strstr(buf_str(&text), "\nNSpid:");
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	for (line = text_skip_blanks(line); text_take_u64(&line, &value) == 0;)
		line = text_skip_blanks(line);
	return (uint32_t)value;
}

static void read_jit(const struct root *root, struct symbol_job *job)
{
	AUTO_BUF struct buf text = { 0 };
	char path[96];

	snprintf(path, sizeof(path), "proc/%u/root/tmp/perf-%u.map", job->pid,
		 inner_pid(root, job->pid));
	AUTO_CLOSE int fd = root_open_file(root, path, ROOT_MAGIC, NULL);
	if (fd < 0)
		return;
	while (text.len < LOADER_MAX_JIT && buf_reserve(&text, 64 << 10)) {
		ssize_t n = read(fd, text.data + text.len, 64 << 10);
		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	buf_add_char(&text, '\0');
	if (!text.failed && perf_map_parse(text.data, &job->jit))
		symtab_finish(&job->jit);
}

static int run_maps(const struct root *root, struct symbol_job *job)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%u/maps", job->pid);
	int r = root_read(root, path, LOADER_MAX_MAPS, &job->maps_text, NULL);
	if (r == 0)
		read_jit(root, job);
	return r;
}

static int run_job(const struct root *root, struct symbol_job *job)
{
	char path[64];

	if (job->kind == SYMBOL_JOB_FILE)
		return run_file(root, job);
	if (job->kind == SYMBOL_JOB_MAPS)
		return run_maps(root, job);
	snprintf(path, sizeof(path), "proc/%u/cgroup", job->pid);
	return root_read(root, path, 64 << 10, &job->maps_text, NULL);
}

static void *loader_main(void *arg)
{
	struct symbol_loader *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		struct symbol_job *job = l->todo;
		if (!job) {
			pthread_cond_wait(&l->work, &l->lock);
			continue;
		}
		l->todo = job->next;
		if (!l->todo)
			l->todo_end = &l->todo;
		pthread_mutex_unlock(&l->lock);
		job->status = run_job(l->root, job);
		pthread_mutex_lock(&l->lock);
		job->next = l->done;
		l->done = job;
		l->pending--;
		pthread_cond_broadcast(&l->idle);
	}
	l->stopped = true;
	pthread_cond_broadcast(&l->idle);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

int symbol_loader_open(const struct root *root, struct symbol_loader **ret, struct err *err)
{
	struct symbol_loader *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->root = root;
	l->todo_end = &l->todo;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->work, &monotonic);
	pthread_cond_init(&l->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int r = pthread_create(&l->thread, NULL, loader_main, l);
	if (r) {
		free(l);
		return err_set(err, -r, "symbol thread: %s", strerror(r));
	}
	*ret = l;
	return 0;
}

static struct timespec deadline_in(uint64_t ns)
{
	uint64_t at = clock_mono_ns() + ns;
	return (struct timespec){ .tv_sec = (time_t)(at / NS_PER_S),
				  .tv_nsec = (long)(at % NS_PER_S) };
}

void symbol_loader_close(struct symbol_loader *l)
{
	if (!l)
		return;
	struct timespec deadline = deadline_in(2 * NS_PER_S);
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->work);
	int r = 0;
	while (!l->stopped && r == 0)
		r = pthread_cond_timedwait(&l->idle, &l->lock, &deadline);
	bool stopped = l->stopped;
	pthread_mutex_unlock(&l->lock);
	if (!stopped) { /* it hangs in the kernel and still uses l */
		pthread_detach(l->thread);
		return;
	}
	pthread_join(l->thread, NULL);
	for (struct symbol_job *job; (job = l->todo);) {
		l->todo = job->next;
		symbol_job_free(job);
	}
	for (struct symbol_job *job; (job = l->done);) {
		l->done = job->next;
		symbol_job_free(job);
	}
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->work);
	pthread_cond_destroy(&l->idle);
	free(l);
}

bool symbol_loader_submit(struct symbol_loader *l, struct symbol_job *job)
{
	bool taken = false;

	pthread_mutex_lock(&l->lock);
	if (l->pending < LOADER_MAX_QUEUE) {
		job->next = NULL;
		*l->todo_end = job;
		l->todo_end = &job->next;
		l->pending++;
		taken = true;
		pthread_cond_signal(&l->work);
	}
	pthread_mutex_unlock(&l->lock);
	return taken;
}

struct symbol_job *symbol_loader_take(struct symbol_loader *l)
{
	pthread_mutex_lock(&l->lock);
	struct symbol_job *job = l->done;
	if (job)
		l->done = job->next;
	pthread_mutex_unlock(&l->lock);
	return job;
}

size_t symbol_loader_pending(struct symbol_loader *l)
{
	pthread_mutex_lock(&l->lock);
	size_t pending = l->pending;
	pthread_mutex_unlock(&l->lock);
	return pending;
}

void symbol_loader_wait(struct symbol_loader *l, uint64_t most_ns)
{
	struct timespec deadline = deadline_in(most_ns);
	int r = 0;

	pthread_mutex_lock(&l->lock);
	while (l->pending && r == 0)
		r = pthread_cond_timedwait(&l->idle, &l->lock, &deadline);
	pthread_mutex_unlock(&l->lock);
}
