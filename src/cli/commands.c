#include "commands.h"

#include <string.h>

#include "auto.h"
#include "text.h"

/* One a line, in the order of --help. */
/* clang-format off */
static const struct command *const table[] = {
	&cmd_check,
	&cmd_why,
	&cmd_zombies,
	&cmd_cores,
	&cmd_record,
	&cmd_events,
	&cmd_flame,
	&cmd_heat,
	&cmd_diff,
	&cmd_audit,
	&cmd_fix,
	&cmd_purge,
	&cmd_validate,
	&cmd_undo,
	&cmd_report,
	&cmd_serve,
	&cmd_metrics,
	&cmd_import,
	&cmd_export,
	&cmd_capture,
	&cmd_note,
	&cmd_lab,
	&cmd_version,
	&cmd_generate,
};
/* clang-format on */

const struct command *const *commands_all(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(table);
	return table;
}

const struct command *commands_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	return NULL;
}

const char *commands_nearest(const char *name)
{
	const char *nearest = NULL;
	unsigned least = 3; /* more than two slips: another word */

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		unsigned slips = text_slips(table[i]->name, name);
		if (!table[i]->hidden && slips < least) {
			least = slips;
			nearest = table[i]->name;
		}
	}
	return nearest;
}
