/* The clocks of the live host's cores, read where the kernel keeps them by a BPF program. The half
 * of core_times.h that may not be there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "rec_cpu.h"
#include "root.h"
/* both sides of the BPF program */
#include "core_times_abi.h"

struct core_times_kernel;

/* Negative with the reason where it cannot be: no right, no BTF, a kernel that keeps them
 * otherwise. n_cpus: highest possible core number + 1. */
int core_times_kernel_open(const struct root *root, unsigned n_cpus, struct core_times_kernel **ret,
			   struct err *err);
void core_times_kernel_close(struct core_times_kernel *k);
/* Brings the records of all cores up to date: n_cpus of them, valid until the next call. */
int core_times_kernel_read(struct core_times_kernel *k, const struct core_times_rec **ret);

/* Pure: a core that is online as a row, in the kernel's ticks for users as /proc/stat has them. */
void core_times_row(const struct core_times_rec *rec, unsigned cpu, struct rec_cpu *ret);
