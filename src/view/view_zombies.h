/* Zombies for people and for machines; the contract's `zombies` object. */
#pragma once

#include <stdio.h>

#include "census.h"
#include "census_summary.h"
#include "churn_summary.h"
#include "json.h"
#include "offer.h"
#include "terminal.h"
#include "zombie.h"

struct view_zombies {
	const struct offer *offer;
	const struct census_summary *summary;
	const struct census_totals *totals; /* NULL = from a recording */
	const struct zombie_files *files;   /* NULL = pins were not asked for */
	size_t most_files;
	const char *below; /* the part of the host that was asked for; NULL = all of it */
	const char *kept;  /* "recorded", "captured": it is of its time_ns; NULL = of now */
	const struct churn_summary
		*churn; /* how often each owner makes cgroups; NULL = not known */
};

/* Seconds from one cgroup of the owner to the next; 0 = not known. */
double view_zombies_every(const struct view_zombies *v, const char *owner);

/* Members cgroup, tracked ... groups, files; the caller opens and closes the object and adds
 * unknown. */
void view_zombies_json(struct json *j, const struct view_zombies *v);
void view_zombies_text(FILE *out, const struct terminal *term, const struct view_zombies *v);
/* One element of `zombies`; now_ns gives its age. scratch is memory that the next call uses again.
 */
void view_zombie_json(struct json *j, const struct zombie *z, const struct zombie_files *files,
		      uint64_t now_ns, struct buf *scratch);
/* The largest by name, of a census that was kept: the elements of an array. */
void view_zombie_names_json(struct json *j, const struct census_summary *s);
/* What a file is called in a line of text. */
void view_zombie_file_label(struct buf *text, const struct zombie_file *f);
/* Files that hold zombies, those that hold most first; at most `most`. */
void view_zombie_files_json(struct json *j, const struct zombie_files *files, size_t most);
/* Indexes of the files in that order; malloc'ed, NULL when there are none. */
size_t *view_zombie_files_order(const struct zombie_files *files);
