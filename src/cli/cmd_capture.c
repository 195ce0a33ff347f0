#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "bundle.h"
#include "capture.h"
#include "commands.h"
#include "envelope.h"
#include "esc.h"
#include "timefmt.h"

struct capture_options {
	const char *output;
	struct option_number interval;
};

static const struct option options[] = {
	OPTION(capture_options, output, "output", 'o', OPTION_TEXT, "FILE",
	       "where to write (default zscope-HOST-TIME.tar.zst here; '-' = standard output)"),
	OPTION(capture_options, interval, "interval", 'i', OPTION_DURATION, "DURATION",
	       "time between the two readings (default 1s)"),
};

/* A host's name becomes part of a file's name: letters, digits, '-' and '.' only. */
static void capture_name(const struct envelope *e, uint64_t now_ns, char *ret, size_t size)
{
	char host[64] = "", time[TIMEFMT_MAX];
	size_t n = 0;

	for (const char *p = e->host; *p && n + 1 < sizeof(host); p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		    (*p >= '0' && *p <= '9') || *p == '-' || (*p == '.' && n))
			host[n++] = *p;
	host[n] = '\0';
	timefmt_local(time, now_ns);
	for (char *p = time; *p; p++)
		*p = *p == ' ' ? '-' : *p;
	snprintf(ret, size, "zscope-%s-%.10s-%.2s%.2s%.2s.tar.zst", n ? host : "host", time,
		 time + 11, time + 14, time + 17);
}

static int capture_refused(struct err *err, int code, const char *path)
{
	const char *hint;

	switch (code) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		hint = "give a file that you may write with -o";
		break;
	case -EEXIST:
		hint = "remove it first, or give another file with -o";
		break;
	case -ENOENT:
	case -ENOTDIR:
		hint = "make its directory first, or give another file with -o";
		break;
	default:
		return err_path(err, code, path);
	}
	return err_set(err, code, "%s: %s: %s", path, strerror(-code), hint);
}

/* Before the readings, which take their time: the file itself is made when it can be filled. */
static int capture_may_write(const char *path, struct err *err)
{
	AUTO_FREE char *copy = strdup(path);
	struct stat st;

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	if (strcmp(path, "-") == 0)
		return 0;
	if (lstat(path, &st) == 0)
		return capture_refused(err, -EEXIST, path);
	const char *dir = dirname(copy);
	return access(dir, W_OK | X_OK) < 0 ? capture_refused(err, -errno, path) : 0;
}

static int capture_write(const char *path, const struct buf *data, struct err *err)
{
	bool out = strcmp(path, "-") == 0;
	AUTO_CLOSE int fd = out ? dup(STDOUT_FILENO)
				: open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return capture_refused(err, -errno, path);
	for (size_t at = 0; at < data->len;) {
		ssize_t n = write(fd, data->data + at, data->len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int r = -errno;
			if (!out)
				unlink(path); /* half a bundle is worse than none */
			return err_path(err, r, path);
		}
		at += (size_t)n;
	}
	return 0;
}

static void capture_print_size(FILE *to, size_t bytes)
{
	if (bytes < 1000 * 1000)
		fprintf(to, "%zu KiB", (bytes + 1023) / 1024);
	else
		fprintf(to, "%.1f MB", (double)bytes / 1e6);
}

/* "cores, memory and units" */
static void capture_print_parts(FILE *to, unsigned parts)
{
	for (unsigned i = 0, rest = parts; i < CAPTURE_PARTS; i++) {
		if (!(parts & 1u << i))
			continue;
		rest &= ~(1u << i);
		fprintf(to, "%s%s", capture_parts[i],
			!rest               ? ""
			: rest & (rest - 1) ? ", "
					    : " and ");
	}
}

static void capture_tell(const struct invocation *in, const struct envelope *e, const char *path,
			 const struct capture_stats *s, size_t packed,
			 const struct unknowns *unknown)
{
	AUTO_BUF struct buf out = { 0 };
	FILE *to = strcmp(path, "-") == 0 ? stderr : stdout;
	struct json j;

	if (in->common.json) {
		json_init(&j, &out);
		json_object(&j, NULL);
		envelope_json(&j, e, "capture", clock_real_ns());
		json_str(&j, "file", path);
		json_array(&j, "holds");
		for (unsigned i = 0; i < CAPTURE_PARTS; i++)
			if (s->parts & 1u << i)
				json_str(&j, NULL, capture_parts[i]);
		json_end_array(&j);
		json_u64(&j, "files", s->files);
		json_u64(&j, "directories", s->dirs);
		json_u64(&j, "bytes", s->bytes);
		json_u64(&j, "packed_bytes", packed);
		unknowns_json(&j, unknown);
		json_end_object(&j);
		fprintf(to, "%s\n", buf_str(&out));
		return;
	}
	esc_tty(&out, path, strlen(path));
	fprintf(to, "%s: ", buf_str(&out));
	capture_print_size(to, packed);
	fputs(": ", to);
	capture_print_parts(to, s->parts);
	fprintf(to, " in %llu files\n", (unsigned long long)s->files);
	if (to == stdout)
		fprintf(to, "look at it: zscope check --root %s\n", buf_str(&out));
	vec_foreach (&unknown->list, it) {
		buf_clear(&out);
		esc_tty(&out, it->what, strlen(it->what));
		buf_add_str(&out, ": ");
		esc_tty(&out, it->why, strlen(it->why));
		fprintf(to, "not captured: %s\n", buf_str(&out));
	}
}

static int capture_run(struct invocation *in, struct err *err)
{
	const struct capture_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	struct capture_stats stats;
	struct envelope envelope;
	char name[128];

	uint64_t interval;

	int r = command_interval(&o->interval, &interval, err);
	if (r == 0)
		r = command_root(in, &root, err);
	if (r < 0)
		return r;
	if (o->output && strcmp(o->output, "-") == 0 && in->out.tty)
		return err_set(err, -EINVAL,
			       "a capture is no text: give a file with -o, or redirect the output");
	envelope_read(&root, &envelope);
	capture_name(&envelope, in->now_ns, name, sizeof(name));
	const char *path = o->output ? o->output : name;
	r = capture_may_write(path, err);
	if (r < 0)
		return r;
	r = capture_collect(&root, interval, &tar, &stats, &unknown, err);
	if (r == 0)
		r = bundle_pack(&tar, &packed, err);
	if (r == 0)
		r = capture_write(path, &packed, err);
	if (r < 0)
		return r;
	capture_tell(in, &envelope, path, &stats, packed.len, &unknown);
	return STATUS_OK;
}

const struct command cmd_capture = {
	.name = "capture",
	.summary = "one file with everything that the other commands read",
	.arguments = "",
	.description =
		"Reads the node twice, a second apart, and writes everything that the other "
		"commands "
		"look at into one .tar.zst: a bug report, and a host to look at later. Give it to "
		"any command as --root FILE, or unpack it and give the directory.\n\n"
		"It holds no secrets: of command lines only the program's name is kept, up to its "
		"first blank, unit files lose their environment and the arguments of what they "
		"run, "
		"and the kernel's log loses the values of boot options, audit records and what "
		"programs wrote into it.",
	.examples = "zscope capture\nzscope capture -o /tmp/node7.tar.zst\n"
		    "zscope check --root /tmp/node7.tar.zst\n",
	.common = COMMON_JSON | COMMON_ROOT,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct capture_options),
	.run = capture_run,
};
