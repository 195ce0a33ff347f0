#include "collect.h"

#include <stdio.h>
#include <string.h>

#include "root.h"
#include "text.h"
#include "timefmt.h"

const char *collect_text(struct collected *c, const char *text)
{
	return text && *text ? arena_strdup(&c->strings, text) : NULL;
}

void collected_free(struct collected *c)
{
	facts_free(&c->facts);
	unknowns_free(&c->unknown);
	arena_free(&c->strings);
}

static const struct {
	const char *what;
	int (*collect)(const struct collect_window *w, struct collected *c, struct err *err);
} collectors[] = {
	{ "ticks", collect_ticks },
	{ "profile",
	  collect_profile }, /* after the ticks: it reads around their saturated stretches */
};

int collect_facts(const struct collect_window *w, struct collected *ret, struct err *err)
{
	*ret = (struct collected){ .facts = { .from_ns = w->from_ns, .to_ns = w->to_ns } };
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		struct err why = { 0 };
		int r = collectors[i].collect(w, ret, &why);
		if (r < 0)
			unknowns_add(&ret->unknown, collectors[i].what, "%s", why.text);
	}
	(void)err;
	return 0;
}
