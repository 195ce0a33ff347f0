#include "cgroup_names.h"

bool cgroup_names_path(struct buf *out, const char *names, size_t len)
{
	/* the root of the hierarchy has an empty name */
	bool whole = len && !names[len - 1] && (len == 1 || !names[len - 2]);
	size_t end = len, before = out->len;

	while (end && names[end - 1]) /* a name that has no end */
		end--;
	if (!whole && end)
		buf_add_str(out, "…");
	end -= whole;
	while (end > 0) {
		size_t start = end - 1;
		while (start > 0 && names[start - 1])
			start--;
		buf_add_char(out, '/');
		buf_add(out, names + start, end - 1 - start);
		end = start;
	}
	if (whole && out->len == before)
		buf_add_char(out, '/');
	return whole;
}
