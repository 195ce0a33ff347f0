/* The busiest processes and threads from the task iterator's records: the BPF half of tasks.h. */
#pragma once

#include "rec_task.h"
#include "tasks.h"

/* Pure: CPU time of each thread since the earlier reading, into recent_ns[] (one per record of
 * `now`); UINT64_MAX where there is nothing to compare with. Both are in the iterator's order. */
void tasks_bpf_recent(const struct task_iter_rec *before, size_t n_before,
		      const struct task_iter_rec *now, size_t n_now, uint64_t *recent_ns);
/* Adds the rows; negative when the iterator failed and /proc must do. */
int tasks_bpf_read(struct tasks *t, const struct root *root, const struct offer *offer, bool quick,
		   struct buf *text, struct tick *ret);
/* Pure: a record as a row, without its cgroup. */
void tasks_bpf_row(const struct task_iter_rec *rec, struct rec_task *ret);
/* Letter of /proc/PID/stat. */
char tasks_bpf_state(uint32_t state);
