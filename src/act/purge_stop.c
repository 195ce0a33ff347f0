/* A purge that is told to stop ends its step, puts back what it changed for the time being, and
 * says so. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "auto.h"
#include "purge_impl.h"

static const int stop_signals[PURGE_STOP_SIGNALS] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t stop_signal;

static void on_stop(int signal)
{
	stop_signal = signal;
}

void purge_stop_begin(struct purge_stop *s)
{
	/* no SA_RESTART: a write to memory.reclaim ends when it comes */
	struct sigaction action = { .sa_handler = on_stop };

	stop_signal = 0;
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
		sigaction(stop_signals[i], NULL, &s->before[i]);
		if (s->before[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(stop_signals[i], &action, NULL);
	}
}

void purge_stop_end(const struct purge_stop *s)
{
	for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
		sigaction(stop_signals[i], &s->before[i], NULL);
}

int purge_stopped(struct err *err)
{
	if (!stop_signal)
		return 0;
	return err_set(err, -EINTR,
		       "stopped by a signal (%s) before its end; what was changed for the time of "
		       "the purge is put back",
		       strsignal(stop_signal));
}
