#include "audit_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "capture_units.h"
#include "captured.h"
#include "docker_api.h"
#include "journal.h"
#include "sock_diag.h"
#include "text.h"
#include "unit_describe.h"
#include "units_dbus.h"
#include "zombies.h"

#define AUDIT_OWN_KNOWLEDGE "etc/zombiescope/agents.tsv"

static int audit_read_knowledge(const struct root *root, const char *file, struct agents *ret,
				struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = 0;

	if (file) {
		/* the user's file is a file of this host, whatever tree is looked at */
		AUTO_ROOT struct root here = { .fd = -1 };
		char *full = *file == '/' ? strdup(file) : realpath(file, NULL);
		r = root_open(NULL, &here, err);
		if (r == 0)
			r = full ? root_read(&here, full, AGENTS_FILE_CAP, &text, err)
				 : err_path(err, -errno, file);
		free(full);
		if (r < 0)
			return r;
	} else if (root_read(root, AUDIT_OWN_KNOWLEDGE, AGENTS_FILE_CAP, &text, NULL) < 0) {
		buf_clear(&text);
	}
	if (text.len)
		r = agents_parse(buf_str(&text), text.len, ret, err);
	if (r < 0)
		return err_prefix(err, r, "%s", file ? file : "/" AUDIT_OWN_KNOWLEDGE);
	return agents_builtin(ret, err);
}

static bool audit_wants(void *arg, const char *name)
{
	return agents_next(arg, name, NULL) != NULL;
}

static void audit_read_manager(struct audit_read *a)
{
	struct units_bus *bus = NULL;
	struct err err = { 0 };
	int r = units_bus_open(&bus, &err);

	if (r == 0)
		r = units_bus_sweep(bus, audit_wants, &a->agents, &a->set, &err);
	units_bus_close(bus);
	if (r < 0) {
		unknowns_add(&a->set.unknowns, "systemd", "%s", err.text);
		a->set.units.len = 0;
		/* a hanging manager would hang systemctl too */
		if (r == -ETIMEDOUT || units_show_read(&a->set, &err) < 0)
			a->partial = true;
	}
	if (a->partial)
		return;
	a->all_told = true;
	if (journal_read(&a->set, &err) < 0)
		unknowns_add(&a->set.unknowns, "journal", "%s", err.text);
}

/* Known units that are enabled but not loaded are no part of the manager's list. */
static int audit_add_file(void *arg, const char *name)
{
	struct audit_read *a = arg;

	if (!agents_next(&a->agents, name, NULL) || rec_units_find(&a->set, name))
		return 0;
	enum unit_file_state state = unit_tree_state(a->tree, name);
	if (state != UNIT_STATE_ENABLED && state != UNIT_STATE_ENABLED_RUNTIME)
		return 0;
	struct rec_service *u = rec_units_add(&a->set, name);
	if (u && a->all_told)
		u->active = "inactive";
	return 0;
}

static void audit_read_live(const struct root *root, struct audit_read *a)
{
	struct docker_socket sockets[3];
	struct err err = { 0 };

	if (root_exists(root, "run/systemd/system")) {
		audit_read_manager(a);
	} else {
		unknowns_add(&a->set.unknowns, "units", CAPTURE_NO_MANAGER_WHY);
		a->partial = true;
		a->all_told = true;
	}
	docker_read(root, &a->set);
	if (a->set.events.len &&
	    sock_diag_clients(root, sockets, docker_sockets(sockets), &a->set, &err) < 0)
		unknowns_add(&a->set.unknowns, "connections to the engine", "%s", err.text);
	if (!a->tree)
		return;
	(void)unit_tree_each(a->tree, audit_add_file, a);
	vec_foreach (&a->set.units, u)
		if (!u->file_state || agents_next(&a->agents, u->name, NULL))
			unit_describe(a->tree, u->name, &a->set, u);
}

/* Why a capture holds no states of units: what pid 1 was tells it, where that was captured. */
static void audit_tell_no_units(const struct root *root, struct audit_read *a)
{
	AUTO_BUF struct buf comm = { 0 };
	const char *why = "the capture does not hold their states";

	a->partial = true;
	if (root_read(root, "proc/1/comm", 64, &comm, NULL) >= 0) {
		a->all_told = strncmp(buf_str(&comm), "systemd\n", 8) != 0;
		why = a->all_told ? "pid 1 was not systemd when the host was captured: no unit ran"
				  : "systemd did not tell their states when the host was captured";
	}
	unknowns_add(&a->set.unknowns, "units", "%s", why);
}

static const struct unknown *audit_find_unknown(const struct unknowns *unknowns,
						const char *choices)
{
	vec_foreach (&unknowns->list, u)
		if (text_is_choice(choices, u->what))
			return u;
	return NULL;
}

/* What was not told then, with the words of that host: nothing of it is known now either. */
static void audit_read_untold(const struct root *root, struct audit_read *a)
{
	AUTO_BUF struct buf text = { 0 };

	if (root_read(root, CAPTURED_UNITS_UNKNOWN, ROOT_FILE_CAP, &text, NULL) < 0)
		return;
	captured_unknowns_parse(buf_str(&text), &a->set.unknowns);
	if (audit_find_unknown(&a->set.unknowns, "units"))
		a->partial = a->all_told = true;
	if (audit_find_unknown(&a->set.unknowns, "containers"))
		a->set.have_containers = false;
}

/* A captured host: its units as they were told then. */
static void audit_read_captured(const struct root *root, struct audit_read *a)
{
	AUTO_BUF struct buf bytes = { 0 }, clock = { 0 };
	AUTO_TICK struct tick tick = { 0 };

	if (root_read(root, CAPTURED_CLOCK, 4096, &clock, NULL) == 0 &&
	    captured_clock_parse(buf_str(&clock), &tick, NULL) == 0)
		a->captured_ns = tick.real_ns;
	if (root_read(root, CAPTURED_UNITS, ROOT_FILE_CAP, &bytes, NULL) < 0) {
		audit_tell_no_units(root, a);
	} else if (rec_units_decode(buf_str(&bytes), bytes.len, &a->set) < 0) {
		unknowns_add(&a->set.unknowns, "unit states", "/%s is damaged", CAPTURED_UNITS);
		a->partial = true;
	} else {
		audit_read_untold(root, a);
	}
	if (!a->tree)
		return;
	if (a->partial)
		(void)unit_tree_each(a->tree, audit_add_file, a);
	vec_foreach (&a->set.units, u)
		unit_describe(a->tree, u->name, &a->set, u);
}

/* What `capture` wrote is a host and no image, also where it holds no states of units. */
static bool audit_is_captured(const struct root *root)
{
	return !root->live &&
	       (root_exists(root, CAPTURED_CLOCK) || root_exists(root, CAPTURED_UNITS));
}

int audit_read_all(const struct root *root, const char *knowledge, struct audit_read *ret,
		   struct err *err)
{
	struct err why = { 0 };
	int r = audit_read_knowledge(root, knowledge, &ret->agents, err);

	if (r < 0)
		return r;
	ret->booted = root->live || audit_is_captured(root);
	r = unit_tree_read(root, &ret->tree, &why);
	if (r < 0 && !ret->booted)
		return err_set(err, r, "%s", why.text);
	if (root->live) {
		audit_read_live(root, ret);
	} else if (ret->booted) {
		audit_read_captured(root, ret);
	} else {
		r = unit_describe_all(ret->tree, &ret->set, err);
		if (r == 0)
			r = unit_boot_plan(ret->tree, &ret->plan, err);
		if (r < 0)
			return r;
		ret->have_plan = true;
		vec_foreach (&ret->plan.generated, g)
			unknowns_add(&ret->set.unknowns, g->path, "%s", g->makes);
	}
	if (!ret->tree) { /* what is enabled and what does not belong cannot be told */
		unknowns_add(&ret->set.unknowns, "unit files", "%s", why.text);
		ret->partial = true;
	} else {
		vec_foreach (&ret->tree->unknowns.list, w)
			unknowns_add(&ret->set.unknowns, w->what, "%s", w->why);
	}
	ret->probe = (struct host_probe){
		.root = root,
		.tree = ret->tree,
		.units = ret->booted ? &ret->set : NULL,
	};
	host_probe_shapes(&ret->probe, &ret->shapes);
	return 0;
}

void audit_read_zombies(const struct root *root, struct audit *a, uint64_t now_ns)
{
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct zombies_options options = { 0 };
	struct census_totals totals = { 0 };
	struct offer offer;

	if (!root->live || (!a->n_loops && !a->loops.list.len))
		return;
	offer_read(root, &offer);
	if (zombies_read(root, &offer, &options, NULL, &summary, &totals, &unknowns, NULL) < 0)
		return;
	vec_foreach (&summary.groups, g)
		audit_add_zombies(a, g->unit, g->parent, g->count, "zscope zombies", now_ns);
}

struct audit_input audit_read_input(struct audit_read *read, uint64_t now_ns)
{
	return (struct audit_input){
		.set = &read->set,
		.plan = read->have_plan ? &read->plan : NULL,
		.agents = &read->agents,
		.shapes = &read->shapes,
		.ask = host_probe_ask,
		.ask_arg = &read->probe,
		.now_ns = now_ns,
		.image = !read->booted,
	};
}

/* Nothing is there that could loop: asked here, or told by the capture. */
static int audit_nothing_loops(const struct root *root, char *ret_why, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	if (root->live) {
		text_copy(ret_why, AUDIT_NAMES_MAX, CAPTURE_NO_LOOPS_WHY);
		return capture_nothing_loops(root, err);
	}
	if (root_read(root, CAPTURED_NO_LOOPS, 4096, &text, NULL) < 0)
		return 0;
	snprintf(ret_why, AUDIT_NAMES_MAX, "%.*s", (int)text_line_len(buf_str(&text)),
		 buf_str(&text));
	return 1;
}

/* What was not looked at: an error when it could hide a loop that nothing else shows. */
static int audit_loops_untold(const struct audit_read *read, const struct audit *audit,
			      bool managed, struct unknowns *unknowns, struct err *err)
{
	const struct unknowns *told = &read->set.unknowns;
	const struct unknown *engine = audit_find_unknown(told, "docker|podman");
	const struct unknown *states = audit_find_unknown(told, "unit states|crash loops");

	/* containers that loop are told also where systemd is not pid 1 or does not answer */
	if (read->partial && managed && !audit_has_finding(audit))
		return err_set(err, -ENODATA, "systemd did not answer");
	/* an engine that is there and does not tell: none of its containers was looked at */
	if (engine && !managed && !audit_has_finding(audit))
		return err_set(err, -ENODATA, "%s: %s", engine->what, engine->why);
	if (states)
		return err_set(err, -ENODATA, "%s", states->why);
	if (engine)
		unknowns_add(unknowns, "crash loops of containers", "%s: %s", engine->what,
			     engine->why);
	return 0;
}

static double audit_name_loops(const struct audit *audit, char *ret_names)
{
	AUTO_BUF struct buf names = { 0 };
	double count = audit->n_loops;

	vec_foreach (&audit->units, u)
		if (u->crash_loop && !u->expected)
			buf_addf(&names, "%s%s%s%s", names.len ? ", " : "", u->unit,
				 u->container ? " → container " : "",
				 u->container && u->container->name ? u->container->name : "");
	vec_foreach (&audit->loops.list, loop) {
		if (!loop->looping || loop->unit)
			continue;
		count += 1;
		buf_addf(&names, "%scontainer %s", names.len ? ", " : "",
			 loop->name    ? loop->name
			 : loop->image ? loop->image
				       : "?");
	}
	text_copy(ret_names, AUDIT_NAMES_MAX, buf_str(&names));
	return count;
}

int audit_read_loops(const struct root *root, uint64_t now_ns, double *ret_count, char *ret_names,
		     struct unknowns *unknowns)
{
	AUTO_AUDIT_READ struct audit_read read = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };
	struct err err = { 0 };
	bool managed = root_exists(root, "run/systemd/system");

	int r = audit_nothing_loops(root, ret_names, &err);
	if (r > 0) {
		*ret_count = NAN;
		return 0;
	}
	if (r == 0)
		r = audit_read_all(root, NULL, &read, &err);
	struct audit_input input = audit_read_input(&read, now_ns);
	/* what loops now is asked, not what the next boot would start */
	input.plan = NULL;
	input.image = false;
	if (r == 0)
		r = audit_run(&input, &audit, &err);
	/* a capture holds no empty directory of the manager's */
	managed = managed || (!root->live && read.set.have_units);
	if (r == 0)
		r = audit_loops_untold(&read, &audit, managed, unknowns, &err);
	if (r < 0) {
		unknowns_add(unknowns, "crash loops", "%s", err.text);
		return r;
	}
	*ret_count = audit_name_loops(&audit, ret_names);
	return 0;
}

void audit_read_free(struct audit_read *r)
{
	rec_units_free(&r->set);
	unit_tree_free(r->tree);
	unit_boot_plan_free(&r->plan);
	agents_free(&r->agents);
	vec_free(&r->shapes.list);
}
