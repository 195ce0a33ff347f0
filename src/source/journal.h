/* The journal's memory of restarts: it outlives counter resets, reboots and our own start. Reads
 * the newest entries first, bounded in number and time. Live host only. */
#pragma once

#include "err.h"
#include "rec_units.h"

/* Fills seen, first_ns, last_ns, cadence_ns (and the exit of the main process where the sweep could
 * not) of the units in the set; adds units that only the journal knows. */
int journal_read(struct rec_unit_set *set, struct err *err);
/* The same from the journal files in a directory. */
int journal_read_directory(const char *dir, struct rec_unit_set *set, struct err *err);
/* Pure: does a message of systemd 219 (no MESSAGE_ID for restarts) announce one? */
bool journal_text_restart(const char *message);
/* Pure: median of the distances of n ascending times; 0 = fewer than two. */
uint64_t journal_cadence(const uint64_t *times_ns, size_t n);
/* Pure: "Main process exited, code=exited, status=5/NOTINSTALLED" of any version; code as in
 * rec_service. */
bool journal_text_exit(const char *message, uint64_t *ret_code, uint64_t *ret_status);
