/* Preset files: which units the vendor or the administrator wants enabled on first boot. Files of
 * all directories are merged by name, the first rule that matches wins, and *no rule means enable*.
 */
#pragma once

#include <stdbool.h>

#include "root.h"
#include "unit_file.h"

struct preset_rule {
	const char *pattern;
	bool enable;
	struct unit_words instances; /* of a template: enable foo@.service a b */
	const char *file;            /* where it stands, for the reason */
	unsigned line;
};

struct presets {
	struct arena arena;
	VEC(struct preset_rule) rules;
};

/* Append the rules of one file. Pure. Lines that are no rule are skipped, as systemd does. */
void presets_parse(const char *text, size_t len, const char *file, struct presets *ret);
/* Read all preset files of the tree; a missing directory is no error. */
int presets_read(const struct root *root, struct presets *ret, struct err *err);
/* Does first boot enable the unit? *ret_rule is the rule that says so, NULL = no rule, hence yes.
 */
bool presets_enable(const struct presets *p, const char *unit, const struct preset_rule **ret_rule);
void presets_free(struct presets *p);

#define AUTO_PRESETS __attribute__((cleanup(presets_free)))
