#include "view_audit.h"

#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "table.h"
#include "timefmt.h"

void view_audit_snippets(const char *unit, struct arena *arena,
			 struct audit_snippet ret[AUDIT_SNIPPETS])
{
	/* a mask survives the first boot; "disable" alone does not (presets enable what no rule
	 * names) */
	ret[0] = (struct audit_snippet){ "mask", arena_printf(arena, "systemctl mask '%s'", unit) };
	ret[1] = (struct audit_snippet){
		"preset",
		arena_printf(arena,
			     "systemctl disable '%s'; mkdir -p /etc/systemd/system-preset; printf "
			     "'disable %%s\\n' '%s' "
			     ">>/etc/systemd/system-preset/00-zscope.preset",
			     unit, unit),
	};
	ret[2] = (struct audit_snippet){
		"cloud-init",
		arena_printf(arena, "#cloud-config\nbootcmd:\n  - [systemctl, mask, --now, '%s']",
			     unit),
	};
	ret[3] = (struct audit_snippet){
		"packer",
		arena_printf(arena,
			     "provisioner \"shell\" { inline = [\"sudo systemctl mask '%s'\"] }",
			     unit),
	};
	ret[4] = (struct audit_snippet){
		"dockerfile",
		arena_printf(arena, "RUN ln -sf /dev/null '/etc/systemd/system/%s'", unit),
	};
}

static const char *audit_state(const struct audit_unit *u)
{
	return u->crash_loop && u->expected ? "loops (expected)"
	       : u->crash_loop              ? "crash loop"
	       : u->failed                  ? "failed"
	       : u->misfit                  ? "misfit"
	       : u->active                  ? u->active
					    : "";
}

static enum term_color audit_color(const struct audit_unit *u)
{
	return u->crash_loop && !u->expected ? TERM_RED
	       : u->failed || u->misfit      ? TERM_YELLOW
					     : TERM_PLAIN;
}

static void audit_head(FILE *out, const struct audit *a)
{
	fprintf(out, "%s: %s%s",
		a->image      ? "image for"
		: a->captured ? "captured host"
			      : "host",
		host_shape_name(a->shape), a->forced ? " (as given)" : "");
	if (!a->forced && a->shapes.len) {
		fputs(", because ", out);
		terminal_text(out, a->shapes.items[0].what);
		fputs(" (", out);
		terminal_text(out, a->shapes.items[0].source);
		fputc(')', out);
	}
	fputc('\n', out);
	if (a->image)
		fprintf(out, "machine-id is %s: the next boot %s\n",
			a->machine_id ? a->machine_id : "unknown",
			a->first_boot ? "is a first boot and applies the presets"
				      : "is no first boot; presets are not applied");
	fprintf(out, "%u units: %u crash loops, %u failed, %u that do not belong here", a->n_units,
		a->n_loops, a->n_failed, a->n_misfits);
	if (a->image)
		fprintf(out, ", %u that would restart for ever", a->n_endless);
	fputc('\n', out);
}

static void audit_line(FILE *out, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(out, "  %-12s", label);
	terminal_text(out, text);
	fputc('\n', out);
}

static void audit_detail(FILE *out, const struct audit_unit *u, struct arena *arena)
{
	struct audit_snippet snippets[AUDIT_SNIPPETS];
	char span[TIMEFMT_MAX], when[TIMEFMT_MAX];

	fputc('\n', out);
	terminal_text(out, u->unit);
	fprintf(out, ": %s\n", audit_state(u));
	if (u->crash_loop && u->cadence_ns)
		fprintf(out, "  %-12severy %s, %.0f per hour, since %s\n", "loop",
			timefmt_span(span, u->cadence_ns), u->restarts_per_hour,
			u->first_seen_ns ? timefmt_local(when, u->first_seen_ns) : "?");
	audit_line(out, "result", u->result);
	if (u->container) {
		const struct container_loop *c = u->container;
		AUTO_BUF struct buf line = { 0 };
		buf_addf(&line, "%s → container %s (image %s), %.1f %s/min → %s/<id>", u->unit,
			 c->name ? c->name : "of ever new names", c->image ? c->image : "?",
			 c->per_min, c->in_place ? "restarts" : "creates",
			 c->cgroup_parent ? c->cgroup_parent : "");
		if (u->have_zombies)
			buf_addf(&line, " → %" PRIu64 " zombies", u->zombies);
		audit_line(out, "link", buf_str(&line));
		buf_clear(&line);
		buf_addf(&line, "%s: %s", link_proof_name(c->proof),
			 c->proof_text ? c->proof_text : "");
		audit_line(out, "proof", buf_str(&line));
	} else if (u->have_zombies) {
		fprintf(out, "  %-12s%" PRIu64 " memory cgroups of it\n", "zombies", u->zombies);
	}
	fprintf(out, "  %-12s%s", "fits", fit_name(u->fits));
	if (u->why) {
		fputs(": ", out);
		terminal_text(out, u->why);
	}
	fputc('\n', out);
	if (u->boot && u->boot->why)
		audit_line(out, "boot", u->boot->why);
	audit_line(out, "forecast", u->forecast_words);
	audit_line(out, "leaks", u->leaks);
	audit_line(out, "action", u->action);
	if (!u->misfit)
		return;
	view_audit_snippets(u->unit, arena, snippets);
	for (size_t i = 0; i < AUDIT_SNIPPETS; i++) {
		fprintf(out, "  %-12s", snippets[i].name);
		for (const char *p = snippets[i].text; *p;) {
			size_t n = strcspn(p, "\n");
			AUTO_BUF struct buf safe = { 0 };
			esc_tty(&safe, p, n);
			fprintf(out, "%s\n", buf_str(&safe));
			p += n + (p[n] == '\n');
			if (*p)
				fprintf(out, "  %-12s", "");
		}
	}
}

static void audit_loose_loops(FILE *out, const struct audit *a)
{
	char span[TIMEFMT_MAX];

	vec_foreach (&a->loops.list, c) {
		if (!c->looping || c->unit)
			continue;
		fputs("\ncontainer ", out);
		terminal_text(out, c->name ? c->name : "(ever new names)");
		if (c->in_place)
			fprintf(out,
				" crash-loops: its restart policy started it %" PRIu64
				" times, every %s",
				c->restarts, timefmt_span(span, c->cadence_ns));
		else
			fprintf(out,
				" is made again and again: %" PRIu64
				" creates, every %s; no unit was found that does it",
				c->creates, timefmt_span(span, c->cadence_ns));
		if (c->exit_code >= 0)
			fprintf(out, "; last exit code %" PRId64, c->exit_code);
		fputs(c->image ? "; image " : "", out);
		terminal_text(out, c->image ? c->image : "");
		fputc('\n', out);
	}
}

void view_audit_text(FILE *out, const struct audit *a, const struct unknowns *unknowns,
		     const struct terminal *term)
{
	static const char *const heads[] = { "UNIT",  "STATE", "ENABLED", "RESTARTS",
					     "/HOUR", "FITS",  "WHY" };
	AUTO_TABLE struct table t = { 0 };
	AUTO_ARENA struct arena arena = { 0 };

	audit_head(out, a);
	table_init(&t, heads, "lllrrll", ARRAY_LEN(heads));
	vec_foreach (&a->units, u) {
		enum term_color color = audit_color(u);
		table_cell(&t, color, "%s", u->unit);
		table_cell(&t, color, "%s", audit_state(u));
		table_cell(&t, TERM_PLAIN, "%s", u->enabled ? u->enabled : "?");
		if (u->have_restarts)
			table_cell(&t, TERM_PLAIN, "%" PRIu64, u->restarts);
		else
			table_cell(&t, TERM_PLAIN, "-");
		if (u->restarts_per_hour >= 0)
			table_cell(&t, TERM_PLAIN, "%.1f", u->restarts_per_hour);
		else
			table_cell(&t, TERM_PLAIN, "-");
		table_cell(&t, TERM_PLAIN, "%s", fit_name(u->fits));
		table_cell(&t, TERM_PLAIN, "%s", u->why ? u->why : "");
	}
	if (a->units.len) {
		fputc('\n', out);
		table_print(&t, out, term);
	}
	vec_foreach (&a->units, u)
		if (u->crash_loop || u->failed || u->misfit)
			audit_detail(out, u, &arena);
	audit_loose_loops(out, a);
	if (a->young.len)
		fprintf(out, "\n%zu containers are younger than a minute\n", a->young.len);
	vec_foreach (&unknowns->list, w) {
		fputs("\nnot known: ", out);
		terminal_text(out, w->what);
		fputs(": ", out);
		terminal_text(out, w->why);
		fputc('\n', out);
	}
}

static void audit_json_container(struct json *j, const char *key, const struct container_loop *c)
{
	json_object(j, key);
	json_str(j, "runtime", c->runtime);
	if (c->name)
		json_str(j, "name", c->name);
	if (c->image)
		json_str(j, "image", c->image);
	json_u64(j, "creates", c->creates);
	if (c->in_place) {
		json_u64(j, "restarts", c->restarts);
		json_f64(j, "restarts_per_min", c->per_min, 2);
	} else {
		json_f64(j, "creates_per_min", c->per_min, 2);
	}
	json_bool(j, "in_place", c->in_place);
	json_u64(j, "cadence_ns", c->cadence_ns);
	json_bool(j, "looping", c->looping);
	if (c->first_ns)
		json_time(j, "first_seen", c->first_ns);
	if (c->exit_code >= 0)
		json_i64(j, "exit_code", c->exit_code);
	if (c->cgroup_parent)
		json_str(j, "cgroup_parent", c->cgroup_parent);
	if (c->last_id)
		json_str(j, "last_id", c->last_id);
	if (c->unit) {
		json_str(j, "unit", c->unit);
		json_str(j, "link", link_proof_name(c->proof));
		json_str(j, "proof", c->proof_text);
		json_array(j, "proofs");
		for (unsigned p = 0; p < LINK_NONE; p++)
			if (c->proofs & UINT64_C(1) << p)
				json_str(j, NULL, link_proof_name(p));
		json_end_array(j);
	}
	json_end_object(j);
}

static void audit_json_young(struct json *j, const struct audit *a)
{
	json_array(j, "young_containers");
	vec_foreach (&a->young, it) {
		const struct rec_container *c = *it;
		json_object(j, NULL);
		json_str(j, "runtime", c->runtime);
		json_str(j, "id", c->id);
		if (c->name)
			json_str(j, "name", c->name);
		if (c->image)
			json_str(j, "image", c->image);
		if (c->owner_label)
			json_str(j, "owner", c->owner_label);
		if (c->cgroup_parent && *c->cgroup_parent)
			json_str(j, "cgroup", c->cgroup_parent);
		if (c->exit_code >= 0)
			json_i64(j, "exit_code", c->exit_code);
		json_f64(j, "age_s",
			 a->now_ns > c->created_ns ? (double)(a->now_ns - c->created_ns) / 1e9 : 0,
			 1);
		json_end_object(j);
	}
	json_end_array(j);
}

static void audit_json_boot(struct json *j, const struct audit *a, const struct audit_unit *u)
{
	if (!u->boot || !a->image)
		return;
	json_object(j, "boot");
	json_bool(j, "enabled", u->boot->enabled);
	json_bool(j, "by_preset", u->boot->by_preset);
	json_bool(j, "starts", u->boot->starts);
	json_str(j, "why", u->boot->why);
	if (u->boot->pulled_by)
		json_str(j, "pulled_by", u->boot->pulled_by);
	json_end_object(j);
}

static void audit_json_evidence(struct json *j, const struct audit_unit *u)
{
	json_array(j, "evidence");
	vec_foreach (&u->evidence, e)
		evidence_json(j, e->what, e->value, e->unit, e->source, e->time_ns);
	json_end_array(j);
}

static void audit_json_unit(struct json *j, const struct audit *a, const struct audit_unit *u)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct audit_snippet snippets[AUDIT_SNIPPETS];
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "enabled", u->enabled },
		{ "active", u->active },
		{ "sub", u->sub },
		{ "result", u->result },
		{ "why", u->why },
		{ "leaks", u->leaks },
		{ "action", u->action },
		{ "product", u->product },
		{ "forecast", u->forecast_words },
	};

	json_object(j, NULL);
	json_str(j, "unit", u->unit);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].text && *texts[i].text)
			json_str(j, texts[i].key, texts[i].text);
	if (u->have_restarts)
		json_u64(j, "restarts", u->restarts);
	if (u->restarts_per_hour >= 0)
		json_f64(j, "restarts_per_hour", u->restarts_per_hour, 2);
	json_bool(j, "crash_loop", u->crash_loop);
	if (u->expected)
		json_bool(j, "expected", true);
	json_bool(j, "failed", u->failed);
	json_bool(j, "misfit", u->misfit);
	json_str(j, "fits", fit_name(u->fits));
	json_bool(j, "endless_restart", u->forecast == RESTART_ENDLESS);
	if (u->cadence_ns)
		json_u64(j, "cadence_ns", u->cadence_ns);
	if (u->first_seen_ns)
		json_time(j, "first_seen", u->first_seen_ns);
	if (u->last_seen_ns)
		json_time(j, "last_seen", u->last_seen_ns);
	if (u->have_zombies)
		json_u64(j, "zombies", u->zombies);
	if (u->container)
		audit_json_container(j, "container", u->container);
	audit_json_boot(j, a, u);
	if (u->misfit) {
		view_audit_snippets(u->unit, &arena, snippets);
		json_object(j, "snippets");
		for (size_t i = 0; i < AUDIT_SNIPPETS; i++)
			json_str(j, snippets[i].name, snippets[i].text);
		json_end_object(j);
	}
	audit_json_evidence(j, u);
	json_end_object(j);
}

void view_audit_json(struct json *j, const struct audit *a, const struct unknowns *unknowns,
		     const struct envelope *envelope, uint64_t time_ns)
{
	json_object(j, NULL);
	envelope_json(j, envelope, "audit", time_ns);
	json_str(j, "shape", host_shape_name(a->shape));
	json_bool(j, "shape_given", a->forced);
	json_array(j, "shape_evidence");
	vec_foreach (&a->shapes, e) {
		json_object(j, NULL);
		json_str(j, "what", e->what);
		json_str(j, "value", host_shape_name(e->shape));
		json_str(j, "source", e->source);
		json_u64(j, "time_ns", time_ns);
		json_end_object(j);
	}
	json_end_array(j);
	json_bool(j, "image", a->image);
	if (a->machine_id)
		json_str(j, "machine_id", a->machine_id);
	if (a->image)
		json_bool(j, "first_boot", a->first_boot);
	json_u64(j, "crash_loops", a->n_loops);
	json_u64(j, "failed", a->n_failed);
	json_u64(j, "misfits", a->n_misfits);
	json_array(j, "units");
	vec_foreach (&a->units, u)
		audit_json_unit(j, a, u);
	json_end_array(j);
	json_array(j, "containers");
	vec_foreach (&a->loops.list, c)
		audit_json_container(j, NULL, c);
	json_end_array(j);
	audit_json_young(j, a);
	unknowns_json(j, unknowns);
	json_end_object(j);
}
