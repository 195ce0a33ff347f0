#include <errno.h>
#include <string.h>

#include "commands.h"
#include "help.h"

static int generate_run(struct invocation *in, struct err *err)
{
	const char *what = in->n_args ? in->args[0] : "";

	if (strcmp(what, "man") == 0) {
		const struct command *c = in->n_args > 1 ? commands_find(in->args[1]) : NULL;
		if (in->n_args > 1 && !c)
			return err_set(err, -EINVAL, "no command '%s'", in->args[1]);
		help_man(stdout, c);
	} else if (strcmp(what, "bash") == 0) {
		help_bash(stdout);
	} else if (strcmp(what, "zsh") == 0) {
		help_zsh(stdout);
	} else if (strcmp(what, "fish") == 0) {
		help_fish(stdout);
	} else if (strcmp(what, "commands") == 0) {
		size_t n;
		const struct command *const *all = commands_all(&n);
		for (size_t i = 0; i < n; i++)
			if (!all[i]->hidden)
				puts(all[i]->name);
	} else {
		return err_set(err, -EINVAL, "generate takes man, bash, zsh, fish or commands");
	}
	return STATUS_OK;
}

const struct command cmd_generate = {
	.name = "generate",
	.summary = "print a man page or a shell completion",
	.arguments = "man [COMMAND] | bash | zsh | fish | commands",
	.description = "Prints what the packages install: man pages and completions, made from the "
		       "same table as --help.",
	.examples = "zscope generate man cores | man -l -\n",
	.hidden = true,
	.run = generate_run,
};
