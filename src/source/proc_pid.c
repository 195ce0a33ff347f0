#include "proc_pid.h"

#include <errno.h>
#include <string.h>

#include "scan.h"

enum {
	PROC_PID_KTHREAD = 0x00200000, /* PF_KTHREAD */
	/* fields behind the name, counted from the state = 0 */
	FIELD_PPID = 1,
	FIELD_FLAGS = 6,
	FIELD_UTIME = 11,
	FIELD_STIME = 12,
	FIELD_THREADS = 17,
	FIELD_START = 19,
	FIELD_RSS = 21,
	FIELD_PROCESSOR = 36,
	FIELD_POLICY = 38,
	FIELD_END = 39,
};

static void proc_pid_fields(const char *p, struct rec_task *ret)
{
	uint64_t flags = 0;
	const struct {
		unsigned field;
		uint64_t *place;
		uint64_t bit;
	} wanted[] = {
		{ FIELD_PPID, &ret->ppid, REC_TASK_PPID },
		{ FIELD_FLAGS, &flags, REC_TASK_KERNEL_THREAD },
		{ FIELD_UTIME, &ret->utime, REC_TASK_UTIME },
		{ FIELD_STIME, &ret->stime, REC_TASK_STIME },
		{ FIELD_THREADS, &ret->threads, REC_TASK_THREADS },
		{ FIELD_START, &ret->start, REC_TASK_START },
		{ FIELD_RSS, &ret->rss, REC_TASK_RSS },
		{ FIELD_PROCESSOR, &ret->cpu, REC_TASK_CPU },
		{ FIELD_POLICY, &ret->policy, REC_TASK_POLICY },
	};
	unsigned w = 0;

	for (unsigned i = 1; i < FIELD_END && w < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (i == wanted[w].field) {
			if (scan_is_digit(*p)) {
				scan_u64(p, wanted[w].place);
				ret->have |= wanted[w].bit;
			}
			w++;
		}
		p = scan_skip_word(p);
	}
	ret->kernel_thread = (flags & PROC_PID_KTHREAD) != 0;
}

int proc_pid_stat_parse(const char *text, size_t len, struct arena *strings, struct rec_task *ret,
			struct err *err)
{
	struct rec_task row = { 0 };
	const char *open = scan_u64(text, &row.pid);
	const char *close = memrchr(text, ')', len);

	if (open == text || open[0] != ' ' || open[1] != '(' || !close || close < open + 2 ||
	    close[1] != ' ' || !close[2])
		return err_set(err, -EBADMSG, "/proc/PID/stat: not a process");
	row.state = (unsigned char)close[2];
	row.have = REC_TASK_PID | REC_TASK_STATE | REC_TASK_COMM;
	row.comm = arena_strndup(strings, open + 2, (size_t)(close - open - 2));
	if (!row.comm)
		return err_set(err, -ENOMEM, "out of memory");
	proc_pid_fields(scan_skip_word(close + 2), &row);
	*ret = row;
	return 0;
}

int proc_pid_schedstat_parse(const char *text, struct rec_task *ret, struct err *err)
{
	uint64_t run, wait;
	const char *p = scan_next_u64(text, &run);

	if (!p || !scan_next_u64(p, &wait))
		return err_set(err, -EBADMSG, "/proc/PID/schedstat: not two numbers");
	ret->run_delay = wait;
	ret->have |= REC_TASK_RUN_DELAY;
	return 0;
}

/* "cpu,cpuacct" has the controller "cpu". */
static bool proc_pid_lists(const char *list, size_t len, const char *controller)
{
	size_t want = strlen(controller);

	for (size_t at = 0; at <= len;) {
		const char *comma = memchr(list + at, ',', len - at);
		size_t n = comma ? (size_t)(comma - list) - at : len - at;
		if (n == want && memcmp(list + at, controller, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

int proc_pid_cgroup_parse(const char *text, const char *controller, const char **ret,
			  size_t *ret_len)
{
	for (const char *line = text; *line; line = scan_line(line)) {
		size_t len = strcspn(line, "\n");
		const char *list = memchr(line, ':', len);
		const char *path =
			list ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;
		if (!path)
			continue;
		size_t list_len = (size_t)(path - list - 1);
		bool fits = controller ? list_len && proc_pid_lists(list + 1, list_len, controller)
				       : !list_len;
		if (!fits)
			continue;
		*ret = path + 1;
		*ret_len = len - (size_t)(path + 1 - line);
		return 0;
	}
	return -ENODATA;
}
