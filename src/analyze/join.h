/* When one finding may be called the cause of another: the table of mechanisms, and the tests of
 * place and time. */
#pragma once

#include "chain.h"

enum place_kind {
	PLACE_UNIT,    /* the same service unit */
	PLACE_OWNER,   /* the effect's zombies belong to the cause's unit, container or directory */
	PLACE_CPU,     /* the same core */
	PLACE_PROCESS, /* the same process, or the same core when the process is not known */
	PLACE_QUEUE,   /* the same NIC and queue */
	PLACE_HOST,    /* one host, one place */
};

struct mechanism {
	const char *cause, *effect; /* rule ids */
	const char *how;
	enum place_kind place;
	bool overlap; /* the cause must be under way when the effect begins; else it only has to
			 come first */
};

const struct mechanism *mechanisms_all(size_t *ret_len);
/* Fill ret and return true when cause may be said to lead to effect. */
bool join_judge(const struct facts *facts, const struct finding *cause,
		const struct finding *effect, struct join *ret);
/* What somebody would look at to decide between two explanations. Owned by the findings. */
const char *join_what_tells_apart(const struct facts *facts, struct findings *all,
				  const struct explanation *first, const struct explanation *other);
