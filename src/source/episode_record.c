#include <string.h>

#include "episode.h"

static const size_t mark = sizeof(EPISODE_LAB_MARK) - 1;

bool episode_lab_line(unsigned facility, const char *text, size_t len)
{
	return facility && len > mark && memcmp(text, EPISODE_LAB_MARK, mark) == 0;
}

bool episodes_record(struct episodes *e, struct pattern_set *patterns,
		     const struct kmsg_record *record)
{
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

	if (episode_lab_line(record->facility, line.text, line.len)) {
		line.text += mark;
		line.len -= mark;
		line.injected = true;
	}
	if (!pattern_match(patterns, line.text, line.len, &hit))
		return false;
	episodes_line(e, &line);
	return true;
}
