/* kill -9 in the middle of writing, at any instruction: what was flushed before is all there, and
 * nothing false is. The writer goes as fast as it can; the killer counts what it has flushed. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../unit/store_fixture.h"

enum { KILLS = 60, MOST_SECONDS = 500 };

static _Noreturn void write_for_ever(struct fixture *f, atomic_uint *flushed)
{
	fixture_open(f, NULL);
	for (;;) {
		fixture_second(f);
		atomic_fetch_add(flushed, 1);
	}
}

static void check_readable(const struct fixture *f, unsigned flushed)
{
	struct store_reader *r;
	struct frame frame;
	struct err err;
	unsigned n = 0;

	CHECK_EQ(store_reader_open(f->dir, &r, &err), 0);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_BIT(FRAME_EVENT), &err), 0);
	while (store_reader_next(r, &frame, &err) == 1)
		CHECK_EQ(fixture_second_of(&frame), (long)n++);
	CHECK(n >= flushed);
	/* at most the missing end of the last segment and, when the kill came between a segment's
	 * last byte and its new one, nothing at all */
	CHECK(store_reader_losses(r)->list.len <= 2);
	store_reader_close(r);
}

TEST(killed_at_any_moment)
{
	atomic_uint *flushed = mmap(NULL, sizeof(*flushed), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t random = 88172645463325252;

	CHECK(flushed != MAP_FAILED);
	for (int i = 0; i < KILLS; i++) {
		AUTO_FIXTURE struct fixture f = fixture_new();
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		unsigned enough = (unsigned)(random % MOST_SECONDS) + 1;
		atomic_store(flushed, 0);
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			write_for_ever(&f, flushed);
		while (atomic_load(flushed) < enough)
			sched_yield();
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		check_readable(&f, atomic_load(flushed));
	}
	munmap(flushed, sizeof(*flushed));
}

TEST_MAIN
