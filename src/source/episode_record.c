#include <string.h>

#include "episode.h"

bool episodes_record(struct episodes *e, struct pattern_set *patterns,
		     const struct kmsg_record *record)
{
	static const size_t mark = sizeof(EPISODE_LAB_MARK) - 1;
	struct pattern_hit hit;
	struct episode_line line = {
		.hit = &hit,
		.text = record->text,
		.len = record->len,
		.clock = EPISODE_WALL_TIME,
		.time_ns = record->real_ns,
		.mono_ns = record->mono_ns,
		.trusted = record->facility == 0,
		.tag = record->seq,
	};

	if (record->facility && line.len > mark && memcmp(line.text, EPISODE_LAB_MARK, mark) == 0) {
		line.text += mark;
		line.len -= mark;
		line.injected = true;
	}
	if (!pattern_match(patterns, line.text, line.len, &hit))
		return false;
	episodes_line(e, &line);
	return true;
}
