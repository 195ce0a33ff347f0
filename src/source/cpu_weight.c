#include "cpu_weight.h"

#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"

static bool cpu_weight_file(const struct root *root, const char *path, uint64_t *ret)
{
	AUTO_BUF struct buf text = { 0 };

	return root_read(root, path, 64, &text, NULL) >= 0 && text_u64(buf_str(&text), ret) == 0 &&
	       *ret;
}

bool cpu_weight_read(const struct root *root, struct cpu_weight *ret)
{
	static const struct {
		const char *base, *file;
	} places[] = {
		{ "sys/fs/cgroup", "cpu.weight" },
		{ "sys/fs/cgroup/unified", "cpu.weight" },
		{ "sys/fs/cgroup/cpu", "cpu.shares" },
		{ "sys/fs/cgroup/cpu,cpuacct", "cpu.shares" },
	};
	static const char *const pods[] = { "kubepods.slice", "kubepods" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		for (size_t k = 0; k < ARRAY_LEN(pods); k++) {
			struct cpu_weight w = { 0 };
			snprintf(w.pods_path, sizeof(w.pods_path), "%s/%s/%s", places[i].base,
				 pods[k], places[i].file);
			snprintf(w.rest_path, sizeof(w.rest_path), "%s/system.slice/%s",
				 places[i].base, places[i].file);
			if (!cpu_weight_file(root, w.pods_path, &w.pods) ||
			    !cpu_weight_file(root, w.rest_path, &w.rest))
				continue;
			w.ratio = (double)w.pods / (double)w.rest;
			*ret = w;
			return true;
		}
	}
	return false;
}
