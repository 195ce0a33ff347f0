#include "task_iter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "bpf_types.h"
/* generated */
#include "task_iter.skel.h"

/* Inode of the first pid namespace (PROC_PID_INIT_INO): the iterator speaks of its pids. */
#define TASK_ITER_INIT_PID_NS "pid:[4026531836]"

enum { TASK_ITER_MOST_BYTES = 64 << 20, TASK_ITER_READ = 1 << 16 };

struct task_iter {
	struct task_iter_bpf *skel;
	struct bpf_link *link;
};

static int task_iter_load(struct task_iter *it, const struct root *root, struct err *err)
{
	AUTO(bpf_types_close) struct bpf_types types = bpf_types_open();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));

	it->skel = task_iter_bpf__open_opts(&opts);
	int r = it->skel ? bpf_types_fill(&types, root, it->skel->obj, err) : -errno;
	if (r == 0)
		r = task_iter_bpf__load(it->skel);
	if (r < 0)
		return err_set(err, r, "BPF task iterator: %s", strerror(-r));
	it->link = bpf_program__attach_iter(it->skel->progs.task_iter, NULL);
	return it->link ? 0 : err_set(err, -errno, "BPF task iterator: %s", strerror(errno));
}

int task_iter_open(const struct root *root, struct task_iter **ret, struct err *err)
{
	AUTO_BUF struct buf link = { 0 };

	if (!root->live)
		return err_set(err, -EOPNOTSUPP, "not this host");
	if (root_readlink(root, "proc/self/ns/pid", &link, NULL) < 0 ||
	    strcmp(buf_str(&link), TASK_ITER_INIT_PID_NS) != 0)
		return err_set(err, -EOPNOTSUPP, "a pid namespace");
	struct task_iter *it = calloc(1, sizeof(*it));
	if (!it)
		return err_set(err, -ENOMEM, "out of memory");
	int r = task_iter_load(it, root, err);
	if (r < 0) {
		task_iter_close(it);
		return r;
	}
	*ret = it;
	return 0;
}

void task_iter_close(struct task_iter *it)
{
	if (!it)
		return;
	bpf_link__destroy(it->link);
	task_iter_bpf__destroy(it->skel);
	free(it);
}

int task_iter_read(struct task_iter *it, struct buf *ret, struct err *err)
{
	AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(it->link));

	if (fd < 0)
		return err_set(err, -errno, "BPF task iterator: %s", strerror(errno));
	buf_clear(ret);
	for (;;) {
		if (ret->len > TASK_ITER_MOST_BYTES || !buf_reserve(ret, TASK_ITER_READ))
			return err_set(err, -ENOMEM, "BPF task iterator: too many tasks");
		ssize_t n = read(fd, ret->data + ret->len, TASK_ITER_READ);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_set(err, -errno, "BPF task iterator: %s", strerror(errno));
		if (n == 0)
			return 0;
		ret->len += (size_t)n;
	}
}
