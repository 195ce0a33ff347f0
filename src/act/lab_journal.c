#include "lab_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "root.h"
#include "text.h"

#define LAB_NAME_PREFIX "zscope-lab-"

enum { LAB_JOURNAL_CAP = 64 << 20 };

static const char *const trace_names[LAB_TRACE_END] = {
	[LAB_TRACE_PID] = "pid",     [LAB_TRACE_CGROUP] = "cgroup",
	[LAB_TRACE_DIR] = "dir",     [LAB_TRACE_FILE] = "file",
	[LAB_TRACE_MOUNT] = "mount", [LAB_TRACE_CONTAINER] = "container",
	[LAB_TRACE_IMAGE] = "image", [LAB_TRACE_UNIT] = "unit",
};

const char *lab_trace_name(enum lab_trace trace)
{
	return trace < LAB_TRACE_END ? trace_names[trace] : "unknown";
}

bool lab_journal_is_ours(const char *path)
{
	bool ours = false;

	if (*path != '/')
		return false;
	for (const char *p = path; *p;) {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0)
			return false;
		if (n > strlen(LAB_NAME_PREFIX) && text_starts(p, LAB_NAME_PREFIX))
			ours = true;
		p += n;
	}
	return ours;
}

bool lab_journal_is_our_unit(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";
	bool slice = text_ends(name, ".slice");

	return (slice || text_ends(name, ".service") || text_ends(name, ".scope")) &&
	       text_starts(name, slice ? "zscope_lab_" : LAB_NAME_PREFIX) &&
	       strspn(name, plain) == strlen(name);
}

static int parse_pid(struct lab_trace_line *line)
{
	const char *p = line->value;
	uint64_t pid, start;

	if (text_take_u64(&p, &pid) < 0 || *p++ != ' ' || text_take_u64(&p, &start) < 0 || *p ||
	    pid < 2 || pid > INT32_MAX)
		return -EBADMSG;
	line->pid = (pid_t)pid;
	line->start_time = start;
	return 0;
}

int lab_journal_parse_line(const char *text, size_t len, struct lab_trace_line *ret)
{
	struct lab_trace_line line = { 0 };
	const char *blank = memchr(text, ' ', len);
	size_t key = blank ? (size_t)(blank - text) : 0;

	if (!key || memchr(text, '\0', len) || len - key - 1 >= sizeof(line.value) ||
	    len == key + 1)
		return -EBADMSG;
	for (line.trace = 0; line.trace < LAB_TRACE_END; line.trace++)
		if (strlen(trace_names[line.trace]) == key &&
		    memcmp(trace_names[line.trace], text, key) == 0)
			break;
	if (line.trace == LAB_TRACE_END)
		return -EBADMSG;
	memcpy(line.value, blank + 1, len - key - 1);
	if (line.trace == LAB_TRACE_PID) {
		if (parse_pid(&line) < 0)
			return -EBADMSG;
	} else if (line.trace == LAB_TRACE_UNIT) {
		if (!lab_journal_is_our_unit(line.value))
			return -EBADMSG;
	} else if (!lab_journal_is_ours(line.value)) {
		return -EBADMSG;
	}
	*ret = line;
	return 0;
}

int lab_journal_read(const char *state_dir, struct lab_traces *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct lab_trace_line line;

	int r = root_open(state_dir, &root, err);
	if (r == 0)
		r = root_read(&root, "journal", LAB_JOURNAL_CAP, &text, err);
	if (r < 0)
		return r;
	/* a torn last line is one whose thing was not made yet */
	for (const char *p = buf_str(&text); p && *p; p = text_next_line(p))
		if (lab_journal_parse_line(p, text_line_len(p), &line) == 0 &&
		    !vec_push(&ret->list, line))
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

void lab_traces_free(struct lab_traces *t)
{
	vec_free(&t->list);
}

int lab_journal_add(int fd, enum lab_trace trace, const char *value, struct err *err)
{
	char line[LAB_VALUE_MAX + 32];
	int n = snprintf(line, sizeof(line), "%s %s\n", lab_trace_name(trace), value);

	if (n >= (int)sizeof(line) || strchr(value, '\n') || strlen(value) >= LAB_VALUE_MAX)
		return err_set(err, -ENAMETOOLONG, "lab journal: '%s' does not fit", value);
	if (write(fd, line, (size_t)n) != n)
		return err_set(err, errno ? -errno : -EIO, "lab journal: %s", strerror(errno));
	return 0;
}

int lab_journal_start_time(pid_t pid, uint64_t *ret)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_BUF struct buf text = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	if (root_open(NULL, &root, NULL) < 0 ||
	    root_read(&root, path, ROOT_FILE_CAP, &text, NULL) < 0)
		return -ESRCH;
	/* the name may hold blanks and ')': fields are counted from the last one */
	const char *p = strrchr(buf_str(&text), ')');
	return p && text_column_u64(p + 1, 19, ret) == 0 ? 0 : -ESRCH;
}

int lab_journal_add_pid(int fd, pid_t pid, struct err *err)
{
	char value[64];
	uint64_t start;
	int r = lab_journal_start_time(pid, &start);

	if (r < 0)
		return err_set(err, r, "process %d is gone", pid);
	snprintf(value, sizeof(value), "%d %" PRIu64, pid, start);
	return lab_journal_add(fd, LAB_TRACE_PID, value, err);
}
