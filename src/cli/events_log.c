#include "events_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "episode.h"
#include "log_scan.h"
#include "timefmt.h"
#include "view_events.h"

enum { EVENTS_PATTERN_FILE_MAX = 4 << 20 };

static int events_read_file(const char *path, struct buf *ret, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char block[16384];
	ssize_t n;

	if (fd < 0)
		return err_path(err, -errno, path);
	while ((n = read(fd, block, sizeof(block))) > 0) {
		buf_add(ret, block, (size_t)n);
		if (ret->len > EVENTS_PATTERN_FILE_MAX)
			return err_path(err, -EFBIG, path);
	}
	if (n < 0)
		return err_path(err, -errno, path);
	if (memchr(buf_str(ret), '\0', ret->len))
		return err_set(err, -EINVAL, "%s: not text", path);
	return ret->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int events_load_patterns(const char *path, struct pattern_set **ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = path ? events_read_file(path, &text, err) : 0;

	return r < 0 ? r : pattern_set_new(path ? buf_str(&text) : NULL, path, ret, err);
}

static void events_say_row(void *arg, unsigned line, const char *what)
{
	fprintf(stderr, "%s:%u: %s\n", (const char *)arg, line, what);
}

int events_check_patterns(const char *path, struct invocation *in, struct err *err)
{
	AUTO_BUF struct buf text = { 0 }, out = { 0 };
	size_t rows;

	int r = events_read_file(path, &text, err);
	if (r < 0)
		return r;
	size_t problems = pattern_check(buf_str(&text), events_say_row, (void *)path, &rows);
	if (in->common.json) {
		struct json j;
		json_init(&j, &out);
		json_object(&j, NULL);
		json_str(&j, "schema", "zombiescope/events-patterns/1");
		json_u64(&j, "rows", rows);
		json_u64(&j, "problems", problems);
		json_end_object(&j);
		puts(buf_str(&out));
	} else if (!problems) {
		printf("%zu rows, all good\n", rows);
	}
	return problems ? STATUS_UNKNOWN : STATUS_OK;
}

int events_print(struct events_request *request, const struct rec_event *event,
		 const struct queue_proof *proof)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	if (!request->in->common.json) {
		view_event_text(stdout, &request->in->out, event, proof);
		return 0;
	}
	json_init(&j, &out);
	view_event_json(&j, &request->envelope, event, proof);
	if (out.failed)
		return -ENOMEM;
	puts(buf_str(&out));
	return 0;
}

int events_print_list(struct events_request *request, const struct event_list *list)
{
	if (request->histogram && request->in->common.json) {
		AUTO_BUF struct buf out = { 0 };
		struct json j;
		json_init(&j, &out);
		view_events_histogram_json(&j, &request->envelope, list, request->in->now_ns);
		puts(buf_str(&out));
		return 0;
	}
	if (request->histogram) {
		view_events_histogram_text(stdout, &request->in->out, list);
		return 0;
	}
	int r = 0;
	vec_foreach (&list->list, entry)
		if (r >= 0)
			r = events_print(request, &entry->event, NULL);
	return r;
}

struct events_log {
	struct events_request *request;
	struct episodes *episodes;
	struct pattern_set *patterns;
	struct event_list list;
};

static void events_collect(void *arg, const struct rec_event *event, uint64_t order)
{
	struct events_log *log = arg;

	if (event_filter_takes(&log->request->filter, event))
		event_list_add(&log->list, event, order);
}

static void events_log_line(void *arg, const struct log_scan_line *line)
{
	struct events_log *log = arg;
	const struct log_line *l = line->line;

	if (log->request->lines) {
		if (line->hit) {
			fwrite(line->raw, 1, line->raw_len, stdout);
			putchar('\n');
		}
		return;
	}
	struct episode_line out = {
		.hit = line->hit,
		.text = l->text,
		.len = l->len,
		.clock = line->clock == LOG_CLOCK_WALL   ? EPISODE_WALL_TIME
			 : line->clock == LOG_CLOCK_BOOT ? EPISODE_BOOT_TIME
							 : EPISODE_NO_TIME,
		.time_ns = line->time_ns,
		.mono_ns = l->have_mono ? l->mono_ns : 0,
		.lag_ns = line->lag_ns,
		.trusted = l->facility_proven && l->facility == 0,
	};
	episodes_line(log->episodes, &out);
}

static void events_add_lost(struct events_log *log, uint64_t lost)
{
	char number[24], text[80];
	struct rec_event_field field = { "lost", number };

	if (!lost)
		return;
	snprintf(number, sizeof(number), "%" PRIu64, lost);
	snprintf(text, sizeof(text), "%" PRIu64 " kernel log record%s missing by sequence number",
		 lost, lost == 1 ? " is" : "s are");
	struct rec_event event = {
		.source = EVENT_SELF,
		.severity = EVENT_WARN,
		.count = lost,
		.id = "kmsg-lost",
		.text = text,
		.fields = &field,
		.n_fields = 1,
	};
	events_collect(log, &event, UINT64_MAX);
}

static int events_scan(struct events_log *log, const char *path, struct err *err)
{
	struct log_file *file;
	AUTO_FREE struct log_scan *scan = malloc(sizeof(*scan));

	if (!scan)
		return err_set(err, -ENOMEM, "out of memory");
	int r = log_file_open(path, &file, err);
	if (r < 0)
		return r;
	log_scan_init(scan, log->request->in->now_ns);
	r = log_scan_file(scan, log->patterns, file, events_log_line, log, err);
	if (log_file_cut_lines(file))
		fprintf(stderr, "zscope: %s: %" PRIu64 " lines were too long and cut\n",
			log_file_name(file), log_file_cut_lines(file));
	log_file_close(file);
	episodes_flush(log->episodes);
	events_add_lost(log, scan->lost);
	return r;
}

int events_from_log(struct events_request *request, const char *path, struct err *err)
{
	struct events_log log = { .request = request };
	const struct common *c = &request->in->common;

	if (c->at.set || c->from.set || c->to.set) {
		int bad = command_window(request->in, 1, UINT64_MAX / 2, &request->filter.from_ns,
					 &request->filter.to_ns, err);
		if (bad < 0)
			return bad;
	}
	int r = events_load_patterns(request->patterns_file, &log.patterns, err);
	if (r < 0)
		return r;
	log.episodes = episodes_new(events_collect, &log);
	r = log.episodes ? events_scan(&log, path, err) : err_set(err, -ENOMEM, "out of memory");
	/* a damaged end does not hide what was readable before it */
	event_list_sort(&log.list);
	int printed = request->lines ? 0 : events_print_list(request, &log.list);
	if (r >= 0 && (printed < 0 || log.list.failed))
		r = err_set(err, -ENOMEM, "out of memory");
	episodes_free(log.episodes);
	pattern_set_free(log.patterns);
	event_list_free(&log.list);
	return r < 0 ? r : STATUS_OK;
}
