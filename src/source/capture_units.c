#include "capture_units.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "docker_api.h"
#include "journal.h"
#include "text.h"
#include "units_dbus.h"

const char *const captured_states[CAPTURED_STATES] = { CAPTURED_UNITS, CAPTURED_UNITS_UNKNOWN,
						       CAPTURED_NO_LOOPS };

int capture_nothing_loops(const struct root *root, struct err *err)
{
	struct docker_socket engines[3];
	struct stat st;

	if (root_exists(root, "run/systemd/system") || docker_sockets(engines))
		return 0;
	int r = root_lstat(root, CONTAINERD_TASKS, &st, NULL);
	return r == -ENOENT ? 1 : r < 0 ? err_path(err, r, "/" CONTAINERD_TASKS) : 0;
}

static int capture_manager(struct rec_unit_set *set, struct err *err)
{
	struct units_bus *bus = NULL;

	int r = units_bus_open(&bus, err);
	if (r == 0)
		r = units_bus_sweep(bus, NULL, NULL, set, err);
	units_bus_close(bus);
	if (r == 0)
		(void)journal_read(set, NULL);
	return r;
}

static void capture_put_word(struct buf *out, const char *text, char end)
{
	for (; *text; text++)
		buf_add(out, *text == '\t' || *text == '\n' ? " " : text, 1);
	buf_add(out, &end, 1);
}

/* What is not there is no gap of the capture, an engine that does not answer is one. */
static void capture_unknown(const struct rec_unit_set *set, struct buf *out,
			    struct unknowns *unknowns)
{
	vec_foreach (&set->unknowns.list, u) {
		capture_put_word(out, u->what, '\t');
		capture_put_word(out, u->why, '\n');
		if (!text_is_choice("units|containers", u->what))
			unknowns_add(unknowns, u->what, "%s", u->why);
	}
}

void capture_unit_states(const struct root *root, struct buf ret[CAPTURED_STATES],
			 struct unknowns *unknowns)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	struct err err = { 0 };

	if (!root_exists(root, "run/systemd/system")) {
		unknowns_add(&set.unknowns, "units", CAPTURE_NO_MANAGER_WHY);
	} else if (capture_manager(&set, &err) < 0) {
		unknowns_add(unknowns, "unit states", "%s", err.text);
		return;
	}
	docker_read(root, &set);
	int none = capture_nothing_loops(root, &err);
	if (none < 0)
		unknowns_add(&set.unknowns, "crash loops", "%s", err.text);
	else if (none > 0)
		buf_add_str(&ret[2], CAPTURE_NO_LOOPS_WHY "\n");
	vec_foreach (&set.units, u)
		if (u->exec_start)
			u->exec_start = arena_strndup(&set.arena, u->exec_start,
						      strcspn(u->exec_start, " "));
	rec_units_encode(&ret[0], &set);
	capture_unknown(&set, &ret[1], unknowns);
}

void captured_unknowns_parse(const char *text, struct unknowns *ret)
{
	for (const char *line = text; line; line = text_next_line(line)) {
		size_t len = text_line_len(line);
		const char *tab = memchr(line, '\t', len);
		char what[sizeof(((struct unknown *)0)->what)];
		if (!tab || tab == line || (size_t)(tab - line) >= sizeof(what))
			continue;
		memcpy(what, line, (size_t)(tab - line));
		what[tab - line] = '\0';
		tab++;
		unknowns_add(ret, what, "%.*s", (int)(line + len - tab), tab);
	}
}
