#include <string.h>

#include "commands.h"
#include "help.h"

static void completion_word(void *arg, const struct option *o)
{
	fprintf(arg, " --%s", o->name);
}

static void completion_names(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	for (size_t i = 0; i < n; i++)
		if (!all[i]->hidden)
			fprintf(out, "%s%s", i ? " " : "", all[i]->name);
}

void help_bash(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	fputs("# bash completion for zscope\n_zscope() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "words\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"",
	      out);
	completion_names(out);
	fputs("\"\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "\t\t%s) words=\"", all[i]->name);
		command_each_option(all[i], completion_word, out);
		fputs("\" ;;\n", out);
	}
	fputs("\t\tesac\n\tfi\n\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\t[ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "
	      "\"$cur\")\n}\n"
	      "complete -o filenames -F _zscope zscope\n",
	      out);
}

/* Text inside '...[...]' of _arguments. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void zsh_option(void *arg, const struct option *o)
{
	FILE *out = arg;

	fprintf(out, " \\\n\t\t\t'--%s[", o->name);
	zsh_text(out, o->help);
	fputc(']', out);
	if (o->argument) {
		fputc(':', out);
		zsh_text(out, o->argument);
		fputs(":_files", out);
	}
	fputc('\'', out);
}

void help_zsh(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	fputs("#compdef zscope\nif (( CURRENT == 2 )); then\n\tlocal -a commands=(", out);
	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		fprintf(out, "\n\t\t'%s:", all[i]->name);
		zsh_text(out, all[i]->summary);
		fputc('\'', out);
	}
	fputs(")\n\t_describe command commands\nelse\n\tcase $words[2] in\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "\t%s) shift words; (( CURRENT-- )); _arguments", all[i]->name);
		command_each_option(all[i], zsh_option, out);
		fputs(" \\\n\t\t\t'*:file:_files' ;;\n", out);
	}
	fputs("\tesac\nfi\n", out);
}

static void fish_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

struct fish_arg {
	FILE *out;
	const char *command;
};

static void fish_option(void *arg, const struct option *o)
{
	struct fish_arg *a = arg;

	fprintf(a->out, "complete -c zscope -n '__fish_seen_subcommand_from %s' -l %s", a->command,
		o->name);
	if (o->letter)
		fprintf(a->out, " -s %c", o->letter);
	fprintf(a->out, "%s -d ", o->argument ? " -r" : "");
	fish_quoted(a->out, o->help);
	fputc('\n', a->out);
}

void help_fish(FILE *out)
{
	size_t n;
	const struct command *const *all = commands_all(&n);

	for (size_t i = 0; i < n; i++) {
		if (all[i]->hidden)
			continue;
		fprintf(out, "complete -c zscope -n __fish_use_subcommand -a %s -d ", all[i]->name);
		fish_quoted(out, all[i]->summary);
		fputc('\n', out);
		struct fish_arg arg = { out, all[i]->name };
		command_each_option(all[i], fish_option, &arg);
	}
}
