/* Writes a recording of an invented host, much faster than time passes: for benches and for tests
 * that need hours.
 *
 *   gen-store DIR [--cores N] [--seconds N] [--end EPOCH_S] [--busy-core N] [--segment S]
 *
 * The load: a third of the cores almost idle, a third fluctuating around 30 %, a sixth around 70 %,
 * the rest in bursts; softirq, iowait and steal here and there. --busy-core is at 100 % sys from
 * the middle of the recording on. Prints what it cost. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "gen_args.h"
#include "rec_cpu.h"
#include "rec_event.h"
#include "store_writer.h"
#include "tick_codec.h"
#include "timefmt.h"

struct gen {
	uint64_t cores, seconds, end_s, busy_core, segment_s;
	uint64_t random;
	struct rec_cpu *now; /* one per core */
	double *level;       /* fluctuating share of usr + sys */
	struct tick tick;
	struct tick_codec *codec;
	struct buf key, bytes;
	struct store_writer *writer;
	bool key_due;
	unsigned copy_left;
	uint64_t cpu_ns, encode_ns, tick_bytes;
};

static double gen_random(struct gen *g)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return (double)(g->random >> 11) / (double)(UINT64_C(1) << 53);
}

/* Mean 0, deviation 1, near enough to normal. */
static double gen_noise(struct gen *g)
{
	double sum = 0;
	for (int i = 0; i < 6; i++)
		sum += gen_random(g);
	return (sum - 3) * 1.414;
}

static double gen_mean(uint64_t core, uint64_t second)
{
	switch (core % 6) {
	case 0:
	case 1:
		return 0.02;
	case 2:
	case 3:
		return 0.30;
	case 4:
		return 0.70;
	default:
		return (second / 20 + core) % 3 == 0 ? 0.9 : 0.05;
	}
}

/* 100 ticks of one core's second. */
static void gen_core(struct gen *g, uint64_t core, uint64_t second)
{
	struct rec_cpu *c = &g->now[core];
	double mean = gen_mean(core, second);

	g->level[core] = 0.6 * g->level[core] + 0.4 * mean + 0.25 * mean * gen_noise(g);
	double busy = fmin(fmax(g->level[core], 0), 0.98);
	uint64_t left = gen_random(g) < 0.02 ? 101 : 100; /* the kernel's clocks are not in step */
	if (core == g->busy_core && second >= g->seconds / 2) {
		c->sys += left;
		return;
	}
	uint64_t usr = (uint64_t)(busy * 75 + gen_random(g));
	uint64_t sys = (uint64_t)(busy * 20 + gen_random(g));
	uint64_t soft = core % 8 == 3 && gen_random(g) < 0.5 ? 1 : 0;
	uint64_t iowait = core % 5 == 1 && gen_random(g) < 0.1 ? 1 : 0;
	uint64_t steal = gen_random(g) < 0.02 ? 1 : 0;
	c->usr += usr;
	c->sys += sys;
	c->softirq += soft;
	c->iowait += iowait;
	c->steal += steal;
	c->idle += left - MIN_OF(left, usr + sys + soft + iowait + steal);
}

static int gen_begin(void *arg, struct store_writer *w, struct err *err)
{
	struct gen *g = arg;
	char text[200];

	int n = snprintf(text, sizeof(text),
			 "version=gen\nhost=invented\nkernel=6.1.0\nuser_hz=100\ncores=%lu\n",
			 (unsigned long)g->cores);
	g->key_due = true;
	return store_writer_append(w, FRAME_META, 1, store_writer_clock(w)->real_ns, text,
				   (size_t)n, err);
}

static int gen_second(struct gen *g, uint64_t second, const struct store_clock *clock,
		      struct err *err)
{
	tick_clear(&g->tick);
	g->tick.real_ns = clock->real_ns + 20000;
	g->tick.mono_ns = clock->mono_ns + 20000;
	g->tick.boot_ns = clock->boot_ns + 20000;
	for (uint64_t core = 0; core < g->cores; core++) {
		gen_core(g, core, second);
		struct rec_cpu *row = tick_add_row(&g->tick, REC_CPU);
		if (!row)
			return -1;
		*row = g->now[core];
	}
	uint64_t before = clock_cpu_ns();
	int r = store_writer_tick(g->writer, clock, err);
	buf_clear(&g->bytes);
	if (r == 0 && g->key_due) {
		buf_clear(&g->key);
		r = tick_codec_encode_key(g->codec, &g->tick, &g->key);
		g->copy_left = 10;
	}
	if (r == 0 && (g->key_due || (g->copy_left && --g->copy_left == 0)))
		r = store_writer_append(g->writer, FRAME_KEY, TICK_CODEC_VERSION, clock->real_ns,
					g->key.data, g->key.len, err);
	g->key_due = false;
	uint64_t encode = clock_cpu_ns();
	if (r == 0)
		r = tick_codec_encode(g->codec, &g->tick, &g->bytes);
	g->encode_ns += clock_cpu_ns() - encode;
	if (r == 0)
		r = store_writer_append(g->writer, FRAME_TICK, TICK_CODEC_VERSION, g->tick.real_ns,
					g->bytes.data, g->bytes.len, err);
	store_writer_flush(g->writer);
	g->cpu_ns += clock_cpu_ns() - before;
	g->tick_bytes += g->bytes.len;
	return r;
}

static int gen_run(struct gen *g, const char *dir, struct err *err)
{
	struct store_options options = { .segment_ns = g->segment_s * NS_PER_S,
					 .sync_ns = UINT64_MAX };
	struct store_hooks hooks = { .begin = gen_begin, .arg = g };
	struct store_clock clock = { .real_ns = (g->end_s - g->seconds) * NS_PER_S,
				     .mono_ns = 100 * NS_PER_S,
				     .boot_ns = 100 * NS_PER_S,
				     .boot_id = "11111111-2222-3333-4444-555555555555" };

	g->codec = tick_codec_new();
	g->now = calloc(g->cores, sizeof(*g->now));
	g->level = calloc(g->cores, sizeof(*g->level));
	if (!g->codec || !g->now || !g->level)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint64_t core = 0; core < g->cores; core++) {
		uint64_t up = 100 * 86400 * 3; /* three days */
		g->now[core] = (struct rec_cpu){ .have = (1 << 11) - 1, .cpu = core };
		g->now[core].usr = (uint64_t)((double)up * 0.2 * gen_random(g));
		g->now[core].sys = (uint64_t)((double)up * 0.1 * gen_random(g));
		g->now[core].softirq = (uint64_t)((double)up * 0.01 * gen_random(g));
		g->now[core].idle = up - g->now[core].usr - g->now[core].sys -
				    g->now[core].softirq + (uint64_t)(gen_random(g) * 100);
	}
	int r = store_writer_open(dir, &options, &hooks, &g->writer, err);
	for (uint64_t second = 0; r == 0 && second < g->seconds; second++) {
		r = gen_second(g, second, &clock, err);
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
			 .end_s = clock_real_ns() / NS_PER_S,
			 .busy_core = UINT64_MAX,
			 .segment_s = 60,
			 .random = 88172645463325252 };
	const struct gen_arg args[] = { { "--cores", &g.cores },
					{ "--seconds", &g.seconds },
					{ "--end", &g.end_s },
					{ "--busy-core", &g.busy_core },
					{ "--segment", &g.segment_s } };
	struct err err = { 0 };

	if (!gen_args_parse(argc, argv, args, ARRAY_LEN(args))) {
		fprintf(stderr, "usage: gen-store DIR [--cores N] [--seconds N] [--end EPOCH_S] "
				"[--busy-core N] [--segment S]\n");
		return 2;
	}
	int r = gen_run(&g, argv[1], &err);
	if (r < 0) {
		fprintf(stderr, "gen-store: %s\n", err.text);
		return 2;
	}
	store_writer_flush(g.writer);
	double seconds = (double)g.seconds;
	printf("cores %lu seconds %lu bytes_per_s %.1f tick_bytes %.1f encode_us %.2f "
	       "cpu_us_per_tick %.2f\n",
	       (unsigned long)g.cores, (unsigned long)g.seconds,
	       (double)store_writer_bytes(g.writer) / seconds, (double)g.tick_bytes / seconds,
	       (double)g.encode_ns / 1e3 / seconds, (double)g.cpu_ns / 1e3 / seconds);
	store_writer_close(g.writer);
	tick_codec_free(g.codec);
	tick_free(&g.tick);
	buf_free(&g.key);
	buf_free(&g.bytes);
	free(g.now);
	free(g.level);
	return 0;
}
