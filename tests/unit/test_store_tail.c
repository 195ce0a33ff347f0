#include "store_tail.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* A tail on a file system that promises room. */
struct place {
	char dir[64];
	struct store_tail tail;
};

static struct place place_new(void)
{
	struct place p = { .dir = "/dev/shm/zscope-test-XXXXXX" };

	CHECK(mkdtemp(p.dir));
	int dir_fd = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(store_tail_open(&p.tail, dir_fd, "a"), 0);
	close(dir_fd);
	return p;
}

static void place_end(struct place *p)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/a", p->dir);
	store_tail_close(&p->tail);
	unlink(path);
	rmdir(p->dir);
}

/* What is not the tail's own ends the process, as it would without us. */
static void check_foreign_page(const struct place *p)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, p->tail.fd, 0);
		if (map == MAP_FAILED || ftruncate(p->tail.fd, 0) < 0)
			_exit(1);
		_exit(*(volatile char *)map ? 2 : 3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

/* The room that was promised is gone when it is used, as when the disk fails: the bytes go the
 * ordinary way, and nobody is struck by a signal. */
TEST(a_page_that_is_not_given)
{
	struct place p = place_new();
	char back[12] = "";
	size_t done;

	CHECK_EQ(store_tail_put(&p.tail, "hello", 5, &done), 0);
	CHECK(!p.tail.plain && p.tail.map);
	check_foreign_page(&p); /* leaves the file empty */
	CHECK_EQ(store_tail_put(&p.tail, "world", 5, &done), 0);
	CHECK_EQ(done, 5);
	CHECK(p.tail.plain && p.tail.struck && !p.tail.map);
	CHECK_EQ(store_tail_put(&p.tail, "again", 5, &done), 0);
	CHECK_EQ(p.tail.len, 15);
	CHECK_EQ(pread(p.tail.fd, back, 10, 5), 10);
	CHECK_STR(back, "worldagain");
	place_end(&p);
}

TEST_MAIN
