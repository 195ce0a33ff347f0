/* The measures behind the rows of health.c: each reads the ticks and fills value, detail and
 * numbers of its line. -ENODATA = cannot tell, -EOPNOTSUPP = does not apply to this host. */
#pragma once

#include "health.h"

int health_measure_core_kernel(const struct health_input *in, struct health_line *ret);
int health_measure_cores_busy(const struct health_input *in, struct health_line *ret);
int health_measure_steal(const struct health_input *in, struct health_line *ret);
int health_measure_zombies(const struct health_input *in, struct health_line *ret);
int health_measure_percpu(const struct health_input *in, struct health_line *ret);
int health_measure_available(const struct health_input *in, struct health_line *ret);
int health_measure_psi_cpu(const struct health_input *in, struct health_line *ret);
int health_measure_psi_memory(const struct health_input *in, struct health_line *ret);
int health_measure_psi_io(const struct health_input *in, struct health_line *ret);
int health_measure_reclaim(const struct health_input *in, struct health_line *ret);
int health_measure_oom(const struct health_input *in, struct health_line *ret);
int health_measure_throttling(const struct health_input *in, struct health_line *ret);
int health_measure_load(const struct health_input *in, struct health_line *ret);
int health_measure_softnet(const struct health_input *in, struct health_line *ret);
