/* What the terminal can show: colour or not, how wide. No escape code ever goes into a pipe. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum term_color {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_DIM,
	TERM_GREEN,
	TERM_YELLOW,
	TERM_RED,
	TERM_CYAN,
};

enum term_color_mode {
	TERM_COLOR_AUTO,
	TERM_COLOR_ALWAYS,
	TERM_COLOR_NEVER,
};

struct terminal {
	bool color;
	bool tty;
	bool moves;      /* the cursor may be moved: what is shown can be drawn anew in place */
	unsigned width;  /* columns; 100 when it is no terminal */
	unsigned height; /* lines; 0 = unknown, or no terminal */
};

/* auto: a terminal, and neither NO_COLOR nor TERM=dumb. */
struct terminal terminal_of(FILE *out, enum term_color_mode mode);
/* Width and height again: a window may be resized while something is shown in it. */
void terminal_measure(struct terminal *t, FILE *out);
/* The escape sequence that starts a colour, "" without colour. */
const char *terminal_on(const struct terminal *t, enum term_color color);
const char *terminal_off(const struct terminal *t);
/* Hostile bytes as text: nothing in them moves the cursor or changes a colour. */
void terminal_text(FILE *out, const char *text);
