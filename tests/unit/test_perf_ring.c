#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "check.h"
#include "perf_ring.h"

struct __attribute__((packed)) trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, zero;
};

TEST(a_sample_with_its_chain_and_cgroup)
{
	struct __attribute__((packed)) {
		struct perf_event_header head;
		struct trailer id;
		uint64_t n, chain[3], cgroup;
	} raw = { { PERF_RECORD_SAMPLE, 0, sizeof(raw) },
		  { 10, 11, 99, 3, 0 },
		  3,
		  { (uint64_t)-128, 0xffffffff81000010, 0x401000 },
		  777 };
	struct perf_ring_record r;

	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), PERF_RING_CGROUP, &r), 0);
	CHECK_EQ(r.kind, PERF_RING_SAMPLE);
	CHECK(r.pid == 10 && r.tid == 11 && r.time_ns == 99 && r.cpu == 3);
	CHECK_EQ(r.sample.n, 3);
	CHECK(perf_ring_chain(&r, 1) == 0xffffffff81000010);
	CHECK_EQ(r.sample.cgroup, 777);
	raw.n = 5; /* more than the record holds */
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), PERF_RING_CGROUP, &r), -EBADMSG);
	raw.n = UINT64_MAX / 8 + 2;
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), -EBADMSG);
	CHECK_EQ(perf_ring_record_size(&raw, sizeof(raw) - 1), 0);
}

TEST(a_mapping_with_its_build_id)
{
	struct __attribute__((packed)) {
		struct perf_event_header head;
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint8_t size, pad[3], id[20];
		uint32_t prot, flags;
		char path[16];
		struct trailer trailer;
	} raw = { .head = { PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, sizeof(raw) },
		  .pid = 5,
		  .tid = 5,
		  .start = 0x400000,
		  .len = 0x1000,
		  .size = 20,
		  .id = "\xab",
		  .prot = 5,
		  .path = "/usr/bin/x",
		  .trailer = { 5, 5, 42, 0, 0 } };
	struct perf_ring_record r;

	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), 0);
	CHECK_EQ(r.kind, PERF_RING_MMAP);
	CHECK_STR(r.mmap.path, "/usr/bin/x");
	CHECK(r.mmap.executable && r.mmap.build_id_len == 20 && r.mmap.build_id[0] == 0xab);
	CHECK(r.time_ns == 42 && r.pid == 5);
	memset(raw.path, 'x', sizeof(raw.path)); /* no end */
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), -EBADMSG);
}

/* Other recorders' events make the kernel reserve more than it writes. */
TEST(a_kernel_symbol_with_leftovers_behind_its_trailer)
{
	struct __attribute__((packed)) {
		struct perf_event_header head;
		uint64_t start;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
		struct trailer trailer;
		uint64_t leftovers[6];
	} raw = { .head = { PERF_RECORD_KSYMBOL, 0, sizeof(raw) },
		  .start = 0xffffffffc0001000,
		  .len = 64,
		  .type = PERF_RECORD_KSYMBOL_TYPE_BPF,
		  .name = "bpf_prog_12345",
		  .trailer = { 7, 8, 4242, 1, 0 } };
	struct perf_ring_record r;

	memset(raw.leftovers, 0xee, sizeof(raw.leftovers));
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), 0);
	CHECK_EQ(r.kind, PERF_RING_KSYMBOL);
	CHECK_STR(r.ksymbol.name, "bpf_prog_12345");
	CHECK(r.time_ns == 4242 && r.pid == 7 && r.tid == 8 && r.cpu == 1);
	raw.head.size = sizeof(raw) - sizeof(raw.leftovers); /* and without */
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), 0);
	CHECK_EQ(r.time_ns, 4242);
	raw.head.size -= 8;
	CHECK_EQ(perf_ring_parse(&raw, sizeof(raw), 0, &r), -EBADMSG);
}

TEST_MAIN
