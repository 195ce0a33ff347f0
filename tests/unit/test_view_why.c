#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "err.h"
#include "sick_host.h"
#include "view_why.h"

TEST(text_names_culprit_and_escapes_names)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	char *text = NULL;
	size_t len;
	struct terminal plain = { .width = 100 };

	f.units.items[0].result = "\033[31mexit";
	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	FILE *out = open_memstream(&text, &len);
	view_why_text(out, &plain, &d);
	fclose(out);
	CHECK(strstr(text, "VERDICT  ecs.service") != NULL);
	CHECK(strstr(text, "zscope fix 1 --apply") != NULL);
	CHECK(!strchr(text, '\033'));
	free(text);
}

TEST(json_has_the_members_of_the_contract)
{
	AUTO_FACTS struct facts f = sick_host();
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json j;

	CHECK_EQ(diagnosis_make(&f, NULL, &d, NULL), 0);
	json_init(&j, &text);
	json_object(&j, NULL);
	view_why_json(&j, &d);
	json_end_object(&j);
	static const char *const members[] = {
		"\"verdict\":{\"id\":\"unit-misfit\"",
		"\"culprit\":{\"kind\":\"unit\",\"name\":\"ecs.service\"}",
		"\"chain\":[{\"finding\":\"unit-misfit\"",
		"\"because\":{",
		"\"plan\":[{\"id\":1,\"action\":\"disable\",\"target\":\"ecs.service\"",
		"\"reversible\":true",
		"\"unknown\":[]"
	};
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		CHECK(strstr(text.data, members[i]) != NULL);
}

TEST_MAIN
