#include "docker_api.h"
#include "fuzz.h"
#include "json_read.h"

/* Any bytes as JSON, and as each answer of an engine. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	const struct json_value *v;
	const char *text = (const char *)bytes, *p = text;
	int64_t n;

	if (json_read(&p, text + len, &arena, &v) == 0) {
		if (p > text + len)
			abort();
		json_integer_at(v, "State.ExitCode", &n);
	}
	docker_parse_list(text, len, "docker", &set, NULL);
	docker_parse_inspect(text, len, &set, NULL);
	docker_parse_events(text, len, "docker", &set, NULL);
	containerd_parse_config(text, len, "k8s.io", "id", &set, NULL);
	return 0;
}
