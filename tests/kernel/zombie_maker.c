/* Makes real zombies for zombies.py. Reads NUL-separated triples KIND, CGROUP, FILE from stdin;
 * argv[1] is the cgroup to live in between, argv[2] the bytes per file. Prints "ready" and then
 * holds what must be held until it is ended.
 *
 * Files are opened and pages of our own are touched outside of the cgroup, so that nothing but the
 * pin is charged to it. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char input[16 << 20];
static size_t file_bytes;
static const char *home;

static void die(const char *what, const char *path)
{
	fprintf(stderr, "zombie_maker: %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static void enter(const char *cgroup)
{
	char path[6000];
	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die("enter", path);
	close(fd);
}

static void fill(int fd)
{
	static char page[4096];
	for (size_t done = 0; done < file_bytes; done += sizeof(page))
		if (write(fd, page, sizeof(page)) != sizeof(page))
			die("write", "file");
}

static void hold_namespace(const char *cgroup)
{
	int ready[2];
	char byte = 0;
	if (pipe(ready) < 0)
		die("pipe", "");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		enter(cgroup);
		if (unshare(CLONE_NEWCGROUP) < 0)
			die("unshare", cgroup);
		enter(home);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		die("namespace", cgroup);
	close(ready[0]);
	close(ready[1]);
}

/* Nobody is in the namespace: we have it open. */
static void open_namespace(const char *cgroup)
{
	int ready[2], leave[2];
	char byte = 0, path[64];

	if (pipe(ready) < 0 || pipe(leave) < 0)
		die("pipe", "");
	pid_t pid = fork();
	if (pid == 0) {
		enter(cgroup);
		if (unshare(CLONE_NEWCGROUP) < 0)
			die("unshare", cgroup);
		enter(home);
		if (write(ready[1], "x", 1) != 1 || read(leave[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/cgroup", pid);
	if (read(ready[0], &byte, 1) != 1 || open(path, O_RDONLY) < 0 ||
	    write(leave[1], "x", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		die("namespace", cgroup);
	close(ready[0]);
	close(ready[1]);
	close(leave[0]);
	close(leave[1]);
}

static void *unshare_and_wait(void *arg)
{
	prctl(PR_SET_NAME, "some-thread");
	if (unshare(CLONE_NEWCGROUP) < 0)
		die("unshare", "thread");
	sem_post(arg);
	pause();
	return NULL;
}

/* Only a thread of a process is in it. */
static void hold_namespace_by_thread(const char *cgroup)
{
	sem_t done;
	pthread_t thread;

	sem_init(&done, 0, 0);
	enter(cgroup);
	if (pthread_create(&thread, NULL, unshare_and_wait, &done))
		die("thread", cgroup);
	sem_wait(&done);
	enter(home);
}

static void leave_process(const char *cgroup)
{
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0) {
		enter(cgroup);
		_exit(0);
	}
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		die("waitid", cgroup);
}

/* A listening socket that is charged to the cgroup. On v1 that is so where TCP memory is limited.
 */
static void hold_socket(const char *cgroup)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	char path[6000];

	snprintf(path, sizeof(path), "%s/memory.kmem.tcp.limit_in_bytes", cgroup);
	int limit = open(path, O_WRONLY | O_CLOEXEC);
	if (limit >= 0 && write(limit, "1073741824", 10) != 10)
		die("limit", path);
	if (limit >= 0)
		close(limit);
	enter(cgroup);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	enter(home);
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0)
		die("socket", cgroup);
}

static void map_and_fill(int flags, int fd, const char *kind)
{
	char *at = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED)
		die("mmap", kind);
	memset(at, 1, file_bytes);
}

/* System V shared memory: attached and already marked for removal, or left to nobody. */
static void hold_segment(const char *kind, const char *cgroup)
{
	int id = shmget(IPC_PRIVATE, file_bytes, IPC_CREAT | 0600);
	char *at = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
	if (at == (char *)-1)
		die("shmget", kind);
	enter(cgroup);
	memset(at, 1, file_bytes);
	enter(home);
	if (strcmp(kind, "sysv") == 0 ? shmctl(id, IPC_RMID, NULL) : shmdt(at))
		die("shmctl", kind);
}

/* Memory of ours that stays charged to the cgroup when we leave it. A memfd gets the name. */
static void hold_memory(const char *kind, const char *cgroup, const char *name)
{
	bool mapped = strcmp(kind, "memfd-mapped") == 0;
	bool memfd = mapped || strcmp(kind, "memfd") == 0;
	int fd = memfd ? memfd_create(strcmp(name, "-") ? name : "zscope-test", MFD_CLOEXEC) : -1;

	if (mapped && ftruncate(fd, (off_t)file_bytes) < 0)
		die("ftruncate", kind);
	enter(cgroup);
	if (mapped)
		map_and_fill(MAP_SHARED, fd, kind);
	else if (memfd)
		fill(fd);
	else if (strcmp(kind, "shared") == 0)
		map_and_fill(MAP_SHARED | MAP_ANONYMOUS, -1, kind);
	else if (mmap(NULL, file_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		die("mmap", kind);
	enter(home);
	if (mapped)
		close(fd);
}

static void make(const char *kind, const char *cgroup, const char *file)
{
	int fd = -1;

	if (mkdir(cgroup, 0755) < 0)
		die("mkdir", cgroup);
	if (strcmp(kind, "process") == 0) {
		leave_process(cgroup);
	} else if (strcmp(kind, "namespace") == 0) {
		hold_namespace(cgroup);
	} else if (strcmp(kind, "namespace-open") == 0) {
		open_namespace(cgroup);
	} else if (strcmp(kind, "namespace-thread") == 0) {
		hold_namespace_by_thread(cgroup);
	} else if (strcmp(kind, "socket") == 0) {
		hold_socket(cgroup);
	} else if (strncmp(kind, "sysv", 4) == 0) {
		hold_segment(kind, cgroup);
	} else if (strncmp(kind, "memfd", 5) == 0 || strcmp(kind, "anon") == 0 ||
		   strcmp(kind, "shared") == 0) {
		hold_memory(kind, cgroup, file);
	} else {
		fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || (strcmp(kind, "deleted") == 0 && unlink(file) < 0))
			die("open", file);
		enter(cgroup);
		fill(fd);
		bool lock = strcmp(kind, "mlocked") == 0;
		if ((lock || strcmp(kind, "mmap") == 0) &&
		    mmap(NULL, file_bytes, PROT_READ,
			 MAP_SHARED | MAP_POPULATE | (lock ? MAP_LOCKED : 0), fd, 0) == MAP_FAILED)
			die("mmap", file);
		enter(home);
		if (strcmp(kind, "deleted") != 0)
			close(fd);
	}
	if (rmdir(cgroup) < 0)
		die("rmdir", cgroup);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 20000, 20000 };
	size_t len = fread(input, 1, sizeof(input) - 1, stdin);

	if (argc != 3)
		return 2;
	home = argv[1];
	file_bytes = strtoul(argv[2], NULL, 10);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_NOFILE, &files);
	for (char *p = input; p < input + len;) {
		char *cgroup = p + strlen(p) + 1, *file = cgroup + strlen(cgroup) + 1;
		make(p, cgroup, file);
		p = file + strlen(file) + 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
