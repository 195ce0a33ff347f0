#include "view_diff.h"

#include <inttypes.h>

#include "auto.h"
#include "table.h"
#include "view_flame.h"

static void function_cells(struct table *t, const struct profile *p, const struct diff_function *f)
{
	double change = f->share - f->base_share;

	table_cell(t, change > 0 ? TERM_RED : TERM_CYAN, "%+.1f", change);
	table_cell(t, TERM_PLAIN, "%.1f", f->share);
	table_cell(t, TERM_PLAIN, "%.1f", f->base_share);
	table_cell(t, f->kind == PROFILE_KERNEL ? TERM_YELLOW : TERM_DIM, "%s",
		   f->kind == PROFILE_KERNEL ? "kernel" : "user");
	table_cell(t, TERM_PLAIN, "%s", profile_text(p, f->name));
}

static const char *const heads[] = { "change", "now%", "base%", "side", "function" };

enum part { GREW, SHRANK, ELIDED };

static bool belongs(const struct diff_function *f, enum part part)
{
	double change = f->share - f->base_share;

	if (part == GREW)
		return change > 0;
	return part == SHRANK ? change < 0 && f->self : !f->self && f->base_self;
}

/* Functions are sorted by change: what grew most comes first, what shrank most last. */
static void part_text(FILE *out, const struct terminal *term, const struct diff *d, size_t lines,
		      enum part part)
{
	AUTO_TABLE struct table t;
	size_t shown = 0;

	table_init(&t, heads, "rrrll", ARRAY_LEN(heads));
	for (size_t i = 0; i < d->growth.len && shown < lines; i++) {
		const struct diff_function *f =
			&d->growth.items[part == GREW ? i : d->growth.len - 1 - i];
		if (!belongs(f, part))
			continue;
		function_cells(&t, d->flame.profile, f);
		shown++;
	}
	if (shown)
		table_print(&t, out, term);
	else
		fputs("nothing\n", out);
}

void view_diff_text(FILE *out, const struct terminal *term, const struct diff *d, size_t lines)
{
	fprintf(out, "%" PRIu64 " samples now, %" PRIu64 " in the base; shares of self time\n\n",
		d->weight, d->base_weight);
	fputs("grew:\n", out);
	part_text(out, term, d, lines, GREW);
	fputs("\nshrank:\n", out);
	part_text(out, term, d, lines, SHRANK);
	fputs("\nelided (in the base, not now):\n", out);
	part_text(out, term, d, lines, ELIDED);
}

void view_diff_json(struct json *j, const struct diff *d, size_t lines)
{
	const struct profile *p = d->flame.profile;
	size_t shown = 0;

	json_u64(j, "weight", d->weight);
	json_u64(j, "base_weight", d->base_weight);
	json_array(j, "growth");
	for (size_t i = 0; i < d->growth.len; i++) {
		const struct diff_function *f = &d->growth.items[i];
		/* both ends of the list: what grew most and what shrank most */
		if (i >= lines && i + lines < d->growth.len)
			continue;
		json_object(j, NULL);
		json_str(j, "name", profile_text(p, f->name));
		json_str(j, "module", profile_text(p, f->module));
		json_u64(j, "self", f->self);
		json_u64(j, "base_self", f->base_self);
		json_f64(j, "percent", f->share, 2);
		json_f64(j, "base_percent", f->base_share, 2);
		json_end_object(j);
	}
	json_end_array(j);
	view_flame_json(j, &d->flame, true);
	json_array(j, "elided");
	for (size_t i = d->growth.len; i-- > 0 && shown < lines;) {
		const struct diff_function *f = &d->growth.items[i];
		if (f->self || !f->base_self)
			continue;
		json_object(j, NULL);
		json_str(j, "name", profile_text(p, f->name));
		json_u64(j, "base_self", f->base_self);
		json_f64(j, "base_percent", f->base_share, 2);
		json_end_object(j);
		shown++;
	}
	json_end_array(j);
}
