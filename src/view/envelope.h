/* The members that every top-level JSON object carries: schema, host, time, kernel. */
#pragma once

#include <stddef.h>

#include "json.h"
#include "root.h"
#include "unknowns.h"

struct envelope {
	char host[256];
	char kernel[256];
};

/* From the tree that is looked at (proc/sys/kernel/hostname, osrelease; etc/hostname for an image);
 * "" = unknown. */
void envelope_read(const struct root *root, struct envelope *ret);
/* Of this host, for what looks at no tree. */
void envelope_read_live(struct envelope *ret);
/* Of a recording: the host that it was made on, from the lines of a META frame ("host=...",
 * "kernel=..."). What they do not say stays as it is. */
void envelope_parse_meta(const char *bytes, size_t len, struct envelope *e);
/* Names in the list what of it is not known: its member is absent then. */
void envelope_unknowns(const struct envelope *e, struct unknowns *unknowns);
/* Opens no object: call it right after json_object(j, NULL). What is not known is left out. */
void envelope_json(struct json *j, const struct envelope *e, const char *command, uint64_t time_ns);

/* One element of an `evidence` array, the contract's E: everything that is claimed can be checked
 * by hand. unit may be NULL. */
void evidence_json(struct json *j, const char *what, const char *value, const char *unit,
		   const char *source, uint64_t time_ns);
