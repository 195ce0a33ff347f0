/* Facts of a captured host: two readings, the units as the manager told them, the census, and the
 * kernel's log as it stood in the ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "capture_units.h"
#include "captured.h"
#include "collect.h"
#include "episode.h"
#include "log_scan.h"
#include "text.h"
#include "timefmt.h"

/* Of the kernel's ring, so much counts: what happened long before is not why the host was sick. */
static const uint64_t captured_ring_ns = 900 * NS_PER_S;
static const uint64_t captured_rate_ns = 60 * NS_PER_S;
enum { CAPTURED_MOST_RESETS = 16 };

struct captured_log {
	struct collected *c;
	struct episodes *episodes;
	uint64_t real_ns, mono_ns; /* of the capture */
	uint64_t lines, marked;    /* of the last minute; marked: the lab's */
	int failed;
};

static void captured_event(void *arg, const struct rec_event *event, uint64_t order)
{
	struct captured_log *log = arg;
	int r = 0;

	(void)order;
	if (event->time_ns + captured_ring_ns < log->real_ns)
		return;
	if (strcmp(event->id, "net-driver-reset") != 0)
		r = collect_event(log->c, event);
	else if (log->c->facts.resets.len < CAPTURED_MOST_RESETS)
		r = collect_reset(log->c, event, NULL);
	log->failed = r < 0 ? r : log->failed;
}

static void captured_line(void *arg, const struct log_scan_line *line)
{
	struct captured_log *log = arg;
	const struct log_line *l = line->line;

	if (!l->have_mono || l->mono_ns > log->mono_ns)
		return;
	struct episode_line out = {
		.hit = line->hit,
		.text = l->text,
		.len = l->len,
		.clock = EPISODE_WALL_TIME,
		.time_ns = log->real_ns - (log->mono_ns - l->mono_ns),
		.mono_ns = l->mono_ns,
		.trusted = l->facility_proven && l->facility == 0,
	};
	episodes_line(log->episodes, &out);
}

/* "6,1234,5678901234,-;text": the third number is in microseconds since boot. */
static void captured_count(struct captured_log *log, const char *text)
{
	for (const char *line = text; line; line = text_next_line(line)) {
		const char *p = line;
		uint64_t n[3];
		bool whole = true;
		for (unsigned i = 0; i < 3 && whole; i++)
			whole = text_take_u64(&p, &n[i]) == 0 && (i == 2 || *p++ == ',');
		if (!whole || n[2] * 1000 + captured_rate_ns < log->mono_ns)
			continue;
		log->lines++;
		log->marked += collect_line_is_lab(line, text_line_len(line));
	}
}

static int captured_kmsg(const struct root *root, const struct tick *clock, struct collected *c,
			 struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_FREE struct log_scan *scan = malloc(sizeof(*scan));
	struct captured_log log = { .c = c, .real_ns = clock->real_ns, .mono_ns = clock->mono_ns };
	struct pattern_set *patterns = NULL;

	int r = root_read(root, "dev/kmsg", 64 << 20, &text, err);
	if (r == 0)
		r = scan ? pattern_set_new(NULL, NULL, &patterns, err) : -ENOMEM;
	if (r < 0)
		return r;
	log.episodes = episodes_new(captured_event, &log);
	if (log.episodes) {
		log_scan_init(scan, clock->real_ns);
		log_scan_block(scan, patterns, buf_str(&text), text.len, captured_line, &log);
		episodes_flush(log.episodes);
		captured_count(&log, buf_str(&text));
		c->facts.log_lines_per_s = (double)log.lines / ((double)captured_rate_ns / 1e9);
		c->facts.log_injected = log.marked * 2 > log.lines;
		c->facts.have |= FACT_KMSG;
		if (!c->facts.resets.len)
			c->facts.have |= FACT_NET; /* there is no queue to ask about */
	}
	r = log.episodes ? log.failed : -ENOMEM;
	episodes_free(log.episodes);
	pattern_set_free(patterns);
	return r < 0 ? err_set(err, r, "the captured log: %s", strerror(-r)) : 0;
}

static int captured_census(const struct root *root, struct collected *c, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	int r = root_read(root, CAPTURED_CENSUS, ROOT_FILE_CAP, &bytes, err);
	if (r < 0)
		return r;
	if (census_summary_decode(bytes.data, bytes.len, &s) < 0)
		return root_err(root, err_set(err, -EBADMSG, "/%s is damaged", CAPTURED_CENSUS),
				err);
	return collect_census_of(&s, c);
}

int collect_captured(const struct root *root, struct collected *c, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_TICK struct tick clock = { 0 };
	struct err why = { 0 };

	int r = collect_captured_ticks(root, c, err);
	if (r < 0)
		return r;
	/* unit files alone tell no state: what would be enabled does not loop */
	if (!root_exists(root, CAPTURED_UNITS))
		unknowns_add(&c->unknown, "units", "the capture has no states of units");
	else if (collect_units_of(root, c->facts.to_ns, c, &why) < 0)
		unknowns_add(&c->unknown, "units", "%s", why.text);
	if (captured_census(root, c, &why) < 0)
		unknowns_add(&c->unknown, "census", "%s", why.text);
	if (root_read(root, CAPTURED_CLOCK, 4096, &text, &why) < 0 ||
	    captured_clock_parse(buf_str(&text), &clock, &why) < 0 ||
	    captured_kmsg(root, &clock, c, &why) < 0)
		unknowns_add(&c->unknown, "kernel log", "%s", why.text);
	collect_weight_of(root, &c->facts);
	collect_consoles(root, &c->facts);
	return 0;
}
