#include "rec_task.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_task, pid, REC_U64, REC_ID, REC_KEY, "process id"),
	REC_FIELD(rec_task, start, REC_U64, REC_TICKS, REC_KEY,
		  "start time since boot: tells a reused pid apart"),
	REC_FIELD(rec_task, ppid, REC_U64, REC_ID, 0, "parent process id"),
	REC_FIELD(rec_task, cpu, REC_U64, REC_ID, 0, "core that it last ran on"),
	REC_FIELD(rec_task, state, REC_U64, REC_NONE, 0, "state letter of /proc/PID/stat"),
	REC_FIELD(rec_task, utime, REC_U64, REC_TICKS, REC_COUNTER, "time in user mode"),
	REC_FIELD(rec_task, stime, REC_U64, REC_TICKS, REC_COUNTER, "time in the kernel"),
	REC_FIELD(rec_task, run_delay, REC_U64, REC_NS, REC_COUNTER,
		  "time spent runnable without a core"),
	REC_FIELD(rec_task, threads, REC_U64, REC_COUNT, 0, "threads"),
	REC_FIELD(rec_task, rss, REC_U64, REC_PAGES, 0, "resident memory"),
	REC_FIELD(rec_task, kernel_thread, REC_U64, REC_NONE, 0, "1 = kernel thread"),
	REC_FIELD(rec_task, comm, REC_STR, REC_NONE, 0, "name, hostile bytes"),
	REC_FIELD(rec_task, cgroup, REC_STR, REC_NONE, 0,
		  "cgroup path of the memory controller's hierarchy, hostile bytes"),
	REC_FIELD(rec_task, tgid, REC_U64, REC_ID, 0, "process that a thread belongs to"),
	REC_FIELD(rec_task, recent, REC_U64, REC_NS, 0, "CPU time since the tick before"),
	REC_FIELD(rec_task, policy, REC_U64, REC_NONE, 0,
		  "scheduling policy: 1 FIFO, 2 RR, 6 DEADLINE are real-time"),
};

const struct rec_desc rec_task_desc = {
	.kind = REC_TASK,
	.name = "task",
	.size = sizeof(struct rec_task),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};
