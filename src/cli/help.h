/* --help, man pages and completions, all from the command table. */
#pragma once

#include <stdio.h>

#include "command.h"

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *command);
/* troff: the page of one command, or zscope(1) when command is NULL. */
void help_man(FILE *out, const struct command *command);
void help_bash(FILE *out);
void help_zsh(FILE *out);
void help_fish(FILE *out);
