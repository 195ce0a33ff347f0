/* /tmp/perf-PID.map: names of code that a JIT made (node, java agents, .NET). */
#pragma once

#include "symtab.h"

/* Lines "START SIZE name", hex without 0x; other lines are skipped. The number of symbols. */
size_t perf_map_parse(const char *text, struct symtab *out);
