/* Every record of a perf.data file as one JSON object per line, in the order of the file (or, with
 * --sorted, of time), for comparison with what other readers of the format say. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "json.h"
#include "perf_data.h"

static int64_t dump_read_at(void *arg, uint64_t offset, void *ret, size_t len)
{
	ssize_t n = pread(*(int *)arg, ret, len, (off_t)offset);
	return n < 0 ? -errno : n;
}

static void dump_hex(struct json *j, const char *key, const uint8_t *bytes, size_t len)
{
	char text[2 * PERF_BUILD_ID_BYTES + 1] = "";
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	json_str(j, key, text);
}

static void dump_map(struct json *j, const struct perf_rec *rec)
{
	const struct perf_map *m = &rec->map;

	json_u64(j, "pid", m->pid);
	json_u64(j, "tid", m->tid);
	json_u64(j, "start", m->start);
	json_u64(j, "len", m->len);
	json_u64(j, "pgoff", m->pgoff);
	json_str(j, "filename", m->file);
	if (rec->type != PERF_RECORD_MMAP2)
		return;
	if (m->build_id_len) {
		dump_hex(j, "build_id", m->build_id, m->build_id_len);
	} else {
		json_u64(j, "maj", m->maj);
		json_u64(j, "min", m->min);
		json_u64(j, "ino", m->ino);
		json_u64(j, "ino_generation", m->ino_generation);
	}
	json_u64(j, "prot", m->prot);
	json_u64(j, "flags", m->flags);
}

static void dump_body(struct json *j, const struct perf_rec *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		dump_map(j, rec);
		break;
	case PERF_RECORD_COMM:
		json_u64(j, "pid", rec->comm.pid);
		json_u64(j, "tid", rec->comm.tid);
		json_str(j, "comm", rec->comm.comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		json_u64(j, "pid", rec->fork.pid);
		json_u64(j, "ppid", rec->fork.ppid);
		json_u64(j, "tid", rec->fork.tid);
		json_u64(j, "ptid", rec->fork.ptid);
		json_u64(j, "fork_time_ns", rec->fork.time);
		break;
	case PERF_RECORD_LOST:
		json_u64(j, "id", rec->lost.id);
		json_u64(j, "lost", rec->lost.lost);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		json_u64(j, "num_lost", rec->lost.lost);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		json_u64(j, "time_ns", rec->throttle.time);
		json_u64(j, "id", rec->throttle.id);
		json_u64(j, "stream_id", rec->throttle.stream_id);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		json_u64(j, "next_prev_pid", rec->next_prev.pid);
		json_u64(j, "next_prev_tid", rec->next_prev.tid);
		break;
	case PERF_RECORD_NAMESPACES:
		json_u64(j, "pid", rec->namespaces.pid);
		json_u64(j, "tid", rec->namespaces.tid);
		json_array(j, "link_info");
		for (uint64_t i = 0; i < rec->namespaces.n; i++) {
			json_u64(j, NULL, rec->namespaces.list[i].dev);
			json_u64(j, NULL, rec->namespaces.list[i].ino);
		}
		json_end_array(j);
		break;
	case PERF_RECORD_ITRACE_START:
		json_u64(j, "pid", rec->next_prev.pid);
		json_u64(j, "tid", rec->next_prev.tid);
		break;
	default:
		break;
	}
}

static void dump_sample_info(struct json *j, const struct perf_rec *rec)
{
	static const struct {
		unsigned bit;
		const char *name;
		size_t offset;
	} fields[] = {
		{ PERF_HAVE_IP, "ip", offsetof(struct perf_rec, ip) },
		{ PERF_HAVE_TIME, "sample_time_ns", offsetof(struct perf_rec, time) },
		{ PERF_HAVE_ADDR, "addr", offsetof(struct perf_rec, addr) },
		{ PERF_HAVE_ID, "id", offsetof(struct perf_rec, id) },
		{ PERF_HAVE_STREAM, "stream_id", offsetof(struct perf_rec, stream_id) },
		{ PERF_HAVE_PERIOD, "period", offsetof(struct perf_rec, period) },
	};
	json_object(j, "info");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (rec->have & fields[i].bit)
			json_u64(j, fields[i].name,
				 *(const uint64_t *)((const char *)rec + fields[i].offset));
	if (rec->have & PERF_HAVE_TID) {
		json_u64(j, "pid", rec->pid);
		json_u64(j, "tid", rec->tid);
	}
	if (rec->have & PERF_HAVE_CPU)
		json_u64(j, "cpu", rec->cpu);
	json_end_object(j);
}

static int dump_record(void *arg, const struct perf_data *data, const struct perf_rec *rec,
		       struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	(void)arg, (void)data, (void)err;
	json_init(&j, &out);
	json_object(&j, NULL);
	json_u64(&j, "type", rec->type);
	json_u64(&j, "misc", rec->misc);
	json_u64(&j, "size", rec->size);
	json_u64(&j, "event", rec->attr);
	dump_body(&j, rec);
	dump_sample_info(&j, rec);
	if (rec->have & PERF_HAVE_CHAIN) {
		json_array(&j, "callchain");
		for (size_t i = 0; i < rec->n_chain; i++)
			json_u64(&j, NULL, rec->chain[i]);
		json_end_array(&j);
	}
	json_end_object(&j);
	puts(buf_str(&out));
	return 0;
}

static void dump_file(const struct perf_data *d)
{
	AUTO_BUF struct buf out = { 0 };
	char name[64];
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	json_bool(&j, "pipe", d->pipe);
	json_u64(&j, "records", d->n_records);
	json_u64(&j, "samples", d->n_samples);
	json_u64(&j, "late", d->n_late);
	json_str(&j, "damage", d->damage);
	json_str(&j, "hostname", d->hostname);
	if (d->have_clock_data) {
		json_u64(&j, "clockid", d->clockid);
		json_u64(&j, "clock_wall_ns", d->clock_wall_ns);
		json_u64(&j, "clock_ns", d->clock_ns);
	}
	json_array(&j, "attrs");
	vec_foreach (&d->attrs, a) {
		json_object(&j, NULL);
		json_u64(&j, "type", a->type);
		json_u64(&j, "size", a->size);
		json_u64(&j, "config", a->config);
		json_u64(&j, "sample_period", a->period_or_freq);
		json_u64(&j, "sample_type", a->sample_type);
		json_u64(&j, "read_format", a->read_format);
		json_u64(&j, "flags", a->flags);
		json_str(&j, "name", perf_attr_name(a, name, sizeof(name)));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "build_ids");
	vec_foreach (&d->build_ids, b) {
		json_object(&j, NULL);
		dump_hex(&j, "build_id", b->bytes, b->len);
		json_str(&j, "file", b->file);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	puts(buf_str(&out));
}

int main(int argc, char **argv)
{
	bool sorted = argc == 3 && strcmp(argv[1], "--sorted") == 0;
	AUTO_CLOSE int fd = argc >= 2 ? open(argv[argc - 1], O_RDONLY | O_CLOEXEC) : -1;
	AUTO_PERF_DATA struct perf_data data = { 0 };
	struct perf_data_ops ops = { .record = dump_record };
	struct err err = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror("dump_perf_data [--sorted] FILE");
		return 2;
	}
	struct perf_input in = { .read_at = dump_read_at,
				 .arg = &fd,
				 .size = (uint64_t)st.st_size };
	int r = perf_data_read(&in, sorted ? 0 : PERF_DATA_FILE_ORDER, &ops, NULL, &data, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	dump_file(&data);
	return r < 0 ? 1 : 0;
}
