/* One judged fact with its evidence. Findings are made by rules, joined by the chain, shown by the
 * views. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "vec.h"

/* What kind of proof a finding rests on, strongest first; docs/DIAGNOSIS.md gives each its weight.
 */
enum proof {
	PROOF_COUNTER,  /* a kernel counter or the service manager's own state */
	PROOF_KERNEL,   /* a trusted line of the kernel's log */
	PROOF_SAMPLED,  /* a profile: many samples agree */
	PROOF_TRACED,   /* each event was seen */
	PROOF_INFERRED, /* follows from two other facts */
	PROOF_CLAIMED,  /* an untrusted or injected line says so */
};

enum finding_role {
	ROLE_CAUSE,   /* can stand at the root of a chain */
	ROLE_LINK,    /* in the middle */
	ROLE_SYMPTOM, /* what hurts */
};

struct evidence {
	const char *what, *value, *unit; /* unit may be NULL */
	const char *source;              /* the file, field or command that shows it */
	uint64_t time_ns;
};

struct place {
	int cpu;                                            /* -1 = none */
	uint64_t pid;                                       /* 0 = none */
	const char *unit, *container, *cgroup, *comm, *nic; /* NULL = none */
	int queue;                                          /* -1 = none */
};

struct finding {
	const char *rule;  /* id of the rule */
	const char *title; /* one sentence */
	const char *fix;   /* what to do about it, in words; NULL = nothing */
	enum proof proof;
	enum finding_role role;
	struct place place;
	uint64_t from_ns, to_ns; /* when it was so; 0 = not known */
	double weight;           /* how bad, 0..1, for ranking among equals */
	bool injected;
	VEC(struct evidence) evidence;
};

struct findings {
	struct arena arena; /* owns every string */
	VEC(struct finding) list;
};

/* A new finding with an empty place; valid until the next one is added. NULL when out of memory. */
struct finding *findings_add(struct findings *all, const char *rule, enum proof proof,
			     enum finding_role role);
const char *findings_text(struct findings *all, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void finding_evidence(struct findings *all, struct finding *f, const char *what, const char *value,
		      const char *unit, const char *source, uint64_t time_ns);
void findings_free(struct findings *all);

/* 0..1: how sure a finding is by its kind of proof. */
double proof_confidence(enum proof proof);
const char *proof_name(enum proof proof);

#define AUTO_FINDINGS __attribute__((cleanup(findings_free)))
