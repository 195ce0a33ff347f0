#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "auto.h"
#include "esc.h"

void terminal_measure(struct terminal *t, FILE *out)
{
	struct winsize size;

	if (!t->tty || ioctl(fileno(out), TIOCGWINSZ, &size) < 0)
		return;
	if (size.ws_col)
		t->width = size.ws_col;
	t->height = size.ws_row;
}

struct terminal terminal_of(FILE *out, enum term_color_mode mode)
{
	struct terminal t = { .tty = isatty(fileno(out)), .width = 100 };
	const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");

	terminal_measure(&t, out);
	bool refused = (no_color && *no_color) || (name && strcmp(name, "dumb") == 0);
	t.color = mode == TERM_COLOR_ALWAYS || (mode == TERM_COLOR_AUTO && t.tty && !refused);
	t.moves = t.tty && !refused && mode != TERM_COLOR_NEVER;
	return t;
}

const char *terminal_on(const struct terminal *t, enum term_color color)
{
	static const char *const codes[] = {
		[TERM_PLAIN] = "",         [TERM_BOLD] = "\033[1m",    [TERM_DIM] = "\033[2m",
		[TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m", [TERM_RED] = "\033[1;31m",
		[TERM_CYAN] = "\033[36m",
	};
	return t->color ? codes[color] : "";
}

const char *terminal_off(const struct terminal *t)
{
	return t->color ? "\033[0m" : "";
}

void terminal_text(FILE *out, const char *text)
{
	AUTO_BUF struct buf safe = { 0 };

	esc_tty(&safe, text, strlen(text));
	fputs(buf_str(&safe), out);
}
