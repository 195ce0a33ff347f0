#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "episode_private.h"
#include "text.h"

/* How long an episode may be silent before it is over. */
static const uint64_t quiet_ns[] = {
	[EPISODE_NET] = 30 * NS_PER_S,   [EPISODE_LOCKUP] = 30 * NS_PER_S,
	[EPISODE_RCU] = 10 * NS_PER_S,   [EPISODE_HUNG] = 5 * NS_PER_S,
	[EPISODE_OOM] = 10 * NS_PER_S,   [EPISODE_WORKQUEUE] = 10 * NS_PER_S,
	[EPISODE_PLAIN] = 10 * NS_PER_S,
};

struct episodes *episodes_new(episode_emit_fn emit, void *arg)
{
	struct episodes *e = calloc(1, sizeof(*e));

	if (e) {
		e->emit = emit;
		e->arg = arg;
	}
	return e;
}

void episodes_free(struct episodes *e)
{
	free(e);
}

enum episode_trust episode_trust(const struct episode_line *line)
{
	if (line->injected)
		return EPISODE_INJECTED;
	return line->trusted ? EPISODE_TRUSTED : EPISODE_UNTRUSTED;
}

struct episode *episode_find(struct episodes *e, enum episode_kind kind, enum episode_trust trust,
			     const char *key)
{
	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		struct episode *ep = &e->list[i];
		if (ep->open && ep->kind == kind && ep->trust == trust && strcmp(ep->key, key) == 0)
			return ep;
	}
	return NULL;
}

struct episode *episode_latest(struct episodes *e, enum episode_trust trust, uint32_t kinds)
{
	struct episode *latest = NULL;

	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		struct episode *ep = &e->list[i];
		if (ep->open && ep->trust == trust && kinds >> ep->kind & 1 &&
		    (!latest || ep->order + ep->lines > latest->order + latest->lines))
			latest = ep;
	}
	return latest;
}

static struct episode *episode_slot(struct episodes *e)
{
	struct episode *oldest = &e->list[0];

	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		if (!e->list[i].open)
			return &e->list[i];
		if (e->list[i].last_ns < oldest->last_ns)
			oldest = &e->list[i];
	}
	episode_close(e, oldest);
	return oldest;
}

struct episode *episode_begin(struct episodes *e, enum episode_kind kind, const char *key,
			      const struct episode_line *line)
{
	struct episode *ep = episode_slot(e);

	*ep = (struct episode){
		.open = true,
		.kind = kind,
		.trust = episode_trust(line),
		.severity = line->hit->pattern->severity,
		.id = line->hit->pattern->event,
		.pattern = line->hit->pattern,
		.order = e->order,
		.tag = line->tag,
	};
	text_copy(ep->key, sizeof(ep->key), key);
	return ep;
}

void episode_add(struct episodes *e, struct episode *ep, const struct episode_line *line)
{
	(void)e;
	ep->lines++;
	if (line->hit)
		ep->roles |= UINT32_C(1) << line->hit->pattern->role;
	if (line->clock > ep->clock) { /* the first lines had no time, or a poorer one */
		ep->clock = line->clock;
		ep->first_ns = ep->last_ns = line->time_ns;
	} else if (line->clock == ep->clock && line->clock != EPISODE_NO_TIME) {
		ep->first_ns = MIN_OF(ep->first_ns, line->time_ns);
		ep->last_ns = MAX_OF(ep->last_ns, line->time_ns);
	}
	if (line->mono_ns)
		ep->last_mono_ns = line->mono_ns;
	ep->max_lag_ns = MAX_OF(ep->max_lag_ns, line->lag_ns);
}

uint64_t episode_gap(const struct episode *ep, const struct episode_line *line)
{
	if (line->clock != ep->clock || line->clock == EPISODE_NO_TIME ||
	    line->time_ns < ep->last_ns)
		return 0;
	return line->time_ns - ep->last_ns;
}

static struct episode_field *episode_field(struct episode *ep, const char *key)
{
	for (size_t i = 0; i < ep->n_fields; i++)
		if (strcmp(ep->fields[i].key, key) == 0)
			return &ep->fields[i];
	if (ep->n_fields == EPISODE_MOST_FIELDS)
		return NULL;
	ep->fields[ep->n_fields] = (struct episode_field){ .key = key };
	return &ep->fields[ep->n_fields++];
}

void episode_set(struct episode *ep, const char *key, const char *format, ...)
{
	struct episode_field *f = episode_field(ep, key);
	va_list args;

	if (!f)
		return;
	va_start(args, format);
	vsnprintf(f->value, sizeof(f->value), format, args);
	va_end(args);
}

void episode_first(struct episode *ep, const char *key, const char *bytes, size_t len)
{
	if (!episode_get(ep, key))
		episode_set(ep, key, "%.*s", (int)len, bytes);
}

static bool episode_listed(const char *list, const char *item, size_t len)
{
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		if (n == len && memcmp(p, item, n) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

void episode_more(struct episode *ep, const char *key, const char *bytes, size_t len)
{
	struct episode_field *f = episode_field(ep, key);

	if (!f || episode_listed(f->value, bytes, len))
		return;
	size_t n = strlen(f->value);
	if (n + len + 2 < sizeof(f->value))
		snprintf(f->value + n, sizeof(f->value) - n, "%s%.*s", n ? "," : "", (int)len,
			 bytes);
}

void episode_max(struct episode *ep, const char *key, uint64_t value)
{
	uint64_t old;

	if (!episode_get_u64(ep, key, &old) || value > old)
		episode_set(ep, key, "%" PRIu64, value);
}

const char *episode_get(const struct episode *ep, const char *key)
{
	for (size_t i = 0; i < ep->n_fields; i++)
		if (strcmp(ep->fields[i].key, key) == 0)
			return ep->fields[i].value;
	return NULL;
}

bool episode_get_u64(const struct episode *ep, const char *key, uint64_t *ret)
{
	const char *value = episode_get(ep, key);
	return value && text_u64(value, ret) == 0;
}

static bool episode_captured(const struct pattern_hit *hit, const char *field, char ret[32])
{
	const char *at;
	size_t len;

	if (!pattern_value(hit, field, &at, &len) || len > 30)
		return false;
	text_copy_n(ret, 32, at, len);
	return true;
}

bool episode_number(const struct pattern_hit *hit, const char *field, uint64_t *ret)
{
	char text[32];
	return episode_captured(hit, field, text) && text_u64(text, ret) == 0;
}

bool episode_hex(const struct pattern_hit *hit, const char *field, uint64_t *ret)
{
	char text[32];
	const char *p = text;
	return episode_captured(hit, field, text) && text_take_hex(&p, ret) == 0 && !*p;
}

void episode_copy(struct episode *ep, const struct pattern_hit *hit, const char *field,
		  const char *key)
{
	const char *at;
	size_t len;

	if (pattern_value(hit, field, &at, &len))
		episode_set(ep, key, "%.*s", (int)len, at);
}

void episode_close(struct episodes *e, struct episode *ep)
{
	static const char *const clocks[] = { "none", "boot", "wall" };
	struct rec_event_field fields[EPISODE_MOST_FIELDS + 2];
	char text[500] = "";

	if (!ep->open)
		return;
	ep->open = false;
	if (e->last_hung == ep)
		e->last_hung = NULL;
	if (e->last_hang == ep)
		e->last_hang = NULL;
	if (ep->max_lag_ns >= NS_PER_S)
		episode_set(ep, "wall_lag_s", "%.1f", (double)ep->max_lag_ns / 1e9);
	if (ep->kind == EPISODE_NET)
		episode_net_finish(e, ep, text, sizeof(text));
	else
		episode_kernel_finish(ep, text, sizeof(text));
	size_t n = 0;
	for (; n < ep->n_fields; n++)
		fields[n] = (struct rec_event_field){ ep->fields[n].key, ep->fields[n].value };
	if (ep->clock != EPISODE_WALL_TIME)
		fields[n++] = (struct rec_event_field){ "clock", clocks[ep->clock] };
	fields[n++] = (struct rec_event_field){ "pattern", ep->pattern->id };
	struct rec_event event = {
		.time_ns = ep->first_ns,
		.end_ns = ep->last_ns,
		.source = EVENT_KMSG,
		.severity = ep->severity,
		.trusted = ep->trust == EPISODE_TRUSTED,
		.injected = ep->trust == EPISODE_INJECTED,
		.count = ep->lines,
		.id = ep->id,
		.text = text,
		.fields = fields,
		.n_fields = n,
	};
	e->emit(e->arg, &event, ep->order);
}

/* A line that came later than an episode's quiet time ends it, whatever it is about. */
static void episode_expire(struct episodes *e, enum episode_clock clock, uint64_t now_ns)
{
	if (clock == EPISODE_NO_TIME)
		return;
	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		struct episode *ep = &e->list[i];
		if (!ep->open || ep->clock != clock)
			continue;
		uint64_t quiet = quiet_ns[ep->kind];
		/* a timeout whose reset hangs in firmware goes on printing much later */
		if (ep->kind == EPISODE_NET && ep->reset_stated && !ep->done)
			quiet *= 2;
		if (now_ns > ep->last_ns + quiet)
			episode_close(e, ep);
	}
}

void episodes_line(struct episodes *e, const struct episode_line *line)
{
	e->order++;
	episode_expire(e, line->clock, line->time_ns);
	if (!line->hit) {
		if (e->last_hang && e->last_hang->trust == episode_trust(line))
			episode_net_context(e->last_hang, line->text, line->len);
		if (e->last_hung && e->last_hung->trust == episode_trust(line))
			episode_kernel_context(e->last_hung, line->text, line->len);
		return;
	}
	if (strcmp(line->hit->pattern->event, "net-driver-reset") == 0)
		episode_net_line(e, line);
	else
		episode_kernel_line(e, line);
}

void episodes_advance(struct episodes *e, uint64_t now_ns)
{
	episode_expire(e, EPISODE_WALL_TIME, now_ns);
	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		struct episode *ep = &e->list[i];
		bool net = ep->kind == EPISODE_NET;
		/* live, an early word is worth more than folding later repetitions */
		uint64_t wait_s = net && !ep->done && ep->trust != EPISODE_INJECTED ? 12 : 2;
		if (!ep->open || ep->clock != EPISODE_WALL_TIME ||
		    now_ns <= ep->last_ns + wait_s * NS_PER_S)
			continue;
		/* late completions alone wait for what will come of them */
		if (!net || ep->roles & ~(UINT32_C(1) << PATTERN_LATE))
			episode_close(e, ep);
	}
}

bool episodes_oldest_tag(const struct episodes *e, uint64_t *ret)
{
	const struct episode *first = NULL;

	for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
		const struct episode *ep = &e->list[i];
		if (ep->open && (!first || ep->order < first->order))
			first = ep;
	}
	if (first)
		*ret = first->tag;
	return first != NULL;
}

void episodes_flush(struct episodes *e)
{
	for (;;) { /* in the order in which they began */
		struct episode *first = NULL;
		for (size_t i = 0; i < EPISODE_MOST_OPEN; i++) {
			struct episode *ep = &e->list[i];
			if (ep->open && (!first || ep->order < first->order))
				first = ep;
		}
		if (!first)
			return;
		episode_close(e, first);
	}
}
