#include "proc_maps.h"

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

/* 55d0-55d1 r-xp 00002000 fe:01 1234    /usr/bin/x */
static bool parse_line(const char *line, const char *end, struct proc_maps_entry *ret)
{
	const char *p = line;
	uint64_t major, minor;

	if (text_take_hex(&p, &ret->start) < 0 || *p++ != '-' || text_take_hex(&p, &ret->end) < 0 ||
	    *p != ' ' || end - p < 6 || p[3] != 'x')
		return false;
	p += 6; /* " r-xp " */
	if (text_take_hex(&p, &ret->file_offset) < 0 || *p++ != ' ' ||
	    text_take_hex(&p, &major) < 0 || *p++ != ':' || text_take_hex(&p, &minor) < 0 ||
	    *p++ != ' ' || text_take_u64(&p, &ret->inode) < 0)
		return false;
	ret->device = major << 32 | minor;
	p = text_skip_blanks(p);
	if (p > end)
		p = end;
	ret->path = p;
	ret->path_len = (uint32_t)(end - p);
	return ret->start < ret->end;
}

unsigned proc_maps_parse(const char *text,
			 void (*each)(void *arg, const struct proc_maps_entry *entry), void *arg)
{
	unsigned n = 0;

	for (const char *line = text; line; line = text_next_line(line)) {
		struct proc_maps_entry entry;
		if (!parse_line(line, line + text_line_len(line), &entry))
			continue;
		each(arg, &entry);
		n++;
	}
	return n;
}
