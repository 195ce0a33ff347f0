/* Notes of people for the recording (`zscope note`). A store has one writer, the recorder; notes
 * are left as small files beside the segments, shown at once, and taken into the recording by the
 * recorder within a second. */
#pragma once

#include "err.h"
#include "rec_event.h"

/* Makes DIR/notes (0700) when it is missing. */
int note_spool_put(const char *dir, const struct rec_event *event, struct err *err);
/* Calls back for each note, oldest first; `take` removes those for which it returned 0. */
int note_spool_each(const char *dir, bool take,
		    int (*each)(void *arg, const struct rec_event *event), void *arg,
		    struct err *err);
