/* References to dying memcgs that hold no page: tasks that ended and were not reaped, cgroup
 * namespaces, sockets that somebody has open, writeback. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auto.h"
#include "census_impl.h"
/* generated */
#include "census_holders.skel.h"

/* By css, and what is the same thing side by side. */
static int by_thing(const void *a, const void *b)
{
	const struct census_ref *x = a, *y = b;

#define COMPARE(field)            \
	if (x->field != y->field) \
	return x->field < y->field ? -1 : 1
	COMPARE(css);
	COMPARE(pin.kind);
	COMPARE(pin.pid);
	COMPARE(pin.socket_inode);
	COMPARE(file.dev);
	COMPARE(file.ino);
	COMPARE(file.inode);
#undef COMPARE
	return 0;
}

/* The threads of a process have one namespace mostly, a socket or namespace may be open twice, and
 * a list that changed is read again. */
static void sort_refs(struct census *c)
{
	size_t kept = 0;

	vec_sort(&c->refs, by_thing);
	for (size_t i = 0; i < c->refs.len; i++)
		if (!kept || by_thing(&c->refs.items[kept - 1], &c->refs.items[i]) != 0)
			c->refs.items[kept++] = c->refs.items[i];
	c->refs.len = kept;
}

static bool add_ref(struct census *c, uint64_t css, enum pin_kind kind, const struct census_task *t)
{
	struct census_ref ref = {
		.css = css,
		.pin = { .kind = kind, .pid = t->pid, .parent_pid = t->ppid },
	};

	if (!css)
		return true;
	memcpy(ref.pin.comm, t->comm, sizeof(ref.pin.comm));
	ref.pin.comm[sizeof(ref.pin.comm) - 1] = '\0';
	return vec_push(&c->refs, ref);
}

static int take_task(struct census *c, const struct census_task *t, struct err *err)
{
	bool ok = add_ref(c, t->css, t->exit_state ? PIN_PROCESS : PIN_TASK, t);

	struct census_task process = *t;
	process.pid = t->tgid;
	ok = ok && add_ref(c, t->ns_css, PIN_NAMESPACE, &process);
	return ok ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int take_open(struct census *c, const struct census_open *open, struct err *err)
{
	struct census_ref ref = {
		.css = open->css,
		.pin = {
			.kind = open->socket ? PIN_SOCKET : PIN_NAMESPACE,
			.pid = open->pid,
			.parent_pid = open->ppid,
			.socket_inode = open->socket ? open->inode : 0,
			.port = open->port,
			.family = open->family,
			.protocol = open->protocol,
		},
	};

	memcpy(ref.pin.comm, open->comm, sizeof(ref.pin.comm));
	ref.pin.comm[sizeof(ref.pin.comm) - 1] = '\0';
	/* only internet sockets have ports */
	if (open->family != AF_INET && open->family != AF_INET6)
		ref.pin.port = 0;
	return vec_push(&c->refs, ref) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Records of one size from an iterator's descriptor. */
static int read_all(struct census *c, int fd, bool files, struct err *err)
{
	union {
		struct census_task task;
		struct census_open open;
	} rec;
	size_t size = files ? sizeof(rec.open) : sizeof(rec.task);

	for (;;) {
		ssize_t n = read(fd, &rec, size);
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n != (ssize_t)size)
			return err_set(err, n < 0 ? -errno : -EIO, "BPF iterator: short read");
		int r = files ? take_open(c, &rec.open, err) : take_task(c, &rec.task, err);
		if (r < 0)
			return r;
	}
}

static int iterate(struct census *c, const struct bpf_program *program, bool files, struct err *err)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	if (!link)
		return err_set(err, -errno, "BPF iterator: %s", strerror(errno));
	AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(link));
	int r = fd < 0 ? err_set(err, -errno, "BPF iterator: %s", strerror(errno))
		       : read_all(c, fd, files, err);
	bpf_link__destroy(link);
	return r;
}

/* Loaded for one look: a walk with pins is rare. */
static int read_processes(struct census *c, struct err *err)
{
	struct bpf_object *obj;
	size_t bytes;
	const void *elf = census_holders_bpf__elf_bytes(&bytes);

	int r = census_load_object(c, elf, bytes, &obj, err);
	if (r == -EOPNOTSUPP)
		return err_set(err, r, "this kernel has no BPF task iterator (5.8)");
	if (r < 0)
		return r;
	r = iterate(c, bpf_object__find_program_by_name(obj, "census_tasks"), false, err);
	if (r == 0)
		r = iterate(c, bpf_object__find_program_by_name(obj, "census_files"), true, err);
	bpf_object__close(obj);
	return r;
}

int census_read_holders(struct census *c, struct unknowns *unknowns, struct err *err)
{
	struct err writeback = { 0 };

	c->refs.len = 0;
	shared_holders_free(&c->shared); /* those of the walk before */
	/* v1 has one writeback for all */
	if (!c->v1 && census_read_writeback(c, unknowns, &writeback) < 0)
		unknowns_add(unknowns, CENSUS_WRITEBACK_UNKNOWN, "%s", writeback.text);
	int r = read_processes(c, err);
	sort_refs(c);
	return r;
}
