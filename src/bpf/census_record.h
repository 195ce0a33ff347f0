/* What a walk shares with how its records are read: by copies (census_copies.h) or by plain loads
 * (census_loads.h). */
#pragma once

#include "census_read.h"

struct walk_state st;
const volatile struct census_host host SEC(".rodata");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_rec);
} records SEC(".maps");

/* What a step of the walk needs of a css. */
struct css_view {
	__u64 serial, next, child, parent;
	__u32 flags;
};

/* ---- pages ---- */

/* Of one list in all zones; `step` words apart. Written out, because the number of zones is only
 * known after relocation, and loops of unknown length cost the verifier much. */
static __always_inline __u64 zones_sum(const __u64 *w, __u32 zones, __u32 step)
{
	__u64 sum = 0;

	if (zones > 0)
		sum += w[0];
	if (zones > 1)
		sum += w[step];
	if (zones > 2)
		sum += w[2 * step];
	if (zones > 3)
		sum += w[3 * step];
	if (zones > 4)
		sum += w[4 * step];
	if (zones > 5)
		sum += w[5 * step];
	return sum;
}

/* lru_zone_size: zone by zone, in each the lists. */
static __always_inline void lru_add_zones(const __u64 *w, __u32 size, __u64 *lru)
{
	__u32 zones = size / (CENSUS_LRUS * 8);

	lru[0] += zones_sum(w, zones, CENSUS_LRUS);
	lru[1] += zones_sum(w + 1, zones, CENSUS_LRUS);
	lru[2] += zones_sum(w + 2, zones, CENSUS_LRUS);
	lru[3] += zones_sum(w + 3, zones, CENSUS_LRUS);
	lru[4] += zones_sum(w + 4, zones, CENSUS_LRUS);
}

/* A list's pages in one generation; a sum may be below 0 for a moment. */
static __always_inline __u64 gen_sum(const __u64 *w, __u32 zones)
{
	__u64 sum = zones_sum(w, zones, 1);

	return sum & ~((__s64)sum >> 63);
}

/* lrugen.nr_pages (6.1): 4 generations, in each anonymous and file, then the zones. */
static __always_inline void lru_add_gens(const __u64 *w, __u32 size, __u64 *lru)
{
	__u32 zones = size / 64;

	lru[0] += gen_sum(w, zones) + gen_sum(w + 2 * zones, zones) +
		  gen_sum(w + 4 * zones, zones) + gen_sum(w + 6 * zones, zones);
	lru[2] += gen_sum(w + zones, zones) + gen_sum(w + 3 * zones, zones) +
		  gen_sum(w + 5 * zones, zones) + gen_sum(w + 7 * zones, zones);
}

/* Usage lies in a cache line of its own: it is read where it tells more than the lists do. */
static __always_inline bool wants_usage(const struct census_rec *rec)
{
	__u32 detail = host.detail & st.detail;

	return detail & CENSUS_DETAIL_SWAP ||
	       (detail && !(rec->lru[0] | rec->lru[1] | rec->lru[2] | rec->lru[3] | rec->lru[4]));
}

/* Whether this kernel has multi-gen lists. Both layouts are named, because a type that an object
 * does not name has no members in its slice of the BTF. */
static __always_inline bool has_gens(void)
{
	return EXISTS(lruvec, lrugen.nr_pages) || EXISTS(lruvec___old, lrugen.nr_pages);
}

/* Both names of its type, for the same reason. */
static __always_inline bool has_id_refs(void)
{
	return EXISTS(mem_cgroup, id.ref) || EXISTS(mem_cgroup___private, id.ref);
}
