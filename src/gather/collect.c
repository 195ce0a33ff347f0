#include "collect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cpu_weight.h"
#include "meta_lines.h"
#include "root.h"
#include "text.h"
#include "timefmt.h"

const char *collect_text(struct collected *c, const char *text)
{
	return text && *text ? arena_strdup(&c->strings, text) : NULL;
}

void collected_free(struct collected *c)
{
	facts_free(&c->facts);
	unknowns_free(&c->unknown);
	arena_free(&c->strings);
}

static const uint64_t collect_state_ns = 600 * NS_PER_S;

int collect_last_frame(const struct collect_window *w, enum frame_kind kind, struct buf *ret,
		       struct err *err)
{
	struct store_reader *reader = stream_store(w->stream);
	uint64_t from = w->from_ns > collect_state_ns ? w->from_ns - collect_state_ns : 0;
	struct frame frame;
	bool found = false;

	int r = store_reader_seek(reader, from, w->to_ns, FRAME_BIT(kind), err);
	while (r >= 0 && (r = store_reader_next(reader, &frame, err)) > 0) {
		buf_clear(ret);
		buf_add(ret, frame.payload, frame.len);
		found = true;
	}
	if (r < 0)
		return r;
	return found && !ret->failed ? 0 : err_set(err, -ENODATA, "the window has none");
}

/* The host that recorded, by the segment's own lines of key=value. */
int collect_host(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	const char *at = NULL;
	uint64_t cores;

	int r = collect_last_frame(w, FRAME_META, &text, err);
	if (r < 0)
		return r;
	size_t n = meta_lines_find(text.data, text.len, "host", &at);
	if (n)
		(void)text_copy_n(c->host, sizeof(c->host), at, n);
	n = meta_lines_find(text.data, text.len, "kernel", &at);
	if (n) {
		(void)text_copy_n(c->kernel, sizeof(c->kernel), at, n);
		sscanf(c->kernel, "%u.%u", &c->facts.kernel_major, &c->facts.kernel_minor);
	}
	if (meta_lines_u64(text.data, text.len, "cores", &cores))
		c->facts.possible_cpus = (unsigned)cores;
	return r;
}

/* Pods against system services, by the files themselves where they can be read; a recording has the
 * event that the recorder made of them. */
void collect_weight_of(const struct root *root, struct facts *f)
{
	struct cpu_weight w;

	if (!root_exists(root, "sys/fs/cgroup"))
		return;
	/* without pods nothing outweighs anybody */
	f->kubepods_weight_ratio = cpu_weight_read(root, &w) ? w.ratio : 0;
	f->have |= FACT_WEIGHT;
}

/* Every line waits for a serial console: "ttyS0  -W- (EC p a)  4:64". */
void collect_consoles(const struct root *root, struct facts *f)
{
	AUTO_BUF struct buf text = { 0 };

	if (root_read(root, "proc/consoles", 65536, &text, NULL) < 0)
		return;
	for (const char *line = buf_str(&text); line; line = text_next_line(line))
		f->serial_console |= text_starts(line, "ttyS") || text_starts(line, "ttyAMA");
}

int collect_weight(const struct collect_window *w, struct collected *c, struct err *err)
{
	if (w->live) {
		collect_weight_of(w->live, &c->facts);
		collect_consoles(w->live, &c->facts);
	}
	return c->facts.have & FACT_WEIGHT
		       ? 0
		       : err_set(err, -ENODATA, "no weights were recorded in the window");
}

static const struct {
	const char *what;
	int (*collect)(const struct collect_window *w, struct collected *c, struct err *err);
} collectors[] = {
	{ "ticks", collect_ticks },
	/* after the ticks: it reads around their saturated stretches */
	{ "profile", collect_profile },
	{ "cost of reading memory.stat", collect_reads },
	{ "units", collect_units },
	/* after the units: it names containers by what they told */
	{ "census", collect_census },
	/* before the churn, whose few seconds tell less about growth */
	{ "history", collect_history },
	{ "churn", collect_churn },
	{ "events", collect_events },
	/* after the events: they may have told it */
	{ "weights of pods", collect_weight },
	{ "host", collect_host },
};

int collect_facts(const struct collect_window *w, struct collected *ret, struct err *err)
{
	*ret = (struct collected){ .facts = { .from_ns = w->from_ns, .to_ns = w->to_ns } };
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		struct err why = { 0 };
		int r = collectors[i].collect(w, ret, &why);
		if (r < 0)
			unknowns_add(&ret->unknown, collectors[i].what, "%s", why.text);
	}
	(void)err;
	return 0;
}
