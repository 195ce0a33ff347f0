/* Every zombie by name, for people: the largest first. Unlike JSON's list it is kept until it can
 * be sorted, some 200 bytes for each. */
#pragma once

#include "terminal.h"
#include "view_zombies.h"

struct view_zombie_row {
	uint64_t bytes, serial;
	size_t at, len; /* in the text */
};

struct view_zombie_list {
	struct buf text;
	VEC(struct view_zombie_row) rows;
};

/* false when out of memory. */
bool view_zombie_list_add(struct view_zombie_list *l, const struct zombie *z,
			  const struct zombie_files *files);
void view_zombie_list_print(FILE *out, const struct terminal *term, struct view_zombie_list *l);
void view_zombie_list_free(struct view_zombie_list *l);
