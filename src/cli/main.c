#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "bundle.h"
#include "commands.h"
#include "help.h"
#include "root.h"
#include "timefmt.h"

static enum term_color_mode main_color_mode(const char *text)
{
	if (text && strcmp(text, "always") == 0)
		return TERM_COLOR_ALWAYS;
	return text && strcmp(text, "never") == 0 ? TERM_COLOR_NEVER : TERM_COLOR_AUTO;
}

/* in is NULL where there is no command yet. */
static int main_fail(const struct invocation *in, const struct err *err)
{
	fflush(stdout);
	int status = in && in->command->fail ? in->command->fail(in, err) : 0;
	if (!status || fflush(stdout) != 0 || ferror(stdout))
		fprintf(stderr, "zscope: %s\n", err->text);
	return status ? status : STATUS_UNKNOWN;
}

/* Output that could not be written is an error, not a success: disk full. A reader that has gone
 * (`| head -1`) has what it wanted. */
static int main_finish(const struct invocation *in, int status)
{
	struct err err;

	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return status;
	err_set(&err, -errno, "writing the output: %s", strerror(errno));
	return main_fail(in, &err);
}

/* --root FILE.tar.zst: a capture, looked at in a temporary directory. */
static int main_unpack_root(struct invocation *in, struct bundle *ret, struct err *err)
{
	struct stat st;

	if (!in->common.root || stat(in->common.root, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	int r = bundle_open(in->common.root, ret, err);
	if (r < 0)
		return r;
	in->root_name = in->common.root;
	in->common.root = ret->dir;
	return 0;
}

/* What the user gave is named, not where it lies for the moment. */
static void main_name_root(const struct invocation *in, struct err *err)
{
	const char *dir = in->common.root;
	char *at = in->root_name ? strstr(err->text, dir) : NULL;
	struct err told = *err;

	if (at)
		err_set(err, told.code, "%.*s%s%s", (int)(at - err->text), told.text, in->root_name,
			told.text + (at - err->text) + strlen(dir));
}

/* The recording that lies in the tree of --root; this host's would answer for the wrong one. The
 * path is resolved inside of the tree, where links cannot lead out of it. */
static int main_find_store(struct invocation *in, char ret_path[PATH_MAX], struct err *err)
{
	const struct common *c = &in->common;
	AUTO_ROOT struct root root = { .fd = -1 };
	char link[64];

	if (c->store || !c->root || root_open(c->root, &root, NULL) < 0 || root.live)
		return 0;
	AUTO_CLOSE int fd = root_open_dir(&root, STORE_DEFAULT, 0, NULL);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : readlink(link, ret_path, PATH_MAX - 1);
	in->store = ret_path;
	ret_path[n > 0 ? n : 0] = '\0';
	if (n <= 0 && (c->at.set || c->from.set || c->to.set || c->length.set))
		return err_set(err, -ENOENT, "%s: no recording in it (" STORE_DEFAULT ")",
			       in->root_name ? in->root_name : c->root);
	return 0;
}

static int main_run(const struct command *command, int argc, char **argv)
{
	struct invocation in;
	struct err err = { 0 };

	int r = command_parse(command, argc, argv, clock_real_ns(), &in, &err);
	AUTO_FREE void *options = in.options;
	(void)options;
	if (r < 0)
		return main_fail(&in, &err);
	if (in.common.help) {
		help_command(stdout, command);
		return main_finish(&in, STATUS_OK);
	}
	AUTO(bundle_close) struct bundle unpacked = { 0 };
	if (main_unpack_root(&in, &unpacked, &err) < 0)
		return main_fail(&in, &err);
	char store[PATH_MAX];
	if (main_find_store(&in, store, &err) < 0)
		return main_fail(&in, &err);
	in.out = terminal_of(stdout, main_color_mode(in.common.color));
	in.diag = terminal_of(stderr, main_color_mode(in.common.color));
	r = command->run(&in, &err);
	if (r >= 0)
		return main_finish(&in, r);
	main_name_root(&in, &err);
	return main_fail(&in, &err);
}

static int main_unknown_command(const char *name)
{
	const char *nearest = commands_nearest(name);
	struct err err;

	if (nearest)
		err_set(&err, -EINVAL,
			"unknown command '%s': did you mean '%s'? See 'zscope --help'", name,
			nearest);
	else
		err_set(&err, -EINVAL, "unknown command '%s': see 'zscope --help'", name);
	return main_fail(NULL, &err);
}

static int main_help(const char *name)
{
	const struct command *about = name ? commands_find(name) : NULL;

	if (name && !about)
		return main_unknown_command(name);
	if (about)
		help_command(stdout, about);
	else
		help_overview(stdout);
	return main_finish(NULL, STATUS_OK);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
			 strcmp(argv[1], "help") == 0))
		return main_help(argc > 2 ? argv[2] : NULL);
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return main_run(&cmd_version, 0, argv);
	bool named = argc > 1 && argv[1][0] != '-';
	const char *name = named ? argv[1] : "check";
	const struct command *command = commands_find(name);
	if (!command)
		return main_unknown_command(name);
	int skip = named ? 2 : 1;
	return main_run(command, argc - skip, argv + skip);
}
