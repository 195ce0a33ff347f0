#include "docker_follow.h"
#include "fuzz.h"
#include "http_unix.h"

static void count(void *arg, const struct rec_container_event *event)
{
	(void)event;
	++*(unsigned *)arg;
}

/* An answer in one piece, cut off, and as a stream that arrives in two pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };
	struct docker_follow follow = { .fd = -1, .socket = { .runtime = "docker" } };
	unsigned events = 0;

	http_parse((const char *)bytes, len, false, &answer);
	if (http_parse((const char *)bytes, len, true, &answer) == 1 && answer.body.len > len)
		abort();
	if (docker_follow_feed(&follow, bytes, len / 2, count, &events) == 0)
		docker_follow_feed(&follow, bytes + len / 2, len - len / 2, count, &events);
	docker_follow_close(&follow);
	return 0;
}
