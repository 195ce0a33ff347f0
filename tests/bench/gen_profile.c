/* Writes the profile of an invented host, much faster than time passes: the samples of a few
 * minutes are made and encoded, then written again and again with their second changed, each
 * segment with its own dictionary and footer as the recorder writes them.
 *
 *   gen-profile DIR [--cores N] [--seconds N] [--busy PERCENT] [--stacks N] [--end EPOCH_S]
 *
 * Prints the number of samples and the bytes on disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "gen_args.h"
#include "profile_codec.h"
#include "profile_footer.h"
#include "store_writer.h"
#include "timefmt.h"
#include "wire.h"

enum { SEGMENT_S = 60, HZ = 97, FUNCTIONS = 3000, TASKS = 400 };

struct gen {
	uint64_t cores, seconds, end_s, busy, stacks;
	uint64_t random;
	struct profile profile;
	struct profile_encoder encoder;
	uint32_t *leaves;
	struct buf dictionary[SEGMENT_S], second[SEGMENT_S]; /* second: without its number */
	struct profile_footer footer;
	struct store_writer *writer;
	uint64_t samples, start_s;
};

static uint32_t gen_random(struct gen *g, uint32_t below)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return (uint32_t)((g->random >> 11) % below);
}

/* Most samples lie in few stacks: the product of two uniform numbers. */
static uint32_t gen_skewed(struct gen *g, uint32_t below)
{
	return (uint32_t)((uint64_t)gen_random(g, below) * gen_random(g, below) / below *
			  gen_random(g, below) / below);
}

static void gen_stacks(struct gen *g)
{
	struct profile *p = &g->profile;
	uint32_t frames[FUNCTIONS];
	char name[64];

	p->meta.hz = HZ;
	profile_add_event(p, "cycles");
	uint32_t kernel = profile_add_module(p, profile_add_text(p, "[kernel.kallsyms]"), NULL, 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "%s_function_with_a_name_%u",
			 i % 2 ? "kernel" : "program", i);
		struct profile_frame f = { .symbol = profile_add_text(p, name),
					   .module = i % 2 ? kernel : 0,
					   .kind = i % 2 ? PROFILE_KERNEL : PROFILE_USER };
		frames[i] = profile_add_frame(p, &f);
	}
	for (uint64_t i = 0; i < g->stacks; i++) {
		uint32_t stack = 0, depth = 6 + gen_random(g, 24);
		for (uint32_t k = 0; k < depth; k++) {
			uint32_t width = k < 4 ? 8 : FUNCTIONS;
			stack = profile_add_stack(p, stack, frames[gen_skewed(g, width)]);
		}
		g->leaves[i] = stack;
	}
}

/* One second of samples around time 0 of START; its head is patched when it is written. */
static void gen_second(struct gen *g, unsigned at)
{
	struct profile *p = &g->profile;
	char comm[16];

	p->samples.len = 0;
	for (uint32_t cpu = 0; cpu < g->cores; cpu++)
		for (uint32_t tick = 0; tick < HZ; tick++) {
			/* busy cores are busy for whole seconds, mostly */
			if ((cpu * 100 / g->cores + at / 20 * 13) % 100 >= g->busy)
				continue;
			/* a stack belongs to one program, a program has a few processes */
			uint32_t stack = gen_skewed(g, (uint32_t)g->stacks);
			uint32_t task = stack % 60 + 60 * gen_skewed(g, TASKS / 60);
			snprintf(comm, sizeof(comm), "task-%u", stack % 60);
			struct profile_sample s = {
				.time_ns = g->start_s * NS_PER_S + tick * (NS_PER_S / HZ) +
					   cpu * 7000 + gen_random(g, 60) * 1000,
				.weight = 1,
				.stack = g->leaves[stack],
				.comm = profile_add_text(p, comm),
				.pid = 1000 + task,
				.tid = 1000 + task,
				.cpu = (uint16_t)cpu,
				.have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID |
					PROFILE_HAVE_TID,
			};
			profile_add_sample(p, &s);
			profile_footer_count(&g->footer, s.time_ns + at * NS_PER_S);
		}
}

static void gen_rows(struct gen *g, unsigned at, struct profile_cpu_second *rows)
{
	for (uint32_t cpu = 0; cpu < g->cores; cpu++) {
		bool busy = (cpu * 100 / g->cores + at / 20 * 13) % 100 < g->busy;
		rows[cpu] = (struct profile_cpu_second){ .second = g->start_s,
							 .cpu = cpu,
							 .expected = HZ,
							 .received = busy ? HZ : 0,
							 .idle = busy ? 0 : HZ };
		struct profile_core_second core = { g->start_s + at, cpu, busy ? HZ : 0, 0, 0, HZ };
		(void)vec_push(&g->footer.cores, core);
	}
}

static void gen_template(struct gen *g)
{
	struct profile_cpu_second *rows = calloc(g->cores, sizeof(*rows));

	for (unsigned at = 0; at < SEGMENT_S; at++) {
		AUTO_BUF struct buf bytes = { 0 };
		struct wire_reader r;
		gen_second(g, at);
		gen_rows(g, at, rows);
		struct profile_second head = { g->start_s, false, rows, g->cores };
		profile_encode_dictionary(&g->encoder, &g->profile, g->profile.samples.items,
					  g->profile.samples.len, &g->dictionary[at]);
		profile_encode_second(&g->encoder, &g->profile, &head, g->profile.samples.items,
				      g->profile.samples.len, &bytes);
		wire_open(&r, bytes.data, bytes.len);
		(void)wire_get_u64(&r);
		buf_add(&g->second[at], r.at, (size_t)(r.end - r.at));
		g->samples += g->profile.samples.len;
	}
	free(rows);
}

static int gen_put(struct gen *g, uint64_t second, struct err *err)
{
	unsigned at = (unsigned)((second - g->start_s) % SEGMENT_S);
	AUTO_BUF struct buf bytes = { 0 };
	int r = 0;

	if (g->dictionary[at].len)
		r = store_writer_append(g->writer, FRAME_STACKS, PROFILE_CODEC_VERSION,
					second * NS_PER_S, g->dictionary[at].data,
					g->dictionary[at].len, err);
	wire_put_u64(&bytes, second);
	buf_add(&bytes, g->second[at].data, g->second[at].len);
	if (r == 0)
		r = store_writer_append(g->writer, FRAME_PROFILE, PROFILE_CODEC_VERSION,
					second * NS_PER_S, bytes.data, bytes.len, err);
	return r;
}

static int gen_end(void *arg, struct store_writer *w, struct err *err)
{
	struct gen *g = arg;
	AUTO_BUF struct buf heat = { 0 }, cores = { 0 };
	int r;

	profile_footer_encode_heat(&heat, &g->footer);
	profile_footer_encode_cores(&cores, &g->footer);
	r = store_writer_footer_blob(w, FOOTER_HEAT, heat.data, heat.len, err);
	if (r == 0)
		r = store_writer_footer_blob(w, FOOTER_PROFILE, cores.data, cores.len, err);
	vec_foreach (&g->footer.heat, h)
		h->second += SEGMENT_S;
	vec_foreach (&g->footer.cores, c)
		c->second += SEGMENT_S;
	return r;
}

static int gen_run(struct gen *g, const char *dir, struct err *err)
{
	struct store_options options = { .segment_ns = SEGMENT_S * NS_PER_S,
					 .sync_ns = UINT64_MAX };
	struct store_hooks hooks = { .end = gen_end, .arg = g };
	struct store_clock clock = { .real_ns = g->start_s * NS_PER_S,
				     .mono_ns = 100 * NS_PER_S,
				     .boot_ns = 100 * NS_PER_S,
				     .boot_id = "11111111-2222-3333-4444-555555555555" };
	int r = store_writer_open(dir, &options, &hooks, &g->writer, err);

	for (uint64_t second = 0; r == 0 && second < g->seconds; second++) {
		r = store_writer_tick(g->writer, &clock, err);
		if (r == 0)
			r = gen_put(g, g->start_s + second, err);
		store_writer_flush(g->writer);
		clock.real_ns += NS_PER_S;
		clock.mono_ns += NS_PER_S;
		clock.boot_ns += NS_PER_S;
	}
	return r;
}

int main(int argc, char **argv)
{
	struct gen g = { .cores = 96,
			 .seconds = 600,
			 .busy = 50,
			 .stacks = 10000,
			 .end_s = clock_real_ns() / NS_PER_S,
			 .random = 88172645463325252 };
	const struct gen_arg args[] = { { "--cores", &g.cores },
					{ "--seconds", &g.seconds },
					{ "--end", &g.end_s },
					{ "--busy", &g.busy },
					{ "--stacks", &g.stacks } };
	struct err err = { 0 };

	if (!gen_args_parse(argc, argv, args, ARRAY_LEN(args)) || profile_init(&g.profile) < 0) {
		fprintf(stderr, "usage: gen-profile DIR [--cores N] [--seconds N] [--busy PERCENT] "
				"[--stacks N] [--end EPOCH_S]\n");
		return 2;
	}
	g.start_s = (g.end_s - g.seconds) / SEGMENT_S * SEGMENT_S;
	g.leaves = calloc(g.stacks, sizeof(*g.leaves));
	if (!g.leaves)
		return 2;
	gen_stacks(&g);
	gen_template(&g);
	int r = gen_run(&g, argv[1], &err);
	if (r < 0) {
		fprintf(stderr, "gen-profile: %s\n", err.text);
		return 2;
	}
	store_writer_flush(g.writer);
	double samples = (double)g.samples / SEGMENT_S * (double)g.seconds;
	printf("samples %.0f bytes %llu bytes_per_sample %.2f start %llu\n", samples,
	       (unsigned long long)store_writer_bytes(g.writer),
	       (double)store_writer_bytes(g.writer) / samples, (unsigned long long)g.start_s);
	store_writer_close(g.writer);
	return 0;
}
