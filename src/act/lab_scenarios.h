/* The scenarios, one file each. */
#pragma once

#include "lab.h"

extern const struct lab_scenario lab_busy_core;
extern const struct lab_scenario lab_container_loop;
extern const struct lab_scenario lab_crash_loop;
extern const struct lab_scenario lab_zombies;
extern const struct lab_scenario lab_all_busy;
extern const struct lab_scenario lab_quota;
extern const struct lab_scenario lab_reclaim;
extern const struct lab_scenario lab_softirq;
extern const struct lab_scenario lab_net_reset;
extern const struct lab_scenario lab_log_flood;
extern const struct lab_scenario lab_pinterest;
extern const struct lab_scenario lab_two_culprits;
extern const struct lab_scenario lab_inner_supervisor;
extern const struct lab_scenario lab_crash_no_zombies;

/* The core of the first NIC queue's interrupt; -ENODEV when there is none. */
int lab_nic_core(struct lab_run *run, unsigned *ret);
