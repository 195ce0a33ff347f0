#include "table.h"

#include <stdarg.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "esc.h"

enum {
	TABLE_MOST_COLUMNS = 32,
	TABLE_GAP = 2,
	TABLE_LEAST_CUT = 24,
	TABLE_LEAST_ROOM = 40, /* a column narrower than this is not worth breaking a text in */
};

void table_init(struct table *t, const char *const *heads, const char *aligns, size_t columns)
{
	*t = (struct table){ .heads = heads, .aligns = aligns, .columns = columns };
}

static size_t table_width_of(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

void table_cell_bytes(struct table *t, enum term_color color, const char *bytes, size_t len)
{
	AUTO_BUF struct buf escaped = { 0 };

	esc_tty(&escaped, bytes, len);
	const char *text = arena_strdup(&t->arena, buf_str(&escaped));
	struct table_cell cell = { .text = text ? text : "", .color = color };
	cell.width = table_width_of(cell.text);
	(void)vec_push(&t->cells, cell);
}

void table_cell(struct table *t, enum term_color color, const char *format, ...)
{
	AUTO_BUF struct buf text = { 0 };
	va_list args;

	va_start(args, format);
	buf_vaddf(&text, format, args);
	va_end(args);
	table_cell_bytes(t, color, buf_str(&text), text.len);
}

void table_set_fit(struct table *t, enum table_fit fit)
{
	if (t->cells.len)
		t->cells.items[t->cells.len - 1].fit = fit;
}

void table_note(struct table *t, const char *bytes, size_t len)
{
	AUTO_BUF struct buf escaped = { 0 };

	esc_tty(&escaped, bytes, len);
	struct table_note note = { .text = arena_strdup(&t->arena, buf_str(&escaped)),
				   .row = t->cells.len / t->columns - 1 };
	if (note.text && t->cells.len >= t->columns)
		(void)vec_push(&t->notes, note);
}

static void table_pad(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

/* Cut at `room` characters, the last of them an ellipsis. */
static void table_put_cut(FILE *out, const char *text, size_t room)
{
	const char *p = text;
	for (size_t n = 0; *p && n + 1 < room; n++)
		do
			p++;
		while (((unsigned char)*p & 0xc0) == 0x80);
	fprintf(out, "%.*s…", (int)(p - text), text);
}

/* Bytes of the words that fit into `room` characters; a longer word stays in one piece. */
static size_t table_words(const char *text, size_t room)
{
	size_t fits = 0;

	for (size_t end = 0; text[end];) {
		end += strspn(text + end, " ");
		end += strcspn(text + end, " ");
		if (fits && table_width_of(text) - table_width_of(text + end) > room)
			break;
		fits = end;
	}
	return fits;
}

/* In its own column where that is wide enough, else below from the second column on. */
static void table_put_whole(FILE *out, const char *text, size_t at, size_t second, size_t width)
{
	size_t indent = at + TABLE_LEAST_ROOM <= width ? at : second;
	size_t room = width > indent ? width - indent : 1;

	if (indent != at) {
		fputc('\n', out);
		table_pad(out, indent);
	}
	while (*text) {
		size_t n = table_words(text, room);
		fprintf(out, "%.*s", (int)n, text);
		text += n + strspn(text + n, " ");
		if (!*text)
			break;
		fputc('\n', out);
		table_pad(out, indent);
	}
}

static void table_put(const struct table *t, FILE *out, const struct terminal *term,
		      const struct table_cell *row, const size_t *widths)
{
	size_t at = 0;

	for (size_t c = 0; c < t->columns; c++) {
		bool right = t->aligns[c] == 'r', last = c + 1 == t->columns;
		size_t pad = widths[c] - MIN_OF(row[c].width, widths[c]);
		if (right)
			table_pad(out, pad);
		fputs(terminal_on(term, row[c].color), out);
		size_t room = term->width > at ? term->width - at : 1;
		bool wide = last && !right && term->tty && row[c].width > room;
		if (wide && row[c].fit == TABLE_WHOLE)
			table_put_whole(out, row[c].text, at, widths[0] + TABLE_GAP, term->width);
		else if (wide && (row[c].fit == TABLE_CUT || room >= TABLE_LEAST_CUT))
			table_put_cut(out, row[c].text, room);
		else if (!wide)
			fputs(row[c].text, out);
		if (row[c].color != TERM_PLAIN)
			fputs(terminal_off(term), out);
		if (!last)
			table_pad(out, (right ? 0 : pad) + TABLE_GAP);
		at += widths[c] + TABLE_GAP;
	}
	fputc('\n', out);
}

void table_print(const struct table *t, FILE *out, const struct terminal *term)
{
	struct table_cell head[TABLE_MOST_COLUMNS];
	size_t widths[TABLE_MOST_COLUMNS];

	for (size_t c = 0; c < t->columns; c++) {
		head[c] = (struct table_cell){ .text = t->heads[c],
					       .width = table_width_of(t->heads[c]),
					       .color = TERM_BOLD };
		widths[c] = head[c].width;
	}
	size_t rows = t->cells.len / t->columns;
	for (size_t i = 0; i < rows * t->columns; i++)
		widths[i % t->columns] = MAX_OF(widths[i % t->columns], t->cells.items[i].width);
	table_put(t, out, term, head, widths);
	for (size_t r = 0; r < rows; r++) {
		table_put(t, out, term, t->cells.items + r * t->columns, widths);
		vec_foreach (&t->notes, it) {
			if (it->row != r)
				continue;
			table_pad(out, widths[0] + TABLE_GAP);
			fprintf(out, "%s\n", it->text);
		}
	}
}

void table_free(struct table *t)
{
	vec_free(&t->cells);
	vec_free(&t->notes);
	arena_free(&t->arena);
}
