#include "kthread_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"

#define KTHREADD_CHILDREN "proc/2/task/2/children"

int kthread_parse(const char *text, struct kthread_stat *ret)
{
	struct kthread_stat s;
	int r = text_column_u64(text, 0, &s.run_ns);

	if (r == 0)
		r = text_column_u64(text, 1, &s.wait_ns);
	if (r == 0)
		r = text_column_u64(text, 2, &s.slices);
	if (r == 0)
		*ret = s;
	return r;
}

bool kthread_matters(const char *comm)
{
	return text_starts(comm, "ksoftirqd/") || text_starts(comm, "rcu_") ||
	       text_starts(comm, "napi/") || text_starts(comm, "rcuc/") ||
	       text_starts(comm, "migration/");
}

struct kthread_find {
	struct kthread_wait *into;
	struct buf text;
	size_t open;
};

static struct kthread *kthread_known(const struct kthread_wait *k, uint64_t pid)
{
	vec_foreach (&k->list, it)
		if ((*it)->pid == pid)
			return *it;
	return NULL;
}

static int kthread_add(struct kthread_find *find, uint64_t pid)
{
	struct kthread_wait *k = find->into;
	struct kthread *t = kthread_known(k, pid);
	char path[40];

	if (t)
		t->seen = true;
	if (t || k->list.len >= KTHREAD_MOST)
		return 0;
	snprintf(path, sizeof(path), "proc/%" PRIu64 "/comm", pid);
	buf_clear(&find->text);
	if (root_read(k->root, path, 256, &find->text, NULL) < 0)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t || !vec_push(&k->list, t)) {
		free(t);
		return -ENOMEM;
	}
	t->pid = pid;
	t->seen = true;
	t->file.fd = -1;
	text_copy_n(t->comm, sizeof(t->comm), buf_str(&find->text),
		    text_line_len(buf_str(&find->text)));
	t->matters = kthread_matters(t->comm);
	snprintf(t->path, sizeof(t->path), "proc/%" PRIu64 "/schedstat", pid);
	if (t->matters && find->open < KTHREAD_MOST_OPEN &&
	    reread_open(&t->file, k->root, t->path, NULL) == 0)
		find->open++;
	return 0;
}

/* Where the kernel does not list kthreadd's children: every process whose parent it is. */
static int kthread_each_process(void *arg, const char *name, unsigned char type)
{
	struct kthread_find *find = arg;
	char path[40];
	uint64_t pid, parent;

	(void)type;
	if (text_u64(name, &pid) < 0)
		return 0;
	snprintf(path, sizeof(path), "proc/%" PRIu64 "/stat", pid);
	buf_clear(&find->text);
	if (root_read(find->into->root, path, 4096, &find->text, NULL) < 0)
		return 0;
	const char *close = strrchr(buf_str(&find->text), ')');
	if (!close || text_column_u64(close + 1, 1, &parent) < 0 || parent != 2)
		return 0;
	return kthread_add(find, pid);
}

static void kthread_free(struct kthread *t)
{
	reread_close(&t->file);
	free(t);
}

int kthread_wait_search(struct kthread_wait *k, struct err *err)
{
	AUTO_BUF struct buf children = { 0 };
	struct kthread_find find = { .into = k };
	uint64_t pid;
	size_t kept = 0;
	int r = 0;

	vec_foreach (&k->list, it) {
		(*it)->seen = false;
		find.open += (*it)->file.fd >= 0;
	}
	if (root_read(k->root, KTHREADD_CHILDREN, 1 << 20, &children, NULL) == 0 && children.len) {
		const char *p = buf_str(&children);
		while (r == 0 && text_take_u64(&p, &pid) == 0) {
			r = kthread_add(&find, pid);
			p = text_skip_blanks(p);
		}
	} else {
		r = root_list(k->root, "proc", kthread_each_process, &find, err);
	}
	buf_free(&find.text);
	for (size_t i = 0; i < k->list.len; i++) {
		if (k->list.items[i]->seen)
			k->list.items[kept++] = k->list.items[i];
		else
			kthread_free(k->list.items[i]);
	}
	k->list.len = kept;
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

int kthread_wait_open(struct kthread_wait *k, const struct root *root, struct err *err)
{
	*k = (struct kthread_wait){ .root = root };
	int r = kthread_wait_search(k, err);
	if (r == 0 && !k->list.len)
		r = err_set(err, -ENODATA, "no kernel threads are visible here");
	return r;
}

static bool kthread_read_one(const struct kthread_wait *k, struct kthread *t, struct buf *text,
			     struct kthread_stat *ret)
{
	if (t->file.fd >= 0)
		return reread_text(&t->file, text, NULL) == 0 &&
		       kthread_parse(buf_str(text), ret) == 0;
	buf_clear(text);
	return root_read(k->root, t->path, 128, text, NULL) == 0 &&
	       kthread_parse(buf_str(text), ret) == 0;
}

/* The kernel adds a wait when it is over, together with a slice. Several slices since the last
 * reading: one of them waited at least as long as all did on average. */
static void kthread_judge(struct kthread *t, const struct kthread_stat *s)
{
	uint64_t waited = s->wait_ns > t->wait_ns ? s->wait_ns - t->wait_ns : 0;
	uint64_t slices = s->slices > t->slices ? s->slices - t->slices : 0;

	if (!t->known || (slices && s->run_ns != t->run_ns))
		t->told = false;
	if (t->known && slices)
		t->starved_ns = waited / slices;
	else
		t->starved_ns = t->known ? t->starved_ns + waited : 0;
	t->known = true;
	t->run_ns = s->run_ns;
	t->wait_ns = s->wait_ns;
	t->slices = s->slices;
}

void kthread_wait_read(struct kthread_wait *k, struct buf *text, uint64_t least_ns,
		       void (*each)(void *arg, const struct kthread *thread), void *arg)
{
	k->turn++;
	for (size_t i = 0; i < k->list.len; i++) {
		struct kthread *t = k->list.items[i];
		struct kthread_stat s;
		if (t->file.fd < 0 && (i + k->turn) % KTHREAD_TURNS != 0)
			continue;
		if (!kthread_read_one(k, t, text, &s))
			continue;
		kthread_judge(t, &s);
		if (t->starved_ns >= least_ns && !t->told) {
			t->told = true;
			each(arg, t);
		}
	}
}

void kthread_wait_close(struct kthread_wait *k)
{
	vec_foreach (&k->list, it)
		kthread_free(*it);
	vec_free(&k->list);
}
