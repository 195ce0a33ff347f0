#include "import_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "idle_name.h"
#include "profile_codec.h"
#include "profile_footer.h"
#include "store_writer.h"
#include "timefmt.h"

enum { FRAME_SAMPLES = 1 << 18 }; /* in one frame; a hostile second has more */

struct import_store {
	struct store_writer *writer;
	struct profile_encoder encoder;
	struct profile_footer footer;
	struct buf payload;
	char host[256], kernel[128];
	bool wall_time;
};

static int segment_begin(void *arg, struct store_writer *w, struct err *err)
{
	struct import_store *s = arg;
	char text[600];

	profile_encoder_reset(&s->encoder);
	profile_footer_clear(&s->footer);
	int n = snprintf(text, sizeof(text),
			 "version=" ZSCOPE_VERSION
			 "\nhost=%s\nkernel=%s\nimported=1\nwall_time=%d\n",
			 s->host, s->kernel, s->wall_time);
	return store_writer_append(w, FRAME_META, 1, store_writer_clock(w)->real_ns, text,
				   MIN_OF((size_t)n, sizeof(text) - 1), err);
}

static int segment_end(void *arg, struct store_writer *w, struct err *err)
{
	struct import_store *s = arg;

	buf_clear(&s->payload);
	profile_footer_encode_heat(&s->payload, &s->footer);
	int r = store_writer_footer_blob(w, FOOTER_HEAT, s->payload.data, s->payload.len, err);
	buf_clear(&s->payload);
	profile_footer_encode_cores(&s->payload, &s->footer);
	if (r == 0)
		r = store_writer_footer_blob(w, FOOTER_PROFILE, s->payload.data, s->payload.len,
					     err);
	return r;
}

int import_store_open(const char *dir, struct import_store **ret, struct err *err)
{
	struct import_store *s = calloc(1, sizeof(*s));
	/* one fsync at the end is enough: the source file is still there */
	struct store_options options = { .ring_bytes = 64 << 20, .sync_ns = 3600 * NS_PER_S };

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	struct store_hooks hooks = { .begin = segment_begin, .end = segment_end, .arg = s };
	int r = store_writer_open(dir, &options, &hooks, &s->writer, err);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void import_store_source(struct import_store *s, const struct import_info *info)
{
	memcpy(s->host, info->host, sizeof(s->host));
	memcpy(s->kernel, info->kernel, sizeof(s->kernel));
	s->wall_time = info->wall != IMPORT_WALL_NONE;
}

uint64_t import_store_bytes(const struct import_store *s)
{
	return store_writer_bytes(s->writer);
}

/* Idle = pid 0 and an idle function as leaf: stored here, but no heat. */
static bool is_idle(const struct profile *p, const struct profile_sample *sample)
{
	if (sample->tid != 0 || !sample->stack)
		return false;
	const struct profile_frame *leaf = &p->frames.items[p->stacks.items[sample->stack].frame];
	return leaf->symbol && idle_name(profile_text(p, leaf->symbol));
}

static int write_frame(struct import_store *s, const struct profile *p,
		       const struct profile_second *second, struct profile_sample *samples,
		       size_t n, struct err *err)
{
	uint64_t at_ns = store_writer_clock(s->writer)->real_ns;
	int r = 0;

	buf_clear(&s->payload);
	if (profile_encode_dictionary(&s->encoder, p, samples, n, &s->payload))
		r = store_writer_append(s->writer, FRAME_STACKS, PROFILE_CODEC_VERSION, at_ns,
					s->payload.data, s->payload.len, err);
	buf_clear(&s->payload);
	profile_encode_second(&s->encoder, p, second, samples, n, &s->payload);
	if (s->payload.failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = store_writer_append(s->writer, FRAME_PROFILE, PROFILE_CODEC_VERSION, at_ns,
					s->payload.data, s->payload.len, err);
	if (r == 0 && store_writer_degraded(s->writer))
		r = err_set(err, -EIO, "%s", store_writer_degraded(s->writer));
	return r;
}

static int write_second(struct import_store *s, struct profile *p, uint64_t second,
			struct profile_sample *samples, size_t n, struct err *err)
{
	uint64_t at_ns = second * NS_PER_S;
	struct store_clock clock = {
		.real_ns = at_ns, .mono_ns = at_ns, .boot_ns = at_ns, .boot_id = "imported"
	};
	struct profile_second head = { .second = second, .exact_ns = true };
	struct profile_cpu_second *rows = p->meta.cpu_seconds.items;
	size_t first = 0, last;

	while (first < p->meta.cpu_seconds.len && rows[first].second != second)
		first++;
	for (last = first; last < p->meta.cpu_seconds.len && rows[last].second == second;)
		last++;
	head.rows = rows ? rows + first : NULL;
	head.n_rows = last - first;
	int r = store_writer_tick(s->writer, &clock, err);
	for (size_t i = 0; i < n; i++)
		if (!is_idle(p, &samples[i]))
			profile_footer_count(&s->footer, samples[i].time_ns);
	for (size_t at = 0; r == 0 && at < n; at += FRAME_SAMPLES) {
		r = write_frame(s, p, &head, samples + at, MIN_OF(n - at, FRAME_SAMPLES), err);
		head.n_rows = 0;
	}
	return r;
}

int import_store_write(struct import_store *s, struct profile *p, uint64_t until_ns,
		       struct err *err)
{
	size_t done = 0, n = p->samples.len;

	profile_sort(p);
	if (profile_failed(p))
		return err_set(err, -ENOMEM, "out of memory");
	while (done < n && p->samples.items[done].time_ns < until_ns) {
		uint64_t second = p->samples.items[done].time_ns / NS_PER_S;
		size_t end = done;
		while (end < n && p->samples.items[end].time_ns / NS_PER_S == second)
			end++;
		int r = write_second(s, p, second, p->samples.items + done, end - done, err);
		if (r < 0)
			return r;
		done = end;
	}
	memmove(p->samples.items, p->samples.items + done, (n - done) * sizeof(*p->samples.items));
	p->samples.len = n - done;
	return 0;
}

int import_store_close(struct import_store *s, struct err *err)
{
	int r = 0;

	if (!s)
		return 0;
	store_writer_flush(s->writer);
	if (store_writer_lost_frames(s->writer))
		r = err_set(err, -EIO, "%llu frames could not be written",
			    (unsigned long long)store_writer_lost_frames(s->writer));
	store_writer_close(s->writer);
	profile_encoder_reset(&s->encoder);
	profile_footer_free(&s->footer);
	buf_free(&s->payload);
	free(s);
	return r;
}
