/* `zscope audit`: which units loop, failed, or do not belong on this kind of host; on an image,
 * what the first boot will do. Pure: everything was read before. */
#pragma once

#include <stdbool.h>

#include "agents.h"
#include "fit.h"
#include "unit_boot.h"
#include "unit_link.h"

struct audit_evidence {
	const char *what, *value, *unit, *source;
	uint64_t time_ns;
};

struct audit_unit {
	const char *unit;
	const char *enabled; /* file state; NULL = not known */
	const char *active, *sub;
	bool have_restarts;
	uint64_t restarts;
	double restarts_per_hour; /* negative = not known */
	uint64_t cadence_ns, first_seen_ns, last_seen_ns;
	bool crash_loop;
	bool expected; /* loops by design, says the knowledge base */
	bool failed;
	const char *result; /* "exit code 5" */
	enum fit fits;
	const char *why;
	const char *leaks;  /* per restart */
	const char *action; /* what is safe */
	const char *product;
	/* what the next boot does; NULL = not known */
	const struct unit_boot *boot;
	enum restart_forecast forecast;
	const char *forecast_words;
	/* the container that it makes again and again; NULL = none */
	const struct container_loop *container;
	bool have_zombies;
	uint64_t zombies;
	bool misfit; /* fits is no and it is (or will be) enabled or runs */
	VEC(struct audit_evidence) evidence;
};

struct audit_input {
	const struct rec_unit_set *set;    /* live: as told; image: as the files say */
	const struct unit_boot_plan *plan; /* NULL = not known */
	const struct agents *agents;
	const struct shape_evidences *shapes;
	enum host_shape forced; /* SHAPE_UNKNOWN = detect */
	fit_ask ask;
	void *ask_arg;
	uint64_t now_ns;
	bool image;
	bool captured; /* a running host's copy: files that it lacks may be there on the host */
	bool all;      /* units without any finding too */
};

struct audit {
	struct arena arena;
	enum host_shape shape;
	bool forced;
	bool image, captured, first_boot;
	const char *machine_id;
	VEC(struct shape_evidence) shapes;
	VEC(struct audit_unit) units; /* loops first, then failed, misfits, the rest; by name */
	struct container_loops loops;
	/* younger than a minute, in the set; what is always young may loop unseen */
	VEC(const struct rec_container *) young;
	uint64_t now_ns;
	unsigned n_units, n_loops, n_failed, n_misfits, n_endless;
};

int audit_run(const struct audit_input *in, struct audit *ret, struct err *err);
/* Zombies that a census counted for a unit or for the containers below a directory. */
void audit_add_zombies(struct audit *a, const char *unit, const char *parent, uint64_t count,
		       const char *source, uint64_t time_ns);
bool audit_has_finding(const struct audit *a);
void audit_free(struct audit *a);

#define AUTO_AUDIT __attribute__((cleanup(audit_free)))
