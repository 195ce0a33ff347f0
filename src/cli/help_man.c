#include <string.h>

#include "commands.h"
#include "help.h"

/* troff gives meaning to backslashes, to '-' and to a leading dot or quote. */
static void man_text(FILE *out, const char *text)
{
	bool at_start = true;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
		at_start = *text == '\n';
	}
}

static void man_option(void *arg, const struct option *o)
{
	FILE *out = arg;

	fputs(".TP\n", out);
	if (o->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", out);
	man_text(out, o->name);
	fputs("\\fR", out);
	if (o->argument) {
		fputs(" \\fI", out);
		man_text(out, o->argument);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	man_text(out, o->help);
	fputc('\n', out);
}

static void man_exit_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n0: healthy, or done. 1: a finding or a difference. 2: could not "
	      "tell, or bad usage.\n",
	      out);
}

static void man_overview(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	fputs(".TH ZSCOPE 1\n.SH NAME\nzscope \\- why is this Linux node sick?\n.SH SYNOPSIS\n.B "
	      "zscope\n"
	      "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\nWithout a command, zscope "
	      "runs \\fBcheck\\fR.\n"
	      ".SH COMMANDS\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		fprintf(out, ".TP\n\\fBzscope\\-%s\\fR(1)\n", all[i]->name);
		man_text(out, all[i]->summary);
		fputc('\n', out);
	}
	man_exit_status(out);
}

static void man_lines(FILE *out, const char *text)
{
	fputs(".nf\n", out);
	man_text(out, text);
	fputs("\n.fi\n", out);
}

void help_man(FILE *out, const struct command *c)
{
	if (!c) {
		man_overview(out);
		return;
	}
	fprintf(out, ".TH ZSCOPE\\-%s 1\n.SH NAME\nzscope\\-%s \\- ", c->name, c->name);
	man_text(out, c->summary);
	fprintf(out, "\n.SH SYNOPSIS\n.B zscope %s\n[\\fIOPTIONS\\fR] ", c->name);
	man_text(out, c->arguments);
	fputs("\n.SH DESCRIPTION\n", out);
	man_text(out, c->description);
	fputs("\n.SH OPTIONS\n", out);
	command_each_option(c, man_option, out);
	fputs(".SH EXAMPLES\n", out);
	man_lines(out, c->examples);
	man_exit_status(out);
	fputs(".SH SEE ALSO\n.BR zscope (1)\n", out);
}
