#include "vec.h"

#include <stdint.h>

#include "tick_path.h"

EVERY_TICK bool vec_grow(void **items, size_t *cap, size_t want, size_t size)
{
	if (want <= *cap)
		return true;
	size_t grown_cap = *cap + *cap / 2 + 8;
	if (grown_cap < want)
		grown_cap = want;
	if (grown_cap > SIZE_MAX / size)
		return false;
	void *grown = realloc(*items, grown_cap * size);
	if (!grown)
		return false;
	*items = grown;
	*cap = grown_cap;
	return true;
}
