#include "serve_extra.h"

#include <errno.h>

#include "agents.h"
#include "audit.h"
#include "collect.h"
#include "diagnosis.h"
#include "rec_units.h"
#include "view_audit.h"
#include "view_why.h"

/* As `zscope why --from --to` on the recording. */
static int extra_why(const char *store, uint64_t from_ns, uint64_t to_ns, struct json *j,
		     struct err *err)
{
	AUTO_COLLECTED struct collected c = { 0 };
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	struct collect_window w = { .from_ns = from_ns, .to_ns = to_ns };
	int r = stream_open_store(store, &w.stream, err);

	if (r < 0)
		return r;
	r = collect_facts(&w, &c, err);
	stream_close(w.stream);
	if (r >= 0)
		r = diagnosis_make(&c.facts, NULL, &d, err);
	if (r < 0)
		return r;
	vec_foreach (&c.unknown.list, u)
		unknowns_add(&d.unknown, u->what, "%s", u->why);
	view_why_json(j, &d);
	return 0;
}

/* As `zscope audit`, on the units that the recording holds. */
static int extra_units(const char *store, uint64_t from_ns, uint64_t to_ns,
		       const struct envelope *envelope, struct json *j, struct err *err)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct collect_window w = { .from_ns = from_ns, .to_ns = to_ns };
	struct agents agents = { 0 };
	int r = stream_open_store(store, &w.stream, err);

	if (r < 0)
		return r;
	r = collect_last_frame(&w, FRAME_UNITS, &bytes, err);
	stream_close(w.stream);
	if (r < 0)
		return r;
	if (rec_units_decode(bytes.data, bytes.len, &set) < 0)
		return err_set(err, -EBADMSG, "the recorded units cannot be read");
	r = agents_builtin(&agents, err);
	if (r < 0)
		return r;
	struct audit_input input = { .set = &set, .agents = &agents, .now_ns = to_ns };
	r = audit_run(&input, &audit, err);
	if (r >= 0)
		view_audit_json(j, &audit, &set.unknowns, envelope, to_ns);
	agents_free(&agents);
	return r;
}

const struct api_extra serve_extra = { .why = extra_why, .units = extra_units };
