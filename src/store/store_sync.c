#include "store_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tick_path.h"
#include "timefmt.h"

struct store_sync {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd, dir_fd; /* own duplicates; fd -1 = nothing to do */
	bool quit;
	/* changed under the lock; every tick looks at them without it */
	_Atomic bool busy;
	_Atomic int result;
};

static void *store_sync_thread(void *arg)
{
	struct store_sync *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->busy && !s->quit)
			pthread_cond_wait(&s->changed, &s->lock);
		if (!s->busy)
			break;
		int fd = s->fd, dir_fd = s->dir_fd;
		pthread_mutex_unlock(&s->lock);
		int result = fdatasync(fd) < 0 ? -errno : 0;
		if (dir_fd >= 0 && fsync(dir_fd) < 0 && result == 0)
			result = -errno;
		close(fd);
		if (dir_fd >= 0)
			close(dir_fd);
		pthread_mutex_lock(&s->lock);
		if (result < 0)
			s->result = result;
		s->busy = false; /* last: who sees it finds the result */
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
	return NULL;
}

/* The thread takes no signals (they belong to the loop) and frees the object when it ends. */
static int store_sync_start(struct store_sync *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (pthread_attr_init(&attr) != 0)
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 << 10); /* locked memory: keep it small */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&thread, &attr, store_sync_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

struct store_sync *store_sync_new(void)
{
	struct store_sync *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (store_sync_start(s) == 0)
		return s;
	free(s);
	return NULL;
}

bool store_sync_request(struct store_sync *s, int fd, int dir_fd)
{
	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	bool take = !s->busy;
	if (take) {
		s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		s->dir_fd = dir_fd < 0 ? -1 : fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
		take = s->fd >= 0;
		s->busy = take;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return take;
}

EVERY_TICK int store_sync_result(struct store_sync *s)
{
	if (!s || !s->result)
		return 0;
	pthread_mutex_lock(&s->lock);
	int result = s->result;
	s->result = 0;
	pthread_mutex_unlock(&s->lock);
	return result;
}

EVERY_TICK bool store_sync_wait(struct store_sync *s, uint64_t most_ns)
{
	int r = 0;

	if (!s || !s->busy)
		return true;
	if (!most_ns)
		return false;
	uint64_t until = clock_mono_ns() + most_ns;
	struct timespec ts = { (time_t)(until / NS_PER_S), (long)(until % NS_PER_S) };
	pthread_mutex_lock(&s->lock);
	while (s->busy && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &ts);
	bool idle = !s->busy;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void store_sync_free(struct store_sync *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}
