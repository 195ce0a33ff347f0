#include "unknowns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void unknowns_add(struct unknowns *u, const char *what, const char *why_format, ...)
{
	struct unknown item;
	va_list args;

	vec_foreach (&u->list, it)
		if (strcmp(it->what, what) == 0)
			return;
	text_copy(item.what, sizeof(item.what), what);
	va_start(args, why_format);
	vsnprintf(item.why, sizeof(item.why), why_format, args);
	va_end(args);
	(void)vec_push(&u->list, item);
}

void unknowns_json(struct json *j, const struct unknowns *u)
{
	json_array(j, "unknown");
	vec_foreach (&u->list, it) {
		json_object(j, NULL);
		json_str(j, "what", it->what);
		json_str(j, "why", it->why);
		json_end_object(j);
	}
	json_end_array(j);
}

void unknowns_free(struct unknowns *u)
{
	vec_free(&u->list);
}
