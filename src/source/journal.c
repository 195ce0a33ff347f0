#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "auto.h"
#include "map.h"
#include "text.h"
#include "timefmt.h"

enum {
	JOURNAL_ENTRIES_MOST = 20000,
	JOURNAL_TIMES = 32, /* per unit, for the cadence */
	JOURNAL_LIMIT_MS = 1500,
};

#define ID_RESTART "MESSAGE_ID=5eb03494b6584870a536b337290809b3" /* v235 */
#define ID_EXIT    "MESSAGE_ID=98e322203f7a4ed290d09fe03c09fe15" /* v240 */

struct journal_unit {
	const char *name;
	uint64_t seen, first_ns, last_ns;
	uint64_t times[JOURNAL_TIMES]; /* newest first */
	size_t n_times;
	bool have_exit;
	uint64_t exit_code, exit_status;
};

struct journal_scan {
	sd_journal *j;
	struct rec_unit_set *set;
	struct map_str by_unit; /* → 1 + index into units */
	VEC(struct journal_unit) units;
};

bool journal_text_restart(const char *message)
{
	return strstr(message, "holdoff time over, scheduling restart") != NULL ||
	       strstr(message, "Scheduled restart job, restart counter is at") != NULL;
}

static int journal_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

uint64_t journal_cadence(const uint64_t *times_ns, size_t n)
{
	uint64_t gaps[JOURNAL_TIMES];
	size_t n_gaps = 0;

	for (size_t i = 1; i < n && n_gaps < JOURNAL_TIMES; i++)
		gaps[n_gaps++] = times_ns[i] - times_ns[i - 1];
	if (n_gaps == 0)
		return 0;
	qsort(gaps, n_gaps, sizeof(*gaps), journal_compare);
	return gaps[n_gaps / 2];
}

/* The value of a field of the current entry, cut to the buffer; false when it has none. */
static bool journal_field(sd_journal *j, const char *field, char *ret, size_t size)
{
	const void *data;
	size_t len, skip = strlen(field) + 1;

	if (sd_journal_get_data(j, field, &data, &len) < 0 || len < skip)
		return false;
	text_copy_n(ret, size, (const char *)data + skip, len - skip);
	return true;
}

static struct journal_unit *journal_unit_of(struct journal_scan *s)
{
	char name[300];
	bool is_new;

	if (!journal_field(s->j, "UNIT", name, sizeof(name)) || !text_ends(name, ".service"))
		return NULL;
	uint64_t *at = map_str_put(&s->by_unit, name, strlen(name), &is_new);
	if (!at)
		return NULL;
	if (is_new) {
		struct journal_unit u = { .name = arena_strdup(&s->set->arena, name) };
		if (!u.name || !vec_push(&s->units, u))
			return NULL;
		*at = s->units.len;
	}
	return *at ? &s->units.items[*at - 1] : NULL;
}

static void journal_restart(struct journal_scan *s, uint64_t time_ns)
{
	struct journal_unit *u = journal_unit_of(s);

	if (!u)
		return;
	u->seen++;
	u->first_ns = time_ns; /* newest first: the last one seen is the oldest */
	if (!u->last_ns)
		u->last_ns = time_ns;
	if (u->n_times < JOURNAL_TIMES)
		u->times[u->n_times++] = time_ns;
}

static void journal_exit(struct journal_scan *s)
{
	struct journal_unit *u = journal_unit_of(s);
	char code[32], status[32];
	uint64_t n;

	if (!u || u->have_exit || !journal_field(s->j, "EXIT_CODE", code, sizeof(code)) ||
	    !journal_field(s->j, "EXIT_STATUS", status, sizeof(status)))
		return;
	u->exit_code = strcmp(code, "exited") == 0 ? 1 : strcmp(code, "killed") == 0 ? 2 : 3;
	if (text_u64(status, &n) == 0) {
		u->exit_status = n;
		u->have_exit = true;
	}
}

/* Newest first, until the bounds are reached. */
static int journal_walk(struct journal_scan *s, bool by_text)
{
	uint64_t deadline_ns = clock_mono_ns() + JOURNAL_LIMIT_MS * NS_PER_MS;
	char message[400];
	uint64_t us;
	int r = sd_journal_seek_tail(s->j);

	for (unsigned n = 0; r >= 0 && n < JOURNAL_ENTRIES_MOST; n++) {
		r = sd_journal_previous(s->j);
		if (r <= 0)
			break;
		if (sd_journal_get_realtime_usec(s->j, &us) < 0)
			continue;
		if (by_text) {
			if (journal_field(s->j, "MESSAGE", message, sizeof(message)) &&
			    journal_text_restart(message))
				journal_restart(s, us * 1000);
		} else {
			const void *data;
			size_t len;
			bool exit = sd_journal_get_data(s->j, "MESSAGE_ID", &data, &len) >= 0 &&
				    len == strlen(ID_EXIT) && memcmp(data, ID_EXIT, len) == 0;
			if (exit)
				journal_exit(s);
			else
				journal_restart(s, us * 1000);
		}
		if (n % 256 == 255 && clock_mono_ns() > deadline_ns) {
			unknowns_add(&s->set->unknowns, "journal",
				     "read for %d ms only: restarts before that are not counted",
				     JOURNAL_LIMIT_MS);
			break;
		}
	}
	return r;
}

/* The very first restart of a unit: one seek per unit that restarted. */
static void journal_onset(struct journal_scan *s, struct journal_unit *u)
{
	char match[320] = "UNIT=";
	uint64_t us;

	text_copy(match + 5, sizeof(match) - 5, u->name);
	sd_journal_flush_matches(s->j);
	if (sd_journal_add_match(s->j, ID_RESTART, 0) >= 0 &&
	    sd_journal_add_match(s->j, match, 0) >= 0 &&
	    sd_journal_add_match(s->j, "_PID=1", 0) >= 0 && sd_journal_seek_head(s->j) >= 0 &&
	    sd_journal_next(s->j) > 0 && sd_journal_get_realtime_usec(s->j, &us) >= 0 &&
	    us * 1000 < u->first_ns)
		u->first_ns = us * 1000;
}

static void journal_merge(struct journal_scan *s)
{
	vec_foreach (&s->units, ju) {
		struct rec_service *u = rec_units_find(s->set, ju->name);
		if (!u && ju->seen)
			u = rec_units_add(s->set, ju->name);
		if (!u)
			continue;
		if (ju->seen) {
			uint64_t ascending[JOURNAL_TIMES];
			for (size_t i = 0; i < ju->n_times; i++)
				ascending[i] = ju->times[ju->n_times - 1 - i];
			u->seen = ju->seen;
			u->first_ns = ju->first_ns;
			u->last_ns = ju->last_ns;
			u->cadence_ns = journal_cadence(ascending, ju->n_times);
			u->seen_source = "journalctl MESSAGE_ID=5eb03494b6584870a536b337290809b3";
		}
		if (ju->have_exit && !(u->have & REC_UNIT_EXIT)) {
			u->exit_code = ju->exit_code;
			u->exit_status = ju->exit_status;
			u->have |= REC_UNIT_EXIT;
		}
	}
}

int journal_read(struct rec_unit_set *set, struct err *err)
{
	struct journal_scan s = { .set = set };
	int r = sd_journal_open(&s.j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	if (r < 0)
		return err_set(err, r, "the journal cannot be opened: %s", strerror(-r));
	/* only what systemd itself wrote: anyone may log a UNIT= field */
	r = sd_journal_add_match(s.j, ID_RESTART, 0);
	if (r >= 0)
		r = sd_journal_add_match(s.j, ID_EXIT, 0);
	if (r >= 0)
		r = sd_journal_add_match(s.j, "_PID=1", 0);
	if (r >= 0)
		r = journal_walk(&s, false);
	if (r >= 0 && s.units.len == 0 && set->systemd_version && set->systemd_version < 235) {
		sd_journal_flush_matches(s.j);
		r = sd_journal_add_match(s.j, "_PID=1", 0);
		if (r >= 0)
			r = journal_walk(&s, true);
	}
	vec_foreach (&s.units, u)
		if (u->seen)
			journal_onset(&s, u);
	journal_merge(&s);
	vec_free(&s.units);
	map_str_free(&s.by_unit);
	sd_journal_close(s.j);
	return r < 0 ? err_set(err, r, "the journal cannot be read: %s", strerror(-r)) : 0;
}
