#include "help.h"

#include <string.h>

#include "buf.h"
#include "commands.h"

enum { HELP_WIDTH = 80, HELP_INDENT = 31 };

static size_t help_width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

/* Words of `text` from column `at` on, broken before the 80th; more lines begin at `indent`.
 * Newlines of the text stay. */
static void help_wrap(FILE *out, const char *text, size_t at, size_t indent)
{
	bool fresh = true; /* nothing on this line yet */

	while (*text) {
		size_t len = strcspn(text, " \n");
		size_t width = help_width_of(text, len);
		if (!fresh && at + 1 + width >= HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!fresh) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += width;
		fresh = false;
		text += len;
		if (*text == '\n') {
			fputc('\n', out);
			at = 0;
			fresh = true;
		}
		text += *text != '\0';
	}
	fputc('\n', out);
}

static void help_option(void *arg, const struct option *o)
{
	AUTO_BUF struct buf head = { 0 };

	if (o->letter)
		buf_addf(&head, "-%c, ", o->letter);
	buf_addf(&head, "--%s", o->name);
	if (o->argument)
		buf_addf(&head, " %s", o->argument);
	if (head.len > HELP_INDENT - 3) /* too long to have its text beside it */
		fprintf(arg, "  %s\n%*s", buf_str(&head), HELP_INDENT, "");
	else
		fprintf(arg, "  %-*s ", HELP_INDENT - 3, buf_str(&head));
	help_wrap(arg, o->help, HELP_INDENT, HELP_INDENT);
}

static void help_summary(FILE *out, const struct command *c)
{
	fprintf(out, "  %-10s ", c->name);
	help_wrap(out, c->summary, 13, 13);
}

void help_overview(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	fputs("zscope tells why a Linux node is sick: which unit, which process, which kernel\n"
	      "path, since when.\n"
	      "\n"
	      "usage: zscope [COMMAND] [OPTIONS]      without a command: zscope check\n\n",
	      out);
	for (size_t i = 0; i < n; i++)
		if (!all[i]->hidden)
			help_summary(out, all[i]);
	fputs("\n'zscope COMMAND --help' tells more. Exit status: 0 healthy or done, 1 a finding\n"
	      "or difference, 2 could not tell or bad usage.\n",
	      out);
}

void help_command(FILE *out, const struct command *c)
{
	fprintf(out, "zscope %s: ", c->name);
	help_wrap(out, c->summary, strlen("zscope : ") + strlen(c->name), 2);
	fprintf(out, "\nusage: zscope %s [OPTIONS]%s%s\n\n", c->name, *c->arguments ? " " : "",
		c->arguments);
	help_wrap(out, c->description, 0, 0);
	fputs("\noptions:\n", out);
	command_each_option(c, help_option, out);
	fputs("\nexamples:\n", out);
	for (const char *p = c->examples; *p;) {
		size_t len = strcspn(p, "\n");
		fprintf(out, "  %.*s\n", (int)len, p);
		p += len + (p[len] == '\n');
	}
}
