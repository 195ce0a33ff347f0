#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_units.h"
#include "check.h"
#include "docker_api.h"
#include "docker_follow.h"
#include "http_unix.h"
#include "journal.h"
#include "sock_diag.h"
#include "units_dbus.h"

TEST(http_answers_of_every_kind)
{
	AUTO_HTTP_ANSWER struct http_answer a = { 0 };
	const char *chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
			      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

	CHECK_EQ(http_parse(chunked, strlen(chunked), false, &a), 1);
	CHECK_EQ(a.status, 200);
	CHECK_STR(buf_str(&a.body), "abcde");
	for (size_t cut = 0; cut < strlen(chunked) - 2; cut++)
		CHECK(http_parse(chunked, cut, false, &a) <= 0);
	const char *length = "HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnope more";
	CHECK_EQ(http_parse(length, strlen(length), false, &a), 1);
	CHECK_EQ(a.status, 404);
	CHECK_STR(buf_str(&a.body), "nope");
	CHECK_EQ(http_parse("SSH-2.0 x\r\n\r\n", 13, false, &a), -EBADMSG);
	const char *lie = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
	CHECK_EQ(http_parse(lie, strlen(lie), false, &a), -EBADMSG);
}

TEST(containers_and_their_events)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	const char *list =
		"[{\"Id\":\"aa\",\"Names\":[\"/ecs-agent\"],\"Image\":\"img\",\"Created\":17,"
		"\"State\":\"exited\",\"Labels\":{\"PODMAN_SYSTEMD_UNIT\":\"x.service\"}}]";
	const char *inspect =
		"{\"Id\":\"aa\",\"RestartCount\":4,\"State\":{\"ExitCode\":5,\"Pid\":0}}";
	const char *events = "{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"ID\":\"aa\","
			     "\"Attributes\":"
			     "{\"name\":\"n\",\"exitCode\":\"5\"}},\"timeNano\":2000}\n"
			     "{\"Type\":\"network\",\"Action\":\"create\",\"Actor\":{\"ID\":\"n\"},"
			     "\"timeNano\":1}\n"
			     "{\"Type\":\"container\",\"Action\":\"create\",\"Actor\":{\"ID\":"
			     "\"aa\"},\"timeNano\":1000}";

	CHECK_EQ(docker_parse_list(list, strlen(list), "docker", &set, NULL), 0);
	CHECK_EQ(docker_parse_inspect(inspect, strlen(inspect), &set, NULL), 0);
	CHECK_EQ(docker_parse_events(events, strlen(events), "docker", &set, NULL), 0);
	CHECK_EQ(set.containers.len, 1);
	CHECK_STR(set.containers.items[0].name, "ecs-agent");
	CHECK_STR(set.containers.items[0].unit_label, "x.service");
	CHECK_EQ(set.containers.items[0].restart_count, 4);
	CHECK_EQ(set.events.len, 2);
	CHECK_EQ(set.events.items[0].action, CONTAINER_CREATE); /* sorted by time */
	CHECK_EQ(set.events.items[1].exit_code, 5);
	CHECK_EQ(docker_parse_list("{}", 2, "docker", &set, NULL), -EBADMSG);
	CHECK(docker_parse_events("{\"a\":", 5, "docker", &set, NULL) < 0);
}

static void count(void *arg, const struct rec_container_event *event)
{
	CHECK_STR(event->id, "aa");
	++*(unsigned *)arg;
}

TEST(a_stream_of_events_in_any_pieces)
{
	const char *event =
		"{\"Type\":\"container\",\"Action\":\"create\",\"Actor\":{\"ID\":\"aa\"},"
		"\"timeNano\":1000}\n";
	char stream[600];
	int n = snprintf(stream, sizeof(stream),
			 "HTTP/1.1 200 OK\r\n\r\n%zx\r\n%s\r\n%zx\r\n%s\r\n", strlen(event), event,
			 strlen(event), event);

	for (int cut = 0; cut <= n; cut++) {
		struct docker_follow f = { .fd = -1, .socket = { .runtime = "docker" } };
		unsigned events = 0;
		CHECK_EQ(docker_follow_feed(&f, stream, (size_t)cut, count, &events), 0);
		CHECK_EQ(docker_follow_feed(&f, stream + cut, (size_t)(n - cut), count, &events),
			 0);
		CHECK_EQ(events, 2);
		docker_follow_close(&f);
	}
}

TEST(systemctl_show_as_a_fallback)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 }, back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const char *text = "Id=a.service\nNRestarts=7\nRestart=always\nRestartUSec=3s\n"
			   "StartLimitIntervalUSec=10s\nStartLimitBurst=5\nExecMainCode=2\n"
			   "ExecMainStatus=11\n\nId=b.service\nNRestarts=0";
	char words[80];

	CHECK_EQ(units_show_parse(text, strlen(text), &set, NULL), 0);
	CHECK_EQ(set.units.len, 2);
	CHECK_EQ(set.units.items[0].restarts, 7);
	CHECK_EQ(set.units.items[0].restart_us, 3000000);
	CHECK(rec_unit_exit_words(&set.units.items[0], words, sizeof(words)));
	CHECK_STR(words, "signal 11 (SEGV)");
	CHECK(!rec_unit_exit_words(&set.units.items[1], words, sizeof(words)));
	CHECK(units_show_parse("", 0, &back, NULL) < 0);
	/* the same through a frame; a torn one is refused */
	rec_units_encode(&bytes, &set);
	CHECK_EQ(rec_units_decode(bytes.data, bytes.len, &back), 0);
	CHECK_STR(back.units.items[0].restart, "always");
	CHECK(!back.units.items[1].restart);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		struct rec_unit_set torn;
		CHECK(rec_units_decode(bytes.data, cut, &torn) < 0);
	}
}

TEST(journal_and_peers)
{
	uint64_t times[] = { 10, 20, 31, 41, 100 };
	char cgroup[64];
	uint32_t inode;

	CHECK_EQ(journal_cadence(times, 5), 11);
	CHECK_EQ(journal_cadence(times, 1), 0);
	uint64_t code, status;
	CHECK(journal_text_exit("a.service: main process exited, code=exited, status=1/FAILURE",
				&code, &status));
	CHECK(code == 1 && status == 1);
	CHECK(journal_text_exit("a.service: Main process exited, code=dumped, status=6/ABRT", &code,
				&status));
	CHECK(code == 3 && status == 6);
	CHECK(!journal_text_exit("a.service: Main process exited, code=exited", &code, &status));
	CHECK(journal_text_restart("ecs.service holdoff time over, scheduling restart."));
	CHECK(!journal_text_restart("Started ecs."));
	CHECK(sock_diag_cgroup("4:memory:/a\n1:name=systemd:/system.slice/e.service\n0::/b\n",
			       cgroup, sizeof(cgroup)));
	CHECK_STR(cgroup, "/system.slice/e.service");
	CHECK(sock_diag_cgroup("0::/system.slice/e.service\n", cgroup, sizeof(cgroup)));
	CHECK(sock_diag_link_inode("socket:[4711]", &inode));
	CHECK_EQ(inode, 4711);
	CHECK(!sock_diag_link_inode("pipe:[4711]", &inode));
}

TEST(what_a_captured_host_did_not_tell)
{
	AUTO_UNKNOWNS struct unknowns u = { 0 };

	captured_unknowns_parse(
		"docker\tno answer: \"x\"\nno tab\n\tno name\nunits\t\ndocker\tagain", &u);
	CHECK_EQ(u.list.len, 2);
	CHECK_STR(u.list.items[0].what, "docker");
	CHECK_STR(u.list.items[0].why, "no answer: \"x\"");
	CHECK_STR(u.list.items[1].what, "units");
	CHECK_STR(u.list.items[1].why, "");
}

TEST_MAIN
