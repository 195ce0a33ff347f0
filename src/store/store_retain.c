#include "store_retain.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "tick_path.h"
#include "timefmt.h"

int store_retain_open(struct store_retain *r, const char *dir, struct err *err)
{
	int code = store_dir_list(r->dir_fd, dir, true, &r->segments, err);

	vec_foreach (&r->segments.list, segment)
		r->total_bytes += segment->bytes;
	return code;
}

void store_retain_close(struct store_retain *r)
{
	vec_free(&r->segments.list);
}

static struct store_segment *retain_find(struct store_retain *r, const struct segment_name *name)
{
	vec_foreach (&r->segments.list, segment)
		if (segment->name.start_ns == name->start_ns && segment->name.salt == name->salt)
			return segment;
	return NULL;
}

bool store_retain_add(struct store_retain *r, const struct segment_name *name)
{
	struct store_segment segment = { .name = *name, .open = true };
	size_t at = store_segments_after(&r->segments, name->start_ns);

	if (name->start_ns < r->pin_to_ns)
		segment.pinned = store_dir_pin(r->dir_fd, name, true) == 0;
	if (!vec_push(&r->segments.list, segment))
		return false;
	struct store_segment *items = r->segments.list.items;
	memmove(&items[at + 1], &items[at], (r->segments.list.len - 1 - at) * sizeof(*items));
	items[at] = segment;
	return true;
}

EVERY_TICK void store_retain_grow(struct store_retain *r, const struct segment_name *name,
				  uint64_t bytes)
{
	struct store_segment *segment = retain_find(r, name);

	r->total_bytes += bytes;
	if (segment)
		segment->bytes += bytes;
}

void store_retain_seal(struct store_retain *r, const struct segment_name *name)
{
	struct store_segment *segment = retain_find(r, name);

	if (segment)
		segment->open = false;
}

static void retain_delete(struct store_retain *r, size_t at)
{
	struct store_segment *items = r->segments.list.items;
	char name[SEGMENT_NAME_MAX];

	segment_name_print(name, &items[at].name);
	unlinkat(r->dir_fd, name, 0);
	if (items[at].pinned)
		store_dir_pin(r->dir_fd, &items[at].name, false);
	r->total_bytes -= items[at].bytes;
	memmove(&items[at], &items[at + 1], (r->segments.list.len - 1 - at) * sizeof(*items));
	r->segments.list.len--;
}

/* The oldest that may go; segments.list.len when none. Pins may have been set by another process.
 */
static size_t retain_oldest(struct store_retain *r, bool pinned)
{
	struct store_segments *s = &r->segments;

	for (size_t i = 0; i < s->list.len; i++) {
		struct store_segment *segment = &s->list.items[i];
		if (segment->open)
			continue;
		segment->pinned = store_dir_is_pinned(r->dir_fd, &segment->name);
		if (segment->pinned == pinned)
			return i;
	}
	return s->list.len;
}

static bool retain_drop_oldest(struct store_retain *r)
{
	size_t at = retain_oldest(r, false);

	if (at == r->segments.list.len)
		return false;
	retain_delete(r, at);
	return true;
}

/* When it was written last: between two recordings no next segment tells where one ends. */
static uint64_t retain_end_ns(const struct store_retain *r, const struct segment_name *segment)
{
	char name[SEGMENT_NAME_MAX];
	struct stat st;

	segment_name_print(name, segment);
	uint64_t end_ns = 0;
	if (fstatat(r->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		end_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	return MAX_OF(end_ns, segment->start_ns);
}

RARELY bool store_retain_make_room(struct store_retain *r)
{
	struct store_dropped *d = &r->dropped;
	size_t at = retain_oldest(r, false);

	if (at == r->segments.list.len)
		return false;
	const struct store_segment *s = &r->segments.list.items[at];
	uint64_t end_ns = retain_end_ns(r, &s->name);
	d->from_ns = d->segments ? MIN_OF(d->from_ns, s->name.start_ns) : s->name.start_ns;
	d->to_ns = MAX_OF(d->to_ns, end_ns);
	d->bytes += s->bytes;
	d->segments++;
	retain_delete(r, at);
	return true;
}

/* Pins may hold half of the room; beyond that the oldest of them go too, or the newest data would
 * have none. */
static bool retain_drop_pinned(struct store_retain *r)
{
	uint64_t pinned = 0;

	vec_foreach (&r->segments.list, segment)
		if (segment->pinned)
			pinned += segment->bytes;
	size_t at = retain_oldest(r, true);
	if (pinned <= r->max_bytes / 2 || at == r->segments.list.len)
		return false;
	retain_delete(r, at);
	return true;
}

void store_retain_apply(struct store_retain *r, uint64_t now_ns)
{
	if (r->max_bytes)
		while (r->total_bytes > r->max_bytes)
			if (!retain_drop_oldest(r) && !retain_drop_pinned(r))
				break;
	while (r->max_age_ns && r->segments.list.len > 1 && now_ns > r->max_age_ns) {
		size_t at = retain_oldest(r, false);
		/* a segment ends where the next begins */
		if (at + 1 >= r->segments.list.len ||
		    r->segments.list.items[at + 1].name.start_ns > now_ns - r->max_age_ns)
			break;
		retain_delete(r, at);
	}
}

int store_retain_pin(struct store_retain *r, uint64_t from_ns, uint64_t to_ns)
{
	struct store_segments *s = &r->segments;
	size_t at = store_segments_after(s, from_ns);
	int result = 0;

	if (to_ns > r->pin_to_ns)
		r->pin_to_ns = to_ns;
	for (at = at ? at - 1 : 0; at < s->list.len; at++) {
		struct store_segment *segment = &s->list.items[at];
		if (segment->name.start_ns >= to_ns)
			break;
		if (segment->pinned)
			continue;
		int code = store_dir_pin(r->dir_fd, &segment->name, true);
		if (code < 0)
			result = code;
		else
			segment->pinned = true;
	}
	return result;
}
