#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

#define COMMON(member, name_, letter_, type_, argument_, help_) \
	OPTION(common, member, name_, letter_, type_, argument_, help_)

/* Kept apart by who takes them; `bit` 0 = every command. */
static const struct {
	unsigned bit;
	struct option option;
} common_table[] = {
	{ COMMON_JSON, COMMON(json, "json", 0, OPTION_FLAG, NULL, "print JSON instead of text") },
	{ COMMON_ROOT,
	  COMMON(root, "root", 0, OPTION_TEXT, "DIR",
		 "look at the tree below DIR (a mounted image, a captured host) or into a capture "
		 "(--root FILE) instead of /") },
	{ COMMON_STORE, COMMON(store, "store", 0, OPTION_TEXT, "DIR",
			       "the recording to use (default " STORE_DEFAULT ")") },
	{ COMMON_WINDOW,
	  COMMON(at, "at", 0, OPTION_TIME, "TIME",
		 "look at a recording: the second at TIME (03:12:07, -15m, @EPOCH, RFC 3339)") },
	{ COMMON_WINDOW, COMMON(length, "for", 0, OPTION_DURATION, "DURATION",
				"length of the window that --at or --from starts (5s, 2m)") },
	{ COMMON_WINDOW, COMMON(from, "from", 0, OPTION_TIME, "TIME", "start of the window") },
	{ COMMON_WINDOW,
	  COMMON(to, "to", 0, OPTION_TIME, "TIME", "end of the window (default: the end)") },
	{ 0, COMMON(color, "color", 0, OPTION_TEXT, "auto|always|never",
		    "colour in text output (default auto; NO_COLOR is honoured)") },
	{ 0, COMMON(help, "help", 'h', OPTION_FLAG, NULL, "show this help") },
};

void command_each_option(const struct command *command,
			 void (*each)(void *arg, const struct option *option), void *arg)
{
	for (size_t i = 0; i < command->n_options; i++)
		each(arg, &command->options[i]);
	for (size_t i = 0; i < ARRAY_LEN(common_table); i++)
		if (!common_table[i].bit || command->common & common_table[i].bit)
			each(arg, &common_table[i].option);
}

static bool option_is(const struct option *o, const char *name, size_t len, char letter)
{
	if (letter)
		return o->letter == letter;
	return strlen(o->name) == len && memcmp(o->name, name, len) == 0;
}

/* The option of that name, and the struct that its value goes into. */
static const struct option *option_find(struct invocation *in, const char *name, size_t len,
					char letter, void **ret_base)
{
	for (size_t i = 0; i < in->command->n_options; i++) {
		if (option_is(&in->command->options[i], name, len, letter)) {
			*ret_base = in->options;
			return &in->command->options[i];
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(common_table); i++) {
		if (common_table[i].bit && !(in->command->common & common_table[i].bit))
			continue;
		if (option_is(&common_table[i].option, name, len, letter)) {
			*ret_base = &in->common;
			return &common_table[i].option;
		}
	}
	return NULL;
}

static int option_check_choice(const struct option *o, const char *value, struct err *err)
{
	if (!strchr(o->argument, '|') || text_is_choice(o->argument, value))
		return 0;
	return err_set(err, -EINVAL, "--%s takes one of %s, not '%s'", o->name, o->argument, value);
}

static int option_set(const struct option *o, void *base, const char *value, uint64_t now_ns,
		      struct err *err)
{
	void *place = (char *)base + o->offset;
	struct option_number number = { .set = true };
	int r = 0;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)place = true;
		return 0;
	case OPTION_TEXT:
		/* an unset variable in a script: an empty name would mean a place nobody named */
		if (!*value)
			return err_set(err, -EINVAL, "--%s needs %s", o->name, o->argument);
		r = option_check_choice(o, value, err);
		if (r == 0)
			*(const char **)place = value;
		return r;
	case OPTION_NUMBER:
		/* nothing that is counted or numbered here is larger: cores, processes, lines */
		if (text_u64(value, &number.value) < 0 || number.value > UINT32_MAX)
			return err_set(err, -EINVAL, "--%s takes a number, not '%s'", o->name,
				       value);
		break;
	case OPTION_DURATION:
		r = timefmt_parse_duration(value, &number.value, err);
		break;
	case OPTION_TIME:
		r = timefmt_parse(value, now_ns, &number.value, err);
		break;
	}
	if (r < 0)
		return err_prefix(err, r, "--%s", o->name);
	*(struct option_number *)place = number;
	return 0;
}

static bool number_follows(int argc, char **argv, int i)
{
	uint64_t number;
	return i + 1 < argc && text_u64(argv[i + 1], &number) == 0;
}

/* One option word at argv[*i]; moves *i over a value in the next word. */
static int command_parse_option(struct invocation *in, int argc, char **argv, int *i,
				struct err *err)
{
	const char *word = argv[*i];
	bool is_long = word[1] == '-';
	const char *name = word + (is_long ? 2 : 1);
	const char *equals = is_long ? strchr(name, '=') : NULL;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	void *base;
	const struct option *o = option_find(in, name, len, is_long ? 0 : name[0], &base);

	if (!o)
		return err_set(err, -EINVAL, "unknown option '%s': see 'zscope %s --help'", word,
			       in->command->name);
	const char *value = equals ? equals + 1 : !is_long && name[1] ? name + 1 : NULL;
	if (o->type == OPTION_FLAG) {
		if (value)
			return err_set(err, -EINVAL, "--%s takes no value", o->name);
	} else if (!value && o->argument[0] == '[' && !number_follows(argc, argv, *i)) {
		((struct option_number *)((char *)base + o->offset))->bare = true;
		return 0;
	} else if (!value) {
		if (*i + 1 >= argc)
			return err_set(err, -EINVAL, "--%s needs %s", o->name, o->argument);
		value = argv[++*i];
		/* 'record --store --help' is a question, not a directory of that name */
		if (strncmp(value, "--", 2) == 0)
			return err_set(err, -EINVAL,
				       "--%s needs %s, not an option: '%s' (--%s=%s if meant)",
				       o->name, o->argument, value, o->name, value);
	}
	return option_set(o, base, value, in->now_ns, err);
}

/* What is wrong with a window whatever is recorded: told before a recording is looked for. */
static int command_check_window(const struct invocation *in, struct err *err)
{
	const struct common *c = &in->common;

	if (c->at.set && (c->from.set || c->to.set) && !(in->command->common & COMMON_MOMENT))
		return err_set(err, -EINVAL, "--at and --from/--to exclude each other");
	if (c->from.set && c->to.set && c->to.value <= c->from.value)
		return err_set(err, -EINVAL, "the window ends before it starts");
	return 0;
}

/* All words, also behind one that is wrong: of several mistakes the first is told, in the form that
 * any of the words asks for. */
static int command_parse_words(struct invocation *in, int argc, char **argv, struct err *err)
{
	bool only_args = false;
	int first = 0;

	for (int i = 0; i < argc; i++) {
		if (only_args || argv[i][0] != '-' || !argv[i][1]) {
			argv[in->n_args++] = argv[i]; /* never ahead of i */
		} else if (strcmp(argv[i], "--") == 0) {
			only_args = true;
		} else {
			int r = command_parse_option(in, argc, argv, &i, first ? NULL : err);
			first = first ? first : r;
		}
	}
	return first;
}

int command_parse(const struct command *command, int argc, char **argv, uint64_t now_ns,
		  struct invocation *ret, struct err *err)
{
	*ret = (struct invocation){ .command = command, .now_ns = now_ns, .args = argv };
	ret->options = calloc(1, command->options_size + 1);
	if (!ret->options)
		return err_set(err, -ENOMEM, "out of memory");
	int r = command_parse_words(ret, argc, argv, err);
	ret->store = ret->common.store ? ret->common.store : STORE_DEFAULT;
	if (r < 0 || ret->common.help)
		return r;
	if (ret->n_args && !*command->arguments)
		return err_set(err, -EINVAL, "unexpected argument '%s': see 'zscope %s --help'",
			       ret->args[0], command->name);
	return command_check_window(ret, err);
}

/* The end of a window that begins there; of one that is too long, the end of time. */
static uint64_t window_end(uint64_t from_ns, uint64_t length_ns)
{
	return length_ns < UINT64_MAX - from_ns ? from_ns + length_ns : UINT64_MAX;
}

int command_window(const struct invocation *in, uint64_t span_from_ns, uint64_t span_to_ns,
		   uint64_t *ret_from_ns, uint64_t *ret_to_ns, struct err *err)
{
	const struct common *c = &in->common;
	uint64_t from, to;

	if (c->length.set && !c->length.value)
		return err_set(err, -EINVAL, "--for: longer than 0");
	if (c->at.set) {
		from = c->at.value;
		to = window_end(from, c->length.set ? c->length.value : NS_PER_S);
	} else if (c->from.set) {
		from = c->from.value;
		to = c->to.set       ? c->to.value
		     : c->length.set ? window_end(from, c->length.value)
				     : MAX_OF(from, span_to_ns);
	} else {
		to = c->to.set ? c->to.value : span_to_ns;
		from = c->length.set ? to - MIN_OF(to, c->length.value) : MIN_OF(span_from_ns, to);
	}
	*ret_from_ns = from;
	*ret_to_ns = to;
	return 0;
}

int command_root(const struct invocation *in, struct root *ret, struct err *err)
{
	int r = root_open(in->common.root, ret, err);

	if (r < 0 && in->common.root)
		return err_set(err, r,
			       "%s: %s: --root takes the directory of a mounted image or of a "
			       "captured host, or a file that 'zscope capture' wrote",
			       in->common.root, strerror(-r));
	if (r == 0 && in->root_name)
		text_copy(ret->path, sizeof(ret->path), in->root_name);
	return r;
}

int command_interval(const struct option_number *given, uint64_t *ret_ns, struct err *err)
{
	uint64_t ns = given->set ? given->value : NS_PER_S;

	if (ns < 10 * NS_PER_MS)
		return err_set(err, -EINVAL,
			       "--interval: at least 10ms, the kernel counts no finer");
	if (ns > 3600 * NS_PER_S)
		return err_set(err, -EINVAL, "--interval: at most 1h");
	*ret_ns = ns;
	return 0;
}
