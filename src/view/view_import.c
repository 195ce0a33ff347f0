#include "view_import.h"

#include <string.h>

#include "auto.h"
#include "esc.h"
#include "json.h"
#include "timefmt.h"

static void text_times(FILE *out, const struct import_info *i)
{
	char from[TIMEFMT_MAX], span[TIMEFMT_MAX];
	static const char *const sources[] = { "", "the file's own clock data", "the file's name",
					       "--anchor" };

	if (!i->first_ns)
		return;
	timefmt_span(span, i->last_ns - i->first_ns);
	if (i->wall == IMPORT_WALL_NONE) {
		fprintf(out, "  %s, times are relative: nothing says when it was (use --anchor)\n",
			span);
		return;
	}
	timefmt_local(from, i->first_ns);
	fprintf(out, "  %s from %s (by %s)\n", span, from, sources[i->wall]);
}

static void text_file(FILE *out, const struct import_batch_file *f)
{
	AUTO_BUF struct buf name = { 0 };
	const struct import_info *i = &f->info;

	esc_tty(&name, f->path, strlen(f->path));
	fprintf(out, "%s: %llu samples", buf_str(&name), (unsigned long long)i->n_samples);
	if (i->n_lost)
		fprintf(out, ", %llu lost while recording", (unsigned long long)i->n_lost);
	if (i->n_late)
		fprintf(out, ", %llu out of order", (unsigned long long)i->n_late);
	if (i->n_untimed)
		fprintf(out, ", %llu without a time", (unsigned long long)i->n_untimed);
	if (i->n_strange)
		fprintf(out, ", %llu lines not understood", (unsigned long long)i->n_strange);
	fputc('\n', out);
	text_times(out, i);
	if (i->n_stack_dumps)
		fprintf(out,
			"  %llu samples hold copies of user stacks (--call-graph dwarf), which are "
			"not unwound: their callers in user code are missing\n",
			(unsigned long long)i->n_stack_dumps);
	if (i->damage[0])
		fprintf(out, "  damaged: %s\n", i->damage);
	if (f->failed)
		fprintf(out, "  failed: %s\n", f->why);
}

void view_import_text(FILE *out, const struct import_batch *batch, const char *store)
{
	AUTO_BUF struct buf name = { 0 };
	uint64_t samples = 0;

	esc_tty(&name, store, strlen(store));
	vec_foreach (&batch->files, f) {
		text_file(out, f);
		samples += f->info.n_samples;
	}
	fprintf(out, "%zu files, %llu samples, recording %s: %llu bytes\n", batch->files.len,
		(unsigned long long)samples, buf_str(&name), (unsigned long long)batch->bytes);
}

static void json_file(struct json *j, const struct import_batch_file *f)
{
	const struct import_info *i = &f->info;

	json_object(j, NULL);
	json_str(j, "file", f->path);
	json_str(j, "format",
		 i->perf_data ? i->pipe ? "perf.data-pipe" : "perf.data" : "perf-script");
	json_u64(j, "samples", i->n_samples);
	json_u64(j, "lost", i->n_lost);
	json_u64(j, "late", i->n_late);
	json_u64(j, "untimed", i->n_untimed);
	json_u64(j, "stack_dumps", i->n_stack_dumps);
	json_str(j, "wall_time", import_wall_name(i->wall));
	if (i->first_ns && i->wall != IMPORT_WALL_NONE) {
		json_time(j, "from", i->first_ns);
		json_time(j, "to", i->last_ns);
	} else if (i->first_ns) {
		json_u64(j, "relative_from_ns", i->first_ns);
		json_u64(j, "relative_to_ns", i->last_ns);
	}
	if (i->host[0])
		json_str(j, "recorded_on", i->host);
	if (i->damage[0])
		json_str(j, "damage", i->damage);
	if (f->failed)
		json_str(j, "error", f->why);
	json_end_object(j);
}

void view_import_json(FILE *out, const struct import_batch *batch, const struct envelope *envelope,
		      const char *store, uint64_t now_ns)
{
	AUTO_BUF struct buf text = { 0 };
	uint64_t samples = 0;
	struct json j;

	json_init(&j, &text);
	json_object(&j, NULL);
	envelope_json(&j, envelope, "import", now_ns);
	json_str(&j, "store", store);
	json_u64(&j, "bytes", batch->bytes);
	json_array(&j, "files");
	vec_foreach (&batch->files, f) {
		json_file(&j, f);
		samples += f->info.n_samples;
	}
	json_end_array(&j);
	json_u64(&j, "samples", samples);
	json_end_object(&j);
	fprintf(out, "%s\n", buf_str(&text));
}

void view_import_progress(FILE *out, const struct terminal *terminal, const char *path, size_t file,
			  size_t files, uint64_t done, uint64_t total)
{
	AUTO_BUF struct buf name = { 0 };
	enum { BAR = 30 };
	char bar[BAR + 1];
	double share = total ? (double)done / (double)total : 0;
	const char *slash = strrchr(path, '/');

	if (!terminal->tty)
		return;
	share = ((double)file + MIN_OF(share, 1.0)) / (double)(files ? files : 1);
	for (int i = 0; i < BAR; i++)
		bar[i] = i < (int)(share * BAR) ? '#' : '.';
	bar[BAR] = '\0';
	slash = slash ? slash + 1 : path;
	esc_tty(&name, slash, MIN_OF(strlen(slash), 40));
	fprintf(out, "\r\033[K[%s] %3d %%  %zu/%zu %s", bar, (int)(share * 100), file + 1, files,
		buf_str(&name));
	fflush(out);
}

void view_import_progress_end(FILE *out, const struct terminal *terminal)
{
	if (terminal->tty)
		fputs("\r\033[K", out);
}
