#include "lab_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"

void lab_signals_block(struct lab_signals *s)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;

	sigemptyset(&s->taken);
	for (size_t i = 0; i < ARRAY_LEN(ending); i++)
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&s->taken, ending[i]);
	sigprocmask(SIG_BLOCK, &s->taken, &s->before);
}

void lab_signals_restore(const struct lab_signals *s)
{
	struct timespec none = { 0 };

	/* an impatient second one must not strike before the end was told */
	while (sigtimedwait(&s->taken, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* Out of the terminal's group: its Ctrl-C is for the command, which ends us in order. */
static void worker_main(struct lab_run *run, const struct lab_scenario *scenario,
			const struct lab_signals *signals, pid_t parent, int told)
{
	struct err err = { 0 };

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	int r = lab_journal_add_pid(run->journal, getpid(), &err);
	if (r == 0)
		r = scenario->run(run, &err);
	err.code = r;
	if (write(told, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	_exit(0);
}

/* Until the worker has ended, or a signal comes. Its end is its process's, not that of the pipe:
 * children that stay hold that open. */
static int worker_wait(pid_t pid, int told, int signal_fd, struct err *err)
{
	AUTO_CLOSE int ended = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[] = { { signal_fd, POLLIN, 0 }, { ended, POLLIN, 0 } };
	struct signalfd_siginfo taken;
	struct err got;

	if (ended < 0)
		return err_set(err, -errno, "pidfd_open: %s", strerror(errno));
	while (poll(fds, ARRAY_LEN(fds), -1) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "poll: %s", strerror(errno));
	if (fds[0].revents && read(signal_fd, &taken, sizeof(taken)) == sizeof(taken))
		return (int)taken.ssi_signo;
	if (read(told, &got, sizeof(got)) != sizeof(got))
		return err_set(err, -EINTR, "the scenario's process was ended");
	return got.code < 0 ? err_set(err, got.code, "%s", got.text) : 0;
}

int lab_worker_run(struct lab_run *run, const struct lab_scenario *scenario,
		   const struct lab_signals *signals, struct err *err)
{
	AUTO_CLOSE int signal_fd = signalfd(-1, &signals->taken, SFD_CLOEXEC | SFD_NONBLOCK);
	int told[2];
	pid_t parent = getpid();

	if (signal_fd < 0 || pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	AUTO_CLOSE int read_end = told[0];
	AUTO_CLOSE int write_end = told[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "fork: %s", strerror(errno));
	if (pid == 0)
		worker_main(run, scenario, signals, parent, write_end);
	int r = worker_wait(pid, read_end, signal_fd, err);
	if (r != 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
