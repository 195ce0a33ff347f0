#include "proc_cgroups.h"

#include <errno.h>

#include "auto.h"
#include "keys.h"
#include "text.h"

int proc_cgroups_parse(const char *text, struct rec_cgroups *ret, struct err *err)
{
	const char *line = text;
	uint64_t tracked;

	while (line && !text_starts(line, "memory\t"))
		line = text_next_line(line);
	if (!line)
		return err_set(err, -ENODATA, "/proc/cgroups: no memory controller");
	/* name, hierarchy, number of cgroups (zombies included), enabled */
	int r = text_column_u64(line, 2, &tracked);
	if (r < 0)
		return err_set(err, r, "/proc/cgroups: memory line without a count");
	ret->tracked = tracked;
	ret->have |= REC_CGROUPS_TRACKED;
	return 0;
}

int cgroup_stat_parse(const char *text, struct rec_cgroups *ret, struct err *err)
{
	static const struct key_field fields[] = {
		KEY_FIELD(rec_cgroups, descendants, REC_CGROUPS_DESCENDANTS, "nr_descendants", 1),
		KEY_FIELD(rec_cgroups, dying_descendants, REC_CGROUPS_DYING_DESCENDANTS,
			  "nr_dying_descendants", 1),
		KEY_FIELD(rec_cgroups, dying_memory, REC_CGROUPS_DYING_MEMORY,
			  "nr_dying_subsys_memory", 1),
	};
	struct rec_cgroups found = { 0 };

	if (!keys_parse(text, ' ', fields, ARRAY_LEN(fields), &found))
		return err_set(err, -ENODATA, "cgroup.stat: no count of descendants");
	ret->descendants = found.descendants;
	ret->dying_descendants = found.dying_descendants;
	ret->dying_memory = found.dying_memory;
	ret->have |= found.have;
	return 0;
}
