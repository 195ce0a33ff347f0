#include "export_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "export_folded.h"
#include "text.h"

/* The interned name and its number; false when out of memory. */
static bool tree_name(struct export_tree *t, const char *text, size_t len, uint32_t *ret_id)
{
	bool fresh;
	uint64_t *id = map_str_put(&t->ids, text, len, &fresh);

	if (!id)
		return false;
	if (fresh) {
		*id = t->names.len;
		const char *kept = arena_strndup(&t->arena, text, len);
		if (!kept || !vec_push(&t->names, kept))
			return false;
	}
	*ret_id = (uint32_t)*id;
	return *id < t->names.len;
}

/* The child of that name; UINT32_MAX when out of memory. */
static uint32_t tree_child(struct export_tree *t, uint32_t parent, const char *name, size_t len,
			   enum export_kind kind)
{
	uint32_t name_id;
	bool fresh;

	if (!tree_name(t, name, len, &name_id))
		return UINT32_MAX;
	uint64_t *at = map_u64_put(&t->children, (uint64_t)parent << 32 | name_id, &fresh);
	if (!at)
		return UINT32_MAX;
	if (!fresh)
		return (uint32_t)*at;
	struct export_node node = { .name = t->names.items[name_id],
				    .parent = parent,
				    .depth = t->nodes.items[parent].depth + 1,
				    .kind = kind,
				    .next_sibling = t->nodes.items[parent].first_child };
	if (!vec_push(&t->nodes, node))
		return UINT32_MAX;
	uint32_t id = (uint32_t)t->nodes.len - 1;
	t->nodes.items[parent].first_child = id;
	t->max_depth = MAX_OF(t->max_depth, node.depth);
	*at = id;
	return id;
}

static enum export_kind frame_kind(const struct profile *p, const struct profile_frame *f)
{
	const char *module =
		f->module < p->modules.len ? profile_text(p, p->modules.items[f->module].name) : "";
	if (f->inlined)
		return EXPORT_INLINED;
	if (f->kind == PROFILE_KERNEL)
		return EXPORT_KERNEL;
	if (strstr(module, "/perf-") && text_ends(module, ".map"))
		return EXPORT_JIT;
	return f->symbol ? EXPORT_USER : EXPORT_UNKNOWN;
}

static void frame_name(struct buf *out, const struct profile *p, uint32_t frame, const char *comm)
{
	char name[PROFILE_MAX_NAME + 8];

	buf_clear(out);
	profile_frame_name(p, frame, name, sizeof(name));
	export_folded_symbol(out, name, strlen(name), comm);
	if (!out->len)
		buf_add_char(out, '?');
}

static int tree_add_stack(struct export_tree *t, const struct profile *p, uint32_t comm,
			  uint32_t stack, uint64_t weight, bool before)
{
	uint32_t frames[PROFILE_MAX_DEPTH], node;
	AUTO_BUF struct buf name = { 0 };
	const char *label = profile_text(p, comm);
	size_t n = 0;

	for (uint32_t s = stack; s && n < PROFILE_MAX_DEPTH; s = p->stacks.items[s].parent)
		frames[n++] = p->stacks.items[s].frame;
	buf_add_str(&name, label[0] ? label : "[unknown]");
	node = tree_child(t, 0, name.data, name.len, EXPORT_COMM);
	for (uint32_t at = node;; at = node) {
		if (at == UINT32_MAX || name.failed)
			return -ENOMEM;
		struct export_node *here = &t->nodes.items[at];
		if (before)
			here->before += weight;
		else
			here->total += weight;
		if (n == 0) {
			here->self += before ? 0 : weight;
			break;
		}
		n--;
		frame_name(&name, p, frames[n], label);
		node = tree_child(t, at, buf_str(&name), name.len,
				  frame_kind(p, &p->frames.items[frames[n]]));
	}
	if (before) {
		t->before_total += weight;
		t->nodes.items[0].before += weight;
	} else {
		t->total += weight;
		t->nodes.items[0].total += weight;
	}
	return 0;
}

int export_tree_add(struct export_tree *t, const struct profile *p, const char *event, bool before)
{
	AUTO_MAP_U64 struct map_u64 counts = { 0 };
	int shown = export_folded_event(p, event);
	uint64_t key, *count;
	size_t at = 0;
	int r = 0;

	if (!t->nodes.len && !vec_push(&t->nodes, (struct export_node){ .name = "all" }))
		return -ENOMEM;
	t->differential |= before;
	t->event = t->event && t->event[0]
			   ? t->event
			   : arena_strdup(&t->arena,
					  shown >= 0 && (size_t)shown < p->meta.events.len
						  ? profile_text(p, p->meta.events.items[shown])
						  : "");
	vec_foreach (&p->samples, s) {
		if (!export_folded_shows(p, s, shown))
			continue;
		count = map_u64_put(&counts, (uint64_t)s->comm << 32 | s->stack, NULL);
		if (!count)
			return -ENOMEM;
		*count += s->weight ? s->weight : 1;
	}
	while (r == 0 && map_u64_next(&counts, &at, &key, &count))
		r = tree_add_stack(t, p, (uint32_t)(key >> 32), (uint32_t)key, *count, before);
	return r;
}

static int child_compare(const void *a, const void *b, void *arg)
{
	const struct export_tree *t = arg;
	return strcmp(t->nodes.items[*(const uint32_t *)a].name,
		      t->nodes.items[*(const uint32_t *)b].name);
}

void export_tree_sort(struct export_tree *t)
{
	AUTO_FREE uint32_t *list = calloc(t->nodes.len + 1, sizeof(*list));

	for (size_t i = 0; list && i < t->nodes.len; i++) {
		size_t n = 0;
		for (uint32_t c = t->nodes.items[i].first_child; c;
		     c = t->nodes.items[c].next_sibling)
			list[n++] = c;
		if (n < 2)
			continue;
		qsort_r(list, n, sizeof(*list), child_compare, t);
		t->nodes.items[i].first_child = list[0];
		for (size_t k = 0; k < n; k++)
			t->nodes.items[list[k]].next_sibling = k + 1 < n ? list[k + 1] : 0;
	}
}

void export_tree_free(struct export_tree *t)
{
	vec_free(&t->nodes);
	map_str_free(&t->ids);
	vec_free(&t->names);
	map_u64_free(&t->children);
	arena_free(&t->arena);
	*t = (struct export_tree){ 0 };
}
