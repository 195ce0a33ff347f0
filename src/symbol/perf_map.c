#include "perf_map.h"

#include "text.h"

size_t perf_map_parse(const char *text, struct symtab *out)
{
	size_t added = 0;

	for (const char *line = text; line; line = text_next_line(line)) {
		const char *p = line, *end = line + text_line_len(line);
		uint64_t start, size;
		if (p + 2 < end && p[0] == '0' && p[1] == 'x')
			p += 2;
		if (text_take_hex(&p, &start) < 0 || p >= end || *p != ' ')
			continue;
		p = text_skip_blanks(p);
		if (p + 2 < end && p[0] == '0' && p[1] == 'x')
			p += 2;
		if (p >= end || text_take_hex(&p, &size) < 0 || p >= end || *p != ' ' || !size)
			continue;
		p = text_skip_blanks(p);
		if (p < end)
			added += symtab_add(out, start, size, p, (size_t)(end - p), 1, 0);
	}
	return added;
}
