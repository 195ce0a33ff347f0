#include "fuzz.h"
#include "perf_data.h"

struct input {
	const uint8_t *bytes;
	size_t len;
};

static int64_t input_read_at(void *arg, uint64_t offset, void *ret, size_t len)
{
	const struct input *in = arg;

	if (offset >= in->len)
		return 0;
	if (len > in->len - offset)
		len = in->len - offset;
	memcpy(ret, in->bytes + offset, len);
	return (int64_t)len;
}

/* Touch what a record claims to have. */
static int count_record(void *arg, const struct perf_data *data, const struct perf_rec *rec,
			struct err *err)
{
	uint64_t *sum = arg;

	(void)err;
	if (rec->attr >= data->attrs.len)
		abort();
	for (size_t i = 0; i < rec->n_chain; i++)
		*sum += rec->chain[i];
	if (rec->type == 1 || rec->type == 10)
		*sum += strlen(rec->map.file);
	if (rec->type == 3)
		*sum += strlen(rec->comm.comm);
	if (rec->type == 16)
		for (uint64_t i = 0; i < rec->namespaces.n; i++)
			*sum += rec->namespaces.list[i].ino;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input in = { bytes, len };
	struct perf_input input = { .read_at = input_read_at, .arg = &in, .size = len };
	struct perf_data_ops ops = { .record = count_record };
	uint64_t sum = 0;

	for (unsigned flags = 0; flags <= PERF_DATA_FILE_ORDER; flags++) {
		AUTO_PERF_DATA struct perf_data data;
		struct err err = { 0 };
		char name[64];
		int r = perf_data_read(&input, flags, &ops, &sum, &data, &err);
		if (r < 0 && !err.text[0])
			abort(); /* every refusal says why */
		for (size_t i = 0; i < data.attrs.len; i++)
			sum += strlen(perf_attr_name(&data.attrs.items[i], name, sizeof(name)));
	}
	return sum == 42 ? 0 : 0;
}
