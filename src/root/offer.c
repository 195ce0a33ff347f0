#include "offer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

/* Inode of the first cgroup namespace, fixed since 4.6 (PROC_CGROUP_INIT_INO). */
#define OFFER_INIT_CGROUP_NS "cgroup:[4026531835]"

const char *cgroup_mode_name(enum cgroup_mode mode)
{
	static const char *const names[] = { "none", "v1", "v2", "hybrid" };
	return (unsigned)mode < ARRAY_LEN(names) ? names[mode] : "none";
}

const char *cgroup_memory_name(enum cgroup_memory memory)
{
	static const char *const names[] = { "none", "v1", "v2" };
	return (unsigned)memory < ARRAY_LEN(names) ? names[memory] : "none";
}

/* The fields of a mountinfo line that matter; pointers into the line. */
struct offer_line {
	const char *top, *dir, *type, *options;
	size_t top_len, dir_len, type_len, options_len;
};

static const char *offer_word(const char *p, const char **ret, size_t *ret_len)
{
	while (*p == ' ')
		p++;
	*ret = p;
	*ret_len = strcspn(p, " \n");
	return p + *ret_len;
}

/* 36 35 98:0 /top /dir rw,noatime master:1 - type source options */
static bool offer_split_line(const char *line, struct offer_line *ret)
{
	const char *p = line, *word;
	size_t len;

	for (unsigned i = 0; i < 3; i++)
		p = offer_word(p, &word, &len);
	p = offer_word(p, &ret->top, &ret->top_len);
	p = offer_word(p, &ret->dir, &ret->dir_len);
	do
		p = offer_word(p, &word, &len);
	while (len && !(len == 1 && *word == '-'));
	if (!len)
		return false;
	p = offer_word(p, &ret->type, &ret->type_len);
	p = offer_word(p, &word, &len);
	offer_word(p, &ret->options, &ret->options_len);
	return ret->options_len > 0;
}

static bool offer_is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' &&
	       p[2] <= '7';
}

/* Undo the kernel's \040 escapes. false when it does not fit: a cut path is a wrong path. */
static bool offer_unescape(char *ret, size_t size, const char *p, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		char c = p[i];
		if (c == '\\' && len - i >= 4 && offer_is_octal(p + i + 1)) {
			c = (char)((p[i + 1] - '0') << 6 | (p[i + 2] - '0') << 3 |
				   (p[i + 3] - '0'));
			i += 4;
		} else {
			i++;
		}
		if (!c || n + 1 >= size)
			return false;
		ret[n++] = c;
	}
	ret[n] = '\0';
	return true;
}

static bool offer_has_option(const struct offer_line *line, const char *option)
{
	size_t want = strlen(option);
	const char *p = line->options, *end = p + line->options_len;

	while (p < end) {
		size_t n = strcspn(p, ", \n");
		if (n == want && memcmp(p, option, n) == 0)
			return true;
		p += n + 1;
	}
	return false;
}

/* The first mount of the whole hierarchy wins; a mount of a part of it is better than none. */
static void offer_keep(struct offer_mount *mount, const struct offer_line *line)
{
	struct offer_mount found;

	if (*mount->dir && strcmp(mount->top, "/") == 0)
		return;
	if (!line->dir_len || *line->dir != '/' ||
	    !offer_unescape(found.dir, sizeof(found.dir), line->dir + 1, line->dir_len - 1) ||
	    !offer_unescape(found.top, sizeof(found.top), line->top, line->top_len))
		return;
	if (!*mount->dir || strcmp(found.top, "/") == 0)
		*mount = found;
}

static bool offer_is_type(const struct offer_line *line, const char *type)
{
	return line->type_len == strlen(type) && memcmp(line->type, type, line->type_len) == 0;
}

void offer_parse_mountinfo(const char *text, struct offer *ret)
{
	struct offer_line l;

	for (const char *line = text; line && *line; line = text_next_line(line)) {
		if (!offer_split_line(line, &l))
			continue;
		ret->mounts_read = true;
		if (offer_is_type(&l, "cgroup2"))
			offer_keep(&ret->unified, &l);
		else if (offer_is_type(&l, "tracefs"))
			offer_keep(&ret->tracefs, &l);
		if (!offer_is_type(&l, "cgroup"))
			continue;
		ret->other_v1 = true;
		if (offer_has_option(&l, "memory"))
			offer_keep(&ret->memory_v1, &l);
		if (offer_has_option(&l, "cpu"))
			offer_keep(&ret->cpu_v1, &l);
		if (offer_has_option(&l, "pids"))
			offer_keep(&ret->pids_v1, &l);
		if (offer_has_option(&l, "name=systemd"))
			offer_keep(&ret->systemd_v1, &l);
	}
}

/* Which v1 hierarchy /proc/cgroups puts the controller on: 0 = none or v2, -ENODATA = no such row.
 */
static int offer_hierarchy(const char *text, const char *controller)
{
	uint64_t id;
	int r = text_key_u64(text, controller, &id);

	return r < 0 ? -ENODATA : id != 0;
}

/* Is the controller listed as switched off (cgroup_disable=memory)? Then nothing has it anywhere;
 * that no mount shows it says only that it is not seen from here. */
static bool offer_is_disabled(const char *text, const char *controller)
{
	size_t len = strlen(controller);
	uint64_t enabled;

	for (const char *line = text; line && *line; line = text_next_line(line))
		if (strncmp(line, controller, len) == 0 && line[len] == '\t')
			return text_column_u64(line, 3, &enabled) == 0 && !enabled;
	return false;
}

static bool offer_has_word(const char *text, const char *word)
{
	size_t want = strlen(word);

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \n");
		if (n == want && memcmp(p, word, n) == 0)
			return true;
		p += n + (p[n] != '\0');
	}
	return false;
}

void offer_judge(struct offer *o, const char *proc_cgroups, const char *controllers)
{
	bool v1 = o->other_v1, v2 = *o->unified.dir;

	o->mode = v1 && v2 ? CGROUP_MODE_HYBRID
		  : v1     ? CGROUP_MODE_V1
		  : v2     ? CGROUP_MODE_V2
			   : CGROUP_MODE_NONE;
	int on_v1 = proc_cgroups ? offer_hierarchy(proc_cgroups, "memory") : -ENODATA;
	bool off = proc_cgroups && offer_is_disabled(proc_cgroups, "memory");
	if (*o->memory_v1.dir || on_v1 > 0)
		o->memory = CGROUP_MEMORY_V1; /* on v1, mounted here or not */
	else if (controllers && offer_has_word(controllers, "memory"))
		o->memory = CGROUP_MEMORY_V2;
	else if (v2 && !v1 && on_v1 == 0 && !controllers && !off)
		o->memory = CGROUP_MEMORY_V2; /* nothing but v2, whose controllers we cannot read */
	else
		o->memory = CGROUP_MEMORY_NONE;
	o->mode_known = o->mode != CGROUP_MODE_NONE || o->mounts_read;
	o->memory_known = o->memory != CGROUP_MEMORY_NONE || off;
	o->layout_read = o->mounts_read && (!v2 || controllers);
}

const struct offer_mount *offer_memory_mount(const struct offer *offer)
{
	const struct offer_mount *m = offer->memory == CGROUP_MEMORY_V1   ? &offer->memory_v1
				      : offer->memory == CGROUP_MEMORY_V2 ? &offer->unified
									  : NULL;
	return m && *m->dir ? m : NULL;
}

/* A tree without mountinfo (a plain image, an old capture) still has its directories. */
static void offer_guess_mounts(const struct root *root, struct offer *o)
{
	static const struct {
		const char *dir, *probe;
		size_t offset;
		bool v1;
	} places[] = {
		{ "sys/fs/cgroup", "sys/fs/cgroup/cgroup.controllers",
		  offsetof(struct offer, unified), false },
		{ "sys/fs/cgroup/unified", "sys/fs/cgroup/unified/cgroup.controllers",
		  offsetof(struct offer, unified), false },
		{ "sys/fs/cgroup/memory", "sys/fs/cgroup/memory/memory.stat",
		  offsetof(struct offer, memory_v1), true },
		{ "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu/cpu.stat", offsetof(struct offer, cpu_v1),
		  true },
	};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct offer_mount *mount = (void *)((char *)o + places[i].offset);
		if (*mount->dir || !root_exists(root, places[i].probe))
			continue;
		text_copy(mount->dir, sizeof(mount->dir), places[i].dir);
		text_copy(mount->top, sizeof(mount->top), "/");
		o->other_v1 |= places[i].v1;
	}
}

static void offer_judge_namespace(const struct root *root, const char *process, struct offer *o)
{
	AUTO_BUF struct buf link = { 0 };
	const struct offer_mount *m = offer_memory_mount(o);
	char path[300];

	snprintf(path, sizeof(path), "proc/%s/ns/cgroup", process);
	if (root_readlink(root, path, &link, NULL) == 0 &&
	    text_starts(buf_str(&link), "cgroup:[") &&
	    strcmp(buf_str(&link), OFFER_INIT_CGROUP_NS) != 0) {
		o->namespaced = true;
		snprintf(o->namespaced_why, sizeof(o->namespaced_why),
			 "a container's cgroup namespace (/%s is %.60s)", path, buf_str(&link));
		return;
	}
	if (!m)
		return;
	if (strcmp(m->top, "/") != 0) {
		o->namespaced = true;
		snprintf(o->namespaced_why, sizeof(o->namespaced_why),
			 "only a part of the cgroup tree is mounted at /%.80s", m->dir);
		return;
	}
	/* every cgroup but the real root has it */
	snprintf(path, sizeof(path), "%s/cgroup.events", m->dir);
	if (o->memory == CGROUP_MEMORY_V2 && root_exists(root, path)) {
		o->namespaced = true;
		snprintf(o->namespaced_why, sizeof(o->namespaced_why),
			 "/%.80s is not the root cgroup: it has cgroup.events", m->dir);
	}
}

static bool offer_read_text(const struct root *root, const char *path, struct buf *out)
{
	return root_read(root, path, ROOT_FILE_CAP, out, NULL) == 0;
}

static void offer_read_mounts(const struct root *root, struct offer *o)
{
	AUTO_BUF struct buf mounts = { 0 };
	AUTO_BUF struct buf cgroups = { 0 };
	AUTO_BUF struct buf controllers = { 0 };
	char path[300];

	/* a host's tree mounted into a container: its first process has the host's view */
	const char *process = !root->live && root_exists(root, "proc/1/mountinfo") ? "1" : "self";
	snprintf(path, sizeof(path), "proc/%s/mountinfo", process);
	if (offer_read_text(root, path, &mounts))
		offer_parse_mountinfo(buf_str(&mounts), o);
	if (!o->other_v1 && !*o->unified.dir)
		offer_guess_mounts(root, o);
	bool listed = offer_read_text(root, "proc/cgroups", &cgroups);
	snprintf(path, sizeof(path), "%s/cgroup.controllers", o->unified.dir);
	bool told = *o->unified.dir && offer_read_text(root, path, &controllers);
	offer_judge(o, listed ? buf_str(&cgroups) : NULL, told ? buf_str(&controllers) : NULL);
	offer_judge_namespace(root, process, o);
}

static void offer_highest_cpu(void *arg, unsigned n)
{
	unsigned *most = arg;

	*most = MAX_OF(*most, n + 1);
}

void offer_read(const struct root *root, struct offer *ret)
{
	AUTO_BUF struct buf possible = { 0 };

	*ret = (struct offer){ 0 };
	offer_read_mounts(root, ret);
	if (offer_read_text(root, "sys/devices/system/cpu/possible", &possible))
		(void)text_cpu_list(buf_str(&possible), 65536, offer_highest_cpu, &ret->n_cpus);
	ret->btf = root_exists(root, "sys/kernel/btf/vmlinux");
	ret->kmsg = root_exists(root, "dev/kmsg");
	if (!root->live)
		return; /* kernel calls speak of this machine, not of that tree */
	ret->perf = root_exists(root, "proc/sys/kernel/perf_event_paranoid");
	/* an impossible command: EINVAL = there and allowed, EPERM = not for us, ENOSYS = absent */
	ret->bpf = syscall(SYS_bpf, 9999, NULL, 0) == 0 || errno == EINVAL || errno == E2BIG;
}
