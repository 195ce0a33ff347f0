/* Zombies that have zombies below them. A dead parent goes with the last of its children, so it can
 * be freed only if all of them can. The walk may come to it before them: it is judged at the end,
 * by what was seen to stay below each path. */
#include <string.h>

#include "auto.h"
#include "purge_impl.h"

enum parent_fate { PARENT_GOES, PARENT_MAY_STAY, PARENT_STAYS };

bool purge_parents_mark(struct purge_parents *p, const struct zombie *z, bool stays)
{
	uint64_t fate = stays ? PARENT_STAYS : PARENT_MAY_STAY;

	for (size_t i = 1; i < z->path_len; i++) {
		bool made;
		if (z->path[i] != '/')
			continue;
		uint64_t *at = map_u64_put(&p->fates, hash_bytes(z->path, i), &made);
		if (!at)
			return false;
		*at = made ? fate : MAX_OF(*at, fate);
	}
	return true;
}

bool purge_parents_take(struct purge_parents *p, const struct zombie *z, bool may_stay)
{
	struct purge_parent one = {
		.path = hash_bytes(z->path, z->path_len),
		.bytes = z->bytes,
		.may_stay = may_stay,
	};

	return vec_push(&p->list, one) && (!may_stay || purge_parents_mark(p, z, false));
}

void purge_parents_judge(const struct purge_parents *p, struct purge_plan *plan)
{
	vec_foreach (&p->list, one) {
		const uint64_t *below = map_u64_get(&p->fates, one->path);
		uint64_t fate = below ? *below : PARENT_GOES;
		if (fate == PARENT_STAYS) {
			plan->stuck[PIN_CHILD]++;
			continue;
		}
		bool may_stay = one->may_stay || fate == PARENT_MAY_STAY;
		*(may_stay ? &plan->may_stay : &plan->freeable) += 1;
		*(may_stay ? &plan->may_stay_bytes : &plan->freeable_bytes) += one->bytes;
	}
}

void purge_parents_free(struct purge_parents *p)
{
	vec_free(&p->list);
	map_u64_free(&p->fates);
	*p = (struct purge_parents){ 0 };
}
