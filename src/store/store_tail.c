#include "store_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "auto.h"
#include "tick_path.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342 /* in the headers from 5.12 */
#endif

enum {
	TAIL_PAGE =
		4096, /* or a multiple of it is what mmap takes: rounded to the real one below */
	TAIL_LEAST_ROOM = 16 << 10, /* a small host's minute needs no more */
	TAIL_MOST_ROOM = 64 << 10,
};

/* A page that the disk fails to give raises SIGBUS at the access. While this tail is copied to,
 * ordinary memory takes the place of its mapping, so that the copy ends, and is known to be lost.
 */
static _Thread_local struct store_tail *volatile tail_guarded;

static void tail_on_bus(int number, siginfo_t *info, void *context)
{
	struct store_tail *t = tail_guarded;
	char *at = info->si_addr;
	int saved = errno;

	if (t && at >= t->map && at < t->map + t->map_len &&
	    mmap(t->map, t->map_len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		t->struck = true;
	else
		signal(number, SIG_DFL); /* not ours: strikes again, and ends the process */
	errno = saved;
}

static void tail_catch_bus(void)
{
	static bool done;
	struct sigaction action = { .sa_sigaction = tail_on_bus, .sa_flags = SA_SIGINFO };

	if (!done)
		done = sigaction(SIGBUS, &action, NULL) == 0;
}

EVERY_TICK static int tail_copy(struct store_tail *t, char *to, const void *from, size_t len)
{
	tail_guarded = t;
	__asm__ volatile("" ::: "memory");
	memcpy(to, from, len);
	__asm__ volatile("" ::: "memory");
	tail_guarded = NULL;
	return t->struck ? -EIO : 0;
}

/* Whether promised room stays promised: with copy on write a page written back needs new room. */
static bool tail_keeps_room(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_type == EXT4_SUPER_MAGIC ||
					 fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC);
}

int store_tail_open(struct store_tail *t, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	*t = (struct store_tail){ .fd = fd, .plain = !tail_keeps_room(fd) };
	tail_catch_bus();
	return 0;
}

static void tail_unmap(struct store_tail *t)
{
	if (t->map)
		munmap(t->map, t->map_len);
	t->map = NULL;
}

static int tail_allocate(struct store_tail *t, uint64_t from, uint64_t len)
{
	int r;

	do {
		r = fallocate(t->fd, 0, (off_t)from, (off_t)len) < 0 ? -errno : 0;
	} while (r == -EINTR);
	if (r == 0)
		t->size = MAX_OF(t->size, from + len);
	return r;
}

/* Map the place of the next `len` bytes. On a disk that is nearly full only what they need. */
static int tail_map(struct store_tail *t, size_t len)
{
	uint64_t page = MAX_OF((uint64_t)sysconf(_SC_PAGESIZE), (uint64_t)TAIL_PAGE);
	uint64_t from = t->len / page * page;
	uint64_t need = (t->len + len - from + page - 1) / page * page;
	/* as much again as there is: a segment that grows fast asks rarely */
	uint64_t room = MAX_OF(MIN_OF(from, (uint64_t)TAIL_MOST_ROOM), (uint64_t)TAIL_LEAST_ROOM);

	tail_unmap(t);
	room = MAX_OF((room + page - 1) / page * page, need);
	int r = tail_allocate(t, from, room);
	if ((r == -ENOSPC || r == -EDQUOT) && room > need)
		r = tail_allocate(t, from, room = need);
	if (r < 0)
		return r;
	void *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, (off_t)from);
	if (map == MAP_FAILED)
		return -errno;
	t->map = map;
	t->map_from = from;
	t->map_len = room;
	return 0;
}

EVERY_TICK static int tail_put_mapped(struct store_tail *t, const void *bytes, size_t len)
{
	int r = 0;

	if (!t->map || t->len + len > t->map_from + t->map_len)
		r = tail_map(t, len);
	if (r == 0)
		r = tail_copy(t, t->map + (t->len - t->map_from), bytes, len);
	if (r == 0)
		t->len += len;
	return r;
}

/* A short write is gone on with later, exactly where it ended. */
static int tail_put_plain(struct store_tail *t, const char *bytes, size_t len, size_t *ret_done)
{
	while (*ret_done < len) {
		ssize_t n = pwrite(t->fd, bytes + *ret_done, len - *ret_done, (off_t)t->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		*ret_done += (size_t)n;
		t->len += (size_t)n;
	}
	t->size = MAX_OF(t->size, t->len);
	return 0;
}

EVERY_TICK int store_tail_put(struct store_tail *t, const void *bytes, size_t len, size_t *ret_done)
{
	*ret_done = 0;
	if (!len)
		return 0;
	if (!t->plain && len < TAIL_MOST_ROOM) {
		int r = tail_put_mapped(t, bytes, len);
		if (r == 0)
			*ret_done = len;
		if (r == 0 || r == -ENOSPC || r == -EDQUOT)
			return r;
		t->plain = true; /* the ordinary way works, or says what is wrong */
		tail_unmap(t);
	}
	return tail_put_plain(t, bytes, len, ret_done);
}

void store_tail_close(struct store_tail *t)
{
	tail_unmap(t);
	/* a reader takes what is left of the room for a torn end, so that failing is no loss */
	if (t->fd >= 0 && t->size > t->len && ftruncate(t->fd, (off_t)t->len) == 0)
		t->size = t->len;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
