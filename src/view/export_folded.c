#include "export_folded.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "map.h"
#include "text.h"
#include "vec.h"

/* "net/http.(*Client).Do": parentheses that belong to a Go method's name. */
static bool is_go_method(const char *text, size_t len)
{
	const char *open = memmem(text, len, ".(", 2);
	if (!open)
		return false;
	const char *behind = open + 2;
	return memmem(behind, len - (size_t)(behind - text), ").", 2) != NULL;
}

/* Where the argument list begins; len = nowhere. */
static size_t arguments_at(const char *text, size_t len)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t skip = sizeof(anonymous) - 1;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '(')
			continue;
		if (len - i < skip || memcmp(text + i, anonymous, skip) != 0)
			return i;
	}
	return len;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

void export_folded_symbol(struct buf *out, const char *symbol, size_t len, const char *comm)
{
	if (!is_go_method(symbol, len))
		len = arguments_at(symbol, len);
	while (len && is_quote(symbol[0])) {
		symbol++;
		len--;
	}
	/* Lorg/mozilla/javascript/ContextFactory;.call → org/mozilla/... */
	if (len && symbol[0] == 'L' && text_starts(comm, "java") && memchr(symbol, '/', len)) {
		symbol++;
		len--;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)symbol[i];
		if (is_quote(symbol[i]))
			continue;
		buf_add_char(out, c == ';' ? ':' : c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
}

static const char *module_name(const struct profile *p, const struct profile_frame *f)
{
	return f->module < p->modules.len ? profile_text(p, p->modules.items[f->module].name) : "";
}

static bool is_kernel_module(const char *module)
{
	return (module[0] == '[' || text_ends(module, "vmlinux")) && !strstr(module, "unknown");
}

/* /tmp/perf-1234.map */
static bool is_jit_map(const char *module)
{
	for (const char *p = module; (p = strstr(p, "/tmp/perf-")); p++) {
		const char *digits = p + 10;
		size_t n = strspn(digits, "0123456789");
		if (n && text_starts(digits + n, ".map"))
			return true;
	}
	return false;
}

static bool ends_with_mark(const struct buf *out, size_t from, const char *mark)
{
	return memmem(out->data + from, out->len - from, mark, strlen(mark)) != NULL;
}

static void add_marks(struct buf *out, size_t from, const char *module, bool inlined,
		      const struct folded_options *o)
{
	if (inlined) {
		if (!ends_with_mark(out, from, "_[i]"))
			buf_add_str(out, "_[i]");
	} else if (o->kernel && is_kernel_module(module)) {
		buf_add_str(out, "_[k]");
	} else if (o->jit && is_jit_map(module)) {
		if (!ends_with_mark(out, from, "_[j]"))
			buf_add_str(out, "_[j]");
	}
}

/* A function without a name is named after its file. */
static void add_unknown(struct buf *out, const struct profile_frame *f, const char *module,
			const char *comm, const struct folded_options *o)
{
	AUTO_BUF struct buf name = { 0 };
	const char *slash = strrchr(module, '/');

	/* to FlameGraph's script "[unknown] (/x (deleted))" is a function "[unknown] (/x" */
	if (text_ends(module, " (deleted)")) {
		buf_add_str(out, "[unknown] ");
		return;
	}
	buf_addf(&name, "[%s", !module[0] ? "unknown" : slash ? slash + 1 : module);
	if (o->addrs)
		buf_addf(&name, " <%llx>", (unsigned long long)f->address);
	buf_add_char(&name, ']');
	export_folded_symbol(out, name.data, name.len, comm);
}

/* One frame, or several: a JIT's map may say "caller->inlined->inlined". Each begins with ';'. */
static void add_frame(struct buf *out, const struct profile *p, const struct profile_frame *f,
		      const char *comm, const struct folded_options *o)
{
	static const char unknown[] = "[unknown]";
	const char *module = module_name(p, f);
	const char *at = f->symbol ? profile_text(p, f->symbol) : unknown, *end = at + strlen(at);
	bool first = true;

	/* what is empty behind the last arrow is no function */
	while (end - at >= 2 && memcmp(end - 2, "->", 2) == 0)
		end -= 2;
	while (at && at < end) {
		const char *arrow = memmem(at, (size_t)(end - at), "->", 2);
		size_t len = (size_t)((arrow ? arrow : end) - at);
		buf_add_char(out, ';');
		size_t from = out->len;
		if (len == sizeof(unknown) - 1 && memcmp(at, unknown, len) == 0)
			add_unknown(out, f, module, comm, o);
		else
			export_folded_symbol(out, at, len, comm);
		add_marks(out, from, module, !first, o);
		first = false;
		at = arrow ? arrow + 2 : NULL;
	}
}

static void add_comm(struct buf *out, const struct profile *p, const struct profile_sample *s,
		     const struct folded_options *o)
{
	size_t from = out->len;
	bool has_pid = s->have & PROFILE_HAVE_PID;

	buf_add_str(out, profile_text(p, s->comm));
	if (o->tid || o->pid) {
		/* to FlameGraph's script a tid of 0 is none: "swapper 0/0" is "swapper-?/0" */
		if (has_pid && s->tid)
			buf_addf(out, "-%u", s->pid);
		else
			buf_add_str(out, "-?");
		if (o->tid)
			buf_addf(out, "/%u", has_pid && !s->tid ? s->pid : s->tid);
	}
	for (size_t i = from; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];
		if (c == ' ')
			out->data[i] = '_';
		else if (c == ';')
			out->data[i] = ':';
		else if (c < 0x20 || c == 0x7f)
			out->data[i] = '?';
	}
}

/* Frames as they were written before: a name is tidied once, not once per stack. */
struct folded_names {
	struct buf text;
	struct {
		size_t at, len;
	} * frames; /* by frame, each with its ';'; len 0 = not yet */
};

static void add_known_frame(struct buf *out, const struct profile *p, uint32_t frame,
			    const struct folded_options *o, struct folded_names *names)
{
	if (!names->frames[frame].len) {
		names->frames[frame].at = names->text.len;
		add_frame(&names->text, p, &p->frames.items[frame], "", o);
		names->frames[frame].len = names->text.len - names->frames[frame].at;
	}
	if (names->frames[frame].len && !names->text.failed)
		buf_add(out, names->text.data + names->frames[frame].at, names->frames[frame].len);
}

static void add_stack(struct buf *out, const struct profile *p, const struct profile_sample *s,
		      const struct folded_options *o, struct folded_names *names)
{
	uint32_t frames[PROFILE_MAX_DEPTH];
	size_t n = 0, from = out->len;

	for (uint32_t at = s->stack; at && n < PROFILE_MAX_DEPTH; at = p->stacks.items[at].parent)
		frames[n++] = p->stacks.items[at].frame;
	add_comm(out, p, s, o);
	/* Java's tidying asks how the label begins, and the label is the line's beginning */
	bool java = text_starts(buf_str(out) + from, "java");
	while (n-- > 0) {
		if (java)
			add_frame(out, p, &p->frames.items[frames[n]], "java", o);
		else
			add_known_frame(out, p, frames[n], o, names);
	}
}

int export_folded_event(const struct profile *p, const char *wanted)
{
	if (wanted) {
		for (size_t i = 0; i < p->meta.events.len; i++)
			if (strcmp(profile_text(p, p->meta.events.items[i]), wanted) == 0)
				return (int)i;
		return INT16_MAX; /* no sample has it */
	}
	int first = -1;
	for (size_t i = 0; i < p->samples.len; i++) {
		unsigned event = p->samples.items[i].event;
		if (event < p->meta.events.len && p->meta.events.items[event] &&
		    (first < 0 || (int)event < first))
			first = (int)event;
	}
	return first;
}

bool export_folded_shows(const struct profile *p, const struct profile_sample *s, int event)
{
	if (event < 0 || s->event >= p->meta.events.len || !p->meta.events.items[s->event])
		return true;
	return s->event == event;
}

/* Samples of one stack and process are one line before any text is made: a name is written once
 * per line, not once per sample. */
struct folded_count {
	struct profile_sample sample; /* the first of them */
	uint64_t count;
};

struct folded_counts {
	VEC(struct folded_count) list;
};

static struct folded_count *count_of(struct folded_counts *c, uint64_t *slot, bool is_new,
				     const struct profile_sample *s)
{
	if (is_new) {
		if (!vec_push(&c->list, (struct folded_count){ .sample = *s }))
			return NULL;
		*slot = c->list.len - 1;
	}
	return &c->list.items[*slot];
}

static bool count_samples(const struct profile *p, const struct folded_options *o,
			  struct folded_counts *counts)
{
	AUTO_MAP_U64 struct map_u64 stacks = { 0 };
	AUTO_MAP_STR struct map_str tasks = { 0 };
	int event = export_folded_event(p, o->event);

	vec_foreach (&p->samples, s) {
		bool is_new = false;
		uint64_t *slot, place = (uint64_t)s->comm << 32 | s->stack;
		if (!export_folded_shows(p, s, event))
			continue;
		if (o->pid || o->tid) {
			uint64_t key[3] = { place, (uint64_t)s->pid << 32 | (o->tid ? s->tid : 0),
					    s->have & PROFILE_HAVE_PID };
			slot = map_str_put(&tasks, (const char *)key, sizeof(key), &is_new);
		} else {
			slot = map_u64_put(&stacks, place, &is_new);
		}
		struct folded_count *count = slot ? count_of(counts, slot, is_new, s) : NULL;
		if (!count)
			return false;
		count->count += s->weight ? s->weight : 1;
	}
	return true;
}

struct folded_line {
	size_t at; /* in the text */
	uint32_t len;
	uint64_t count;
};

static int line_compare(const void *a, const void *b, void *text)
{
	const struct folded_line *x = a, *y = b;
	const char *bytes = text;
	int r = memcmp(bytes + x->at, bytes + y->at, MIN_OF(x->len, y->len));

	if (r)
		return r;
	return x->len < y->len ? -1 : x->len > y->len;
}

/* Names may be equal where stacks are not: equal lines, which are neighbours now, are one. */
static void put_lines(struct buf *out, const struct buf *text, const struct folded_line *lines,
		      size_t n)
{
	for (size_t i = 0; i < n;) {
		const struct folded_line *line = &lines[i];
		uint64_t count = 0;
		for (; i < n && line_compare(line, &lines[i], text->data) == 0; i++)
			count += lines[i].count;
		buf_add(out, text->data + line->at, line->len);
		buf_addf(out, " %llu\n", (unsigned long long)count);
	}
}

static bool fold_lines(struct buf *out, const struct profile *p,
		       const struct folded_options *options, const struct folded_counts *counts,
		       struct folded_names *names)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_FREE struct folded_line *lines = calloc(counts->list.len + 1, sizeof(*lines));

	if (!lines)
		return false;
	for (size_t i = 0; i < counts->list.len; i++) {
		const struct folded_count *c = &counts->list.items[i];
		size_t at = text.len;
		add_stack(&text, p, &c->sample, options, names);
		lines[i] = (struct folded_line){ at, (uint32_t)(text.len - at), c->count };
	}
	if (text.failed || names->text.failed)
		return false;
	qsort_r(lines, counts->list.len, sizeof(*lines), line_compare, text.data);
	put_lines(out, &text, lines, counts->list.len);
	return true;
}

void export_folded(struct buf *out, const struct profile *p, const struct folded_options *options)
{
	struct folded_counts counts = { 0 };
	struct folded_names names = { .frames = calloc(p->frames.len, sizeof(*names.frames)) };

	if (!names.frames || !count_samples(p, options, &counts) ||
	    !fold_lines(out, p, options, &counts, &names))
		out->failed = true;
	vec_free(&counts.list);
	free(names.frames);
	buf_free(&names.text);
}
