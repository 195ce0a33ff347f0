#include "kthread_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int kthread_parse(const char *text, uint64_t *ret_run_ns, uint64_t *ret_wait_ns)
{
	uint64_t run, wait;
	int r = text_column_u64(text, 0, &run);

	if (r == 0)
		r = text_column_u64(text, 1, &wait);
	if (r < 0)
		return r;
	*ret_run_ns = run;
	*ret_wait_ns = wait;
	return 0;
}

bool kthread_matters(const char *comm)
{
	return text_starts(comm, "ksoftirqd/") || text_starts(comm, "rcu_") ||
	       text_starts(comm, "napi/") || text_starts(comm, "rcuc/");
}

struct kthread_find {
	struct kthread_wait *into;
	const struct root *root;
	struct buf text;
};

/* Kernel threads are children of kthreadd, and nobody else has an empty command line and ppid 2. */
static bool kthread_is_kernels(struct kthread_find *find, uint64_t pid)
{
	char path[40];
	uint64_t parent;

	snprintf(path, sizeof(path), "proc/%" PRIu64 "/stat", pid);
	buf_clear(&find->text);
	if (root_read(find->root, path, 4096, &find->text, NULL) < 0)
		return false;
	const char *close = strrchr(buf_str(&find->text), ')');
	return close && text_column_u64(close + 1, 1, &parent) == 0 && parent == 2;
}

static int kthread_add(void *arg, const char *name, unsigned char type)
{
	struct kthread_find *find = arg;
	char path[40];
	uint64_t pid;

	(void)type;
	if (text_u64(name, &pid) < 0 || find->into->list.len >= KTHREAD_MOST)
		return 0;
	snprintf(path, sizeof(path), "proc/%" PRIu64 "/comm", pid);
	buf_clear(&find->text);
	if (root_read(find->root, path, 256, &find->text, NULL) < 0)
		return 0;
	char comm[32];
	text_copy_n(comm, sizeof(comm), buf_str(&find->text), text_line_len(buf_str(&find->text)));
	if (!kthread_matters(comm) || !kthread_is_kernels(find, pid))
		return 0;
	struct kthread *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->pid = pid;
	text_copy(k->comm, sizeof(k->comm), comm);
	snprintf(k->path, sizeof(k->path), "proc/%" PRIu64 "/schedstat", pid);
	if (reread_open(&k->file, find->root, k->path, NULL) < 0 ||
	    !vec_push(&find->into->list, k)) {
		reread_close(&k->file);
		free(k);
	}
	return 0;
}

int kthread_wait_open(struct kthread_wait *k, const struct root *root, struct err *err)
{
	struct kthread_find find = { .into = k, .root = root };

	*k = (struct kthread_wait){ 0 };
	int r = root_list(root, "proc", kthread_add, &find, err);
	buf_free(&find.text);
	if (r == 0 && !k->list.len)
		r = err_set(err, -ENODATA, "no /proc/PID/schedstat of kernel threads");
	return r;
}

void kthread_wait_read(struct kthread_wait *k, struct buf *text, uint64_t least_ns,
		       void (*each)(void *arg, const struct kthread *thread), void *arg)
{
	vec_foreach (&k->list, it) {
		struct kthread *t = *it;
		uint64_t run, wait;
		if (reread_text(&t->file, text, NULL) < 0 ||
		    kthread_parse(buf_str(text), &run, &wait) < 0)
			continue;
		if (t->known && run == t->run_ns && wait > t->wait_ns) {
			t->starved_ns += wait - t->wait_ns;
		} else {
			/* The kernel adds the wait when the thread runs at last. */
			t->starved_ns = t->known && wait > t->wait_ns ? wait - t->wait_ns : 0;
			t->told = false;
		}
		t->known = true;
		t->run_ns = run;
		t->wait_ns = wait;
		if (t->starved_ns >= least_ns && !t->told) {
			t->told = true;
			each(arg, t);
		}
	}
}

void kthread_wait_close(struct kthread_wait *k)
{
	vec_foreach (&k->list, it) {
		reread_close(&(*it)->file);
		free(*it);
	}
	vec_free(&k->list);
}
