/* References to dying memcgs that hold no page: tasks that ended and were not reaped, cgroup
 * namespaces. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "census_abi.h"
#include "census_impl.h"
/* generated: needs census_abi.h */
#include "census.skel.h"

static int by_css(const void *a, const void *b)
{
	const struct census_ref *x = a, *y = b;
	return x->css < y->css ? -1 : x->css > y->css;
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
	/* a thread of a process is named by its leader, once */
	bool ok = add_ref(c, t->css, t->exit_state ? PIN_PROCESS : PIN_TASK, t);

	if (ok && t->pid == t->tgid)
		ok = add_ref(c, t->ns_css, PIN_NAMESPACE, t);
	return ok ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int read_all(struct census *c, int fd, struct err *err)
{
	struct census_task task;

	for (;;) {
		ssize_t n = read(fd, &task, sizeof(task));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n != sizeof(task))
			return err_set(err, n < 0 ? -errno : -EIO, "BPF task iterator: short read");
		int r = take_task(c, &task, err);
		if (r < 0)
			return r;
	}
}

int census_read_tasks(struct census *c, struct err *err)
{
	c->refs.len = 0;
	if (bpf_program__fd(c->skel->progs.census_tasks) < 0)
		return err_set(err, -EOPNOTSUPP, "this kernel has no BPF task iterator (5.8)");
	struct bpf_link *link = bpf_program__attach_iter(c->skel->progs.census_tasks, NULL);
	if (!link)
		return err_set(err, -errno, "BPF task iterator: %s", strerror(errno));
	AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(link));
	int r = fd < 0 ? err_set(err, -errno, "BPF task iterator: %s", strerror(errno))
		       : read_all(c, fd, err);
	bpf_link__destroy(link);
	vec_sort(&c->refs, by_css);
	return r;
}
