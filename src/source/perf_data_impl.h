/* What the files of perf_data share with each other, and with nobody else. */
#pragma once

#include "buf.h"
#include "perf_bytes.h"
#include "perf_data.h"

enum {
	PERF_HEADER_LEN = 8,           /* of a record: type, misc, size */
	PERF_RECORD_BYTES = 65536,     /* size is 16 bits */
	PERF_ATTRS_MAX = 4096,         /* events of one file */
	PERF_FEATURE_BYTES = 16 << 20, /* of one feature section */
	PERF_FEATURE_DIR_FORMAT = 24,  /* its bit: the file lies in a directory of others */
};

struct perf_record_header {
	uint32_t type;
	uint16_t misc, size;
};

/* --- perf_data_header.c --- */
struct perf_file {
	uint64_t data_offset, data_size;
	uint64_t attr_entry; /* bytes of one entry of the attrs section */
	uint64_t attrs_offset, attrs_size;
	uint64_t features[4];
};
int perf_header_read(const struct perf_input *in, struct perf_data *d, struct perf_file *ret,
		     struct err *err);
int perf_header_read_attrs(const struct perf_input *in, struct perf_data *d,
			   const struct perf_file *file, struct err *err);
/* False = some of them lie behind the end of the file. */
bool perf_header_read_features(const struct perf_input *in, struct perf_data *d,
			       const struct perf_file *file);
/* One feature's bytes; what is malformed is left out. */
void perf_feature_parse(struct perf_data *d, unsigned feature, const void *bytes, size_t len);
/* The body of an ATTR record (pipes). */
int perf_attr_record(struct perf_data *d, struct perf_bytes *b, struct err *err);
/* The body of a BUILD_ID record. */
void perf_build_id_record(struct perf_data *d, uint16_t misc, struct perf_bytes *b);
void perf_event_update_record(struct perf_data *d, struct perf_bytes *b);

/* --- perf_data_tracing.c: what follows a TRACING_DATA record; what is malformed is left out --- */
void perf_tracing_parse(struct perf_data *d, const void *bytes, size_t len);

/* --- perf_data_decode.c --- */
struct perf_decoder {
	uint64_t chain[PERF_CHAIN_MAX];
	VEC(struct perf_ns) namespaces;
	struct buf text; /* names without their NUL in the record */
};
/* Decode the record whose header is h and whose body is b. -EBADMSG when it is malformed. */
int perf_decode(struct perf_data *d, struct perf_decoder *dec, const struct perf_record_header *h,
		struct perf_bytes b, struct perf_rec *ret);
/* Only its time: 0 = it has none. */
uint64_t perf_decode_time(const struct perf_data *d, const struct perf_record_header *h,
			  struct perf_bytes b);
void perf_decoder_free(struct perf_decoder *dec);

/* --- perf_data_order.c: perf writes rounds; nothing is reordered across two of them --- */
struct perf_queued {
	uint64_t time, serial;
	size_t offset; /* into bytes */
	uint32_t len;
};
struct perf_order {
	VEC(struct perf_queued) queue, sorted;
	struct buf bytes, spare;
	uint64_t serial;
	uint64_t newest, round_newest, given_ns;
	size_t most_bytes; /* held at once */
};
typedef int (*perf_give_fn)(void *arg, const void *record, size_t len, struct err *err);
int perf_order_add(struct perf_order *o, uint64_t time, const void *record, size_t len,
		   perf_give_fn give, void *arg, struct perf_data *d, struct err *err);
int perf_order_round(struct perf_order *o, perf_give_fn give, void *arg, struct perf_data *d,
		     struct err *err);
/* All inputs have been read up to until_ns. */
int perf_order_until(struct perf_order *o, uint64_t until_ns, perf_give_fn give, void *arg,
		     struct perf_data *d, struct err *err);
int perf_order_end(struct perf_order *o, perf_give_fn give, void *arg, struct perf_data *d,
		   struct err *err);
void perf_order_free(struct perf_order *o);
