#include "view_flame.h"

#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "table.h"
#include "timefmt.h"

struct view_profile_gaps view_profile_gaps(const struct profile *p)
{
	AUTO_MAP_U64 struct map_u64 cores = { 0 };
	struct view_profile_gaps gaps = {
		.samples = p->samples.len,
		.lost = p->meta.lost,
		.damaged = p->meta.damaged,
		.idle = p->meta.idle,
	};

	for (size_t i = 0; i < p->meta.cpu_seconds.len; i++) {
		const struct profile_cpu_second *row = &p->meta.cpu_seconds.items[i];
		uint32_t missing = profile_missing_ticks(row);
		uint64_t *of_core = missing ? map_u64_put(&cores, row->cpu, NULL) : NULL;
		gaps.missing += missing;
		if (!of_core)
			continue;
		*of_core += missing;
		if (*of_core > gaps.worst_missing) {
			gaps.worst_missing = *of_core;
			gaps.worst_cpu = row->cpu;
		}
	}
	return gaps;
}

void view_profile_gaps_text(FILE *out, const struct view_profile_gaps *gaps)
{
	if (gaps->lost)
		fprintf(out, "lost: %" PRIu64 " samples were lost by the kernel's rings\n",
			gaps->lost);
	if (gaps->missing)
		fprintf(out,
			"missing: %" PRIu64 " ticks of busy cores never came (interrupts off, "
			"steal or a paused hypervisor), most on core %u: %" PRIu64 "\n",
			gaps->missing, gaps->worst_cpu, gaps->worst_missing);
	if (gaps->damaged)
		fprintf(out, "damaged: %" PRIu64 " samples cannot be read back\n", gaps->damaged);
}

void view_profile_gaps_json(struct json *j, const struct view_profile_gaps *gaps)
{
	json_u64(j, "samples", gaps->samples);
	json_u64(j, "lost", gaps->lost);
	json_u64(j, "missing_ticks", gaps->missing);
	json_u64(j, "damaged", gaps->damaged);
	json_u64(j, "idle", gaps->idle);
}

void view_losses_text(FILE *out, const struct store_losses *losses)
{
	for (size_t i = 0; i < losses->list.len; i++)
		fprintf(out, "not readable: %s\n", losses->list.items[i].why);
}

void view_losses_json(struct json *j, const struct store_losses *losses)
{
	json_array(j, "losses");
	for (size_t i = 0; i < losses->list.len; i++) {
		const struct store_loss *loss = &losses->list.items[i];
		json_object(j, NULL);
		json_u64(j, "from_ns", loss->from_ns);
		json_u64(j, "to_ns", loss->to_ns);
		json_str(j, "why", loss->why);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Preorder without recursion: a hostile stack is deep. */
static uint32_t next_preorder(const struct flame *f, uint32_t node)
{
	if (f->nodes.items[node].first_child)
		return f->nodes.items[node].first_child;
	while (node && !f->nodes.items[node].next_sibling)
		node = f->nodes.items[node].parent;
	return node ? f->nodes.items[node].next_sibling : 0;
}

void view_flame_json(struct json *j, const struct flame *f, bool diff)
{
	AUTO_MAP_U64 struct map_u64 ids = { 0 };
	VEC(uint32_t) names = { 0 };
	uint32_t node = 0;

	json_array(j, "nodes");
	do {
		const struct flame_node *n = &f->nodes.items[node];
		bool is_new;
		uint64_t *id = map_u64_put(&ids, n->name, &is_new);
		if (!id)
			break;
		if (is_new) {
			*id = names.len;
			(void)vec_push(&names, n->name);
		}
		json_u64(j, NULL, *id);
		json_u64(j, NULL, n->depth);
		json_u64(j, NULL, n->total);
		if (diff)
			json_u64(j, NULL, n->base_total);
		node = next_preorder(f, node);
	} while (node);
	json_end_array(j);
	json_array(j, "names");
	vec_foreach (&names, name)
		json_str(j, NULL, profile_text(f->profile, *name));
	json_end_array(j);
	vec_free(&names);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void functions_text(FILE *out, const struct terminal *term, const struct profile *p,
			   const struct flame_top *top, size_t lines)
{
	static const char *const heads[] = { "self%", "total%", "self", "where", "function" };
	AUTO_TABLE struct table t;

	table_init(&t, heads, "rrrll", ARRAY_LEN(heads));
	for (size_t i = 0; i < MIN_OF(lines, top->functions.len); i++) {
		const struct flame_function *f = &top->functions.items[i];
		const char *module = profile_text(p, f->module), *slash = strrchr(module, '/');
		table_cell(&t, TERM_PLAIN, "%.1f", percent(f->self, top->weight));
		table_cell(&t, TERM_PLAIN, "%.1f", percent(f->total, top->weight));
		table_cell(&t, TERM_PLAIN, "%" PRIu64, f->self);
		table_cell(&t, f->kind == PROFILE_KERNEL ? TERM_YELLOW : TERM_DIM, "%s",
			   f->kind == PROFILE_KERNEL ? "kernel"
			   : slash && slash[1]       ? slash + 1
						     : module);
		table_cell(&t, TERM_PLAIN, "%s", profile_text(p, f->name));
	}
	table_print(&t, out, term);
}

static void processes_text(FILE *out, const struct terminal *term, const struct profile *p,
			   const struct flame_top *top, size_t lines)
{
	static const char *const heads[] = { "samples%", "kernel%", "pid", "name", "cgroup" };
	AUTO_TABLE struct table t;

	table_init(&t, heads, "rrrll", ARRAY_LEN(heads));
	for (size_t i = 0; i < MIN_OF(lines, top->processes.len); i++) {
		const struct flame_process *f = &top->processes.items[i];
		table_cell(&t, TERM_PLAIN, "%.1f", percent(f->samples, top->weight));
		table_cell(&t, TERM_PLAIN, "%.1f", percent(f->kernel, f->samples));
		table_cell(&t, TERM_PLAIN, "%u", f->pid);
		table_cell(&t, TERM_PLAIN, "%s", profile_text(p, f->comm));
		table_cell(&t, TERM_DIM, "%s", profile_text(p, f->cgroup));
	}
	table_print(&t, out, term);
}

static void cores_text(FILE *out, const struct terminal *term, const struct flame_top *top,
		       size_t lines)
{
	static const char *const heads[] = { "core",     "samples%", "kernel%",
					     "received", "lost",     "missing" };
	AUTO_TABLE struct table t;

	table_init(&t, heads, "rrrrrr", ARRAY_LEN(heads));
	for (size_t i = 0; i < MIN_OF(lines, top->cores.len); i++) {
		const struct flame_core *c = &top->cores.items[i];
		table_cell(&t, TERM_PLAIN, "%u", c->cpu);
		table_cell(&t, TERM_PLAIN, "%.1f", percent(c->samples, top->weight));
		table_cell(&t, TERM_PLAIN, "%.1f", percent(c->kernel, c->samples));
		if (!c->accounted) {
			for (int column = 0; column < 3; column++)
				table_cell(&t, TERM_DIM, "?");
			continue;
		}
		table_cell(&t, TERM_PLAIN, "%" PRIu64 "/%" PRIu64, c->received, c->expected);
		table_cell(&t, c->lost ? TERM_RED : TERM_PLAIN, "%" PRIu64, c->lost);
		table_cell(&t, c->missing ? TERM_RED : TERM_PLAIN, "%" PRIu64, c->missing);
	}
	table_print(&t, out, term);
}

void view_flame_top_text(FILE *out, const struct terminal *term, const struct profile *p,
			 const struct flame_top *top, size_t lines)
{
	char from[TIMEFMT_MAX], span[TIMEFMT_MAX];

	if (p->meta.to_ns)
		fprintf(out, "%s, %s, ", timefmt_local(from, p->meta.from_ns),
			timefmt_span(span, p->meta.to_ns - p->meta.from_ns));
	fprintf(out, "%zu samples", p->samples.len);
	if (p->meta.events.len)
		fprintf(out, " of %s", profile_text(p, p->meta.events.items[0]));
	if (p->meta.events.len && p->meta.hz > 0) /* text does not say it */
		fprintf(out, " at %g Hz", p->meta.hz);
	fprintf(out, ", %.1f %% in the kernel\n\n", percent(top->kernel, top->weight));
	functions_text(out, term, p, top, lines);
	fputc('\n', out);
	processes_text(out, term, p, top, lines);
	fputc('\n', out);
	cores_text(out, term, top, 256);
}

static const char *kind_name(uint8_t kind)
{
	return kind == PROFILE_KERNEL ? "kernel" : kind == PROFILE_USER ? "user" : "unknown";
}

void view_flame_top_json(struct json *j, const struct profile *p, const struct flame_top *top,
			 size_t lines)
{
	json_array(j, "functions");
	for (size_t i = 0; i < MIN_OF(lines, top->functions.len); i++) {
		const struct flame_function *f = &top->functions.items[i];
		json_object(j, NULL);
		json_str(j, "name", profile_text(p, f->name));
		json_str(j, "module", profile_text(p, f->module));
		json_str(j, "kind", kind_name(f->kind));
		json_u64(j, "self", f->self);
		json_u64(j, "total", f->total);
		json_f64(j, "self_percent", percent(f->self, top->weight), 2);
		json_f64(j, "total_percent", percent(f->total, top->weight), 2);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "processes");
	for (size_t i = 0; i < MIN_OF(lines, top->processes.len); i++) {
		const struct flame_process *f = &top->processes.items[i];
		json_object(j, NULL);
		json_u64(j, "pid", f->pid);
		json_str(j, "comm", profile_text(p, f->comm));
		if (f->cgroup)
			json_str(j, "cgroup", profile_text(p, f->cgroup));
		json_u64(j, "samples", f->samples);
		json_u64(j, "kernel", f->kernel);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "cpus");
	for (size_t i = 0; i < top->cores.len; i++) {
		const struct flame_core *c = &top->cores.items[i];
		json_object(j, NULL);
		json_u64(j, "cpu", c->cpu);
		json_u64(j, "samples", c->samples);
		json_u64(j, "kernel", c->kernel);
		if (c->accounted) {
			json_u64(j, "expected", c->expected);
			json_u64(j, "received", c->received);
			json_u64(j, "lost", c->lost);
			json_u64(j, "missing", c->missing);
		}
		json_end_object(j);
	}
	json_end_array(j);
}
