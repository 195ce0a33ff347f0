#include "view_why.h"

#include <inttypes.h>
#include <string.h>

#include "envelope.h"
#include "timefmt.h"

static void why_evidence_json(struct json *j, const struct finding *f)
{
	json_array(j, "evidence");
	vec_foreach (&f->evidence, e)
		evidence_json(j, e->what, e->value, e->unit, e->source, e->time_ns);
	json_end_array(j);
}

static void why_place_json(struct json *j, const struct place *p)
{
	json_object(j, "place");
	if (p->cpu >= 0)
		json_i64(j, "cpu", p->cpu);
	if (p->pid)
		json_u64(j, "pid", p->pid);
	if (p->comm)
		json_str(j, "process", p->comm);
	if (p->unit)
		json_str(j, "unit", p->unit);
	if (p->container)
		json_str(j, "container", p->container);
	if (p->cgroup)
		json_str(j, "cgroup", p->cgroup);
	if (p->nic)
		json_str(j, "nic", p->nic);
	if (p->queue >= 0)
		json_i64(j, "queue", p->queue);
	json_end_object(j);
}

static void why_finding_json(struct json *j, const struct finding *f)
{
	json_str(j, "finding", f->rule);
	json_str(j, "title", f->title);
	json_str(j, "proof", proof_name(f->proof));
	if (f->injected)
		json_bool(j, "injected", true);
	if (f->from_ns)
		json_time(j, "from", f->from_ns);
	if (f->to_ns)
		json_time(j, "to", f->to_ns);
	why_place_json(j, &f->place);
	why_evidence_json(j, f);
}

static void why_join_json(struct json *j, const struct join *join)
{
	json_object(j, "because");
	json_str(j, "how", join->how);
	json_array(j, "holds");
	json_str(j, NULL, "mechanism");
	if (join->place == HOLDS_YES)
		json_str(j, NULL, "place");
	if (join->time == HOLDS_YES)
		json_str(j, NULL, "time");
	json_end_array(j);
	json_f64(j, "confidence", join->confidence, 2);
	json_end_object(j);
}

static void why_chain_json(struct json *j, const struct diagnosis *d, const struct explanation *e)
{
	json_array(j, "chain");
	for (size_t i = 0; i < e->findings.len; i++) {
		json_object(j, NULL);
		why_finding_json(j, &d->findings.list.items[e->findings.items[i]]);
		if (i)
			why_join_json(j, &d->chains.joins.items[e->joins.items[i - 1]]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void why_others_json(struct json *j, const struct diagnosis *d)
{
	json_array(j, "others");
	for (size_t i = 1; i < d->chains.ranked.len; i++) {
		const struct explanation *e = &d->chains.ranked.items[i];
		json_object(j, NULL);
		json_str(j, "title", d->findings.list.items[e->findings.items[0]].title);
		json_f64(j, "confidence", e->confidence, 2);
		json_str(j, "apart", e->apart);
		why_chain_json(j, d, e);
		json_end_object(j);
	}
	json_end_array(j);
}

static void why_plan_json(struct json *j, const struct diagnosis *d)
{
	json_array(j, "plan");
	vec_foreach (&d->plan, s) {
		json_object(j, NULL);
		json_u64(j, "id", s->id);
		json_str(j, "action", plan_action_name(s->action));
		json_str(j, "target", s->target);
		json_str(j, "command", s->command);
		json_str(j, "why", s->why);
		json_bool(j, "reversible", s->reversible);
		json_str(j, "risk", s->risk);
		json_bool(j, "reboot", s->reboot);
		json_end_object(j);
	}
	json_end_array(j);
}

void view_why_json(struct json *j, const struct diagnosis *d)
{
	json_object(j, "verdict");
	json_str(j, "id", d->id);
	json_str(j, "title", d->title);
	json_f64(j, "confidence", d->confidence, 2);
	json_object(j, "culprit");
	json_str(j, "kind", d->culprit_kind);
	json_str(j, "name", d->culprit_name);
	json_end_object(j);
	json_str(j, "looked_at", d->looked_at);
	json_end_object(j);
	if (d->chains.ranked.len) {
		why_chain_json(j, d, &d->chains.ranked.items[0]);
	} else {
		json_array(j, "chain");
		json_end_array(j);
	}
	why_others_json(j, d);
	json_array(j, "findings");
	vec_foreach (&d->findings.list, f) {
		json_object(j, NULL);
		why_finding_json(j, f);
		json_end_object(j);
	}
	json_end_array(j);
	why_plan_json(j, d);
	unknowns_json(j, &d->unknown);
}

static void why_finding_text(FILE *out, const struct terminal *term, const struct finding *f)
{
	enum term_color color = f->role == ROLE_CAUSE  ? TERM_RED
				: f->role == ROLE_LINK ? TERM_YELLOW
						       : TERM_CYAN;

	fprintf(out, "%s%s%s  ", terminal_on(term, color), f->rule, terminal_off(term));
	terminal_text(out, f->title);
	fputc('\n', out);
	vec_foreach (&f->evidence, e) {
		fprintf(out, "      %s", terminal_on(term, TERM_DIM));
		terminal_text(out, e->what);
		fputs(": ", out);
		terminal_text(out, e->value);
		fprintf(out, "%s%s   (", e->unit ? " " : "", e->unit ? e->unit : "");
		terminal_text(out, e->source);
		fprintf(out, ")%s\n", terminal_off(term));
	}
}

static void why_chain_text(FILE *out, const struct terminal *term, const struct diagnosis *d,
			   const struct explanation *e)
{
	for (size_t i = 0; i < e->findings.len; i++) {
		if (i) {
			const struct join *join = &d->chains.joins.items[e->joins.items[i - 1]];
			fprintf(out, "   %s↓ %s%s%s%s\n", terminal_on(term, TERM_DIM), join->how,
				join->place == HOLDS_YES ? ", same place" : ", place not known",
				join->time == HOLDS_YES ? ", right order" : ", order not known",
				terminal_off(term));
		}
		fputs("   ", out);
		why_finding_text(out, term, &d->findings.list.items[e->findings.items[i]]);
	}
}

void view_plan_text(FILE *out, const struct terminal *term, const struct diagnosis *d)
{
	fprintf(out, "%sPLAN%s\n", terminal_on(term, TERM_BOLD), terminal_off(term));
	vec_foreach (&d->plan, s) {
		fprintf(out, "   %u  ", s->id);
		terminal_text(out, s->command);
		fputs("\n      ", out);
		terminal_text(out, s->why);
		fprintf(out, " (risk %s%s)\n", s->risk,
			s->action == PLAN_LOOK || s->action == PLAN_VALIDATE ? ""
			: s->reversible ? ", zscope undo takes it back"
					: ", cannot be undone");
	}
}

void view_why_text(FILE *out, const struct terminal *term, const struct diagnosis *d)
{
	enum term_color color = d->blind ? TERM_YELLOW : d->healthy ? TERM_GREEN : TERM_RED;

	fprintf(out, "%sVERDICT%s  ", terminal_on(term, color), terminal_off(term));
	terminal_text(out, d->title);
	if (!d->healthy)
		fprintf(out, "\n         confidence %.2f%s", d->confidence,
			d->chains.ranked.items[0].search_incomplete
				? "; a deeper cause could not be looked for, see below"
				: "");
	fputs("\n\n", out);
	if (!d->healthy) {
		why_chain_text(out, term, d, &d->chains.ranked.items[0]);
		fputc('\n', out);
	}
	for (size_t i = 1; i < d->chains.ranked.len; i++) {
		const struct explanation *e = &d->chains.ranked.items[i];
		fprintf(out, "%sALSO%s     confidence %.2f; to tell them apart: ",
			terminal_on(term, TERM_BOLD), terminal_off(term), e->confidence);
		terminal_text(out, e->apart ? e->apart : "");
		fputc('\n', out);
		why_chain_text(out, term, d, e);
		fputc('\n', out);
	}
	if (d->plan.len)
		view_plan_text(out, term, d);
	vec_foreach (&d->unknown.list, u) {
		fprintf(out, "%sunknown%s  ", terminal_on(term, TERM_YELLOW), terminal_off(term));
		terminal_text(out, u->what);
		fputs(": ", out);
		terminal_text(out, u->why);
		fputc('\n', out);
	}
}
