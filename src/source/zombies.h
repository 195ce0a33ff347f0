/* All that is known about this host's zombies, by the best method that works here: the census
 * (BPF), else the kernel's counters. Which method it was, and what it cannot tell, is part of the
 * answer. */
#pragma once

#include "census.h"
#include "census_summary.h"
#include "cgroup_lives.h"
#include "offer.h"
#include "root.h"
#include "unknowns.h"

struct zombies_options {
	unsigned want;     /* enum census_want */
	const char *below; /* NULL = the whole host; as the user gave it */
	bool may_be_gone;  /* neither a live cgroup nor a zombie of that name is no error */
	bool live_too;     /* without a census: read each live cgroup's count, for groups */
	/* Dates and creators for each(); NULL = none are known. */
	const struct cgroup_lives *lives;
	/* Each zombie as it is found; may be NULL. Valid during the call only. */
	int (*each)(void *arg, const struct zombie *z, const struct zombie_files *files);
	void *arg;
};

/* The same with a census that is already open (NULL = there is none, for the reason in why_not). */
int zombies_read_with(struct census *census, const char *why_not, const struct root *root,
		      const struct offer *offer, const struct zombies_options *options,
		      struct zombie_files *files, struct census_summary *ret,
		      struct census_totals *ret_totals, struct unknowns *unknowns, struct err *err);
/* files may be NULL without CENSUS_WANT_PINS. Fails when each() does, and with -ENOENT when there
 * is nothing of the name `below`; everything else is an unknown. */
int zombies_read(const struct root *root, const struct offer *offer,
		 const struct zombies_options *options, struct zombie_files *files,
		 struct census_summary *ret, struct census_totals *ret_totals,
		 struct unknowns *unknowns, struct err *err);
