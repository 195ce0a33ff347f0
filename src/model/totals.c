#include "totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "churn_summary.h"
#include "rec_cpu.h"
#include "rec_netdev.h"
#include "text.h"
#include "timefmt.h"
#include "wire.h"

/* The causes of the table of kernel lines (patterns.tsv). */
static const char *const reasons[TOTALS_REASONS] = {
	"netdev-watchdog",    "suspected-poll-starvation",
	"missed-completions", "missing-interrupt",
	"keep-alive",         "admin-queue",
	"bad-descriptor",     "device-request",
	"host-request",       "firmware",
	"hardware-hang",      "link-loss",
	"pfc-storm",          "other",
};

const char *totals_reason(size_t i)
{
	return reasons[i];
}

const char *totals_mode_name(enum totals_mode m)
{
	static const char *const names[] = { "user", "system", "interrupt" };
	return names[m];
}

void totals_free(struct totals *t)
{
	free(t->cores);
	*t = (struct totals){ 0 };
}

static bool widen(struct totals *t, size_t n)
{
	struct totals_core *cores;

	if (n <= t->n_cores)
		return true;
	if (n > TOTALS_MOST_CPUS)
		return false;
	cores = realloc(t->cores, n * sizeof(*cores));
	if (!cores)
		return false;
	memset(cores + t->n_cores, 0, (n - t->n_cores) * sizeof(*cores));
	t->cores = cores;
	t->n_cores = n;
	return true;
}

static struct totals_nic *nic_of(struct totals *t, const char *iface)
{
	for (size_t i = 0; i < t->n_nics; i++)
		if (strncmp(t->nics[i].iface, iface, sizeof(t->nics[i].iface) - 1) == 0)
			return &t->nics[i];
	if (t->n_nics == TOTALS_MOST_NICS)
		return NULL;
	text_copy(t->nics[t->n_nics].iface, sizeof(t->nics[0].iface), iface);
	return &t->nics[t->n_nics++];
}

static uint64_t rise(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/* A saturated second goes to the mode that took most of it. */
static void feed_core(struct totals_core *c, const struct rec_cpu *r, uint64_t elapsed_ns)
{
	uint64_t user = r->usr + r->nice, kernel = r->sys, interrupt = r->irq + r->softirq;
	uint64_t total = user + kernel + interrupt + r->steal + r->idle + r->iowait;
	uint64_t u = rise(c->user, user), s = rise(c->kernel, kernel),
		 i = rise(c->interrupt, interrupt), all = rise(c->total, total);

	if (c->known && all && (u + s + i) * 100 >= all * TOTALS_SATURATED_PERCENT) {
		enum totals_mode m = TOTALS_USER;
		if (s >= u && s >= i)
			m = TOTALS_SYSTEM;
		else if (i >= u)
			m = TOTALS_INTERRUPT;
		c->saturated_ns[m] += elapsed_ns;
	}
	c->user = user;
	c->kernel = kernel;
	c->interrupt = interrupt;
	c->total = total;
	c->known = true;
}

void totals_feed_tick(struct totals *t, const struct tick *tick)
{
	uint64_t elapsed = rise(t->prev_mono_ns, tick->mono_ns);

	/* after a boot, or a stop of the recorder, nobody knows what the cores did meanwhile */
	if (tick->mono_ns < t->prev_mono_ns || elapsed > 10 * NS_PER_S)
		for (size_t i = 0; i < t->n_cores; i++)
			t->cores[i].known = false;
	for (size_t i = 0; i < tick->rows[REC_CPU].len; i++) {
		const struct rec_cpu *c = TICK_ROW(tick, REC_CPU, rec_cpu, i);
		if (c->have & REC_CPU_ID && c->cpu < TOTALS_MOST_CPUS && widen(t, c->cpu + 1))
			feed_core(&t->cores[c->cpu], c, elapsed);
	}
	for (size_t i = 0; i < tick->rows[REC_NETDEV].len; i++) {
		const struct rec_netdev *n = TICK_ROW(tick, REC_NETDEV, rec_netdev, i);
		if (n->have & REC_NETDEV_IFACE && n->iface && strcmp(n->iface, "lo") != 0)
			nic_of(t, n->iface); /* its zero series begin */
	}
	t->prev_mono_ns = tick->mono_ns;
	t->fed = true;
}

static void feed_reset(struct totals *t, const struct rec_event *event)
{
	const char *iface = rec_event_field(event, "iface");
	const char *cause = rec_event_field(event, "cause");
	struct totals_nic *nic = nic_of(t, iface && *iface ? iface : "unknown");
	size_t i = 0;

	while (i < TOTALS_REASONS - 1 && strcmp(reasons[i], cause ? cause : "") != 0)
		i++;
	if (nic)
		nic->resets[i]++;
}

static void feed_restart(struct totals *t, const struct rec_event *event)
{
	const char *unit = rec_event_field(event, "unit");
	struct totals_unit *u;
	size_t i = 0;

	if (!unit)
		return;
	while (i < t->n_units && strncmp(t->units[i].unit, unit, sizeof(u->unit) - 1) != 0)
		i++;
	if (i == t->n_units && t->n_units < TOTALS_MOST_UNITS) {
		text_copy(t->units[i].unit, sizeof(u->unit),
			  t->n_units == TOTALS_MOST_UNITS - 1 ? "other" : unit);
		t->n_units++;
	}
	u = &t->units[MIN_OF(i, (size_t)TOTALS_MOST_UNITS - 1)];
	u->restarts += event->count ? event->count : 1;
}

static uint64_t field_number(const struct rec_event *event, const char *key, uint64_t fallback)
{
	const char *text = rec_event_field(event, key);
	uint64_t value;

	return text && text_u64(text, &value) == 0 ? value : fallback;
}

void totals_feed_event(struct totals *t, const struct rec_event *event)
{
	t->fed = true;
	if (event->source < EVENT_SOURCE_END && event->severity <= EVENT_CRIT)
		t->events[event->source][event->severity]++;
	if (strcmp(event->id, "net-driver-reset") == 0)
		feed_reset(t, event);
	else if (strcmp(event->id, "unit-restart") == 0)
		feed_restart(t, event);
	else if (strcmp(event->id, "container-start") == 0)
		t->containers += event->count ? event->count : 1;
	else if (strcmp(event->id, "kmsg-lost") == 0)
		t->kmsg_gaps++;
	else if (strcmp(event->id, "profile-lost-samples") == 0)
		t->lost_samples += field_number(event, "lost", event->count);
	else if (strcmp(event->id, "purge") == 0) {
		t->purges++;
		t->purged += field_number(event, "released", 0);
	}
}

void totals_feed_churn(struct totals *t, const struct churn_summary *churn)
{
	t->fed = t->have_churn = true;
	vec_foreach (&churn->groups, g) {
		t->made += g->made;
		t->removed += g->removed;
	}
}

void totals_encode(const struct totals *t, struct buf *out)
{
	wire_put_u64(out, t->n_cores);
	for (size_t i = 0; i < t->n_cores; i++)
		for (int m = 0; m < TOTALS_MODES; m++)
			wire_put_u64(out, t->cores[i].saturated_ns[m]);
	wire_put_u64(out, t->n_nics);
	for (size_t i = 0; i < t->n_nics; i++) {
		wire_put_bytes(out, t->nics[i].iface, strlen(t->nics[i].iface));
		wire_put_u64(out, TOTALS_REASONS);
		for (int k = 0; k < TOTALS_REASONS; k++)
			wire_put_u64(out, t->nics[i].resets[k]);
	}
	wire_put_u64(out, t->n_units);
	for (size_t i = 0; i < t->n_units; i++) {
		wire_put_bytes(out, t->units[i].unit, strlen(t->units[i].unit));
		wire_put_u64(out, t->units[i].restarts);
	}
	wire_put_u64(out, EVENT_SOURCE_END);
	for (int s = 0; s < EVENT_SOURCE_END; s++)
		for (int k = 0; k < 3; k++)
			wire_put_u64(out, t->events[s][k]);
	wire_put_u64(out, t->containers);
	wire_put_u64(out, t->kmsg_gaps);
	wire_put_u64(out, t->lost_samples);
	wire_put_u64(out, t->purges);
	wire_put_u64(out, t->purged);
	wire_put_u64(out, t->have_churn);
	wire_put_u64(out, t->made);
	wire_put_u64(out, t->removed);
}

static bool take_name(struct wire_reader *r, char *ret, size_t size)
{
	size_t len = 0;
	const char *name = wire_get_bytes(r, &len);

	return name && len < size && !memchr(name, '\0', len) && text_copy_n(ret, size, name, len);
}

static bool decode_nics(struct wire_reader *r, struct totals *t)
{
	uint64_t n = wire_get_u64(r);

	if (n > TOTALS_MOST_NICS)
		return false;
	for (t->n_nics = 0; t->n_nics < n; t->n_nics++) {
		struct totals_nic *nic = &t->nics[t->n_nics];
		uint64_t kinds;

		if (!take_name(r, nic->iface, sizeof(nic->iface)))
			return false;
		kinds = wire_get_u64(r);
		if (kinds > 256)
			return false;
		for (uint64_t k = 0; k < kinds; k++) {
			uint64_t value = wire_get_u64(r);
			/* reasons that a newer version knows */
			nic->resets[MIN_OF(k, (uint64_t)TOTALS_REASONS - 1)] += value;
		}
	}
	return !r->failed;
}

static bool decode_rest(struct wire_reader *r, struct totals *t)
{
	uint64_t n = wire_get_u64(r);

	if (n > TOTALS_MOST_UNITS)
		return false;
	for (t->n_units = 0; t->n_units < n; t->n_units++) {
		struct totals_unit *u = &t->units[t->n_units];
		if (!take_name(r, u->unit, sizeof(u->unit)))
			return false;
		u->restarts = wire_get_u64(r);
	}
	n = wire_get_u64(r);
	if (n > 64)
		return false;
	for (uint64_t s = 0; s < n; s++)
		for (int k = 0; k < 3; k++) {
			uint64_t value = wire_get_u64(r);
			if (s < EVENT_SOURCE_END)
				t->events[s][k] = value;
		}
	t->containers = wire_get_u64(r);
	t->kmsg_gaps = wire_get_u64(r);
	t->lost_samples = wire_get_u64(r);
	t->purges = wire_get_u64(r);
	t->purged = wire_get_u64(r);
	t->have_churn = wire_get_u64(r) != 0;
	t->made = wire_get_u64(r);
	t->removed = wire_get_u64(r);
	return !r->failed;
}

int totals_decode(struct totals *t, const void *bytes, size_t len)
{
	struct totals new = { 0 };
	struct wire_reader r;
	uint64_t n;

	wire_open(&r, bytes, len);
	n = wire_get_u64(&r);
	if (n > TOTALS_MOST_CPUS || n * TOTALS_MODES > len || !widen(&new, n))
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++)
		for (int m = 0; m < TOTALS_MODES; m++)
			new.cores[i].saturated_ns[m] = wire_get_u64(&r);
	if (!decode_nics(&r, &new) || !decode_rest(&r, &new)) {
		totals_free(&new);
		return -EBADMSG;
	}
	totals_free(t);
	*t = new;
	t->fed = true;
	return 0;
}
