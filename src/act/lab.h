/* The lab: real, bounded incidents on a reserved host. Every run has an id, one cgroup directory
 * (zscope-lab-ID), one scratch directory, a journal of all it makes (lab_journal.h) and a dead-man
 * process that cleans up when its time is over.
 *
 * To add a scenario: lab_NAME.c with a `const struct lab_scenario lab_NAME`, declared in
 * lab_scenarios.h, a row in lab.c's table. Its run() makes things only through the lab_make_*
 * functions below (or journals them first with lab_journal_add on run->journal), so that `lab
 * clean` removes every trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "lab_journal.h"
#include "offer.h"
#include "root.h"

/* What the user asked for; 0 / NULL = the scenario's default. */
struct lab_options {
	uint64_t count;
	uint64_t length_ns; /* how long the incident lasts at most */
	uint64_t size_bytes;
	uint64_t interval_ns;
	const char *mode;   /* the scenario's own choice, see its help */
	const char *target; /* unit, container, interface ... */
	bool cpu_set;
	unsigned cpu;
	bool keep; /* return when the incident stands; the dead man or `lab clean` ends it */
};

struct lab_run {
	char id[32];
	char state_dir[128];   /* holds the journal */
	char cgroup_dir[300];  /* absolute; "" until lab_make_cgroup_dir */
	char scratch_dir[128]; /* on a real file system; "" until lab_make_scratch */
	char shm_dir[128];     /* on tmpfs; "" until lab_make_shm */
	int journal;
	struct offer offer;
	struct lab_options options; /* with defaults filled in and limits checked */
	uint64_t deadline_ns;       /* CLOCK_MONOTONIC */
	/* One line for the person who runs it. */
	void (*say)(void *arg, const char *line);
	void *say_arg;
};

struct lab_scenario {
	const char *name;
	const char *summary; /* one line */
	const char *modes;   /* "usr|sys", NULL = takes none; the first is the default */
	struct lab_options defaults;
	uint64_t most_count, most_size_bytes; /* 0 = the option is not taken */
	uint64_t most_ns;
	int (*run)(struct lab_run *run, struct err *err);
};

const struct lab_scenario *const *lab_scenarios(size_t *ret_len);
/* Runs the scenario to its end and removes every trace, or leaves it standing with options.keep.
 * The id is written to ret_id. SIGINT, SIGTERM and SIGHUP end the scenario, also one that is not
 * yet standing: everything is removed, and the signal's number is returned. */
int lab_start(const char *name, const struct lab_options *options,
	      void (*say)(void *arg, const char *line), void *say_arg, char ret_id[32],
	      struct err *err);

struct lab_cleaned {
	unsigned runs, processes, units, cgroups, files, mounts;
	unsigned left; /* things that could not be removed; the first is named in err */
};
/* Remove the traces of one run (or of all, id NULL), running ones included. Never touches what no
 * lab run can have made. */
int lab_clean(const char *id, struct lab_cleaned *ret, struct err *err);

/* A run whose journal is there, and what of it is; units and containers as it wrote them down. */
struct lab_standing {
	char id[64], scenario[32]; /* scenario "": killed before it was written down */
	uint64_t since_ns, until_ns;
	unsigned processes, cgroups, units, containers, mounts;
};
struct lab_runs {
	VEC(struct lab_standing) list; /* the oldest first */
};
int lab_runs_read(struct lab_runs *ret, struct err *err);
void lab_runs_free(struct lab_runs *r);
/* What lab_runs_read tells of this run, beside its journal. */
int lab_runs_note(const struct lab_run *run, const char *scenario, struct err *err);

#define AUTO_LAB_RUNS __attribute__((cleanup(lab_runs_free)))

/* For scenarios. */
void lab_say(struct lab_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
int lab_make_cgroup_dir(struct lab_run *run, struct err *err);
int lab_make_scratch(struct lab_run *run, struct err *err);
int lab_make_shm(struct lab_run *run, struct err *err);
/* A child that runs fn and exits with its value. It is journaled by itself before fn starts, killed
 * by its own timer soon after the deadline, and with this process unless options.keep. */
pid_t lab_make_child(struct lab_run *run, int (*fn)(struct lab_run *run, void *arg), void *arg,
		     struct err *err);
/* Wait for the child until the deadline; 0 or its negative errno-like status. */
int lab_wait_child(struct lab_run *run, pid_t pid, struct err *err);
/* Write text into dir/name, as cgroup files want it: one write. */
int lab_write(const char *dir, const char *name, const char *text, struct err *err);
/* The calling process runs on that core only. -1 with errno set. */
int lab_hold_core(unsigned cpu);
