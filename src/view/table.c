#include "table.h"

#include <stdarg.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "esc.h"

enum { TABLE_MOST_COLUMNS = 32, TABLE_GAP = 2 };

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
		if (last && !right && term->tty && row[c].width > room)
			table_put_cut(out, row[c].text, room);
		else
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
		head[c] =
			(struct table_cell){ t->heads[c], table_width_of(t->heads[c]), TERM_BOLD };
		widths[c] = head[c].width;
	}
	size_t rows = t->cells.len / t->columns;
	for (size_t i = 0; i < rows * t->columns; i++)
		widths[i % t->columns] = MAX_OF(widths[i % t->columns], t->cells.items[i].width);
	table_put(t, out, term, head, widths);
	for (size_t r = 0; r < rows; r++)
		table_put(t, out, term, t->cells.items + r * t->columns, widths);
}

bool table_is_cut(const struct table *t, const struct terminal *term)
{
	size_t width = 0;

	for (size_t c = 0; c < t->columns; c++) {
		size_t widest = table_width_of(t->heads[c]);
		for (size_t i = c; i < t->cells.len; i += t->columns)
			widest = MAX_OF(widest, t->cells.items[i].width);
		width += widest + (c ? TABLE_GAP : 0);
	}
	return width > term->width;
}

void table_free(struct table *t)
{
	vec_free(&t->cells);
	arena_free(&t->arena);
}
