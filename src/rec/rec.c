#include "rec.h"

#include "rec_cpu.h"
#include "rec_self.h"

static const struct rec_desc *const descs[REC_KIND_END] = {
	[REC_CPU] = &rec_cpu_desc,
	[REC_SELF] = &rec_self_desc,
};

const struct rec_desc *rec_desc(unsigned kind)
{
	return kind < REC_KIND_END ? descs[kind] : NULL;
}
