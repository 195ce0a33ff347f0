#include "owner.h"

#include <string.h>

#include "auto.h"

enum { OWNER_ID_LEAST = 12, OWNER_ID_MOST = 64, OWNER_UUID_LEN = 36 };

static const char *const kind_names[OWNER_KIND_END] = {
	[OWNER_NONE] = "cgroup",     [OWNER_UNIT] = "unit",     [OWNER_SLICE] = "slice",
	[OWNER_USER] = "user",       [OWNER_DOCKER] = "docker", [OWNER_CONTAINERD] = "containerd",
	[OWNER_PODMAN] = "podman",   [OWNER_POD] = "pod",       [OWNER_ECS] = "ecs",
	[OWNER_NOMAD] = "nomad",     [OWNER_LXC] = "lxc",       [OWNER_SLURM] = "slurm",
	[OWNER_MONITOR] = "monitor", [OWNER_LAB] = "lab",
};

/* What the groups of each kind are called in the plural. */
static const char *const kind_plurals[OWNER_KIND_END] = {
	[OWNER_NONE] = "cgroups",
	[OWNER_UNIT] = "units",
	[OWNER_SLICE] = "slices",
	[OWNER_USER] = "user sessions",
	[OWNER_DOCKER] = "docker containers",
	[OWNER_CONTAINERD] = "containerd containers",
	[OWNER_PODMAN] = "podman containers",
	[OWNER_POD] = "pods",
	[OWNER_ECS] = "ECS tasks",
	[OWNER_NOMAD] = "nomad tasks",
	[OWNER_LXC] = "LXC containers",
	[OWNER_SLURM] = "Slurm jobs",
	[OWNER_MONITOR] = "container monitors",
	[OWNER_LAB] = "zscope lab cgroups",
};

const char *owner_kind_name(enum owner_kind kind)
{
	return kind < OWNER_KIND_END ? kind_names[kind] : "unknown";
}

static bool seg_starts(struct owner_text s, const char *prefix)
{
	if (!s.len || s.at[0] != prefix[0]) /* mostly */
		return false;
	size_t n = strlen(prefix);
	return s.len > n && memcmp(s.at, prefix, n) == 0;
}

static bool seg_ends(struct owner_text s, const char *suffix)
{
	size_t n = strlen(suffix);
	return s.len > n && memcmp(s.at + s.len - n, suffix, n) == 0;
}

static bool seg_is(struct owner_text s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static struct owner_text seg_cut(struct owner_text s, size_t front, size_t back)
{
	return (struct owner_text){ s.at + front, s.len - front - back };
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* A container id: 64 hex digits, or a shortened one. ECS on Fargate-like hosts appends "-NUMBER".
 */
static bool is_id(struct owner_text s, size_t least)
{
	if (s.len < least || s.len > OWNER_ID_MOST)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!is_hex(s.at[i]))
			return false;
	return true;
}

/* 8-4-4-4-12 hex digits, or 32 of them (static pods are named by a hash). */
static bool is_uid(struct owner_text s)
{
	if (s.len == 32)
		return is_id(s, 32);
	if (s.len != OWNER_UUID_LEN)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? s.at[i] != '-' && s.at[i] != '_' : !is_hex(s.at[i]))
			return false;
	}
	return true;
}

static const struct {
	const char *prefix;
	enum owner_kind kind;
} scope_kinds[] = {
	{ "docker-", OWNER_DOCKER },         { "cri-containerd-", OWNER_POD },
	{ "crio-conmon-", OWNER_MONITOR },   { "crio-", OWNER_POD },
	{ "libpod-conmon-", OWNER_MONITOR }, { "libpod-", OWNER_PODMAN },
	{ "nerdctl-", OWNER_CONTAINERD },    { "containerd-", OWNER_CONTAINERD },
};

/* "docker-ID.scope", "libpod-ID" ... → its kind and id. */
static bool seg_scope(struct owner_text s, enum owner_kind *ret_kind, struct owner_text *ret_id)
{
	size_t back = seg_ends(s, ".scope") ? strlen(".scope") : 0;

	for (size_t i = 0; i < ARRAY_LEN(scope_kinds); i++) {
		if (!seg_starts(s, scope_kinds[i].prefix) ||
		    s.len <= strlen(scope_kinds[i].prefix) + back)
			continue;
		struct owner_text id = seg_cut(s, strlen(scope_kinds[i].prefix), back);
		if (!is_id(id, OWNER_ID_LEAST))
			continue;
		*ret_kind = scope_kinds[i].kind;
		*ret_id = id;
		return true;
	}
	return false;
}

/* "podUID", "kubepods-burstable-podUID.slice" → the uid. */
static bool seg_pod(struct owner_text s, struct owner_text *ret_uid)
{
	if (seg_starts(s, "pod") && is_uid(seg_cut(s, 3, 0))) {
		*ret_uid = seg_cut(s, 3, 0);
		return true;
	}
	if (!seg_starts(s, "kubepods") || !seg_ends(s, ".slice"))
		return false;
	struct owner_text body = seg_cut(s, 0, strlen(".slice"));
	for (size_t len = 32; len <= OWNER_UUID_LEN; len += OWNER_UUID_LEN - 32) {
		if (body.len < len + 4)
			continue;
		struct owner_text uid = seg_cut(body, body.len - len, 0);
		if (is_uid(uid) && memcmp(uid.at - 4, "-pod", 4) == 0) {
			*ret_uid = uid;
			return true;
		}
	}
	return false;
}

/* "kubepods-…-podUID.slice:cri-containerd:ID", the mark of two cgroup drivers that disagree. */
static bool seg_colons(struct owner_text s, struct owner *ret)
{
	const char *second = memrchr(s.at, ':', s.len);
	const char *first = second ? memrchr(s.at, ':', (size_t)(second - s.at)) : NULL;

	if (!first)
		return false;
	struct owner_text slice = { s.at, (size_t)(first - s.at) };
	struct owner_text id = { second + 1, s.len - (size_t)(second + 1 - s.at) };
	if (!is_id(id, OWNER_ID_LEAST))
		return false;
	ret->container = id;
	ret->kind = seg_pod(slice, &ret->pod) ? OWNER_POD : OWNER_CONTAINERD;
	return true;
}

static bool is_unit(struct owner_text s)
{
	static const char *const suffixes[] = { ".service", ".scope", ".socket", ".mount",
						".swap" };

	if (!memrchr(s.at, '.', s.len))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (seg_ends(s, suffixes[i]))
			return true;
	return false;
}

static bool is_user_unit(struct owner_text s)
{
	return (seg_starts(s, "user@") && seg_ends(s, ".service")) ||
	       (seg_starts(s, "session-") && seg_ends(s, ".scope"));
}

static bool match_plain_id(struct owner_text s, const struct owner_around *a, struct owner *ret)
{
	if (!is_id(s, 32))
		return false;
	ret->container = s;
	if (seg_is(a->up, "docker")) {
		ret->kind = OWNER_DOCKER;
	} else if (seg_pod(a->up, &ret->pod)) {
		ret->kind = OWNER_POD;
	} else if (seg_is(a->up2, "ecs")) {
		ret->kind = OWNER_ECS;
		ret->task = a->up;
	} else if (seg_is(a->up, "ecs")) {
		/* the task's own cgroup: /ecs/TASK */
		ret->kind = OWNER_ECS;
		ret->task = s;
		ret->container = (struct owner_text){ 0 };
	} else if (seg_is(a->up, "default") || seg_is(a->up, "k8s.io") || seg_is(a->up, "moby")) {
		ret->kind = OWNER_CONTAINERD;
	} else if (seg_is(a->up, "libpod_parent")) {
		ret->kind = OWNER_PODMAN;
	} else {
		ret->container = (struct owner_text){ 0 };
		return false;
	}
	return true;
}

/* "ALLOC.TASK[.scope]" below nomad's directories. */
static bool match_nomad(struct owner_text s, const struct owner_around *a, struct owner *ret)
{
	bool below = seg_is(a->up, "nomad") ||
		     ((seg_is(a->up, "share.slice") || seg_is(a->up, "reserve.slice")) &&
		      seg_is(a->up2, "nomad.slice"));
	size_t back = seg_ends(s, ".scope") ? strlen(".scope") : 0;

	if (!below || s.len <= OWNER_UUID_LEN + 1 + back ||
	    !is_uid((struct owner_text){ s.at, OWNER_UUID_LEN }) || s.at[OWNER_UUID_LEN] != '.')
		return false;
	ret->kind = OWNER_NOMAD;
	ret->task = seg_cut(s, 0, back);
	return true;
}

/* "slurm/uid_N/job_N[/step_N]", "slurmstepd.scope/job_N". */
static bool match_slurm(struct owner_text s, const struct owner_around *a, struct owner *ret)
{
	if (!seg_starts(s, "job_") ||
	    !(seg_is(a->up, "slurmstepd.scope") ||
	      (seg_starts(a->up, "uid_") &&
	       (seg_is(a->up2, "slurm") || seg_starts(a->up2, "slurm_")))))
		return false;
	ret->kind = OWNER_SLURM;
	ret->task = seg_cut(s, strlen("job_"), 0);
	return true;
}

/* "ecstasks-TASK.slice", alone or around docker-ID.scope. */
static bool seg_ecs_slice(struct owner_text s, struct owner_text *ret_task)
{
	if (!seg_starts(s, "ecstasks-") || !seg_ends(s, ".slice") ||
	    s.len <= strlen("ecstasks-.slice"))
		return false;
	*ret_task = seg_cut(s, strlen("ecstasks-"), strlen(".slice"));
	return true;
}

static bool match_scope(struct owner_text s, const struct owner_around *a, struct owner *ret)
{
	enum owner_kind kind;
	struct owner_text id;

	if (!seg_scope(s, &kind, &id))
		return false;
	ret->kind = kind;
	ret->container = id;
	if (kind == OWNER_MONITOR)
		return true;
	if (seg_ecs_slice(a->up, &ret->task))
		ret->kind = OWNER_ECS;
	else if (seg_pod(a->up, &ret->pod))
		ret->kind = OWNER_POD;
	else if (kind == OWNER_POD && !ret->pod.at)
		ret->kind = seg_starts(s, "crio-") ? OWNER_POD : OWNER_CONTAINERD;
	return true;
}

static bool match_segment(struct owner_text s, const struct owner_around *a, struct owner *ret)
{
	if (match_scope(s, a, ret) || seg_colons(s, ret) || match_plain_id(s, a, ret) ||
	    match_nomad(s, a, ret) || match_slurm(s, a, ret))
		return true;
	if (seg_pod(s, &ret->pod)) {
		ret->kind = OWNER_POD;
	} else if (seg_ecs_slice(s, &ret->task)) {
		ret->kind = OWNER_ECS;
	} else if (seg_starts(s, "lxc.payload.")) {
		ret->kind = OWNER_LXC;
		ret->container = seg_cut(s, strlen("lxc.payload."), 0);
	} else if (seg_starts(s, "lxc.monitor.")) {
		ret->kind = OWNER_MONITOR;
		ret->container = seg_cut(s, strlen("lxc.monitor."), 0);
	} else if (is_unit(s)) { /* also one that the lab started: it can be stopped like any */
		ret->kind = is_user_unit(s) ? OWNER_USER : OWNER_UNIT;
		ret->unit = s;
	} else if (seg_starts(s, "zscope-lab-")) {
		ret->kind = OWNER_LAB;
		ret->task = s;
	} else {
		return false;
	}
	return true;
}

/* The segment that ends at path[*end); moves *end before its slash. len 0 = none left. */
static struct owner_text take_last(const char *path, size_t *end)
{
	while (*end && path[*end - 1] == '/')
		(*end)--;
	const char *slash = memrchr(path, '/', *end);
	size_t stop = *end;
	*end = slash ? (size_t)(slash + 1 - path) : 0;
	return (struct owner_text){ path + *end, stop - *end };
}

static struct owner_text parent_text(const char *path, size_t end)
{
	while (end && path[end - 1] == '/')
		end--;
	return end ? (struct owner_text){ path, end } : (struct owner_text){ "/", 1 };
}

/* What lies around a segment that starts at path[end). */
static struct owner_around look_around(const char *path, size_t end)
{
	struct owner_around a;

	a.up = take_last(path, &end);
	a.up2 = take_last(path, &end);
	return a;
}

/* The innermost match in path[0, end); *ret_end is where its own segment starts. */
static bool owner_match(const char *path, size_t end, struct owner *ret, size_t *ret_end)
{
	for (;;) {
		struct owner_text last = take_last(path, &end);
		if (!last.len)
			return false;
		struct owner_around a = look_around(path, end);
		struct owner found = { 0 };
		if (match_segment(last, &a, &found)) {
			*ret = found;
			*ret_end = end;
			return true;
		}
	}
}

/* A container's segment and the pod or task slice around it are one owner, not two. */
static bool same_owner(const struct owner *inner, const struct owner *outer)
{
	if (inner->kind == OWNER_POD && outer->kind == OWNER_POD)
		return inner->container.at && !outer->container.at;
	return inner->kind == OWNER_ECS && outer->kind == OWNER_ECS && inner->container.at &&
	       !outer->container.at;
}

void owner_above(const char *path, size_t len, struct owner_above *ret)
{
	(void)take_last(path, &len);
	ret->around = look_around(path, len);
	ret->n = 0;
	while (ret->n < OWNER_ABOVE &&
	       owner_match(path, len, &ret->match[ret->n].found, &ret->match[ret->n].at))
		len = ret->match[ret->n++].at;
}

/* One more owner around what is known of it. */
static void add_outer(struct owner *inner, const struct owner *outer, const char *path, size_t at)
{
	if (!inner->depth && same_owner(inner, outer))
		inner->parent = parent_text(path, at);
	else
		inner->depth++;
	if (!inner->unit.at && (outer->kind == OWNER_UNIT || outer->kind == OWNER_USER))
		inner->unit = outer->unit;
}

void owner_parse_below(const struct owner_above *above, const char *path, size_t len,
		       struct owner *ret)
{
	struct owner inner = { 0 }, outer;
	size_t end = len, next;
	struct owner_text last = take_last(path, &end);
	unsigned i = 0;

	if (last.len && match_segment(last, &above->around, &inner)) {
		inner.parent = parent_text(path, end);
	} else if (above->n) {
		inner = above->match[0].found;
		inner.parent = parent_text(path, above->match[0].at);
		i = 1;
	} else {
		*ret = (struct owner){ .parent = parent_text(path, end) };
		ret->kind = last.len && seg_ends(last, ".slice") ? OWNER_SLICE : OWNER_NONE;
		return;
	}
	for (; i < above->n; i++)
		add_outer(&inner, &above->match[i].found, path, above->match[i].at);
	for (end = above->n == OWNER_ABOVE ? above->match[OWNER_ABOVE - 1].at : 0;
	     owner_match(path, end, &outer, &next); end = next)
		add_outer(&inner, &outer, path, next);
	*ret = inner;
}

void owner_parse(const char *path, size_t len, struct owner *ret)
{
	struct owner_above above;

	owner_above(path, len, &above);
	owner_parse_below(&above, path, len, ret);
}

void owner_group(struct buf *out, const struct owner *o)
{
	if ((o->kind == OWNER_UNIT || o->kind == OWNER_USER) && o->unit.at) {
		buf_add(out, o->unit.at, o->unit.len);
		return;
	}
	if (o->kind == OWNER_LAB) {
		buf_add(out, o->task.at, o->task.len);
		return;
	}
	buf_add_str(out, kind_plurals[o->kind]);
	buf_add_str(out, " under ");
	if (o->parent.len && o->parent.at[0] != '/')
		buf_add_char(out, '/');
	buf_add(out, o->parent.at, o->parent.len);
}

static void label_part(struct buf *out, const char *word, struct owner_text text)
{
	if (!text.at)
		return;
	if (out->len)
		buf_add_char(out, ' ');
	buf_add_str(out, word);
	buf_add(out, text.at, text.len);
}

void owner_label(struct buf *out, const struct owner *o)
{
	buf_clear(out);
	switch (o->kind) {
	case OWNER_UNIT:
	case OWNER_USER:
		buf_add(out, o->unit.at, o->unit.len);
		return;
	case OWNER_NONE:
	case OWNER_SLICE:
		owner_group(out, o);
		return;
	default:
		buf_add_str(out, owner_kind_name(o->kind));
	}
	if (o->pod.len && o->kind == OWNER_POD) {
		buf_add_char(out, ' ');
		owner_pod_uid(out, o);
	}
	label_part(out, "task ", o->kind == OWNER_LAB ? (struct owner_text){ 0 } : o->task);
	label_part(out, "container ", o->container);
}

void owner_pod_uid(struct buf *out, const struct owner *o)
{
	for (size_t i = 0; i < o->pod.len; i++)
		buf_add_char(out, o->pod.at[i] == '_' ? '-' : o->pod.at[i]);
}
