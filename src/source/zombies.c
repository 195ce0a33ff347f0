#include "zombies.h"

#include <errno.h>
#include <string.h>

#include "cgroup_counts.h"
#include "text.h"
#include "timefmt.h"
#include "zombies_below.h"

struct taking {
	const struct zombies_options *options;
	struct zombie_files *files;
	struct census_summary *summary;
	uint64_t missing_lru, missing_split, missing_slab, missing_swap;
};

static int take_zombie(void *arg, const struct zombie *z)
{
	struct taking *t = arg;

	if (!census_summary_add(t->summary, z))
		return -ENOMEM;
	t->summary->dying++;
	t->missing_lru += !(z->have & ZOMBIE_LRU);
	t->missing_split += !(z->have & ZOMBIE_SPLIT);
	t->missing_slab += !(z->have & ZOMBIE_SLAB);
	t->missing_swap += !(z->have & ZOMBIE_SWAP);
	if (!t->options->each || !t->options->lives)
		return t->options->each ? t->options->each(t->options->arg, z, t->files) : 0;
	struct zombie dated = *z;
	cgroup_lives_date(t->options->lives, &dated);
	return t->options->each(t->options->arg, &dated, t->files);
}

/* The numbers that the kernel's own files give. */
static void read_counts(const struct root *root, const struct offer *offer, struct tick *tick,
			struct unknowns *unknowns)
{
	AUTO_BUF struct buf text = { 0 };
	struct cgroup_counts counts = { 0 };

	cgroup_counts_open(&counts, root, offer);
	cgroup_counts_read(&counts, root, offer, &text, tick, unknowns);
	cgroup_counts_close(&counts);
}

static void take_kernel_count(const struct rec_cgroups *row, struct census_summary *s)
{
	bool v2 = row->memory == CGROUP_MEMORY_V2;

	if (v2 && row->have & REC_CGROUPS_DYING_MEMORY)
		s->kernel_count = row->dying_memory;
	else if (v2 && row->have & REC_CGROUPS_DYING_DESCENDANTS)
		s->kernel_count = row->dying_descendants;
	else if (!v2 && row->have & REC_CGROUPS_TRACKED)
		s->kernel_count = row->tracked;
	else
		return;
	s->kernel_counts_dying = v2;
	s->have |= CENSUS_KERNEL_COUNT;
}

/* Without the census: counts only. */
static void take_counts(const struct rec_cgroups *row, struct census_summary *s)
{
	if (row->have & REC_CGROUPS_TRACKED) {
		s->tracked = row->tracked;
		s->have |= CENSUS_TRACKED;
	}
	if (row->have & REC_CGROUPS_LIVE) {
		s->live = row->live;
		s->have |= CENSUS_LIVE;
	}
	if (row->have & REC_CGROUPS_DYING) {
		bool part = s->have & CENSUS_PART;
		*(part ? &s->host_dying : &s->dying) = row->dying;
		s->have |= part ? CENSUS_HOST_DYING : CENSUS_DYING;
	}
	if (row->memory == CGROUP_MEMORY_V2)
		s->method = CENSUS_BY_CGROUP_STAT;
	else if (s->have & CENSUS_TRACKED)
		s->method = CENSUS_BY_PROC_CGROUPS;
}

static void read_host_memory(const struct root *root, struct census_summary *s)
{
	AUTO_BUF struct buf text = { 0 };
	uint64_t kilobytes;

	if (root_read(root, "proc/meminfo", ROOT_FILE_CAP, &text, NULL) < 0)
		return;
	if (text_key_u64(buf_str(&text), "Percpu:", &kilobytes) == 0) {
		s->percpu_bytes = kilobytes * 1024;
		s->have |= CENSUS_PERCPU;
	}
	if (text_key_u64(buf_str(&text), "SUnreclaim:", &kilobytes) == 0) {
		s->slab_host_bytes = kilobytes * 1024;
		s->have |= CENSUS_SLAB;
	}
}

static void name_missing(const struct taking *t, const struct offer *offer,
			 struct unknowns *unknowns)
{
	if (t->missing_lru)
		unknowns_add(unknowns, "bytes",
			     "this kernel's BTF has no LRU sizes per memory cgroup");
	if (t->missing_split)
		unknowns_add(unknowns, "shmem_bytes",
			     t->options->want & (CENSUS_WANT_PINS | CENSUS_WANT_SPLIT)
				     ? "anon_bytes neither: lists of pages changed while they were "
				       "read"
				     : "anon_bytes neither: --list or --pins tells anonymous and "
				       "shared memory apart");
	if (t->missing_slab)
		unknowns_add(unknowns, "slab_bytes",
			     offer->memory == CGROUP_MEMORY_V2
				     ? "cgroup v2 keeps no kernel-memory counter per cgroup"
				     : "this kernel keeps no kernel-memory counter per cgroup");
	if (t->missing_swap)
		unknowns_add(unknowns, "swap_bytes",
			     "this kernel keeps no swap counter per cgroup");
}

/* Nothing was found below: a cgroup without zombies, or none at all? */
static int judge_empty(const struct root *root, const struct offer *offer, const char *below,
		       struct unknowns *unknowns, struct err *err)
{
	int lives = zombies_below_lives(root, offer, below);

	if (lives == 0)
		return err_set(err, -ENOENT, "no such cgroup, live or zombie: %s", below);
	if (lives < 0)
		unknowns_add(unknowns, "whether there is such a cgroup",
			     "%s has no zombies, and live cgroups are not visible from here",
			     below);
	return 0;
}

static int take_census(struct census *census, const struct zombies_options *options,
		       const struct offer *offer, struct zombie_files *files,
		       struct census_summary *s, struct census_totals *totals,
		       struct unknowns *unknowns, struct err *err)
{
	struct taking t = { .options = options, .files = files, .summary = s };

	s->dying = 0;
	int r = census_walk(census, options->below, files, take_zombie, &t, unknowns, totals, err);
	if (r < 0)
		return r;
	if (files)
		zombie_files_finish(files);
	census_summary_finish(s);
	s->method = CENSUS_BY_BPF;
	s->live = totals->live;
	s->host_dying = totals->dying;
	s->tracked = totals->live + totals->dying;
	s->max_serial = totals->max_serial;
	s->have |= CENSUS_COUNT_KNOWN | CENSUS_GROUPS | CENSUS_SERIAL;
	if (s->have & CENSUS_PART)
		s->have |= CENSUS_HOST_DYING;
	if (!t.missing_lru)
		s->have |= CENSUS_BYTES;
	/* a sum in which one is missing is none */
	if (!t.missing_split)
		s->have |= CENSUS_SPLIT;
	if (!t.missing_slab)
		s->have |= CENSUS_SLAB_SUM;
	if (!t.missing_swap)
		s->have |= CENSUS_SWAP_SUM;
	if (options->want & CENSUS_WANT_PINS)
		s->have |= CENSUS_PINNED;
	name_missing(&t, offer, unknowns);
	return 0;
}

/* Without the census: what the kernel's files tell of all of it, or of the part. */
static void take_files(const struct root *root, const struct offer *offer,
		       const struct zombies_options *options, const struct rec_cgroups *row,
		       struct census_summary *s, struct unknowns *unknowns)
{
	bool v2 = row->memory == CGROUP_MEMORY_V2;
	struct err why = { 0 };
	int r = 0;

	take_counts(row, s);
	if (v2 && (options->below || options->live_too))
		r = zombies_below_stat(root, offer, options->below ? options->below : "/", s, &why);
	if (options->below && (!v2 || r < 0))
		unknowns_add(unknowns, "zombies below the given path", "%s",
			     v2 ? why.text
				: "without the census only the whole host can be counted");
}

static int read_part(struct census *census, const char *why_not, const struct root *root,
		     const struct offer *offer, const struct zombies_options *options,
		     struct zombie_files *files, struct census_summary *ret,
		     struct census_totals *ret_totals, struct unknowns *unknowns, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns counts_unknown = { 0 };
	AUTO_TICK struct tick tick = { 0 };
	int r = 0;

	*ret = (struct census_summary){ .time_ns = clock_real_ns(),
					.have = options->below ? CENSUS_PART : 0 };
	*ret_totals = (struct census_totals){ 0 };
	read_host_memory(root, ret);
	if (census)
		r = take_census(census, options, offer, files, ret, ret_totals, unknowns, err);
	if (r == 0 && census && options->below && !ret->dying && !options->may_be_gone &&
	    ret_totals->complete)
		r = judge_empty(root, offer, options->below, unknowns, err);
	if (r)
		return r;
	/* after the census, so that both numbers are close in time */
	read_counts(root, offer, &tick, &counts_unknown);
	if (!tick.rows[REC_CGROUPS].len)
		return 0;
	const struct rec_cgroups *row = TICK_ROW(&tick, REC_CGROUPS, rec_cgroups, 0);
	take_kernel_count(row, ret);
	if (ret->method == CENSUS_BY_BPF)
		return 0;
	take_files(root, offer, options, row, ret, unknowns);
	unknowns_add(unknowns,
		     ret->have & CENSUS_GROUPS ? "names, bytes and pins of zombies"
					       : "names, owners, bytes and pins of zombies",
		     "%s", why_not);
	vec_foreach (&counts_unknown.list, u)
		unknowns_add(unknowns, u->what, "%s", u->why);
	return 0;
}

int zombies_read_with(struct census *census, const char *why_not, const struct root *root,
		      const struct offer *offer, const struct zombies_options *options,
		      struct zombie_files *files, struct census_summary *ret,
		      struct census_totals *ret_totals, struct unknowns *unknowns, struct err *err)
{
	struct zombies_options part = *options;
	AUTO_BUF struct buf below = { 0 };

	if (part.below) {
		int r = zombies_below_path(offer, part.below, &below, err);
		if (r < 0)
			return r;
		part.below = strcmp(buf_str(&below), "/") == 0 ? NULL : buf_str(&below);
	}
	return read_part(census, why_not, root, offer, &part, files, ret, ret_totals, unknowns,
			 err);
}

int zombies_read(const struct root *root, const struct offer *offer,
		 const struct zombies_options *options, struct zombie_files *files,
		 struct census_summary *ret, struct census_totals *ret_totals,
		 struct unknowns *unknowns, struct err *err)
{
	struct census *census = NULL;
	struct err load = { 0 };

	(void)census_open(root, offer, options->want, &census, &load);
	int r = zombies_read_with(census, load.text, root, offer, options, files, ret, ret_totals,
				  unknowns, err);
	census_close(census);
	return r;
}
