/* Commands and their options: one table row gives parsing, --help, the man page and shell
 * completion.
 *
 * To add a command: write cmd_NAME.c with a `const struct command cmd_NAME`, declare it in
 * commands.h, add it to the table in commands.c and the file to meson.build. The lint test fails
 * when a command lacks a summary, a description, an example or --json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "root.h"
#include "terminal.h"

enum exit_status {
	STATUS_OK = 0,      /* healthy, done */
	STATUS_FINDING = 1, /* a finding, a difference */
	STATUS_UNKNOWN = 2, /* could not tell, bad usage */
};

enum option_type {
	OPTION_FLAG,     /* bool */
	OPTION_TEXT,     /* const char *, NULL = not given */
	OPTION_NUMBER,   /* struct option_number */
	OPTION_DURATION, /* struct option_number, nanoseconds */
	OPTION_TIME,     /* struct option_number, nanoseconds since the epoch */
};

struct option_number {
	uint64_t value;
	bool set;
	bool bare; /* given without its number, where the argument is in brackets: "[PID]" */
};

struct option {
	const char *name; /* without the dashes */
	char letter;      /* 0 = none */
	enum option_type type;
	const char *argument; /* "DIR", "N" ... for the help; for choices "a|b|c", which is then
				 checked */
	size_t offset;        /* into the command's option struct */
	const char *help;
};

/* Options that many commands share; a command says which in `common`. */
enum common_options {
	COMMON_JSON = 1,    /* --json */
	COMMON_ROOT = 2,    /* --root DIR */
	COMMON_STORE = 4,   /* --store DIR */
	COMMON_WINDOW = 8,  /* --at, --for, --from, --to */
	COMMON_MOMENT = 16, /* --at is a moment in the window of --from and --to */
};

struct common {
	bool json;
	const char *root;
	const char *store; /* NULL = not given; see STORE_DEFAULT */
	const char *color;
	struct option_number at, length, from, to;
	bool help;
};

#define STORE_DEFAULT "/var/lib/zombiescope"

struct invocation {
	const struct command *command;
	struct common common;
	const char
		*store; /* the recording to use: --store, else that of --root, else of this host */
	const char *root_name; /* the file that common.root was unpacked from; NULL = none */
	void *options;         /* zeroed, then filled: the command's own struct */
	char **args;           /* what is left after options */
	size_t n_args;
	uint64_t now_ns;
	struct terminal out, diag; /* of stdout and stderr */
};

struct command {
	const char *name;
	const char *summary;     /* one line, lower case, no full stop */
	const char *arguments;   /* "" or "FILE..." for the synopsis */
	const char *description; /* paragraphs, plain text */
	const char *examples;    /* "zscope cores --hot\n..." */
	unsigned common;
	const struct option *options;
	size_t n_options;
	size_t options_size;
	bool hidden;
	/* Returns an exit status; or a negative errno with err set, which main prints as one line,
	 * status 2. */
	int (*run)(struct invocation *in, struct err *err);
	/* For output that somebody else's convention rules: tell on stdout that it could not be
	 * done, and return the exit status for it; 0 = not asked for, main tells it. Also called
	 * when the words themselves are wrong. NULL = none. */
	int (*fail)(const struct invocation *in, const struct err *err);
};

#define OPTION(struct_, member, name_, letter_, type_, argument_, help_)                \
	{                                                                               \
		.name = name_, .letter = letter_, .type = type_, .argument = argument_, \
		.offset = offsetof(struct struct_, member), .help = help_,              \
	}

/* Parse argv (without the command's name) into *ret, which also after an error holds what was
 * understood: the error is told in the form that was asked for. ret->options is malloc'ed, or NULL:
 * free it in any case. */
int command_parse(const struct command *command, int argc, char **argv, uint64_t now_ns,
		  struct invocation *ret, struct err *err);
/* Call back for the common options this command takes, then its own. */
void command_each_option(const struct command *command,
			 void (*each)(void *arg, const struct option *option), void *arg);
/* The tree of --root, which is named in messages as the user gave it. */
int command_root(const struct invocation *in, struct root *ret, struct err *err);
/* Time between two live readings that are compared: 1 s unless given. */
int command_interval(const struct option_number *given, uint64_t *ret_ns, struct err *err);
/* The window that --at/--for/--from/--to name; without any, [span_from, span_to). --for defaults to
 * 1 s after --at. An end that is not given is that of the span; where the one that is given lies
 * beyond it, the window is that moment alone and has no length: the reader of the recording, which
 * knows its name, tells that it is outside. */
int command_window(const struct invocation *in, uint64_t span_from_ns, uint64_t span_to_ns,
		   uint64_t *ret_from_ns, uint64_t *ret_to_ns, struct err *err);
