/* For pipelines that build images: JUnit XML (one test case per unit) and SARIF 2.1.0. */
#include <string.h>

#include "esc.h"
#include "view_audit.h"

static void xml(struct buf *out, const char *text)
{
	esc_html(out, text, strlen(text));
}

static const char *gate_kind(const struct audit_unit *u)
{
	return u->crash_loop ? "crash-loop" : u->failed ? "failed" : "misfit";
}

static void gate_message(struct buf *out, const struct audit_unit *u)
{
	buf_addf(out, "%s: %s", u->unit, gate_kind(u));
	if (u->result)
		buf_addf(out, "; %s", u->result);
	if (u->why)
		buf_addf(out, "; fits: %s, %s", fit_name(u->fits), u->why);
	if (u->boot && u->boot->why)
		buf_addf(out, "; %s", u->boot->why);
	if (u->action)
		buf_addf(out, "; do: %s", u->action);
}

static bool gate_is_finding(const struct audit_unit *u)
{
	return (u->crash_loop && !u->expected) || u->failed || u->misfit;
}

void view_audit_junit(struct buf *out, const struct audit *a, const struct unknowns *unknowns,
		      const char *subject)
{
	size_t failures = 0;

	vec_foreach (&a->units, u)
		failures += gate_is_finding(u);
	buf_add_str(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"zscope audit ");
	xml(out, subject);
	buf_addf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		 a->units.len + unknowns->list.len, failures, unknowns->list.len);
	vec_foreach (&a->units, u) {
		buf_add_str(out, "  <testcase classname=\"units\" name=\"");
		xml(out, u->unit);
		if (!gate_is_finding(u)) {
			buf_add_str(out, "\"/>\n");
			continue;
		}
		AUTO_BUF struct buf message = { 0 };
		gate_message(&message, u);
		buf_addf(out, "\">\n    <failure type=\"%s\" message=\"", gate_kind(u));
		xml(out, buf_str(&message));
		buf_add_str(out, "\">");
		vec_foreach (&u->evidence, e) {
			xml(out, e->what);
			buf_add_str(out, ": ");
			xml(out, e->value);
			buf_add_str(out, " (");
			xml(out, e->source);
			buf_add_str(out, ")\n");
		}
		buf_add_str(out, "</failure>\n  </testcase>\n");
	}
	vec_foreach (&unknowns->list, w) {
		buf_add_str(out, "  <testcase classname=\"unknown\" name=\"");
		xml(out, w->what);
		buf_add_str(out, "\">\n    <error message=\"");
		xml(out, w->why);
		buf_add_str(out, "\"/>\n  </testcase>\n");
	}
	buf_add_str(out, "</testsuite>\n");
}

static void sarif_rule(struct json *j, const char *id, const char *text)
{
	json_object(j, NULL);
	json_str(j, "id", id);
	json_object(j, "shortDescription");
	json_str(j, "text", text);
	json_end_object(j);
	json_end_object(j);
}

static void sarif_result(struct json *j, const struct audit_unit *u)
{
	AUTO_BUF struct buf message = { 0 };
	const char *file = u->boot && u->boot->source ? u->boot->source : NULL;

	gate_message(&message, u);
	json_object(j, NULL);
	json_str(j, "ruleId", gate_kind(u));
	json_str(j, "level", u->misfit && !u->crash_loop ? "warning" : "error");
	json_object(j, "message");
	json_str(j, "text", buf_str(&message));
	json_end_object(j);
	json_array(j, "locations");
	json_object(j, NULL);
	if (file) {
		json_object(j, "physicalLocation");
		json_object(j, "artifactLocation");
		json_str(j, "uri", file);
		json_end_object(j);
		json_end_object(j);
	}
	json_array(j, "logicalLocations");
	json_object(j, NULL);
	json_str(j, "name", u->unit);
	json_str(j, "kind", "module");
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
}

void view_audit_sarif(struct json *j, const struct audit *a, const struct unknowns *unknowns)
{
	json_object(j, NULL);
	json_str(j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_str(j, "version", "2.1.0");
	json_array(j, "runs");
	json_object(j, NULL);
	json_object(j, "tool");
	json_object(j, "driver");
	json_str(j, "name", "zscope audit");
	json_str(j, "version", ZSCOPE_VERSION);
	json_array(j, "rules");
	sarif_rule(j, "crash-loop", "A unit restarts, or recreates its container, again and again");
	sarif_rule(j, "failed", "A unit has failed");
	sarif_rule(j, "misfit", "A unit is enabled that does not belong on this kind of host");
	json_end_array(j);
	json_end_object(j);
	json_end_object(j);
	json_array(j, "invocations");
	json_object(j, NULL);
	json_bool(j, "executionSuccessful", true);
	json_array(j, "toolExecutionNotifications");
	vec_foreach (&unknowns->list, w) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "%s: %s", w->what, w->why);
		json_object(j, NULL);
		json_str(j, "level", "warning");
		json_object(j, "message");
		json_str(j, "text", buf_str(&text));
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
	json_array(j, "results");
	vec_foreach (&a->units, u)
		if (gate_is_finding(u))
			sarif_result(j, u);
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
	json_end_object(j);
}
