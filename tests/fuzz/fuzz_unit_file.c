#include "fuzz.h"
#include "unit_file.h"
#include "unit_preset.h"

/* Whatever parses gives settings that can be asked for; names and spans never run over. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_PRESETS struct presets presets = { 0 };
	struct unit_file file = { 0 };
	struct unit_words words = { 0 };
	const struct preset_rule *rule;
	unsigned long long us;

	unit_file_parse((const char *)bytes, len, false, &arena, &file, NULL);
	unit_file_words(&file, "Install", "WantedBy", &arena, &words);
	unit_file_lines(&file, "Service", "ExecStart", &words);
	for (size_t i = 0; i < file.settings.len; i++) {
		const char *value = file.settings.items[i].value;
		unit_file_span_us(value, &us);
		if (unit_name_kind(value) == UNIT_NAME_INSTANCE &&
		    !unit_name_template(value, &arena))
			abort();
	}
	presets_parse((const char *)bytes, len, "fuzz.preset", &presets);
	presets_enable(&presets, "ecs.service", &rule);
	presets_enable(&presets, "getty@tty1.service", &rule);
	free(words.list.items);
	unit_file_free(&file);
	return 0;
}
