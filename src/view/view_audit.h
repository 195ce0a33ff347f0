/* The result of an audit for people (text), machines (JSON) and pipelines (JUnit, SARIF). */
#pragma once

#include <stdio.h>

#include "audit.h"
#include "envelope.h"
#include "terminal.h"

void view_audit_text(FILE *out, const struct audit *a, const struct unknowns *unknowns,
		     const struct terminal *term);
void view_audit_json(struct json *j, const struct audit *a, const struct unknowns *unknowns,
		     const struct envelope *envelope, uint64_t time_ns);
/* view_audit_gate.c */
void view_audit_junit(struct buf *out, const struct audit *a, const struct unknowns *unknowns,
		      const char *subject);
void view_audit_sarif(struct json *j, const struct audit *a, const struct unknowns *unknowns);

/* What keeps a unit off for good, first boot included: one way per kind of image build. */
struct audit_snippet {
	const char *name; /* "mask", "preset", "cloud-init", "packer", "dockerfile" */
	const char *text;
};
enum { AUDIT_SNIPPETS = 5 };
void view_audit_snippets(const char *unit, struct arena *arena,
			 struct audit_snippet ret[AUDIT_SNIPPETS]);
