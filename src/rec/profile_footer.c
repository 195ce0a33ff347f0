#include "profile_footer.h"

#include <errno.h>

#include "auto.h"
#include "wire.h"

void profile_footer_clear(struct profile_footer *f)
{
	f->heat.len = 0;
	f->cores.len = 0;
	f->lost = f->missing = 0;
}

void profile_footer_free(struct profile_footer *f)
{
	vec_free(&f->heat);
	vec_free(&f->cores);
}

struct profile_heat_second *profile_footer_heat(struct profile_footer *f, uint64_t second)
{
	for (size_t i = f->heat.len; i-- > 0 && f->heat.items[i].second + 64 > second;)
		if (f->heat.items[i].second == second)
			return &f->heat.items[i];
	if (!vec_push(&f->heat, (struct profile_heat_second){ .second = second }))
		return NULL;
	return &f->heat.items[f->heat.len - 1];
}

void profile_footer_count(struct profile_footer *f, uint64_t time_ns)
{
	struct profile_heat_second *h = profile_footer_heat(f, time_ns / 1000000000);
	if (h)
		h->rows[time_ns % 1000000000 * PROFILE_HEAT_ROWS / 1000000000]++;
}

bool profile_footer_add_core(struct profile_footer *f, const struct profile_cpu_second *row)
{
	struct profile_core_second core = {
		.second = row->second,
		.cpu = row->cpu,
		.busy = row->received - MIN_OF(row->received_idle, row->received),
		.lost = row->lost,
		.missing = profile_missing_ticks(row),
		.expected = row->expected,
	};
	return vec_push(&f->cores, core);
}

/* Counts with runs of zeros: 0 and how many more of them follow. */
void profile_footer_encode_heat(struct buf *out, const struct profile_footer *f)
{
	uint64_t last = 0;

	wire_put_u64(out, f->heat.len);
	for (size_t i = 0; i < f->heat.len; i++) {
		const struct profile_heat_second *h = &f->heat.items[i];
		wire_put_i64(out, (int64_t)(h->second - last));
		last = h->second;
		for (unsigned row = 0; row < PROFILE_HEAT_ROWS; row++) {
			wire_put_u64(out, h->rows[row]);
			if (h->rows[row])
				continue;
			unsigned run = row;
			while (run + 1 < PROFILE_HEAT_ROWS && !h->rows[run + 1])
				run++;
			wire_put_u64(out, run - row);
			row = run;
		}
	}
}

int profile_footer_decode_heat(const void *bytes, size_t len, struct profile_footer *f)
{
	struct wire_reader r;
	uint64_t last = 0;

	wire_open(&r, bytes, len);
	uint64_t n = wire_get_u64(&r);
	if (n > len)
		return -EBADMSG;
	for (; n && !r.failed; n--) {
		last += (uint64_t)wire_get_i64(&r);
		struct profile_heat_second h = { .second = last };
		for (unsigned row = 0; row < PROFILE_HEAT_ROWS && !r.failed; row++) {
			h.rows[row] = (uint32_t)wire_get_u64(&r);
			if (!h.rows[row]) {
				uint64_t run = wire_get_u64(&r);
				if (run >= PROFILE_HEAT_ROWS - row)
					return -EBADMSG;
				row += (unsigned)run;
			}
		}
		if (!r.failed && !vec_push(&f->heat, h))
			return -ENOMEM;
	}
	return r.failed ? -EBADMSG : 0;
}

void profile_footer_encode_cores(struct buf *out, const struct profile_footer *f)
{
	uint64_t last = 0, last_expected = 0, lost = 0, missing = 0;

	for (size_t i = 0; i < f->cores.len; i++) {
		lost += f->cores.items[i].lost;
		missing += f->cores.items[i].missing;
	}
	wire_put_u64(out, lost);
	wire_put_u64(out, missing);
	wire_put_u64(out, f->cores.len);
	for (size_t i = 0; i < f->cores.len; i++) {
		const struct profile_core_second *c = &f->cores.items[i];
		wire_put_i64(out, (int64_t)(c->second - last));
		wire_put_u64(out, c->cpu);
		wire_put_u64(out, c->busy);
		wire_put_u64(out, c->lost);
		wire_put_u64(out, c->missing);
		wire_put_i64(out, (int64_t)(c->expected - last_expected));
		last = c->second;
		last_expected = c->expected;
	}
}

int profile_footer_decode_cores(const void *bytes, size_t len, bool totals_only,
				struct profile_footer *f)
{
	struct wire_reader r;
	uint64_t last = 0, last_expected = 0;

	wire_open(&r, bytes, len);
	uint64_t lost = wire_get_u64(&r), missing = wire_get_u64(&r), n = wire_get_u64(&r);
	if (n > len)
		return -EBADMSG;
	if (totals_only) {
		f->lost += lost;
		f->missing += missing;
		return r.failed ? -EBADMSG : 0;
	}
	for (; n && !r.failed; n--) {
		last += (uint64_t)wire_get_i64(&r);
		struct profile_core_second c = { .second = last };
		c.cpu = (uint32_t)wire_get_u64(&r);
		c.busy = (uint32_t)wire_get_u64(&r);
		c.lost = (uint32_t)wire_get_u64(&r);
		c.missing = (uint32_t)wire_get_u64(&r);
		last_expected += (uint64_t)wire_get_i64(&r);
		c.expected = (uint32_t)last_expected;
		if (!r.failed && !vec_push(&f->cores, c))
			return -ENOMEM;
	}
	return r.failed ? -EBADMSG : 0;
}
