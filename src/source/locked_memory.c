#include "locked_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"

struct looking {
	const struct root *root;
	struct locked_processes *ret;
};

/* "zscope\0record\0...", with or without a directory. */
static bool is_recorder(const struct root *root, uint64_t pid)
{
	AUTO_BUF struct buf text = { 0 };
	char path[40];

	snprintf(path, sizeof(path), "proc/%u/cmdline", (unsigned)pid);
	if (root_read(root, path, 65536, &text, NULL) < 0)
		return false;
	const char *program = buf_str(&text), *slash = strrchr(program, '/');
	size_t len = strlen(program);
	return strcmp(slash ? slash + 1 : program, "zscope") == 0 && len < text.len &&
	       strcmp(program + len + 1, "record") == 0;
}

static int look_at_process(void *arg, const char *name, unsigned char type)
{
	struct looking *l = arg;
	AUTO_BUF struct buf text = { 0 };
	uint64_t pid, kilobytes;
	char path[40];

	(void)type;
	if (text_u64(name, &pid) < 0 || pid > INT32_MAX)
		return 0;
	snprintf(path, sizeof(path), "proc/%u/status", (unsigned)pid);
	int r = root_read(l->root, path, 65536, &text, NULL);
	if (r < 0) {
		l->ret->unseen.processes += !process_is_gone(l->root, (int)pid, r);
		return 0;
	}
	/* threads of the kernel have no such line */
	if (text_key_u64(buf_str(&text), "VmLck:", &kilobytes) < 0 || !kilobytes)
		return 0;
	struct locked_process p = { .pid = (int)pid, .bytes = kilobytes * 1024 };
	process_read_comm(l->root, p.pid, p.comm, sizeof(p.comm));
	p.recorder = is_recorder(l->root, pid);
	return vec_push(&l->ret->list, p) ? 0 : -ENOMEM;
}

static int most_first(const void *a, const void *b)
{
	const struct locked_process *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

int locked_memory_read(const struct root *root, struct locked_processes *ret, struct err *err)
{
	struct looking l = { .root = root, .ret = ret };

	int r = root_list(root, "proc", look_at_process, &l, err);
	ret->unseen.hidden = !process_all_shown(root);
	ret->unseen.failed = r < 0;
	vec_sort(&ret->list, most_first);
	return r;
}

void locked_memory_free(struct locked_processes *p)
{
	vec_free(&p->list);
}
