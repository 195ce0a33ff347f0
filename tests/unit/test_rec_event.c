#include <string.h>

#include "check.h"
#include "rec_event.h"

TEST(round_trip_and_json)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf bytes = { 0 }, text = { 0 };
	struct rec_event_field fields[] = { { "iface", "eth0" }, { "queue", "5" } };
	struct rec_event e = {
		.time_ns = 1700000000000000000,
		.end_ns = 1700000001000000000,
		.source = EVENT_NET,
		.severity = EVENT_CRIT,
		.trusted = true,
		.injected = true,
		.count = 3,
		.id = "net-driver-reset",
		.text = "TX q 5\n",
		.fields = fields,
		.n_fields = 2,
	};
	struct rec_event d;
	struct json j;

	rec_event_encode(&bytes, &e);
	CHECK_EQ(rec_event_decode(bytes.data, bytes.len, &arena, &d), 0);
	CHECK_STR(rec_event_field(&d, "queue"), "5");
	CHECK(!rec_event_field(&d, "absent"));
	json_init(&j, &text);
	json_object(&j, NULL);
	rec_event_json(&j, &d);
	json_end_object(&j);
	CHECK(strstr(text.data, "\"source\":\"net\",\"id\":\"net-driver-reset\"") != NULL);
	CHECK(strstr(text.data, "\"injected\":true") != NULL);
	for (size_t cut = 0; cut < bytes.len; cut++)
		CHECK(rec_event_decode(bytes.data, cut, &arena, &d) < 0);
}

TEST_MAIN
