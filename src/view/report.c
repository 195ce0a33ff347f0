#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"
#include "web_assets.h"

enum {
	FOCUS_BEFORE_S = 6, /* what starved a queue lies in the seconds before its reset */
	FOCUS_AFTER_S = 1,
	AROUND_S = 120, /* cores and heat map: so much on both sides */
	MOST_TIME_S = 43200,
};

struct focus {
	uint64_t from_s, to_s; /* the incident */
	bool by_cpu;
	uint32_t cpu;
};

/* In a script element only "</" and "<!--" can end the data: JSON may write < as \u003c. */
static void add_inert(struct buf *out, const struct buf *json)
{
	for (size_t i = 0; i < json->len; i++) {
		if (json->data[i] == '<')
			buf_add_str(out, "\\u003c");
		else if (json->data[i] != '\n')
			buf_add_char(out, json->data[i]);
	}
}

/* Ask the API; what it cannot answer is left out, and the page says so. */
static bool add_answer(struct api *api, struct buf *out, const char *name, const char *target,
		       size_t most)
{
	AUTO_BUF struct buf body = { 0 };
	struct err err = { 0 };

	if (api_ask(api, target, &body, &err) < 0 || body.failed || body.len > most)
		return false;
	buf_addf(out, ",\"%s\":", name);
	add_inert(out, &body);
	return true;
}

static uint64_t last_critical(struct api *api, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t found = 0;

	pthread_mutex_lock(&api->lock);
	vec_foreach (&api->events, e)
		if (e->severity == EVENT_CRIT && e->time_ns >= from_ns && e->time_ns < to_ns)
			found = e->time_ns;
	pthread_mutex_unlock(&api->lock);
	return found;
}

/* The hottest second of the window, when no event tells where to look. */
static uint64_t hottest_second(struct api *api, uint64_t from_s, uint64_t to_s)
{
	double best = -1, v;
	uint64_t found = to_s - 1;

	pthread_mutex_lock(&api->lock);
	for (uint64_t s = from_s; s < to_s; s++) {
		timeline_series_read(&api->timeline, TIMELINE_HOTTEST, s, 1, 1, &v);
		if (v > best) {
			best = v;
			found = s;
		}
	}
	pthread_mutex_unlock(&api->lock);
	return found;
}

static uint32_t hottest_core(struct api *api, uint64_t from_s, uint64_t to_s)
{
	uint32_t found = 0;
	unsigned best = 0;
	uint8_t v[64];
	size_t n = MIN_OF(to_s - from_s, (uint64_t)sizeof(v));

	pthread_mutex_lock(&api->lock);
	for (size_t cpu = 0; cpu < api->timeline.cpus; cpu++) {
		unsigned sum = 0;
		timeline_core_read(&api->timeline, TIMELINE_BUSY, cpu, from_s, 1, n, v);
		for (size_t i = 0; i < n; i++)
			sum += v[i] == TIMELINE_UNKNOWN ? 0 : v[i];
		if (sum > best) {
			best = sum;
			found = (uint32_t)cpu;
		}
	}
	pthread_mutex_unlock(&api->lock);
	return found;
}

static struct focus find_focus(struct api *api, const struct report_options *o, uint64_t from_ns,
			       uint64_t to_ns)
{
	uint64_t at = o->at_ns ? o->at_ns : last_critical(api, from_ns, to_ns);
	struct focus f = { .by_cpu = true, .cpu = o->cpu };
	uint64_t from_s = from_ns / NS_PER_S, to_s = (to_ns + NS_PER_S - 1) / NS_PER_S, at_s;

	at_s = at ? at / NS_PER_S : hottest_second(api, from_s, to_s);
	f.from_s = MAX_OF(at_s - FOCUS_BEFORE_S, from_s);
	f.to_s = MIN_OF(at_s + FOCUS_AFTER_S, to_s);
	if (f.to_s <= f.from_s)
		f.to_s = f.from_s + 1;
	if (!o->by_cpu)
		f.cpu = hottest_core(api, f.from_s, f.to_s);
	return f;
}

/* The flame graph of the core alone; of all cores when the core has none. */
static void add_flame(struct api *api, struct buf *out, struct focus *f)
{
	char target[200];

	snprintf(target, sizeof(target), "flame?from=@%" PRIu64 "&to=@%" PRIu64 "&cpu=%u",
		 f->from_s, f->to_s, f->cpu);
	AUTO_BUF struct buf body = { 0 };
	struct err err = { 0 };
	if (api_ask(api, target, &body, &err) >= 0 && !strstr(buf_str(&body), "\"samples\":0,")) {
		add_answer(api, out, "flame", target, REPORT_MOST_BYTES / 2);
		return;
	}
	f->by_cpu = false;
	snprintf(target, sizeof(target), "flame?from=@%" PRIu64 "&to=@%" PRIu64, f->from_s,
		 f->to_s);
	add_answer(api, out, "flame", target, REPORT_MOST_BYTES / 2);
}

static void add_data(struct api *api, struct buf *out, const struct report_options *o,
		     uint64_t from_ns, uint64_t to_ns)
{
	struct focus f = find_focus(api, o, from_ns, to_ns);
	uint64_t from_s = from_ns / NS_PER_S, to_s = (to_ns + NS_PER_S - 1) / NS_PER_S;
	uint64_t a = MAX_OF(f.from_s - AROUND_S, from_s), b = MIN_OF(f.to_s + AROUND_S, to_s);
	AUTO_BUF struct buf answers = { 0 };
	char window[120], near[120], target[300];

	snprintf(window, sizeof(window), "from=@%" PRIu64 "&to=@%" PRIu64, from_s, to_s);
	snprintf(near, sizeof(near), "from=@%" PRIu64 "&to=@%" PRIu64, a, b);
	snprintf(target, sizeof(target), "overview?%s&points=1200", window);
	add_answer(api, &answers, "overview", target, REPORT_MOST_BYTES);
	/* without an end, also what was noted after the last second that is recorded */
	if (o->to_ns)
		snprintf(target, sizeof(target), "events?%s&limit=1000", window);
	else
		snprintf(target, sizeof(target), "events?from=@%" PRIu64 "&limit=1000", from_s);
	add_answer(api, &answers, "events", target, REPORT_MOST_BYTES / 5);
	snprintf(target, sizeof(target), "why?from=@%" PRIu64 "&to=@%" PRIu64, a, b);
	add_answer(api, &answers, "why", target, REPORT_MOST_BYTES / 5);
	snprintf(target, sizeof(target), "resets?%s&limit=20", window);
	add_answer(api, &answers, "resets", target, REPORT_MOST_BYTES / 10);
	snprintf(target, sizeof(target), "cores?%s&cols=1200", near);
	add_answer(api, &answers, "cores", target, REPORT_MOST_BYTES / 5);
	add_flame(api, &answers, &f);
	if (f.by_cpu)
		snprintf(target, sizeof(target), "heat?%s&cpu=%u", near, f.cpu);
	else
		snprintf(target, sizeof(target), "heat?%s", near);
	add_answer(api, &answers, "heat", target, REPORT_MOST_BYTES / 5);
	snprintf(target, sizeof(target), "zombies?%s", window);
	add_answer(api, &answers, "zombies", target, REPORT_MOST_BYTES / 10);

	buf_addf(out,
		 "{\"report\":{\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64
		 ",\"focus_from_ns\":%" PRIu64 ",\"focus_to_ns\":%" PRIu64 ",",
		 from_s * NS_PER_S, to_s * NS_PER_S, f.from_s * NS_PER_S, f.to_s * NS_PER_S);
	buf_addf(out, "\"cpu\":%u,", f.cpu);
	if (!f.by_cpu)
		buf_add_str(out, "\"all_cores\":true,");
	buf_addf(out, "\"made_ns\":%" PRIu64 "},\"responses\":{\"_\":0", clock_real_ns());
	add_answer(api, out, "status", "status", REPORT_MOST_BYTES / 10);
	buf_add(out, answers.data, answers.len);
	buf_add_str(out, "}}");
}

int report_write(struct api *api, const struct report_options *options, struct buf *out,
		 struct api_window *ret_shown, struct err *err)
{
	const struct web_asset *js = web_asset_find("/app.js"), *css = web_asset_find("/app.css");
	uint64_t from, to;

	pthread_mutex_lock(&api->lock);
	from = options->from_ns ? MAX_OF(options->from_ns, api->from_ns) : api->from_ns;
	to = options->to_ns ? MIN_OF(options->to_ns, api->to_ns) : api->to_ns;
	pthread_mutex_unlock(&api->lock);
	if (api->empty || !to)
		return err_set(err, -ENODATA, "the recording is empty");
	if (from >= to)
		return err_set(err, -ENODATA, "nothing of this window was recorded");
	if (to - from > MOST_TIME_S * NS_PER_S)
		from = to - MOST_TIME_S * NS_PER_S;
	/* the two hashes are all that may run or style; nothing may be loaded from anywhere */
	buf_addf(out,
		 "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "script-src 'sha256-%s'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; "
		 "form-action 'none'\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<meta name=\"color-scheme\" content=\"light dark\">\n"
		 "<title>zombiescope report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>",
		 js->sha256_base64, css->sha256_base64);
	buf_add(out, css->plain, css->plain_len);
	buf_add_str(out, "</style>\n</head>\n<body><div id=\"app\"></div>\n"
			 "<script type=\"application/json\" id=\"zscope-data\">");
	add_data(api, out, options, from, to);
	buf_add_str(out, "</script>\n<script>");
	buf_add(out, js->plain, js->plain_len);
	buf_add_str(out, "</script>\n</body>\n</html>\n");
	if (out->failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (out->len > REPORT_MOST_BYTES)
		return err_set(err, -EFBIG,
			       "the report would be larger than 5 MB; take a shorter window");
	ret_shown->from_ns = from / NS_PER_S * NS_PER_S;
	ret_shown->to_ns = (to + NS_PER_S - 1) / NS_PER_S * NS_PER_S;
	return 0;
}
