#include "owner.h"

#include <string.h>

#include "check.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "6f0c8a6a-1b2c-4d3e-9f00-aabbccddeeff"
#define UIS  "6f0c8a6a_1b2c_4d3e_9f00_aabbccddeeff"
#define TASK "9781c248c3aa4bbc8d5c5d5e5f6a7b8c"

/* The whole grammar: path → kind, unit, container, pod, task, owners around, group. */
static const struct row {
	const char *path;
	enum owner_kind kind;
	const char *unit, *container, *pod, *task;
	unsigned depth;
	const char *group;
} rows[] = {
	{ "/docker/" ID, OWNER_DOCKER, NULL, ID, NULL, NULL, 0, "docker containers under /docker" },
	{ "/system.slice/docker-" ID ".scope", OWNER_DOCKER, NULL, ID, NULL, NULL, 0,
	  "docker containers under /system.slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope",
	  OWNER_DOCKER, "user@1000.service", ID, NULL, NULL, 1,
	  "docker containers under /user.slice/user-1000.slice/user@1000.service/user.slice" },
	{ "/ecs/" TASK "/" ID, OWNER_ECS, NULL, ID, NULL, TASK, 0, "ECS tasks under /ecs" },
	{ "/ecs/" TASK, OWNER_ECS, NULL, NULL, NULL, TASK, 0, "ECS tasks under /ecs" },
	{ "/ecstasks.slice/ecstasks-" TASK ".slice/docker-" ID ".scope", OWNER_ECS, NULL, ID, NULL,
	  TASK, 0, "ECS tasks under /ecstasks.slice" },
	{ "/kubepods/pod" UID "/" ID, OWNER_POD, NULL, ID, UID, NULL, 0, "pods under /kubepods" },
	{ "/kubepods/burstable/pod" UID "/" ID, OWNER_POD, NULL, ID, UID, NULL, 0,
	  "pods under /kubepods/burstable" },
	{ "/kubepods/besteffort/pod" UID, OWNER_POD, NULL, NULL, UID, NULL, 0,
	  "pods under /kubepods/besteffort" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UIS
	  ".slice/cri-containerd-" ID ".scope",
	  OWNER_POD, NULL, ID, UIS, NULL, 0,
	  "pods under /kubepods.slice/kubepods-burstable.slice" },
	{ "/kubepods.slice/kubepods-pod" UIS ".slice/crio-" ID ".scope", OWNER_POD, NULL, ID, UIS,
	  NULL, 0, "pods under /kubepods.slice" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UIS
	  ".slice/docker-" ID ".scope",
	  OWNER_POD, NULL, ID, UIS, NULL, 0,
	  "pods under /kubepods.slice/kubepods-besteffort.slice" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UIS ".slice:cri-containerd:" ID,
	  OWNER_POD, "containerd.service", ID, UIS, NULL, 1,
	  "pods under /system.slice/containerd.service" },
	{ "/kubepods.slice/kubepods-pod" UIS ".slice/crio-conmon-" ID ".scope", OWNER_MONITOR, NULL,
	  ID, NULL, NULL, 1, "container monitors under /kubepods.slice/kubepods-pod" UIS ".slice" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", OWNER_MONITOR, NULL, ID, NULL, NULL, 0,
	  "container monitors under /machine.slice" },
	{ "/machine.slice/libpod-" ID ".scope", OWNER_PODMAN, NULL, ID, NULL, NULL, 0,
	  "podman containers under /machine.slice" },
	{ "/libpod_parent/libpod-" ID, OWNER_PODMAN, NULL, ID, NULL, NULL, 0,
	  "podman containers under /libpod_parent" },
	{ "/nomad.slice/share.slice/" UID ".web.scope", OWNER_NOMAD, NULL, NULL, NULL, UID ".web",
	  0, "nomad tasks under /nomad.slice/share.slice" },
	{ "/nomad/" UID ".web", OWNER_NOMAD, NULL, NULL, NULL, UID ".web", 0,
	  "nomad tasks under /nomad" },
	{ "/system.slice/ecs.service", OWNER_UNIT, "ecs.service", NULL, NULL, NULL, 0,
	  "ecs.service" },
	{ "system.slice/ecs.service", OWNER_UNIT, "ecs.service", NULL, NULL, NULL, 0,
	  "ecs.service" },
	{ "/system.slice/foo.service/payload", OWNER_UNIT, "foo.service", NULL, NULL, NULL, 0,
	  "foo.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", OWNER_UNIT, "getty@tty1.service",
	  NULL, NULL, NULL, 0, "getty@tty1.service" },
	{ "/azure.slice/azure-walinuxagent.slice/walinuxagent.service", OWNER_UNIT,
	  "walinuxagent.service", NULL, NULL, NULL, 0, "walinuxagent.service" },
	{ "/user.slice/user-0.slice/session-3.scope", OWNER_USER, "session-3.scope", NULL, NULL,
	  NULL, 0, "session-3.scope" },
	{ "/lxc.payload.web1", OWNER_LXC, NULL, "web1", NULL, NULL, 0, "LXC containers under /" },
	{ "/lxc.payload.web1/system.slice/cron.service", OWNER_UNIT, "cron.service", NULL, NULL,
	  NULL, 1, "cron.service" },
	{ "/slurm/uid_1000/job_77/step_0", OWNER_SLURM, NULL, NULL, NULL, "77", 0,
	  "Slurm jobs under /slurm/uid_1000" },
	{ "/system.slice/slurmstepd.scope/job_78/step_batch/user", OWNER_SLURM, "slurmstepd.scope",
	  NULL, NULL, "78", 1, "Slurm jobs under /system.slice/slurmstepd.scope" },
	/* nesting: kind runs a kubelet inside docker; docker in docker */
	{ "/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	  "kubepods-burstable-pod" UIS ".slice/cri-containerd-" ID2 ".scope",
	  OWNER_POD, NULL, ID2, UIS, NULL, 1,
	  "pods under /docker/" ID
	  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice" },
	{ "/docker/" ID "/docker/" ID2, OWNER_DOCKER, NULL, ID2, NULL, NULL, 1,
	  "docker containers under /docker/" ID "/docker" },
	{ "/docker/" ID "/system.slice/nginx.service", OWNER_UNIT, "nginx.service", NULL, NULL,
	  NULL, 1, "nginx.service" },
	{ "/zscope-lab-17/z3", OWNER_LAB, NULL, NULL, NULL, "zscope-lab-17", 0, "zscope-lab-17" },
	/* nothing known */
	{ "/", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /" },
	{ "", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /" },
	{ "/a/b", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /a" },
	{ "/system.slice", OWNER_SLICE, NULL, NULL, NULL, NULL, 0, "slices under /" },
	/* look-alikes */
	{ "/docker/buildx", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /docker" },
	{ "/system.slice/docker-compose-web.service", OWNER_UNIT, "docker-compose-web.service",
	  NULL, NULL, NULL, 0, "docker-compose-web.service" },
	{ "/kubepods/podXYZ", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /kubepods" },
	{ "/x/.service", OWNER_NONE, NULL, NULL, NULL, NULL, 0, "cgroups under /x" },
};

static void check_text(struct owner_text text, const char *want)
{
	if (!want) {
		CHECK(!text.at);
		return;
	}
	CHECK_EQ(text.len, strlen(want));
	CHECK(memcmp(text.at, want, text.len) == 0);
}

TEST(whole_grammar)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO_BUF struct buf group = { 0 };
		struct owner o;
		owner_parse(rows[i].path, strlen(rows[i].path), &o);
		print_message("%s\n", rows[i].path);
		CHECK_EQ(o.kind, rows[i].kind);
		check_text(o.unit, rows[i].unit);
		check_text(o.container, rows[i].container);
		check_text(o.pod, rows[i].pod);
		check_text(o.task, rows[i].task);
		CHECK_EQ(o.depth, rows[i].depth);
		owner_group(&group, &o);
		CHECK_STR(buf_str(&group), rows[i].group);
	}
}

TEST(labels)
{
	AUTO_BUF struct buf text = { 0 };
	struct owner o;
	const char *path = "/kubepods.slice/kubepods-pod" UIS ".slice/crio-" ID ".scope";

	owner_parse(path, strlen(path), &o);
	owner_label(&text, &o);
	CHECK_STR(buf_str(&text), "pod " UID " container " ID);
	buf_clear(&text);
	owner_pod_uid(&text, &o);
	CHECK_STR(buf_str(&text), UID);
}

TEST_MAIN
