/* Units of an image in the same records that a live manager gives: what their files say. */
#pragma once

#include "rec_units.h"
#include "unit_tree.h"

/* Append every service of the tree (instances that something pulls in too). Defaults of
 * /etc/systemd/system.conf are taken into account. */
int unit_describe_all(struct unit_tree *t, struct rec_unit_set *set, struct err *err);
/* Fill what the manager did not tell of one unit from its files. */
void unit_describe(struct unit_tree *t, const char *name, struct rec_unit_set *set,
		   struct rec_service *u);
