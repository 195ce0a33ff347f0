#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "profile_codec.h"
#include "profile_footer.h"

#define START UINT64_C(1700000000)

/* A profile of n samples on two cores with some stacks; every period of 97 Hz, a little off. */
static void make_profile(struct profile *p, size_t n, unsigned from_name)
{
	char name[32];

	p->meta.hz = 97;
	profile_add_event(p, "cpu-clock");
	uint32_t comm = profile_add_text(p, "a;b c\x01");
	uint32_t cgroup = profile_add_cgroup(p, 77, profile_add_text(p, "/system.slice/x.service"));
	uint32_t module = profile_add_module(p, profile_add_text(p, "/usr/bin/x"), "\1\2\3", 3);
	for (size_t i = 0; i < n; i++) {
		uint32_t stack = 0;
		for (unsigned depth = 0; depth <= i % 7; depth++) {
			snprintf(name, sizeof(name), "function_%zu", from_name + depth + i % 5);
			struct profile_frame f = { .symbol = profile_add_text(p, name),
						   .module = module,
						   .kind = PROFILE_USER };
			if (i % 5 == 3)
				f = (struct profile_frame){ .module = module,
							    .kind = PROFILE_USER,
							    .address = 0x400000 + depth };
			stack = profile_add_stack(p, stack, profile_add_frame(p, &f));
		}
		struct profile_sample s = {
			.time_ns = START * 1000000000 + i / 2 * 10309278 + i % 3 * 1000,
			.weight = 1,
			.stack = stack,
			.comm = comm,
			.pid = 10 + (uint32_t)(i % 3),
			.tid = 20,
			.cgroup = cgroup,
			.cpu = i % 2 ? 3 : 0,
			.have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID |
				PROFILE_HAVE_TID,
		};
		profile_add_sample(p, &s);
	}
}

static void encode(struct profile_encoder *e, struct profile *p, struct buf *dictionary,
		   struct buf *second, bool exact)
{
	struct profile_cpu_second rows[] = {
		{ START, 0, 97, 90, 20, 2, 30 },
		{ START, 3, 97, 97, 0, 0, PROFILE_IDLE_UNKNOWN },
	};
	struct profile_second info = { START, exact, rows, 2 };

	profile_encode_dictionary(e, p, p->samples.items, p->samples.len, dictionary);
	profile_encode_second(e, p, &info, p->samples.items, p->samples.len, second);
}

static void check_same(const struct profile *a, const struct profile *b)
{
	char name_a[64], name_b[64];

	CHECK_EQ(a->samples.len, b->samples.len);
	for (size_t i = 0; i < a->samples.len; i++) {
		const struct profile_sample *x = &a->samples.items[i], *y = &b->samples.items[i];
		CHECK(x->time_ns / 1000 == y->time_ns / 1000 && x->cpu == y->cpu &&
		      x->pid == y->pid && x->tid == y->tid && x->weight == y->weight &&
		      x->have == y->have);
		CHECK_STR(profile_text(a, x->comm), profile_text(b, y->comm));
		CHECK_STR(profile_text(a, a->cgroups.items[x->cgroup].path),
			  profile_text(b, b->cgroups.items[y->cgroup].path));
		uint32_t s = x->stack, t = y->stack;
		for (; s && t; s = a->stacks.items[s].parent, t = b->stacks.items[t].parent) {
			profile_frame_where(a, a->stacks.items[s].frame, name_a, sizeof(name_a));
			profile_frame_where(b, b->stacks.items[t].frame, name_b, sizeof(name_b));
			CHECK_STR(name_a, name_b);
		}
		CHECK(!s && !t);
	}
}

TEST(round_trip)
{
	AUTO_PROFILE struct profile p, q;
	AUTO_BUF struct buf dictionary = { 0 }, second = { 0 };
	struct profile_encoder e = { 0 };
	struct profile_decoder d = { .out = &q };

	CHECK(profile_init(&p) == 0 && profile_init(&q) == 0);
	make_profile(&p, 190, 0);
	encode(&e, &p, &dictionary, &second, false);
	CHECK_EQ(profile_decode_dictionary(&d, dictionary.data, dictionary.len), 0);
	CHECK_EQ(profile_decode_second(&d, second.data, second.len, 0, UINT64_MAX), 0);
	check_same(&p, &q);
	CHECK_EQ(q.meta.cpu_seconds.len, 2);
	CHECK_EQ(q.meta.cpu_seconds.items[0].idle, 30);
	CHECK(q.meta.cpu_seconds.items[1].idle == PROFILE_IDLE_UNKNOWN);
	CHECK(q.meta.lost == 2 && q.meta.idle == 20 && q.meta.hz == 97);
	CHECK(second.len < 190 * 5);
	/* a second time there is nothing new to say */
	buf_clear(&dictionary);
	CHECK(!profile_encode_dictionary(&e, &p, p.samples.items, p.samples.len, &dictionary));
	/* a window inside of the second */
	q.samples.len = 0;
	CHECK_EQ(profile_decode_second(&d, second.data, second.len, START * 1000000000 + 500000000,
				       START * 1000000000 + 600000000),
		 0);
	CHECK(q.samples.len > 10 && q.samples.len < 25);
	profile_encoder_reset(&e);
	profile_decoder_free(&d);
}

TEST(what_imported_files_have)
{
	AUTO_PROFILE struct profile p, q;
	AUTO_BUF struct buf dictionary = { 0 }, second = { 0 };
	struct profile_encoder e = { 0 };
	struct profile_decoder d = { .out = &q };

	CHECK(profile_init(&p) == 0 && profile_init(&q) == 0);
	make_profile(&p, 20, 0);
	profile_add_event(&p, "cycles");
	for (size_t i = 0; i < 20; i++) {
		p.samples.items[i].weight = 1000 + i;
		p.samples.items[i].time_ns += i;
		p.samples.items[i].event = i % 2;
		p.samples.items[i].have = PROFILE_HAVE_TIME | PROFILE_HAVE_WEIGHT;
	}
	encode(&e, &p, &dictionary, &second, true);
	CHECK_EQ(profile_decode_dictionary(&d, dictionary.data, dictionary.len), 0);
	CHECK_EQ(profile_decode_second(&d, second.data, second.len, 0, UINT64_MAX), 0);
	CHECK_EQ(q.samples.len, 20);
	for (size_t i = 0; i < 20; i++) {
		CHECK(q.samples.items[i].time_ns == p.samples.items[i].time_ns);
		CHECK(q.samples.items[i].weight == p.samples.items[i].weight);
		CHECK(q.samples.items[i].event == p.samples.items[i].event);
		CHECK(q.samples.items[i].have == p.samples.items[i].have);
	}
	profile_encoder_reset(&e);
	profile_decoder_free(&d);
}

/* Three seconds; the dictionary of the middle one is lost: the others are whole. */
TEST(a_damaged_dictionary_loses_only_what_needs_it)
{
	AUTO_PROFILE struct profile p, q;
	struct buf dictionary[3] = { 0 }, second[3] = { 0 };
	struct profile_encoder e = { 0 };
	struct profile_decoder d = { .out = &q };

	CHECK(profile_init(&p) == 0 && profile_init(&q) == 0);
	for (unsigned i = 0; i < 3; i++) {
		p.samples.len = 0;
		make_profile(&p, 50, 100 * i);
		encode(&e, &p, &dictionary[i], &second[i], false);
	}
	for (unsigned i = 0; i < 3; i++) {
		if (i != 1)
			CHECK_EQ(profile_decode_dictionary(&d, dictionary[i].data,
							   dictionary[i].len),
				 0);
		CHECK_EQ(profile_decode_second(&d, second[i].data, second[i].len, 0, UINT64_MAX),
			 0);
		CHECK(i == 1 ? q.meta.damaged > 0 && q.samples.len < 100 : true);
	}
	CHECK(q.meta.damaged <= 50);
	q.samples.len = 0; /* the last second once more, alone */
	CHECK_EQ(profile_decode_second(&d, second[2].data, second[2].len, 0, UINT64_MAX), 0);
	check_same(&p, &q);
	for (unsigned i = 0; i < 3; i++) {
		buf_free(&dictionary[i]);
		buf_free(&second[i]);
	}
	profile_encoder_reset(&e);
	profile_decoder_free(&d);
}

TEST(footer_round_trip)
{
	struct profile_footer f = { 0 }, g = { 0 };
	AUTO_BUF struct buf heat = { 0 }, cores = { 0 };

	for (unsigned i = 0; i < 500; i++)
		profile_footer_count(&f, START * 1000000000 + i * UINT64_C(10300000));
	(void)vec_push(&f.cores, (struct profile_core_second){ START, 1, 50, 2, 9, 97 });
	(void)vec_push(&f.cores, (struct profile_core_second){ START + 1, 0, 97, 0, 0, 97 });
	profile_footer_encode_heat(&heat, &f);
	profile_footer_encode_cores(&cores, &f);
	CHECK_EQ(profile_footer_decode_heat(heat.data, heat.len, &g), 0);
	CHECK_EQ(profile_footer_decode_cores(cores.data, cores.len, false, &g), 0);
	CHECK_EQ(profile_footer_decode_cores(cores.data, cores.len, true, &g), 0);
	CHECK(g.lost == 2 && g.missing == 9);
	CHECK_EQ(g.heat.len, f.heat.len);
	CHECK(memcmp(g.heat.items, f.heat.items, f.heat.len * sizeof(*f.heat.items)) == 0);
	CHECK(g.cores.len == 2 && g.cores.items[0].missing == 9 && g.cores.items[1].busy == 97);
	for (size_t cut = 0; cut < heat.len; cut++) {
		profile_footer_clear(&g);
		CHECK(profile_footer_decode_heat(heat.data, cut, &g) < 0 || cut == 0);
	}
	profile_footer_free(&f);
	profile_footer_free(&g);
}

TEST(missing_ticks_of_a_busy_core)
{
	struct profile_cpu_second r = { .expected = 97, .received = 20, .idle = 10 };

	CHECK_EQ(profile_missing_ticks(&r), 67);
	r.received_idle = 5;
	CHECK_EQ(profile_missing_ticks(&r), 72);
	r.idle = 95; /* an idle core that delivers nothing misses nothing */
	CHECK_EQ(profile_missing_ticks(&r), 0);
	r.idle = PROFILE_IDLE_UNKNOWN;
	CHECK_EQ(profile_missing_ticks(&r), 0);
}

TEST_MAIN
