#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "auto.h"
#include "buf.h"

/* Reasons stand in docs/DIAGNOSIS.md, "Confidence". */
static const struct {
	const char *name;
	double confidence;
} proofs[] = {
	[PROOF_COUNTER] = { "counter", 0.98 },   [PROOF_KERNEL] = { "kernel log", 0.95 },
	[PROOF_SAMPLED] = { "profile", 0.92 },   [PROOF_TRACED] = { "traced", 0.97 },
	[PROOF_INFERRED] = { "inferred", 0.80 }, [PROOF_CLAIMED] = { "claimed", 0.50 },
};

double proof_confidence(enum proof proof)
{
	return proof < ARRAY_LEN(proofs) ? proofs[proof].confidence : 0;
}

const char *proof_name(enum proof proof)
{
	return proof < ARRAY_LEN(proofs) ? proofs[proof].name : "unknown";
}

struct finding *findings_add(struct findings *all, const char *rule, enum proof proof,
			     enum finding_role role)
{
	struct finding f = {
		.rule = rule,
		.title = "",
		.proof = proof,
		.role = role,
		.place = { .cpu = -1, .queue = -1 },
	};
	return vec_push(&all->list, f) ? &all->list.items[all->list.len - 1] : NULL;
}

const char *findings_text(struct findings *all, const char *format, ...)
{
	AUTO_BUF struct buf text = { 0 };
	va_list args;

	va_start(args, format);
	buf_vaddf(&text, format, args);
	va_end(args);
	const char *copy = arena_strdup(&all->arena, buf_str(&text));
	return copy ? copy : "";
}

void finding_evidence(struct findings *all, struct finding *f, const char *what, const char *value,
		      const char *unit, const char *source, uint64_t time_ns)
{
	struct evidence e = {
		.what = findings_text(all, "%s", what),
		.value = findings_text(all, "%s", value),
		.unit = unit,
		.source = findings_text(all, "%s", source),
		.time_ns = time_ns,
	};
	(void)vec_push(&f->evidence, e);
}

void findings_free(struct findings *all)
{
	vec_foreach (&all->list, f)
		vec_free(&f->evidence);
	vec_free(&all->list);
	arena_free(&all->arena);
}
