#include "reclaim_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup_names.h"
#include "text.h"
#include "wire.h"

const char *reclaim_kind_name(enum reclaim_kind kind)
{
	static const char *const names[] = {
		[RECLAIM_KIND_LIMIT] = "limit",
		[RECLAIM_KIND_ASKED] = "asked",
		[RECLAIM_KIND_DIRECT] = "direct",
		[RECLAIM_KIND_KSWAPD] = "kswapd",
	};
	return kind < RECLAIM_KIND_END ? names[kind] : "?";
}

uint64_t reclaim_summary_passes(const struct reclaim_summary *s)
{
	uint64_t n = 0;

	vec_foreach (&s->rows, r)
		n += r->passes;
	return n;
}

uint64_t reclaim_hist_ns(unsigned bucket)
{
	unsigned bit = RECLAIM_HIST_LOW_BIT + (bucket >> RECLAIM_HIST_SUB_BITS);
	uint64_t sub = bucket & ((1u << RECLAIM_HIST_SUB_BITS) - 1);

	if (!bucket)
		return 0;
	return (UINT64_C(1) << bit) + (sub << (bit - RECLAIM_HIST_SUB_BITS));
}

uint64_t reclaim_row_percentile(const struct reclaim_row *row, double share)
{
	uint64_t seen = 0;
	double want = share * (double)row->passes;

	for (unsigned i = 0; i + 1 < RECLAIM_HIST; i++) {
		seen += row->hist[i];
		if (seen && (double)seen >= want) {
			uint64_t upper = reclaim_hist_ns(i + 1);
			return upper < row->max_ns ? upper : row->max_ns;
		}
	}
	return row->max_ns;
}

const char *reclaim_path(struct arena *strings, const char *names, size_t len)
{
	AUTO_BUF struct buf text = { 0 };

	return cgroup_names_path(&text, names, len) ? arena_strdup(strings, buf_str(&text)) : NULL;
}

static bool is_below(const char *path, size_t len, const char *top)
{
	size_t n = strlen(top);

	while (n && top[n - 1] == '/')
		n--;
	return len > n && memcmp(path, top, n) == 0 && path[n] == '/';
}

void reclaim_summary_count(struct reclaim_summary *s, const char *below)
{
	bool all = !below || !below[strspn(below, "/")];

	vec_foreach (&s->rows, r) {
		r->zombies = 0;
		if (r->kind == RECLAIM_KIND_LIMIT)
			r->zombies_known = r->path && (all || strcmp(r->path, below) == 0 ||
						       is_below(r->path, strlen(r->path), below));
		else /* where somebody asked for it is not known */
			r->zombies_known = all && r->kind != RECLAIM_KIND_ASKED;
	}
}

void reclaim_summary_zombie(struct reclaim_summary *s, const char *path, size_t len)
{
	vec_foreach (&s->rows, r)
		if (r->zombies_known &&
		    (r->kind != RECLAIM_KIND_LIMIT || is_below(path, len, r->path)))
			r->zombies++;
}

static int longest_payer_first(const void *a, const void *b)
{
	const struct reclaim_payer_row *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int longest_row_first(const void *a, const void *b, void *arg)
{
	const struct reclaim_row *rows = arg;
	const struct reclaim_row *x = &rows[*(const size_t *)a], *y = &rows[*(const size_t *)b];

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

void reclaim_summary_sort(struct reclaim_summary *s)
{
	size_t order[RECLAIM_MOST_ROWS], place[RECLAIM_MOST_ROWS], n = s->rows.len;

	if (n > RECLAIM_MOST_ROWS)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), longest_row_first, s->rows.items);
	struct reclaim_row *sorted = n ? calloc(n, sizeof(*sorted)) : NULL;
	if (!sorted)
		return;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = s->rows.items[order[i]];
		place[order[i]] = i;
	}
	memcpy(s->rows.items, sorted, n * sizeof(*sorted));
	free(sorted);
	vec_foreach (&s->payers, p)
		p->row = place[p->row];
	vec_sort(&s->payers, longest_payer_first);
}

static struct reclaim_row *row_like(const struct reclaim_summary *s, const struct reclaim_row *r)
{
	vec_foreach (&s->rows, mine)
		if (mine->kind == r->kind && mine->cgroup == r->cgroup)
			return mine;
	return NULL;
}

static struct reclaim_payer_row *payer_like(const struct reclaim_summary *s, size_t row,
					    const struct reclaim_payer_row *p)
{
	vec_foreach (&s->payers, mine)
		if (mine->row == row && mine->pid == p->pid && strcmp(mine->comm, p->comm) == 0)
			return mine;
	return NULL;
}

/* The longest of those that came since: the kernel keeps the longest of all. */
static uint64_t longest_of(const struct reclaim_row *r)
{
	for (unsigned i = RECLAIM_HIST; i-- > 0;)
		if (r->hist[i]) {
			uint64_t upper = i + 1 < RECLAIM_HIST ? reclaim_hist_ns(i + 1) : r->max_ns;
			return upper < r->max_ns ? upper : r->max_ns;
		}
	return 0;
}

static void subtract_row(struct reclaim_row *r, const struct reclaim_row *old)
{
	if (!old || old->passes > r->passes)
		return;
	r->passes -= old->passes;
	r->total_ns -= old->total_ns;
	r->bytes -= old->bytes;
	for (unsigned i = 0; i < RECLAIM_HIST; i++)
		r->hist[i] -= old->hist[i];
	r->max_ns = longest_of(r);
}

static void subtract_payers(struct reclaim_summary *s, const struct reclaim_summary *before)
{
	size_t left = 0;

	vec_foreach (&s->payers, p) {
		const struct reclaim_row *row = row_like(before, &s->rows.items[p->row]);
		const struct reclaim_payer_row *old =
			row ? payer_like(before, (size_t)(row - before->rows.items), p) : NULL;
		if (old && old->passes <= p->passes) {
			p->passes -= old->passes;
			p->total_ns -= old->total_ns;
			p->max_ns = p->max_ns > old->max_ns ? p->max_ns : 0;
		}
		if (p->passes)
			s->payers.items[left++] = *p;
	}
	s->payers.len = left;
}

void reclaim_summary_subtract(struct reclaim_summary *s, const struct reclaim_summary *before)
{
	size_t left = 0, n = s->rows.len, place[RECLAIM_MOST_ROWS];

	s->lost -= before->lost;
	s->lost_payers -= before->lost_payers;
	subtract_payers(s, before);
	for (size_t i = 0; i < n && i < RECLAIM_MOST_ROWS; i++) {
		struct reclaim_row *r = &s->rows.items[i];
		subtract_row(r, row_like(before, r));
		place[i] = r->passes ? left : SIZE_MAX;
		if (r->passes)
			s->rows.items[left++] = *r;
	}
	s->rows.len = left;
	left = 0;
	vec_foreach (&s->payers, p) {
		if (place[p->row] == SIZE_MAX)
			continue;
		p->row = place[p->row];
		s->payers.items[left++] = *p;
	}
	s->payers.len = left;
}

static bool merge_row(struct reclaim_summary *s, const struct reclaim_row *r, size_t *ret)
{
	struct reclaim_row *sum = row_like(s, r);

	if (!sum) {
		struct reclaim_row fresh = *r;
		if (s->rows.len >= RECLAIM_MOST_ROWS) {
			s->lost += r->passes;
			*ret = SIZE_MAX;
			return true;
		}
		fresh.path = r->path ? arena_strdup(&s->strings, r->path) : NULL;
		*ret = s->rows.len;
		return (!r->path || fresh.path) && vec_push(&s->rows, fresh);
	}
	*ret = (size_t)(sum - s->rows.items);
	sum->passes += r->passes;
	sum->total_ns += r->total_ns;
	sum->bytes += r->bytes;
	sum->max_ns = sum->max_ns > r->max_ns ? sum->max_ns : r->max_ns;
	for (unsigned i = 0; i < RECLAIM_HIST; i++)
		sum->hist[i] += r->hist[i];
	if (r->zombies_known) { /* of its end */
		sum->zombies = r->zombies;
		sum->zombies_known = true;
	}
	return true;
}

static bool merge_payer(struct reclaim_summary *s, const struct reclaim_payer_row *p, size_t row)
{
	struct reclaim_payer_row *sum = payer_like(s, row, p);

	if (!sum) {
		struct reclaim_payer_row fresh = *p;
		if (s->payers.len >= RECLAIM_MOST_PAYER_ROWS) {
			s->lost_payers += p->passes;
			return true;
		}
		fresh.row = row;
		fresh.cgroup = p->cgroup ? arena_strdup(&s->strings, p->cgroup) : NULL;
		return (!p->cgroup || fresh.cgroup) && vec_push(&s->payers, fresh);
	}
	sum->passes += p->passes;
	sum->total_ns += p->total_ns;
	sum->max_ns = sum->max_ns > p->max_ns ? sum->max_ns : p->max_ns;
	return true;
}

bool reclaim_summary_merge(struct reclaim_summary *s, const struct reclaim_summary *from)
{
	size_t rows[RECLAIM_MOST_ROWS];

	s->from_ns = s->from_ns && s->from_ns < from->from_ns ? s->from_ns : from->from_ns;
	s->to_ns = s->to_ns > from->to_ns ? s->to_ns : from->to_ns;
	s->lost += from->lost;
	s->lost_payers += from->lost_payers;
	for (size_t i = 0; i < from->rows.len && i < RECLAIM_MOST_ROWS; i++)
		if (!merge_row(s, &from->rows.items[i], &rows[i]))
			return false;
	vec_foreach (&from->payers, p)
		if (p->row < RECLAIM_MOST_ROWS && rows[p->row] != SIZE_MAX &&
		    !merge_payer(s, p, rows[p->row]))
			return false;
	return true;
}

bool reclaim_summary_copy(struct reclaim_summary *ret, const struct reclaim_summary *from)
{
	reclaim_summary_free(ret);
	return reclaim_summary_merge(ret, from);
}

static void put_str(struct buf *out, const char *text)
{
	wire_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

static const char *get_str(struct wire_reader *r, struct arena *strings)
{
	size_t len;
	const char *bytes = wire_get_bytes(r, &len);

	return bytes && len && *bytes ? arena_strndup(strings, bytes, len) : NULL;
}

static void encode_row(struct buf *out, const struct reclaim_row *r)
{
	uint64_t filled = 0;

	wire_put_u64(out, r->kind);
	wire_put_u64(out, r->cgroup);
	put_str(out, r->path);
	wire_put_u64(out, r->passes);
	wire_put_u64(out, r->total_ns);
	wire_put_u64(out, r->max_ns);
	wire_put_u64(out, r->bytes);
	wire_put_u64(out, r->zombies_known ? r->zombies + 1 : 0);
	for (unsigned i = 0; i < RECLAIM_HIST; i++)
		filled += r->hist[i] != 0;
	wire_put_u64(out, filled);
	for (unsigned i = 0; i < RECLAIM_HIST; i++) {
		if (!r->hist[i])
			continue;
		wire_put_u64(out, i);
		wire_put_u64(out, r->hist[i]);
	}
}

void reclaim_summary_encode(struct buf *out, const struct reclaim_summary *s)
{
	wire_put_u64(out, s->from_ns);
	wire_put_u64(out, s->to_ns);
	wire_put_u64(out, s->lost);
	wire_put_u64(out, s->lost_payers);
	wire_put_u64(out, s->rows.len);
	vec_foreach (&s->rows, r)
		encode_row(out, r);
	wire_put_u64(out, s->payers.len);
	vec_foreach (&s->payers, p) {
		wire_put_u64(out, p->row);
		wire_put_u64(out, (uint64_t)p->pid);
		put_str(out, p->comm);
		put_str(out, p->cgroup);
		wire_put_u64(out, p->passes);
		wire_put_u64(out, p->total_ns);
		wire_put_u64(out, p->max_ns);
	}
}

static int decode_row(struct wire_reader *r, struct reclaim_summary *ret)
{
	struct reclaim_row row = { .kind = wire_get_u64(r) };

	row.cgroup = wire_get_u64(r);
	row.path = get_str(r, &ret->strings);
	row.passes = wire_get_u64(r);
	row.total_ns = wire_get_u64(r);
	row.max_ns = wire_get_u64(r);
	row.bytes = wire_get_u64(r);
	uint64_t zombies = wire_get_u64(r);
	row.zombies_known = zombies != 0;
	row.zombies = zombies ? zombies - 1 : 0;
	uint64_t filled = wire_get_u64(r);
	if (r->failed || filled > RECLAIM_HIST || row.kind >= RECLAIM_KIND_END)
		return -EBADMSG;
	for (uint64_t i = 0; i < filled; i++) {
		uint64_t at = wire_get_u64(r), n = wire_get_u64(r);
		if (r->failed || at >= RECLAIM_HIST || n > UINT32_MAX)
			return -EBADMSG;
		row.hist[at] = (uint32_t)n;
	}
	return vec_push(&ret->rows, row) ? 0 : -ENOMEM;
}

static int decode_payer(struct wire_reader *r, struct reclaim_summary *ret)
{
	struct reclaim_payer_row p = { .row = wire_get_u64(r) };

	p.pid = (int)wire_get_u64(r);
	const char *comm = get_str(r, &ret->strings);
	p.cgroup = get_str(r, &ret->strings);
	p.passes = wire_get_u64(r);
	p.total_ns = wire_get_u64(r);
	p.max_ns = wire_get_u64(r);
	if (r->failed || p.row >= ret->rows.len)
		return -EBADMSG;
	text_copy(p.comm, sizeof(p.comm), comm ? comm : "");
	return vec_push(&ret->payers, p) ? 0 : -ENOMEM;
}

int reclaim_summary_decode(const void *bytes, size_t len, struct reclaim_summary *ret)
{
	struct wire_reader r;
	int e = 0;

	wire_open(&r, bytes, len);
	ret->from_ns = wire_get_u64(&r);
	ret->to_ns = wire_get_u64(&r);
	ret->lost = wire_get_u64(&r);
	ret->lost_payers = wire_get_u64(&r);
	uint64_t n = wire_get_u64(&r);
	if (r.failed || n > RECLAIM_MOST_ROWS)
		return -EBADMSG;
	for (uint64_t i = 0; e == 0 && i < n; i++)
		e = decode_row(&r, ret);
	n = wire_get_u64(&r);
	if (e == 0 && (r.failed || n > RECLAIM_MOST_PAYER_ROWS))
		e = -EBADMSG;
	for (uint64_t i = 0; e == 0 && i < n; i++)
		e = decode_payer(&r, ret);
	return e;
}

void reclaim_summary_free(struct reclaim_summary *s)
{
	vec_free(&s->rows);
	vec_free(&s->payers);
	arena_free(&s->strings);
	*s = (struct reclaim_summary){ 0 };
}
