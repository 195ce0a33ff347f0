#include "help.h"

#include <string.h>

#include "buf.h"
#include "commands.h"

static void help_option(void *arg, const struct option *o)
{
	AUTO_BUF struct buf head = { 0 };

	if (o->letter)
		buf_addf(&head, "-%c, ", o->letter);
	buf_addf(&head, "--%s", o->name);
	if (o->argument)
		buf_addf(&head, " %s", o->argument);
	fprintf(arg, "  %-28s %s\n", buf_str(&head), o->help);
}

void help_overview(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	fputs("zscope tells why a Linux node is sick: which unit, which process, which kernel "
	      "path, since when.\n"
	      "\n"
	      "usage: zscope [COMMAND] [OPTIONS]      without a command: zscope check\n\n",
	      out);
	for (size_t i = 0; i < n; i++)
		if (!all[i]->hidden)
			fprintf(out, "  %-10s %s\n", all[i]->name, all[i]->summary);
	fputs("\n'zscope COMMAND --help' tells more. Exit status: 0 healthy or done, 1 a finding "
	      "or difference,\n"
	      "2 could not tell or bad usage.\n",
	      out);
}

void help_command(FILE *out, const struct command *c)
{
	fprintf(out, "zscope %s: %s\n\nusage: zscope %s [OPTIONS]%s%s\n\n%s\n", c->name, c->summary,
		c->name, *c->arguments ? " " : "", c->arguments, c->description);
	fputs("\noptions:\n", out);
	command_each_option(c, help_option, out);
	fputs("\nexamples:\n", out);
	for (const char *p = c->examples; *p;) {
		size_t len = strcspn(p, "\n");
		fprintf(out, "  %.*s\n", (int)len, p);
		p += len + (p[len] == '\n');
	}
}
