/* Whose a cgroup is or was: path → unit, container, pod, task, job. Pure, and matched from the
 * right, because containers nest (kind, docker in docker): the innermost owner counts, and `depth`
 * says how many lie around it.
 *
 * All strings point into the path that was given; they are hostile bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

enum owner_kind {
	OWNER_NONE,  /* no grammar matches: a plain directory; grouped by its parent */
	OWNER_UNIT,  /* systemd service, scope, socket, mount, swap */
	OWNER_SLICE, /* a slice itself */
	OWNER_USER,  /* user@1000.service, session-3.scope */
	OWNER_DOCKER,
	OWNER_CONTAINERD, /* containerd without Kubernetes */
	OWNER_PODMAN,
	OWNER_POD, /* the pod's own cgroup, or a container of it */
	OWNER_ECS,
	OWNER_NOMAD,
	OWNER_LXC,
	OWNER_SLURM,
	OWNER_MONITOR, /* conmon: watches a container, is not its payload */
	OWNER_LAB,     /* made by zscope lab */
	OWNER_KIND_END,
};

struct owner_text {
	const char *at; /* NULL = absent */
	size_t len;
};

struct owner {
	enum owner_kind kind;
	struct owner_text
		unit; /* "ecs.service", also of the unit around a container where one is named */
	struct owner_text
		container;      /* id, 12-64 hex digits, or the name where the runtime uses names */
	struct owner_text pod;  /* uid as the path spells it */
	struct owner_text task; /* ECS task, nomad alloc.task, Slurm job */
	struct owner_text
		parent; /* path of the directory that holds the owner's cgroup, "/" for the top */
	unsigned depth; /* owners around this one */
};

/* The segments around one: runtimes that name plain directories are known by them. */
struct owner_around {
	struct owner_text up, up2; /* len 0 above the top */
};

enum { OWNER_ABOVE = 8 };

/* The owners that enclose a cgroup, from the inside out: the same for all with one parent. */
struct owner_above {
	struct owner_around around;
	struct {
		struct owner found;
		size_t at; /* where its own segment starts */
	} match[OWNER_ABOVE];
	unsigned n; /* OWNER_ABOVE: there may be more */
};

/* path is relative to the hierarchy's root and may start with "/". */
void owner_parse(const char *path, size_t len, struct owner *ret);
/* In two steps, for many cgroups with one parent: owner_above() takes the path of any of them. It
 * points into that path, up to the parent's end. */
void owner_above(const char *path, size_t len, struct owner_above *ret);
void owner_parse_below(const struct owner_above *above, const char *path, size_t len,
		       struct owner *ret);
const char *owner_kind_name(enum owner_kind kind);
/* The group a zombie is counted under: the unit's name, or "docker containers under /docker". The
 * same for every container of one parent, because a crash loop makes a new id each time. */
void owner_group(struct buf *out, const struct owner *owner);
/* One line for this very cgroup: "docker container 4f5e...", "pod 1234.../container ...". */
void owner_label(struct buf *out, const struct owner *owner);
/* The pod uid with '-' as Kubernetes prints it (the systemd driver spells it with '_'). */
void owner_pod_uid(struct buf *out, const struct owner *owner);
