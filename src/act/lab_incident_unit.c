/* The crash loop of the whole incident as a real unit. Every start makes memory cgroups in the
 * subtree that systemd delegates to it, has a page of its spool charged to each, and dies; systemd
 * removes the directories, the pages keep the cgroups. The spool lies on tmpfs, in the runtime
 * directory of a second unit that the first requires: systemd keeps it over restarts and stops it,
 * and removes the directory, when the first is stopped, so that this is the cure. (A runtime
 * directory of its own would stay if it is stopped between two restarts. Pages of the disk's cache
 * would not last: the reader's reclaim below the same limit drops those of dead cgroups first.)
 * With dockerd, every start also makes a container, whose cgroup its file's page cache keeps until
 * a purge. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "lab_docker.h"
#include "lab_incident.h"
#include "lab_unit.h"
#include "timefmt.h"

#define INCIDENT_DOCKER "/usr/bin/docker"

enum {
	/* A crash of a real agent leaves one or two. A unit restarts some times a second at most:
	 * many at once make up for the days that it takes otherwise. */
	INCIDENT_PER_CRASH = 100,
	INCIDENT_PER_CRASH_DOCKER = 400, /* a container takes most of a second */
	INCIDENT_CLIENT_ROOM = 48 << 20, /* for docker's client, below the same limit */
	INCIDENT_LEAST_PAUSE_MS = 50,
};

static unsigned incident_per_crash(const struct incident *in)
{
	return *in->socket ? INCIDENT_PER_CRASH_DOCKER : INCIDENT_PER_CRASH;
}

/* Builtins only, so that a life of the agent takes milliseconds. All that it names is below the
 * scratch or the runtime directory, in its own cgroup, or bears the run's id. */
static void incident_script(const struct lab_run *run, const struct incident *in, struct buf *out)
{
	bool v2 = run->offer.memory == CGROUP_MEMORY_V2;

	buf_addf(out,
		 "#!/bin/sh\n"
		 "s=%s spool=/run/zscope-lab-%s most=%" PRIu64 " n=%u made=0 turn=0\n"
		 "[ -r $spool/made ] && read -r made turn "
		 "<$spool/made\n"
		 "while IFS=: read -r id controllers path; do\n"
		 "\tcase \"$id,$controllers,\" in %s) home=/%s$path ;; esac\n"
		 "done </proc/self/cgroup\n"
		 "cd \"$home\" || exit 9\n",
		 run->scratch_dir, run->id, run->options.count, incident_per_crash(in),
		 v2 ? "0,,*" : "*,memory,*", offer_memory_mount(&run->offer)->dir);
	buf_addf(out, "[ $made -lt $most ] || n=0\n"
		      "i=0 dirs=main\n"
		      "while [ $i -lt $n ]; do i=$((i + 1)) dirs=\"$dirs crash-$i\"; done\n"
		      "mkdir $dirs || exit 8\n"
		      "echo 0 >main/cgroup.procs\n");
	if (v2)
		buf_addf(out, "echo +memory >cgroup.subtree_control\n");
	buf_addf(out, "for d in ${dirs#main}; do\n"
		      "\techo 0 >$d/cgroup.procs\n"
		      "\tprintf '%%4096s' x >>$spool/pages\n"
		      "done\n"
		      "echo 0 >main/cgroup.procs\n"
		      "turn=$((turn + 1))\n"
		      "echo $((made + n)) $turn >$spool/made\n");
	if (*in->socket)
		buf_addf(out,
			 "export DOCKER_HOST=unix://%s DOCKER_CONFIG=$s\n" INCIDENT_DOCKER
			 " rm -f zscope-lab-%s >/dev/null 2>&1\n" INCIDENT_DOCKER
			 " run --name zscope-lab-%s --network none"
			 " -v /usr:/usr:ro -v /bin:/bin:ro -v /lib:/lib:ro -v /lib64:/lib64:ro"
			 /* --mount, not -v: it does not make a directory that was removed */
			 " --mount type=bind,source=$s/left,target=/left zscope-lab-%s"
			 " /bin/sh -c \"head -c 65536 /dev/zero >/left/$turn; exit 1\"\n",
			 in->socket, run->id, run->id, run->id);
	buf_addf(out, "exit 1\n");
}

static int incident_write_script(struct lab_run *run, const struct incident *in, struct err *err)
{
	AUTO_BUF struct buf script = { 0 };
	char path[200];

	incident_script(run, in, &script);
	snprintf(path, sizeof(path), "%s/agent", run->scratch_dir);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (fd < 0 || write(fd, script.data, script.len) != (ssize_t)script.len)
		return err_path(err, errno ? -errno : -EIO, path);
	return 0;
}

static int incident_write_units(struct lab_run *run, const struct incident *in, struct err *err)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "[Unit]\nDescription=zscope lab\n[Slice]\nMemoryAccounting=yes\nMemoryMax=%" PRIu64
		 "\n",
		 in->limit_bytes);
	int r = lab_unit_write(run, in->slice, text, err);
	if (r < 0)
		return r;
	snprintf(text, sizeof(text),
		 "[Unit]\nDescription=zscope lab\nStopWhenUnneeded=yes\n[Service]\nType=oneshot\n"
		 "RemainAfterExit=yes\nRuntimeDirectory=zscope-lab-%s\nExecStart=/bin/true\n",
		 run->id);
	return lab_unit_write(run, in->spool, text, err);
}

int incident_units_prepare(struct lab_run *run, struct incident *in, struct err *err)
{
	const struct offer_mount *mount = offer_memory_mount(&run->offer);
	char left[200];

	if (!mount)
		return err_set(err, -ENOENT, "no memory cgroup hierarchy is mounted here");
	snprintf(in->slice, sizeof(in->slice), "zscope_lab_%s.slice", run->id);
	for (char *p = in->slice; *p; p++) /* a slice's dashes are slices above it */
		*p = *p == '-' ? '_' : *p;
	snprintf(in->unit, sizeof(in->unit), "zscope-lab-%s-agent.service", run->id);
	snprintf(in->spool, sizeof(in->spool), "zscope-lab-%s-spool.service", run->id);
	snprintf(in->scope, sizeof(in->scope), "zscope-lab-%s-reader.scope", run->id);
	snprintf(in->limited, sizeof(in->limited), "/%s/%s", mount->dir, in->slice);
	if (access(INCIDENT_DOCKER, X_OK) == 0 && lab_docker_socket(in->socket)) {
		int r = lab_docker_image(run, in->socket, err);
		if (r < 0)
			return r;
		in->limit_bytes += INCIDENT_CLIENT_ROOM;
	}
	snprintf(left, sizeof(left), "%s/left", run->scratch_dir);
	if (mkdir(left, 0700) < 0)
		return err_path(err, -errno, left);
	int r = incident_write_script(run, in, err);
	return r < 0 ? r : incident_write_units(run, in, err);
}

int incident_units_start(struct lab_run *run, struct incident *in, struct err *err)
{
	uint64_t pause_ms = run->options.interval_ns / NS_PER_MS;
	char service[700];

	if (pause_ms < INCIDENT_LEAST_PAUSE_MS)
		pause_ms = INCIDENT_LEAST_PAUSE_MS;
	snprintf(service, sizeof(service),
		 "Slice=%s\nDelegate=yes\nExecStart=/bin/sh %s/agent\nRestart=on-failure\n"
		 "RestartSec=%" PRIu64 "ms\n[Unit]\nRequires=%s\nAfter=%s\n",
		 in->slice, run->scratch_dir, pause_ms, in->spool, in->spool);
	int r = lab_unit_start(run, in->unit, service, err);
	if (r < 0)
		return r;
	lab_say(run,
		"%s, a real unit, dies and is restarted. Each start leaves %u memory cgroups of "
		"its "
		"own subtree (a real agent leaves one or two: the lab makes up for days), held by "
		"pages of its spool until it is stopped",
		in->unit, incident_per_crash(in));
	if (*in->socket)
		lab_say(run,
			"each start also makes the container zscope-lab-%s, a real one, whose "
			"cgroup the page cache of a file holds until a purge",
			run->id);
	else
		lab_say(run, "no docker answers here: no containers are made");
	return 0;
}
