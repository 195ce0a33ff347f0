#include "events_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "profile.h"
#include "profile_read.h"
#include "timefmt.h"

enum { PROVE_MOST_TICKS = 130, PROVE_PATH_FRAMES = 24 };

/* Ticks of the stall, kept: a stream gives each only until the next. */
struct prove_ticks {
	struct tick *list[PROVE_MOST_TICKS];
	size_t n;
};

static bool prove_keep(struct prove_ticks *all, const struct tick *t)
{
	struct tick *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return false;
	if (tick_copy(copy, t) < 0) {
		tick_free(copy);
		free(copy);
		return false;
	}
	all->list[all->n++] = copy;
	return true;
}

static void prove_read(struct stream *stream, uint64_t from_ns, uint64_t to_ns,
		       struct prove_ticks *all)
{
	struct stream_item item;

	if (stream_seek(stream, from_ns - MIN_OF(from_ns, NS_PER_S), to_ns + NS_PER_S, STREAM_TICKS,
			NULL) < 0)
		return;
	while (all->n < PROVE_MOST_TICKS && stream_next(stream, &item, NULL) > 0)
		if (item.tick && !prove_keep(all, item.tick))
			return;
}

/* The stack that most samples of the core's top task ended in, kernel frames only, caller first. */
static void prove_path(const struct profile *p, const struct queue_proof *proof, char *ret,
		       size_t size)
{
	AUTO_FREE uint32_t *counts = calloc(p->stacks.len + 1, sizeof(*counts));
	uint32_t best = 0, frames[PROVE_PATH_FRAMES];
	size_t n = 0, used = 0;

	ret[0] = '\0';
	if (!counts)
		return;
	vec_foreach (&p->samples, s) {
		if (!(s->have & PROFILE_HAVE_CPU) || s->cpu != proof->cpu ||
		    s->time_ns < proof->from_ns || s->time_ns >= proof->to_ns ||
		    s->stack >= p->stacks.len)
			continue;
		if (proof->n_tasks && s->pid != proof->tasks[0].pid)
			continue;
		const struct profile_frame *leaf =
			&p->frames.items[p->stacks.items[s->stack].frame];
		if (leaf->kind == PROFILE_KERNEL && ++counts[s->stack] > counts[best])
			best = s->stack;
	}
	for (uint32_t at = best; at && n < PROVE_PATH_FRAMES; at = p->stacks.items[at].parent) {
		const struct profile_frame *f = &p->frames.items[p->stacks.items[at].frame];
		if (f->kind != PROFILE_KERNEL)
			break;
		frames[n++] = f->symbol;
	}
	while (n > 0 && used < size) {
		const char *name = p->strings.items[frames[--n]].text;
		used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? ";" : "",
					 *name ? name : "[unknown]");
	}
}

static void prove_kernel_path(struct stream *stream, struct queue_proof *proof)
{
	struct store_reader *reader = stream_store(stream);
	struct profile profile;

	if (!reader || !proof->have_cpu)
		return;
	if (profile_init(&profile) < 0)
		return;
	if (profile_read_window(reader, proof->from_ns, proof->to_ns, &profile, NULL) >= 0) {
		prove_path(&profile, proof, proof->kernel_path, sizeof(proof->kernel_path));
		if (*proof->kernel_path)
			queue_proof_add_evidence(proof, "kernel path of that task",
						 "zscope flame of the window and core", "%.110s",
						 proof->kernel_path);
	}
	profile_free(&profile);
}

bool events_prove(struct stream *stream, const struct rec_event *event, struct queue_proof *ret)
{
	struct prove_ticks all = { 0 };
	bool reported;
	uint64_t from, to;

	if ((strncmp(event->id, "net-driver-", 11) != 0 && strncmp(event->id, "net-tx-", 7) != 0) ||
	    !event->time_ns || rec_event_field(event, "clock"))
		return false;
	queue_proof_window(event, &from, &to, &reported);
	prove_read(stream, from, to, &all);
	queue_proof_judge(event, (const struct tick *const *)all.list, all.n, ret);
	prove_kernel_path(stream, ret);
	for (size_t i = 0; i < all.n; i++) {
		tick_free(all.list[i]);
		free(all.list[i]);
	}
	return true;
}
