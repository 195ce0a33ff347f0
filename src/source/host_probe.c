#include "host_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "text.h"
#include "unit_tree.h"

enum { PROBE_FILE_CAP = 1 << 20, PROBE_FILES_MOST = 200, PROBE_REGEX_MOST = 200 };

struct probe_walk {
	const struct root *root;
	const char *dir, *pattern;
	const char *want; /* text to find in the file; NULL = the name is enough */
	const regex_t *regex;
	bool case_blind;
	unsigned files;
	char found[160];
};

static const char *probe_relative(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static int probe_each_name(void *arg, const char *name, unsigned char type)
{
	struct probe_walk *w = arg;

	(void)type;
	if (!text_glob(w->pattern, name))
		return 0;
	snprintf(w->found, sizeof(w->found), "/%s/%s", w->dir, name);
	return 1;
}

/* A path whose last component may hold * and ?. */
static enum probe probe_path(const struct root *root, const char *argument, char ret_source[160])
{
	const char *path = probe_relative(argument);
	const char *slash = strrchr(path, '/');
	char dir[256];

	snprintf(ret_source, 160, "/%s", path);
	if (!strpbrk(path, "*?"))
		return root_exists(root, path) ? PROBE_YES : PROBE_NO;
	if (!slash || !text_copy_n(dir, sizeof(dir), path, (size_t)(slash - path)) ||
	    strpbrk(dir, "*?"))
		return PROBE_UNKNOWN;
	struct probe_walk w = { .root = root, .dir = dir, .pattern = slash + 1 };
	(void)root_list(root, dir, probe_each_name, &w, NULL);
	if (*w.found)
		text_copy(ret_source, 160, w.found);
	return *w.found ? PROBE_YES : PROBE_NO;
}

static int probe_each_any(void *arg, const char *name, unsigned char type)
{
	(void)name, (void)type;
	*(bool *)arg = true;
	return 1;
}

static enum probe probe_nonempty(const struct root *root, const char *path)
{
	struct stat st;
	bool any = false;

	path = probe_relative(path);
	if (root_lstat(root, path, &st, NULL) < 0)
		return PROBE_NO;
	if (S_ISREG(st.st_mode))
		return st.st_size > 0 ? PROBE_YES : PROBE_NO;
	if (root_list(root, path, probe_each_any, &any, NULL) < 0)
		return PROBE_UNKNOWN;
	return any ? PROBE_YES : PROBE_NO;
}

static bool probe_grep_file(struct probe_walk *w, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (root_read(w->root, path, PROBE_FILE_CAP, &text, NULL) < 0)
		return false;
	bool hit = w->regex        ? regexec(w->regex, buf_str(&text), 0, NULL, 0) == 0
		   : w->case_blind ? strcasestr(buf_str(&text), w->want) != NULL
				   : strstr(buf_str(&text), w->want) != NULL;
	if (hit)
		snprintf(w->found, sizeof(w->found), "/%.150s", path);
	return hit;
}

static int probe_each_grep(void *arg, const char *name, unsigned char type)
{
	struct probe_walk *w = arg;
	char path[600];

	(void)type;
	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return ++w->files > PROBE_FILES_MOST || probe_grep_file(w, path);
}

/* FILE~REGEX; FILE may be a directory, then all files right in it. */
static enum probe probe_grep(const struct root *root, const char *argument, char ret_source[160])
{
	const char *tilde = strchr(argument, '~');
	char file[256];
	regex_t regex;

	if (!tilde || strlen(tilde + 1) > PROBE_REGEX_MOST)
		return PROBE_UNKNOWN;
	text_copy_n(file, sizeof(file), probe_relative(argument),
		    (size_t)(tilde - probe_relative(argument)));
	snprintf(ret_source, 160, "/%.150s", file);
	if (regcomp(&regex, tilde + 1, REG_EXTENDED | REG_NOSUB | REG_NEWLINE) != 0)
		return PROBE_UNKNOWN;
	struct probe_walk w = { .root = root, .dir = file, .regex = &regex };
	struct err err = { 0 };
	int r = root_list(root, file, probe_each_grep, &w, &err);
	if (r == -ENOTDIR)
		(void)probe_grep_file(&w, file);
	regfree(&regex);
	if (*w.found)
		text_copy(ret_source, 160, w.found);
	/* a file that is not there does not hold the line */
	return *w.found                                            ? PROBE_YES
	       : r == 0 || r == 1 || r == -ENOENT || r == -ENOTDIR ? PROBE_NO
								   : PROBE_UNKNOWN;
}

static enum probe probe_dmi(const struct root *root, const char *want, char ret_source[160])
{
	static const char *const files[] = { "sys_vendor", "product_name", "chassis_asset_tag",
					     "bios_vendor", "board_vendor" };
	struct probe_walk w = { .root = root, .want = want, .case_blind = true };
	char path[80];

	text_copy(ret_source, 160, "/sys/class/dmi/id");
	if (!root_exists(root, "sys/class/dmi/id"))
		return PROBE_UNKNOWN;
	if (strcasecmp(want, "Azure") == 0)
		w.want = "7783-7084-3265-9085-8269-3286-77"; /* the tag that only Azure sets */
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "sys/class/dmi/id/%s", files[i]);
		if (probe_grep_file(&w, path)) {
			text_copy(ret_source, 160, w.found);
			return PROBE_YES;
		}
	}
	return PROBE_NO;
}

static int probe_each_pci(void *arg, const char *name, unsigned char type)
{
	struct probe_walk *w = arg;
	char path[400];

	(void)type;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/vendor", name);
	return probe_grep_file(w, path);
}

static enum probe probe_pci(const struct root *root, const char *want, char ret_source[160])
{
	char id[16];
	struct probe_walk w = { .root = root, .want = id };

	if (text_starts(want, "NVSwitch"))
		return root_exists(root, "sys/class")
			       ? probe_path(root, "/dev/nvidia-nvswitch*", ret_source)
			       : PROBE_UNKNOWN;
	text_copy(ret_source, 160, "/sys/bus/pci/devices/*/vendor");
	snprintf(id, sizeof(id), "0x%.4s", want);
	if (!root_exists(root, "sys/bus/pci/devices"))
		return PROBE_UNKNOWN;
	(void)root_list(root, "sys/bus/pci/devices", probe_each_pci, &w, NULL);
	return *w.found ? PROBE_YES : PROBE_NO;
}

static enum probe probe_virt(const struct root *root, const char *want, char ret_source[160])
{
	bool invert = *want == '!';
	const char *word = want + invert;
	enum probe r = PROBE_UNKNOWN;

	if (text_starts(word, "vmware"))
		r = probe_dmi(root, "VMware", ret_source);
	else if (text_starts(word, "microsoft"))
		r = probe_dmi(root, "Microsoft Corporation", ret_source);
	else if (text_starts(word, "no")) {
		AUTO_BUF struct buf text = { 0 };
		text_copy(ret_source, 160, "/proc/cpuinfo");
		if (root_read(root, "proc/cpuinfo", ROOT_FILE_CAP, &text, NULL) == 0)
			r = strstr(buf_str(&text), " hypervisor") ? PROBE_NO : PROBE_YES;
	}
	return r == PROBE_UNKNOWN || !invert ? r : r == PROBE_YES ? PROBE_NO : PROBE_YES;
}

static enum probe probe_cmdline(const struct root *root, const char *want, char ret_source[160])
{
	AUTO_BUF struct buf text = { 0 };
	bool invert = *want == '!';

	text_copy(ret_source, 160, "/proc/cmdline");
	if (root_read(root, "proc/cmdline", 65536, &text, NULL) < 0)
		return PROBE_UNKNOWN;
	bool there = strstr(buf_str(&text), want + invert) != NULL;
	return there != invert ? PROBE_YES : PROBE_NO;
}

/* "docker.service active", "ecs.service in use", "x.service enabled" */
static enum probe probe_unit(const struct host_probe *p, const char *argument, char ret_source[160])
{
	char name[UNIT_NAME_MOST + 1];
	size_t n = strcspn(argument, " ");

	text_copy_n(name, sizeof(name), argument, n);
	snprintf(ret_source, 160, "systemctl is-active %.100s", name);
	if (p->units && p->units->have_units) {
		const struct rec_service *u = rec_units_find(p->units, name);
		return u && u->active && strcmp(u->active, "active") == 0 ? PROBE_YES : PROBE_NO;
	}
	if (!p->tree)
		return PROBE_UNKNOWN;
	const struct unit_loaded *u = unit_tree_load(p->tree, name);
	/* an image: that it is there and not masked is all that can be told */
	return !u || u->r == -ENOENT || u->masked ? PROBE_NO : PROBE_UNKNOWN;
}

static enum probe probe_mount(const struct root *root, const char *type, char ret_source[160])
{
	static const char *const files[] = { "proc/mounts", "etc/fstab" };
	char word[40];
	struct probe_walk w = { .root = root, .want = word };

	text_copy_n(word, sizeof(word), type, strcspn(type, " "));
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (probe_grep_file(&w, files[i])) {
			text_copy(ret_source, 160, w.found);
			return PROBE_YES;
		}
	text_copy(ret_source, 160, "/proc/mounts and /etc/fstab");
	return root_exists(root, "proc/mounts") ? PROBE_NO : PROBE_UNKNOWN;
}

enum probe host_probe_ask(void *probe, const char *kind, const char *argument, char ret_source[160])
{
	const struct host_probe *p = probe;
	char first[256];

	ret_source[0] = '\0';
	/* remarks stand behind the argument: "path:/etc/x (Condition)" */
	text_copy_n(first, sizeof(first), argument, strcspn(argument, " "));
	if (strcmp(kind, "path") == 0)
		/* device nodes of an image say nothing about the host it will run on */
		return text_starts(first, "/dev/") && !p->root->live
			       ? PROBE_UNKNOWN
			       : probe_path(p->root, first, ret_source);
	if (strcmp(kind, "nonempty") == 0) {
		text_copy(ret_source, 160, first);
		return probe_nonempty(p->root, first);
	}
	if (strcmp(kind, "absent") == 0) {
		enum probe r = probe_path(p->root, first, ret_source);
		return r == PROBE_YES ? PROBE_NO : r == PROBE_NO ? PROBE_YES : r;
	}
	if (strcmp(kind, "grep") == 0)
		return probe_grep(p->root, argument, ret_source);
	if (strcmp(kind, "unit") == 0)
		return probe_unit(p, argument, ret_source);
	if (strcmp(kind, "dmi") == 0)
		return probe_dmi(p->root, argument, ret_source);
	if (strcmp(kind, "pci") == 0)
		return probe_pci(p->root, argument, ret_source);
	if (strcmp(kind, "virt") == 0)
		return probe_virt(p->root, argument, ret_source);
	if (strcmp(kind, "cmdline") == 0)
		return probe_cmdline(p->root, first, ret_source);
	if (strcmp(kind, "mount") == 0)
		return probe_mount(p->root, argument, ret_source);
	if (strcmp(kind, "class") == 0) {
		snprintf(ret_source, 160, "/sys/class/%.100s", first);
		return root_exists(p->root, "sys/class") ? probe_nonempty(p->root, ret_source)
							 : PROBE_UNKNOWN;
	}
	return PROBE_UNKNOWN;
}

/* Evidence for a shape, strongest first. An image says what was baked in; a host what it became. */
static const struct {
	enum host_shape shape;
	const char *kind, *argument, *what;
} shape_signs[] = {
	{ SHAPE_K8S, "path", "/var/lib/kubelet/config.yaml", "kubelet has its configuration" },
	{ SHAPE_K8S, "path", "/etc/kubernetes/kubelet.conf", "the node has joined a cluster" },
	{ SHAPE_K8S, "path", "/etc/eks/kubelet/environment",
	  "EKS bootstrap wrote kubelet's arguments" },
	{ SHAPE_K8S, "path", "/sys/fs/cgroup/memory/kubepods*", "pods run here" },
	{ SHAPE_K8S, "path", "/sys/fs/cgroup/kubepods*", "pods run here" },
	{ SHAPE_K8S, "path", "/etc/rancher/k3s/k3s.yaml", "k3s is configured" },
	{ SHAPE_K8S, "path", "/etc/rancher/rke2/config.yaml", "RKE2 is configured" },
	{ SHAPE_K8S, "unit", "kubelet.service", "kubelet runs" },
	{ SHAPE_K8S, "path", "/usr/bin/kubelet", "kubelet is installed" },
	{ SHAPE_K8S, "path", "/usr/local/bin/kubelet", "kubelet is installed" },
	{ SHAPE_ECS, "grep", "/var/lib/ecs/data/ecs_agent_data.json~container-instance/",
	  "the ECS agent is registered" },
	{ SHAPE_ECS, "grep", "/etc/ecs/ecs.config~^ECS_CLUSTER=.", "an ECS cluster is configured" },
	{ SHAPE_NOMAD, "grep", "/etc/nomad.d~^[[:space:]]*(client|server)",
	  "a nomad role is configured" },
	{ SHAPE_BATCH, "path", "/etc/slurm/slurm.conf", "Slurm is configured" },
	{ SHAPE_BATCH, "path", "/etc/slurm-llnl/slurm.conf", "Slurm is configured" },
};

void host_probe_shapes(const struct host_probe *p, struct shape_evidences *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(shape_signs); i++) {
		struct shape_evidence e = { .shape = shape_signs[i].shape };
		if (host_probe_ask((void *)p, shape_signs[i].kind, shape_signs[i].argument,
				   e.source) != PROBE_YES)
			continue;
		text_copy(e.what, sizeof(e.what), shape_signs[i].what);
		(void)!vec_push(&ret->list, e);
	}
	if (ret->list.len == 0 && p->units && p->units->have_units) {
		struct shape_evidence e = {
			.shape = SHAPE_RAW,
			.what = "no kubelet, no ECS cluster, no nomad role, no Slurm was found",
			.source = "/var/lib/kubelet /etc/ecs /etc/nomad.d /etc/slurm",
		};
		(void)!vec_push(&ret->list, e);
	}
}

static const char *const shape_names[] = {
	[SHAPE_UNKNOWN] = "unknown", [SHAPE_K8S] = "k8s",     [SHAPE_ECS] = "ecs",
	[SHAPE_NOMAD] = "nomad",     [SHAPE_BATCH] = "batch", [SHAPE_RAW] = "raw",
};

const char *host_shape_name(enum host_shape shape)
{
	return shape < SHAPE_END ? shape_names[shape] : "unknown";
}

int host_shape_parse(const char *name, enum host_shape *ret)
{
	for (unsigned i = SHAPE_K8S; i < SHAPE_END; i++) {
		if (strcmp(name, shape_names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}
