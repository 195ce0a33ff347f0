/* A unit that stays `active` while it recreates one container for ever, as ecs-init does with its
 * agent: nothing restarts, every turn leaves a memory cgroup. A real unit and real containers where
 * systemd is pid 1 and docker answers; else containers' cgroups only, made by a supervising
 * process, and the lab says so. The unit ends by itself when its script is removed, and takes its
 * container and image with it; `lab clean` does not rely on that. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "lab_docker.h"
#include "lab_loop.h"
#include "lab_scenarios.h"
#include "lab_unit.h"
#include "timefmt.h"

#define INNER_DOCKER  "/usr/bin/docker"
#define INNER_BUSYBOX "/bin/busybox"
#define INNER_SOCKET  "/run/docker.sock"

static void inner_name(char *ret, size_t size, uint64_t i)
{
	uint64_t id[4] = { i, i, i, i };

	if (getrandom(id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id[3] = clock_mono_ns();
	snprintf(ret, size, "docker/%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, id[0],
		 id[1], id[2], id[3]);
}

/* All that it names is below the scratch directory or bears the run's id. */
static void inner_script(const struct lab_run *run, struct buf *out)
{
	double pause = (double)run->options.interval_ns / 1e9;

	buf_addf(out,
		 "#!/bin/sh\n"
		 "s=%s name=zscope-lab-%s\n"
		 "mkdir -p $s/tree/bin $s/left\n"
		 "cp " INNER_BUSYBOX " $s/tree/bin/busybox && ln -sf busybox $s/tree/bin/sh\n"
		 "tar -C $s/tree -c . | " INNER_DOCKER " import - $name >/dev/null\n"
		 "n=0\n"
		 "while [ -e $s/supervise ]; do\n"
		 "\tn=$((n + 1))\n"
		 "\t" INNER_DOCKER " rm -f $name >/dev/null 2>&1\n"
		 /* --mount, not -v: it does not make a directory that was removed meanwhile */
		 "\t" INNER_DOCKER " run --name $name --network none --mount "
		 "type=bind,source=$s/left,target=/left $name /bin/sh -c \"busybox dd if=/dev/zero "
		 "of=/left/$n bs=64k count=1 2>/dev/null; exit 1\"\n"
		 "\tsleep %.1f\n"
		 "done\n" INNER_DOCKER " rm -f $name >/dev/null 2>&1\n" INNER_DOCKER
		 " rmi -f $name >/dev/null 2>&1\n",
		 run->scratch_dir, run->id, pause);
}

static int inner_unit(struct lab_run *run, struct err *err)
{
	AUTO_BUF struct buf script = { 0 };
	char path[200], name[96], service[400];

	int r = lab_make_scratch(run, err);
	if (r == 0)
		r = lab_docker_note(run, INNER_SOCKET, err);
	if (r < 0)
		return r;
	inner_script(run, &script);
	snprintf(path, sizeof(path), "%s/supervise", run->scratch_dir);
	{
		AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		if (fd < 0 || write(fd, script.data, script.len) != (ssize_t)script.len)
			return err_path(err, errno ? -errno : -EIO, path);
	}
	snprintf(name, sizeof(name), "zscope-lab-%s.service", run->id);
	snprintf(service, sizeof(service), "ExecStart=/bin/sh %s\n", path);
	r = lab_unit_start(run, name, service, err);
	if (r < 0)
		return r;
	lab_say(run, "%s stays active and recreates the container zscope-lab-%s, a real one", name,
		run->id);
	lab_unit_wait(run);
	return 0;
}

static bool inner_has_docker(const struct lab_run *run)
{
	return lab_unit_wanted(run) && access(INNER_DOCKER, X_OK) == 0 &&
	       access(INNER_BUSYBOX, X_OK) == 0 && access(INNER_SOCKET, W_OK) == 0;
}

static int inner_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = inner_name, .exit_code = 1 };

	if (inner_has_docker(run))
		return inner_unit(run, err);
	if (strcmp(run->options.mode, "unit") == 0)
		return err_set(err, -ENOENT,
			       "needs systemd as pid 1, " INNER_DOCKER ", a static " INNER_BUSYBOX
			       " and " INNER_SOCKET);
	lab_say(run, "no systemd with docker here: cgroups as of containers, but no containers");
	return lab_loop_run(run, &loop, err);
}

const struct lab_scenario lab_inner_supervisor = {
	.name = "inner-supervisor",
	.summary = "a unit that stays active while it recreates its container for ever",
	.modes = "auto|unit|process",
	.defaults = { .count = 100000,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = 4096,
		      .interval_ns = NS_PER_S,
		      .mode = "auto" },
	.most_count = 100000,
	.most_size_bytes = 1 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = inner_run,
};
