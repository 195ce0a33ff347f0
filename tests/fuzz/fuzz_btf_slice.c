#include "btf_slice.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_MAP_STR struct map_str names = { 0 };
	AUTO_BUF struct buf out = { 0 }, again = { 0 };
	struct btf_slice_find finds[] = { { .name = "bpf_iter_task", .what = BTF_SLICE_FUNC },
					  { .name = "runqueues", .what = BTF_SLICE_VARIABLE } };
	bool made;

	map_str_put(&names, "page", 4, &made);
	map_str_put(&names, "refcount_t", 10, &made);
	map_str_put(&names, "pageflags", 9, &made);
	if (btf_slice_make(bytes, len, &names, finds, 2, &out, NULL) < 0)
		return 0;
	/* what comes out can be sliced again */
	if (btf_slice_make(out.data, out.len, &names, NULL, 0, &again, NULL) < 0)
		abort();
	return 0;
}
