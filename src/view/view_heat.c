#include "view_heat.h"

#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "timefmt.h"

enum {
	HEAT_LEVELS = 9,
	LABEL_WIDTH = 9,
	CELL_PIXELS = 8,
	CORE_PIXELS = 12,
	SVG_LEFT = 56, /* room for labels */
	MAX_SVG_CELLS = 400000,
};

/* White to red, as FlameScope; of the terminal's 256 colours and of the web. */
static const uint8_t heat_256[HEAT_LEVELS] = { 231, 230, 229, 223, 216, 209, 203, 196, 160 };
static const char *const heat_web[HEAT_LEVELS] = { "#ffffff", "#fff5eb", "#fee6ce",
						   "#fdd0a2", "#fdae6b", "#fd8d3c",
						   "#f16913", "#d94801", "#a50f15" };
static const char heat_chars[HEAT_LEVELS + 1] = " .:-=+*#@";

static unsigned level_of(uint64_t value, uint64_t most)
{
	if (!value || !most)
		return 0;
	unsigned level = (unsigned)(1 + value * (HEAT_LEVELS - 2) / most);
	return MIN_OF(level, (unsigned)HEAT_LEVELS - 1);
}

static void put_cell(FILE *out, const struct terminal *term, unsigned level)
{
	if (term->color)
		fprintf(out, "\033[48;5;%um ", heat_256[level]);
	else
		fputc(heat_chars[level], out);
}

static void end_line(FILE *out, const struct terminal *term)
{
	fputs(term->color ? "\033[0m\n" : "\n", out);
}

/* Clock times under the columns, every 15 seconds or so. */
static void put_axis(FILE *out, const struct heat *h, size_t from, size_t to)
{
	char clock[TIMEFMT_MAX];
	size_t column = from;

	fprintf(out, "%*s", LABEL_WIDTH, "");
	while (column < to) {
		if (column % 15 == from % 15 && to - column >= 8) {
			fprintf(out, "%s", timefmt_clock(clock, (h->start_s + column) * NS_PER_S));
			column += 8;
		} else {
			fputc(' ', out);
			column++;
		}
	}
	fputc('\n', out);
}

static size_t band_width(const struct terminal *term)
{
	return term->width > LABEL_WIDTH + 20 ? term->width - LABEL_WIDTH - 1 : 20;
}

void view_heat_text(FILE *out, const struct terminal *term, const struct heat *h)
{
	/* two parts of a second per line keep a minute on one screen */
	unsigned lines = h->rows / 2, per_line = h->rows / lines;
	uint64_t most = 0;

	for (size_t second = 0; second < h->seconds; second++)
		for (unsigned line = 0; line < lines; line++) {
			const uint32_t *cell = &h->counts[second * h->rows + line * per_line];
			uint64_t sum = (uint64_t)cell[0] + cell[per_line - 1];
			most = MAX_OF(most, sum);
		}
	for (size_t from = 0; from < h->seconds; from += band_width(term)) {
		size_t to = MIN_OF(from + band_width(term), h->seconds);
		for (unsigned line = lines; line-- > 0;) {
			fprintf(out, "%*u ms ", LABEL_WIDTH - 4, line * 1000 / lines);
			for (size_t second = from; second < to; second++) {
				const uint32_t *cell =
					&h->counts[second * h->rows + line * per_line];
				put_cell(out, term,
					 level_of((uint64_t)cell[0] + cell[per_line - 1], most));
			}
			end_line(out, term);
		}
		put_axis(out, h, from, to);
	}
}

void view_heat_cores_text(FILE *out, const struct terminal *term, const struct heat *h)
{
	for (size_t from = 0; from < h->seconds; from += band_width(term)) {
		size_t to = MIN_OF(from + band_width(term), h->seconds);
		for (size_t core = 0; core < h->n_cores; core++) {
			fprintf(out, "%*s%-4u", LABEL_WIDTH - 4, "core ", h->core_ids[core]);
			for (size_t second = from; second < to; second++) {
				size_t cell = core * h->seconds + second;
				if (h->core_busy[cell] == HEAT_UNKNOWN)
					fputs(term->color ? "\033[0m?" : "?", out);
				else if (h->core_holes[cell])
					fputs(term->color ? "\033[1;97;45m!\033[0m" : "!", out);
				else
					put_cell(out, term, level_of(h->core_busy[cell], 100));
			}
			end_line(out, term);
		}
		put_axis(out, h, from, to);
	}
}

static void svg_map(struct buf *out, const struct heat *h)
{
	char clock[TIMEFMT_MAX];

	for (unsigned ms = 0; ms < 1000; ms += 200)
		buf_addf(out, "<text x=\"4\" y=\"%u\">%u ms</text>\n",
			 (h->rows - h->rows * ms / 1000) * CELL_PIXELS, ms);
	for (size_t second = 0; second < h->seconds; second++)
		for (unsigned row = 0; row < h->rows; row++) {
			uint32_t count = h->counts[second * h->rows + row];
			if (!count)
				continue;
			buf_addf(out,
				 "<rect x=\"%zu\" y=\"%u\" width=\"%d\" height=\"%d\" "
				 "fill=\"%s\"><title>%s.%03u: %u samples</title></rect>\n",
				 SVG_LEFT + second * CELL_PIXELS, (h->rows - 1 - row) * CELL_PIXELS,
				 CELL_PIXELS, CELL_PIXELS, heat_web[level_of(count, h->most)],
				 timefmt_clock(clock, (h->start_s + second) * NS_PER_S),
				 row * 1000 / h->rows, count);
		}
}

static void svg_axis(struct buf *out, const struct heat *h, size_t y)
{
	char clock[TIMEFMT_MAX];

	for (size_t second = 0; second < h->seconds; second += 15)
		buf_addf(out, "<text x=\"%zu\" y=\"%zu\">%s</text>\n",
			 SVG_LEFT + second * CELL_PIXELS, y,
			 timefmt_clock(clock, (h->start_s + second) * NS_PER_S));
}

static void svg_cores(struct buf *out, const struct heat *h, size_t top)
{
	char clock[TIMEFMT_MAX];

	for (size_t core = 0; core < h->n_cores; core++) {
		size_t y = top + core * CORE_PIXELS;
		buf_addf(out, "<text x=\"4\" y=\"%zu\">core %u</text>\n", y + CORE_PIXELS - 2,
			 h->core_ids[core]);
		for (size_t second = 0; second < h->seconds; second++) {
			size_t cell = core * h->seconds + second;
			uint8_t busy = h->core_busy[cell];
			if (busy == HEAT_UNKNOWN || (!busy && !h->core_holes[cell]))
				continue;
			buf_addf(out,
				 "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" "
				 "fill=\"%s\"><title>core %u, %s: %u %% busy, %u lost or "
				 "missing</title></rect>\n",
				 SVG_LEFT + second * CELL_PIXELS, y, CELL_PIXELS, CORE_PIXELS,
				 h->core_holes[cell] ? "#7b1fa2" : heat_web[level_of(busy, 100)],
				 h->core_ids[core],
				 timefmt_clock(clock, (h->start_s + second) * NS_PER_S), busy,
				 h->core_holes[cell]);
		}
	}
}

bool view_heat_svg_fits(const struct heat *h)
{
	return h->seconds * h->rows <= MAX_SVG_CELLS && h->seconds * h->n_cores <= MAX_SVG_CELLS;
}

void view_heat_svg(struct buf *out, const struct heat *h)
{
	size_t width = MAX_OF(SVG_LEFT + h->seconds * CELL_PIXELS + 64, (size_t)600);
	size_t map = h->rows * CELL_PIXELS, top = map + 72;
	size_t height = top + h->n_cores * CORE_PIXELS + 8;
	char from[TIMEFMT_MAX];

	buf_addf(out,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		 "viewBox=\"0 0 %zu %zu\" font-family=\"sans-serif\" font-size=\"11\">\n"
		 "<rect width=\"100%%\" height=\"100%%\" fill=\"#f8f8f8\"/>\n",
		 width, height, width, height);
	svg_map(out, h);
	svg_axis(out, h, map + 14);
	buf_addf(out,
		 "<text x=\"4\" y=\"%zu\">from %s, %zu s; a column is a second, its parts from "
		 "bottom to top</text>\n"
		 "<text x=\"4\" y=\"%zu\">%" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		 " missing ticks</text>\n",
		 map + 32, timefmt_local(from, h->start_s * NS_PER_S), h->seconds, map + 48,
		 h->samples, h->lost, h->missing);
	buf_addf(out,
		 "<text x=\"4\" y=\"%zu\">cores by seconds; purple: samples were lost or ticks "
		 "never came</text>\n",
		 map + 64);
	svg_cores(out, h, top);
	buf_add_str(out, "</svg>\n");
}

/* A day has millions of numbers, most of one digit: each array is one piece of text. */
static void json_counts(struct json *j, const uint32_t *counts, size_t n)
{
	char text[PROFILE_HEAT_ROWS * 11 + 2], digits[10];
	size_t len = 0;

	if (n > PROFILE_HEAT_ROWS)
		n = PROFILE_HEAT_ROWS;
	text[len++] = '[';
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		uint32_t value = counts[i];
		do {
			digits[k++] = (char)('0' + value % 10);
			value /= 10;
		} while (value);
		if (i)
			text[len++] = ',';
		while (k > 0)
			text[len++] = digits[--k];
	}
	text[len++] = ']';
	json_raw(j, NULL, text, len);
}

void view_heat_json(struct json *j, const struct heat *h)
{
	json_u64(j, "start_ns", h->start_s * NS_PER_S);
	json_u64(j, "seconds", h->seconds);
	json_u64(j, "rows", h->rows);
	json_u64(j, "cols", h->seconds);
	json_u64(j, "samples", h->samples);
	json_u64(j, "lost", h->lost);
	json_u64(j, "missing_ticks", h->missing);
	json_array(j, "counts");
	for (size_t second = 0; second < h->seconds; second++)
		json_counts(j, &h->counts[second * h->rows], h->rows);
	json_end_array(j);
	json_array(j, "cores");
	for (size_t core = 0; core < h->n_cores; core++) {
		json_object(j, NULL);
		json_u64(j, "cpu", h->core_ids[core]);
		json_array(j, "busy"); /* percent, null = not recorded */
		for (size_t second = 0; second < h->seconds; second++) {
			uint8_t busy = h->core_busy[core * h->seconds + second];
			if (busy == HEAT_UNKNOWN)
				json_null(j, NULL);
			else
				json_u64(j, NULL, busy);
		}
		json_end_array(j);
		json_array(j, "holes"); /* lost and missing ticks */
		for (size_t second = 0; second < h->seconds; second++)
			json_u64(j, NULL, h->core_holes[core * h->seconds + second]);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}
