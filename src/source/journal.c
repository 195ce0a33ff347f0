#include "journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "map.h"
#include "systemd_library.h"
#include "text.h"
#include "timefmt.h"

enum {
	JOURNAL_ENTRIES_MOST = 20000,
	JOURNAL_TIMES = 32, /* per unit, for the cadence */
	JOURNAL_LIMIT_MS = 1500,
};

#define ID_RESTART "MESSAGE_ID=5eb03494b6584870a536b337290809b3" /* v235 */
#define ID_EXIT    "MESSAGE_ID=98e322203f7a4ed290d09fe03c09fe15" /* v240 */
#define ID_FAILURE "MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c" /* v240 */

struct journal_unit {
	const char *name;
	uint64_t seen, first_ns, last_ns;
	uint64_t times[JOURNAL_TIMES]; /* newest first */
	size_t n_times;
	bool have_exit;
	uint64_t exit_code, exit_status;
	const char *result;
};

struct journal_scan {
	sd_journal *j;
	bool by_text;
	struct rec_unit_set *set;
	struct map_str by_unit; /* → 1 + index into units */
	VEC(struct journal_unit) units;
};

bool journal_text_restart(const char *message)
{
	return strstr(message, "holdoff time over, scheduling restart") != NULL ||
	       strstr(message, "Scheduled restart job, restart counter is at") != NULL;
}

static uint64_t journal_code(const char *word)
{
	return text_starts(word, "exited") ? 1 : text_starts(word, "killed") ? 2 : 3;
}

bool journal_text_exit(const char *message, uint64_t *ret_code, uint64_t *ret_status)
{
	const char *code = strstr(message, "ain process exited, code=");
	const char *status = code ? strstr(code, "status=") : NULL;
	uint64_t n;

	if (!status)
		return false;
	code += strlen("ain process exited, code=");
	status += strlen("status=");
	if (text_take_u64(&status, &n) < 0)
		return false;
	*ret_code = journal_code(code);
	*ret_status = n;
	return true;
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

	if (systemd.journal_get_data(j, field, &data, &len) < 0 || len < skip)
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
	u->exit_code = journal_code(code);
	if (text_u64(status, &n) == 0) {
		u->exit_status = n;
		u->have_exit = true;
	}
}

static void journal_failure(struct journal_scan *s)
{
	struct journal_unit *u = journal_unit_of(s);
	char result[40];

	if (u && !u->result && journal_field(s->j, "UNIT_RESULT", result, sizeof(result)))
		u->result = arena_strdup(&s->set->arena, result);
}

/* systemd before 235 marks neither restarts nor exits: its words must do. */
static void journal_words(struct journal_scan *s, uint64_t time_ns)
{
	uint64_t code, status;
	char message[400];

	if (!journal_field(s->j, "MESSAGE", message, sizeof(message)))
		return;
	if (journal_text_restart(message)) {
		journal_restart(s, time_ns);
	} else if (journal_text_exit(message, &code, &status)) {
		struct journal_unit *u = journal_unit_of(s);
		if (u && !u->have_exit) {
			u->exit_code = code;
			u->exit_status = status;
			u->have_exit = true;
		}
	}
}

static void journal_entry(struct journal_scan *s, uint64_t time_ns)
{
	char id[40];

	if (s->by_text)
		journal_words(s, time_ns);
	else if (!journal_field(s->j, "MESSAGE_ID", id, sizeof(id)))
		return;
	else if (text_ends(ID_EXIT, id))
		journal_exit(s);
	else if (text_ends(ID_FAILURE, id))
		journal_failure(s);
	else
		journal_restart(s, time_ns);
}

/* Newest first, until the bounds are reached. */
static int journal_walk(struct journal_scan *s)
{
	uint64_t deadline_ns = clock_mono_ns() + JOURNAL_LIMIT_MS * NS_PER_MS;
	uint64_t us;
	int r = systemd.journal_seek_tail(s->j);

	for (unsigned n = 0; r >= 0 && n < JOURNAL_ENTRIES_MOST; n++) {
		r = systemd.journal_previous(s->j);
		if (r <= 0)
			break;
		if (systemd.journal_get_realtime_usec(s->j, &us) < 0)
			continue;
		journal_entry(s, us * 1000);
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
	systemd.journal_flush_matches(s->j);
	if (systemd.journal_add_match(s->j, ID_RESTART, 0) >= 0 &&
	    systemd.journal_add_match(s->j, match, 0) >= 0 &&
	    systemd.journal_add_match(s->j, "_PID=1", 0) >= 0 &&
	    systemd.journal_seek_head(s->j) >= 0 && systemd.journal_next(s->j) > 0 &&
	    systemd.journal_get_realtime_usec(s->j, &us) >= 0 && us * 1000 < u->first_ns)
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
			u->seen_source =
				s->by_text
					? "journalctl _PID=1 (\"scheduling restart\")"
					: "journalctl MESSAGE_ID=5eb03494b6584870a536b337290809b3";
		}
		if (ju->result && !u->result)
			u->result = ju->result;
		if (ju->have_exit && !(u->have & REC_UNIT_EXIT)) {
			u->exit_code = ju->exit_code;
			u->exit_status = ju->exit_status;
			u->have |= REC_UNIT_EXIT;
		}
	}
}

/* only what systemd itself wrote: anyone may log a UNIT= field */
static int journal_match(sd_journal *j, bool by_text)
{
	static const char *const ids[] = { ID_RESTART, ID_EXIT, ID_FAILURE };
	int r = 0;

	systemd.journal_flush_matches(j);
	for (size_t i = 0; i < ARRAY_LEN(ids) && r >= 0 && !by_text; i++)
		r = systemd.journal_add_match(j, ids[i], 0);
	return r < 0 ? r : systemd.journal_add_match(j, "_PID=1", 0);
}

int journal_read_directory(const char *dir, struct rec_unit_set *set, struct err *err)
{
	struct journal_scan s = { .set = set };
	int r = systemd_library_load(err);

	if (r < 0)
		return r;
	r = dir ? systemd.journal_open_directory(&s.j, dir, 0)
		: systemd.journal_open(&s.j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
	if (r < 0)
		return err_set(err, r, "the journal cannot be opened: %s", strerror(-r));
	r = journal_match(s.j, false);
	if (r >= 0)
		r = journal_walk(&s);
	if (r >= 0 && s.units.len == 0 && set->systemd_version < 235) { /* 0: not known */
		s.by_text = true;
		r = journal_match(s.j, true);
		if (r >= 0)
			r = journal_walk(&s);
	}
	vec_foreach (&s.units, u)
		if (u->seen && !s.by_text)
			journal_onset(&s, u);
	journal_merge(&s);
	vec_free(&s.units);
	map_str_free(&s.by_unit);
	systemd.journal_close(s.j);
	return r < 0 ? err_set(err, r, "the journal cannot be read: %s", strerror(-r)) : 0;
}

int journal_read(struct rec_unit_set *set, struct err *err)
{
	return journal_read_directory(NULL, set, err);
}
