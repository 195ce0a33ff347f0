/* What an import did: files, samples, times and where they come from, what was damaged. */
#pragma once

#include <stdio.h>

#include "envelope.h"
#include "import_batch.h"
#include "terminal.h"

void view_import_text(FILE *out, const struct import_batch *batch, const char *store);
void view_import_json(FILE *out, const struct import_batch *batch, const struct envelope *envelope,
		      const char *store, uint64_t now_ns);
/* One line that is drawn again and again; a terminal only. */
void view_import_progress(FILE *out, const struct terminal *terminal, const char *path, size_t file,
			  size_t files, uint64_t done, uint64_t total);
void view_import_progress_end(FILE *out, const struct terminal *terminal);
