/* All threads of the live host by a BPF iterator: where it can be loaded it is 20 times cheaper
 * than /proc, and it sees threads. */
#pragma once

#include <linux/types.h>

#include "buf.h"
#include "err.h"
#include "root.h"
#include "task_iter_abi.h"

struct task_iter;

/* Negative with the reason where it cannot be: not this host, a pid namespace, no right, no BTF. */
int task_iter_open(const struct root *root, struct task_iter **ret, struct err *err);
/* Replaces *ret with an array of struct task_iter_rec: processes by pid, each with its threads. */
int task_iter_read(struct task_iter *it, struct buf *ret, struct err *err);
void task_iter_close(struct task_iter *it);
