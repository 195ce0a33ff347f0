#include "serve_extra.h"

#include "collect.h"
#include "diagnosis.h"
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

const struct api_extra serve_extra = { .why = extra_why };
