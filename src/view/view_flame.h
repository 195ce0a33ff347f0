/* Profiles for people and machines: tables, the tree as JSON, and what is missing of it. */
#pragma once

#include <stdio.h>

#include "flame.h"
#include "json.h"
#include "profile.h"
#include "store_reader.h"
#include "terminal.h"

/* Samples lost by the kernel, ticks that never came, samples behind damage: every view of a window
 * says so. */
struct view_profile_gaps {
	uint64_t samples, lost, missing, damaged, idle;
	uint32_t worst_cpu; /* with the most missing ticks */
	uint64_t worst_missing;
};

struct view_profile_gaps view_profile_gaps(const struct profile *p);
/* Nothing when nothing is missing. */
void view_profile_gaps_text(FILE *out, const struct view_profile_gaps *gaps);
void view_profile_gaps_json(struct json *j, const struct view_profile_gaps *gaps);
/* Damage of the store itself. */
void view_losses_text(FILE *out, const struct store_losses *losses);
void view_losses_json(struct json *j, const struct store_losses *losses); /* "losses": [...] */

/* "names": [...], "nodes": [name, depth, total, ...] in preorder; with base_total in a diff. */
void view_flame_json(struct json *j, const struct flame *f, bool diff);
void view_flame_top_text(FILE *out, const struct terminal *term, const struct profile *p,
			 const struct flame_top *top, size_t lines);
void view_flame_top_json(struct json *j, const struct profile *p, const struct flame_top *top,
			 size_t lines);
