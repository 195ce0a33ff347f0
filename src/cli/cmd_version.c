#include <stdio.h>

#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"

static int version_run(struct invocation *in, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	(void)err;
	if (!in->common.json) {
		puts("zscope " ZSCOPE_VERSION);
		return STATUS_OK;
	}
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_read_live(&envelope);
	envelope_json(&j, &envelope, "version", in->now_ns);
	json_str(&j, "version", ZSCOPE_VERSION);
	json_end_object(&j);
	puts(buf_str(&out));
	return STATUS_OK;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "print the version",
	.arguments = "",
	.description = "Prints the version of zscope.",
	.examples = "zscope version\n",
	.common = COMMON_JSON,
	.run = version_run,
};
