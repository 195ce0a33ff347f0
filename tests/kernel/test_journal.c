/* Real journal files, written by systemd-journal-remote from entries as systemd 219 and 252 log
 * them: restarts, their cadence, the last exit, and who is not believed. */
#include "journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/check.h"
#include "auto.h"
#include "buf.h"
#include "timefmt.h"

#define REMOTE "/lib/systemd/systemd-journal-remote"
#define T0_US  UINT64_C(1700000000000000)

struct written {
	char dir[64];
	struct buf text;
};

/* One entry in journalctl's export format. id may be NULL. */
static void put(struct written *w, unsigned second, unsigned pid, const char *unit, const char *id,
		const char *message, const char *more)
{
	uint64_t us = T0_US + (uint64_t)second * 1000000;

	buf_addf(&w->text,
		 "__REALTIME_TIMESTAMP=%" PRIu64 "\n__MONOTONIC_TIMESTAMP=%" PRIu64 "\n"
		 "_BOOT_ID=00112233445566778899aabbccddeeff\n"
		 "_MACHINE_ID=ffeeddccbbaa99887766554433221100\n_PID=%u\nUNIT=%s\nMESSAGE=%s\n",
		 us, us - T0_US + 1, pid, unit, message);
	if (id)
		buf_addf(&w->text, "MESSAGE_ID=%s\n", id);
	buf_addf(&w->text, "%s\n", more);
}

static void finish(struct written *w)
{
	char command[300], file[100];
	FILE *f;

	snprintf(w->dir, sizeof(w->dir), "/tmp/zscope-journal-XXXXXX");
	CHECK(mkdtemp(w->dir) != NULL);
	snprintf(file, sizeof(file), "%s/export", w->dir);
	f = fopen(file, "we");
	CHECK(f && fwrite(w->text.data, 1, w->text.len, f) == w->text.len);
	fclose(f);
	snprintf(command, sizeof(command),
		 REMOTE " --split-mode=none -o %s/system.journal %s >/dev/null 2>&1", w->dir, file);
	CHECK_EQ(system(command), 0); /* NOLINT: a test's own words */
	unlink(file);
	buf_free(&w->text);
}

static void drop(struct written *w)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", w->dir);
	CHECK_EQ(system(command), 0); /* NOLINT */
}

TEST(systemd_219_has_only_words)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .systemd_version = 219 };
	struct written w = { 0 };
	struct err err = { 0 };

	for (unsigned i = 0; i < 5; i++) {
		put(&w, 10 * i, 1, "ecs.service", NULL,
		    "ecs.service: main process exited, code=exited, status=255/n/a", "");
		put(&w, 10 * i, 1, "ecs.service", "be02cf6855d2428ba40df7e9d022f03d",
		    "Unit ecs.service entered failed state.", "");
		put(&w, 10 * i + 1, 1, "ecs.service", NULL,
		    "ecs.service holdoff time over, scheduling restart.", "");
		/* anybody may say so */
		put(&w, 10 * i + 2, 77, "forged.service", NULL,
		    "forged.service holdoff time over, scheduling restart.", "");
	}
	finish(&w);
	CHECK_EQ(journal_read_directory(w.dir, &set, &err), 0);
	const struct rec_service *u = rec_units_find(&set, "ecs.service");
	CHECK(u != NULL);
	CHECK_EQ(u->seen, 5);
	CHECK_EQ(u->cadence_ns, 10 * NS_PER_S);
	CHECK_EQ(u->first_ns, (T0_US + 1000000) * 1000);
	CHECK_EQ(u->last_ns, (T0_US + 41000000) * 1000);
	CHECK(u->have & REC_UNIT_EXIT);
	CHECK_EQ(u->exit_code, 1);
	CHECK_EQ(u->exit_status, 255);
	CHECK(rec_units_find(&set, "forged.service") == NULL);
	drop(&w);
}

TEST(systemd_252_has_message_ids)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .systemd_version = 252 };
	struct written w = { 0 };
	struct err err = { 0 };
	char more[60];

	for (unsigned i = 0; i < 6; i++) {
		put(&w, 3 * i, 1, "dies.service", "98e322203f7a4ed290d09fe03c09fe15",
		    "dies.service: Main process exited, code=killed, status=11/SEGV",
		    "EXIT_CODE=killed\nEXIT_STATUS=11\n");
		put(&w, 3 * i, 1, "dies.service", "d9b373ed55a64feb8242e02dbe79a49c",
		    "dies.service: Failed with result 'signal'.", "UNIT_RESULT=signal\n");
		snprintf(more, sizeof(more), "N_RESTARTS=%u\n", i + 1);
		put(&w, 3 * i + 1, 1, "dies.service", "5eb03494b6584870a536b337290809b3",
		    "dies.service: Scheduled restart job, restart counter is at N.", more);
		put(&w, 3 * i + 1, 66, "forged.service", "5eb03494b6584870a536b337290809b3",
		    "forged.service: Scheduled restart job, restart counter is at N.", more);
	}
	finish(&w);
	CHECK_EQ(journal_read_directory(w.dir, &set, &err), 0);
	const struct rec_service *u = rec_units_find(&set, "dies.service");
	CHECK(u != NULL);
	CHECK_EQ(u->seen, 6);
	CHECK_EQ(u->cadence_ns, 3 * NS_PER_S);
	CHECK_EQ(u->first_ns, (T0_US + 1000000) * 1000);
	CHECK_EQ(u->exit_code, 2);
	CHECK_EQ(u->exit_status, 11);
	CHECK_STR(u->result, "signal");
	CHECK(rec_units_find(&set, "forged.service") == NULL);
	drop(&w);
}

TEST(no_journal_is_named)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .systemd_version = 252 };
	struct err err = { 0 };

	CHECK(journal_read_directory("/nonexistent", &set, &err) < 0);
	CHECK(strstr(err.text, "the journal cannot be opened") != NULL);
}

__attribute__((constructor)) static void need_remote(void)
{
	if (access(REMOTE, X_OK) < 0) {
		puts(REMOTE " is missing (systemd-journal-remote)");
		exit(77);
	}
}

TEST_MAIN
