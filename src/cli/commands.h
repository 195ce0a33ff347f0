/* The command table. */
#pragma once

#include "command.h"

extern const struct command cmd_audit;
extern const struct command cmd_fix;
extern const struct command cmd_capture;
extern const struct command cmd_check;
extern const struct command cmd_cores;
extern const struct command cmd_export;
extern const struct command cmd_import;
extern const struct command cmd_events;
extern const struct command cmd_note;
extern const struct command cmd_generate;
extern const struct command cmd_lab;
extern const struct command cmd_purge;
extern const struct command cmd_record;
extern const struct command cmd_flame;
extern const struct command cmd_heat;
extern const struct command cmd_diff;
extern const struct command cmd_undo;
extern const struct command cmd_metrics;
extern const struct command cmd_report;
extern const struct command cmd_serve;
extern const struct command cmd_validate;
extern const struct command cmd_version;
extern const struct command cmd_zombies;
extern const struct command cmd_why;

/* In the order of `zscope --help`; *ret_len commands. */
const struct command *const *commands_all(size_t *ret_len);
/* NULL = no such command. */
const struct command *commands_find(const char *name);
/* The command that a mistyped name may have meant; NULL = none is near. */
const char *commands_nearest(const char *name);
