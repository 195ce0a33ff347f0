#include "view_fix.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "envelope.h"
#include "esc.h"
#include "numbers.h"
#include "timefmt.h"

void view_fix_open(struct view_fix *v, bool json, const struct root *root, uint64_t now_ns)
{
	struct envelope envelope;

	*v = (struct view_fix){ .json = json };
	if (!json)
		return;
	envelope_read(root, &envelope);
	json_init(&v->j, &v->out);
	json_object(&v->j, NULL);
	envelope_json(&v->j, &envelope, "fix", now_ns);
}

void view_fix_close(struct view_fix *v)
{
	buf_free(&v->out);
}

static void fix_print_safe(const char *before, const char *text, const char *after)
{
	AUTO_BUF struct buf safe = { 0 };

	esc_tty(&safe, text, strlen(text));
	printf("%s%s%s", before, buf_str(&safe), after);
}

static void fix_step_json(struct json *j, const struct planned *step)
{
	json_u64(j, "id", step->id);
	json_str(j, "action", plan_action_name(step->action));
	json_str(j, "target", step->target);
}

void view_fix_plan(struct view_fix *v, const struct plan_file *plan)
{
	if (v->json)
		json_array(&v->j, "plan");
	else
		puts("the plan of the last 'zscope why':");
	vec_foreach (&plan->steps, s) {
		if (v->json) {
			json_object(&v->j, NULL);
			fix_step_json(&v->j, s);
			json_end_object(&v->j);
			continue;
		}
		printf("   %u  %s ", s->id, plan_action_name(s->action));
		fix_print_safe("", s->target, "\n");
	}
	if (v->json)
		json_end_array(&v->j);
}

void view_fix_step(struct view_fix *v, const struct planned *step, bool apply)
{
	if (!v->json) {
		fix_print_safe(apply ? "fixing " : "would, for ", step->target,
			       apply ? "\n" : ":\n");
		return;
	}
	fix_step_json(&v->j, step);
	json_bool(&v->j, "applied", apply);
	json_array(&v->j, apply ? "done" : "would");
	v->in_lines = true;
}

void view_fix_line(struct view_fix *v, const char *format, ...)
{
	AUTO_BUF struct buf text = { 0 };
	va_list args;

	va_start(args, format);
	buf_vaddf(&text, format, args);
	va_end(args);
	if (v->json) {
		json_str(&v->j, NULL, buf_str(&text));
		return;
	}
	fix_print_safe("   ", buf_str(&text), "\n");
	fflush(stdout);
}

static void fix_end_lines(struct view_fix *v)
{
	if (v->in_lines)
		json_end_array(&v->j);
	v->in_lines = false;
}

/* What stays, by what keeps it. A reboot is named only where nothing else helps. */
static void fix_left_text(const struct cure_purge *c)
{
	char n[NUMBERS_MAX];

	if (!c->after)
		return;
	printf("%s zombies are left:\n", numbers_count(n, c->after));
	for (unsigned kind = 0; kind < PIN_KIND_END; kind++)
		if (c->left.stuck[kind])
			printf("   %s held by %s; %s%s\n", numbers_count(n, c->left.stuck[kind]),
			       pin_kind_name(kind), pin_kind_cure(kind),
			       kind == PIN_REFERENCE ? "; where 'zscope zombies --pins' names "
						       "none, only a reboot "
						       "frees them"
						     : "");
	if (c->left.freeable)
		printf("   %s whose cache is in use or still being written; 'zscope purge --apply' "
		       "later frees them\n",
		       numbers_count(n, c->left.freeable));
	if (c->left.may_stay)
		printf("   %s held by file system metadata that is in use; they go when the file "
		       "system lets go\n",
		       numbers_count(n, c->left.may_stay));
}

static void fix_purged_json(struct json *j, const struct cure_purge *c)
{
	json_object(j, "purge");
	json_u64(j, "zombies_before", c->before);
	json_u64(j, "zombies_after", c->after);
	json_u64(j, "bytes_before", c->bytes_before);
	json_u64(j, "bytes_after", c->bytes_after);
	json_u64(j, "wall_ns", c->wall_ns);
	json_u64(j, "freed_later", c->left.freeable);
	json_u64(j, "may_stay", c->left.may_stay);
	json_array(j, "not_freeable");
	for (unsigned kind = 0; kind < PIN_KIND_END; kind++) {
		if (!c->left.stuck[kind])
			continue;
		json_object(j, NULL);
		json_str(j, "kind", pin_kind_name(kind));
		json_u64(j, "zombies", c->left.stuck[kind]);
		json_str(j, "freed_by", pin_kind_cure(kind));
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void view_fix_purged(struct view_fix *v, const struct cure_purge *c)
{
	uint64_t freed = c->bytes_before > c->bytes_after ? c->bytes_before - c->bytes_after : 0;
	char a[NUMBERS_MAX], b[NUMBERS_MAX], bytes[NUMBERS_MAX], span[TIMEFMT_MAX];

	if (v->json) {
		fix_end_lines(v);
		fix_purged_json(&v->j, c);
		return;
	}
	printf("   done: purged: %s zombies before, %s after, %s released in %s\n",
	       numbers_count(a, c->before), numbers_count(b, c->after), numbers_bytes(bytes, freed),
	       timefmt_span(span, c->wall_ns));
	fix_left_text(c);
}

void view_fix_not_purged(struct view_fix *v, const char *why)
{
	if (!v->json) {
		fix_print_safe("   the zombies stay: ", why, "\n");
		return;
	}
	fix_end_lines(v);
	json_object(&v->j, "purge");
	json_str(&v->j, "failed", why);
	json_end_object(&v->j);
}

void view_fix_cannot(struct view_fix *v, const char *why)
{
	if (!v->json)
		return;
	fix_end_lines(v);
	json_str(&v->j, "cannot", why);
	view_fix_end(v, NULL);
}

void view_fix_end(struct view_fix *v, const char *advice)
{
	if (!v->json) {
		puts(advice);
		return;
	}
	fix_end_lines(v);
	json_end_object(&v->j);
	puts(buf_str(&v->out));
}
