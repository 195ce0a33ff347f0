/* The fallback when D-Bus is away but systemctl is there (it may reach systemd where we may not):
 * one run of `systemctl show`, without a shell, killed at the limit. Never used in the tick path.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"
#include "unit_file.h"
#include "units_dbus.h"

enum { SHOW_OUTPUT_MOST = 16 << 20 };

static const struct {
	const char *key;
	size_t offset;
} show_strings[] = {
	{ "LoadState", offsetof(struct rec_service, load) },
	{ "ActiveState", offsetof(struct rec_service, active) },
	{ "SubState", offsetof(struct rec_service, sub) },
	{ "Result", offsetof(struct rec_service, result) },
	{ "UnitFileState", offsetof(struct rec_service, file_state) },
	{ "UnitFilePreset", offsetof(struct rec_service, preset) },
	{ "Restart", offsetof(struct rec_service, restart) },
	{ "ControlGroup", offsetof(struct rec_service, cgroup) },
	{ "FragmentPath", offsetof(struct rec_service, fragment) },
};

static const struct {
	const char *key;
	size_t offset;
	uint64_t have;
} show_numbers[] = {
	{ "NRestarts", offsetof(struct rec_service, restarts), REC_UNIT_RESTARTS },
	{ "ExecMainCode", offsetof(struct rec_service, exit_code), REC_UNIT_EXIT },
	{ "ExecMainStatus", offsetof(struct rec_service, exit_status), REC_UNIT_EXIT },
	{ "StartLimitBurst", offsetof(struct rec_service, limit_burst), 0 },
	{ "MainPID", offsetof(struct rec_service, pid), REC_UNIT_PID },
};

static void show_set(struct rec_unit_set *set, struct rec_service *u, const char *key,
		     const char *value)
{
	unsigned long long us;
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(show_strings); i++)
		if (strcmp(key, show_strings[i].key) == 0 && *value)
			*(const char **)((char *)u + show_strings[i].offset) =
				arena_strdup(&set->arena, value);
	for (size_t i = 0; i < ARRAY_LEN(show_numbers); i++) {
		if (strcmp(key, show_numbers[i].key) == 0 && text_u64(value, &n) == 0) {
			*(uint64_t *)((char *)u + show_numbers[i].offset) = n;
			u->have |= show_numbers[i].have;
		}
	}
	if (strcmp(key, "RestartUSec") == 0 && unit_file_span_us(value, &us) == 0) {
		u->restart_us = us;
		u->have |= REC_UNIT_RESTART_US;
	}
	if (strcmp(key, "StartLimitIntervalUSec") == 0 && unit_file_span_us(value, &us) == 0) {
		u->limit_us = us;
		u->have |= REC_UNIT_LIMIT;
	}
}

int units_show_parse(const char *text, size_t len, struct rec_unit_set *set, struct err *err)
{
	const char *end = text + len;
	struct rec_service scratch = { 0 };
	char key[64], value[2048];

	while (text <= end) {
		const char *eol = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
		size_t n = eol ? (size_t)(eol - text) : (size_t)(end - text);
		const char *eq = n ? memchr(text, '=', n) : NULL;
		if (n == 0) { /* the end of a block */
			struct rec_service *u =
				scratch.name ? rec_units_add(set, scratch.name) : NULL;
			if (scratch.name && !u)
				return err_set(err, -ENOMEM, "too many units");
			if (u)
				*u = scratch;
			scratch = (struct rec_service){ 0 };
		} else if (eq && text_copy_n(key, sizeof(key), text, (size_t)(eq - text))) {
			text_copy_n(value, sizeof(value), eq + 1, n - (size_t)(eq + 1 - text));
			if (strcmp(key, "Id") == 0)
				scratch.name = arena_strdup(&set->arena, value);
			else
				show_set(set, &scratch, key, value);
		}
		if (text >= end)
			break;
		text += n + 1;
		if (text >= end && scratch.name)
			text = end; /* a last block without an empty line behind it */
	}
	if (scratch.name) {
		struct rec_service *u = rec_units_add(set, scratch.name);
		if (u)
			*u = scratch;
	}
	set->have_units = set->units.len > 0;
	return set->have_units ? 0 : err_set(err, -ENODATA, "systemctl show named no unit");
}

static int show_read_all(int fd, struct buf *out, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now = clock_mono_ns();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (now >= deadline_ns || out->len > SHOW_OUTPUT_MOST)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((deadline_ns - now) / NS_PER_MS + 1)) <= 0)
			continue;
		if (!buf_reserve(out, 65536))
			return -ENOMEM;
		ssize_t n = read(fd, out->data + out->len, out->cap - out->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

int units_show_read(struct rec_unit_set *set, struct err *err)
{
	static const char *const argv[] = {
		"systemctl",
		"show",
		"*.service",
		"--no-pager",
		"--property=Id,LoadState,ActiveState,SubState,Result,UnitFileState,UnitFilePreset,"
		"Restart,ControlGroup,FragmentPath,NRestarts,ExecMainCode,ExecMainStatus,"
		"StartLimitBurst,MainPID,RestartUSec,StartLimitIntervalUSec",
		NULL,
	};
	static const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	AUTO_BUF struct buf out = { 0 };
	posix_spawn_file_actions_t actions;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "systemctl: %s", strerror(errno));
	AUTO_CLOSE int in = fds[0];
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int r = -posix_spawn(&pid, "/usr/bin/systemctl", &actions, NULL, (char *const *)argv,
			     (char *const *)env);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (r < 0)
		return err_set(err, r, "systemctl: %s", strerror(-r));
	r = show_read_all(in, &out, clock_mono_ns() + UNITS_LIMIT_S * NS_PER_S);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return err_set(err, r, "systemctl show: no answer within 2 s");
	return units_show_parse(buf_str(&out), out.len, set, err);
}
