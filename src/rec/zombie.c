#include "zombie.h"

#include <string.h>

static const struct {
	const char *name, *cure;
} pin_kinds[PIN_KIND_END] = {
	[PIN_FILE] = { "file", "drop the page cache of the file: zscope purge" },
	[PIN_TMPFS] = { "tmpfs",
			"delete the tmpfs file, or end the process that holds the memory" },
	[PIN_ANON] = { "anon", "end the process that was moved out with its memory" },
	[PIN_MLOCKED] = { "mlocked", "unlock the memory or end its holder" },
	[PIN_SWAP] = { "swap", "delete the tmpfs file or end the process whose memory was swapped "
			       "out, or bring it all back (swapoff)" },
	[PIN_PROCESS] = { "process", "its parent must reap it, or be ended" },
	[PIN_TASK] = { "task", "it is going down right now" },
	[PIN_NAMESPACE] = { "namespace", "end the process that is in the cgroup namespace or has "
					 "it open" },
	[PIN_SOCKET] = { "socket", "close the socket, or end the process that has it open" },
	[PIN_PAGES] = { "pages", "reclaim: zscope purge --method reclaim" },
	[PIN_REFERENCE] = { "reference",
			    "a socket that nobody has open, a perf or BPF object: end its holder; "
			    "where it was removed just now, pages that are on no list yet: look "
			    "again" },
	[PIN_WRITEBACK] = { "writeback",
			    "zscope purge: when the file is on the disk (sync), it goes with the "
			    "next memory cgroup that is removed; before 5.15 only when the inode "
			    "leaves the cache" },
	[PIN_CHILD] = { "child", "goes with the zombies below it" },
};

const char *pin_kind_name(enum pin_kind kind)
{
	return kind < PIN_KIND_END ? pin_kinds[kind].name : "unknown";
}

const char *pin_kind_cure(enum pin_kind kind)
{
	return kind < PIN_KIND_END ? pin_kinds[kind].cure : "unknown";
}

const char *pin_place_name(enum pin_place place)
{
	static const char *const names[] = {
		[PLACE_UNKNOWN] = "unknown", [PLACE_PATH] = "path",
		[PLACE_OVERLAY] = "overlay", [PLACE_INTERNAL] = "internal",
		[PLACE_DEVICE] = "device",
	};
	return place <= PLACE_DEVICE ? names[place] : "unknown";
}

size_t zombie_files_put(struct zombie_files *files, uint32_t major, uint32_t minor, uint64_t inode,
			uint64_t tell, bool *ret_new)
{
	uint64_t words[3] = { (uint64_t)major << 32 | minor, inode, tell };
	uint64_t key = hash_bytes(words, tell ? sizeof(words) : 2 * sizeof(words[0]));
	bool made;
	uint64_t *at = map_u64_put(&files->by_inode, key, &made);

	if (!at)
		return SIZE_MAX;
	if (made) {
		struct zombie_file file = { .major = major, .minor = minor, .inode = inode };
		if (!vec_push(&files->list, file)) {
			map_u64_remove(&files->by_inode, key);
			return SIZE_MAX;
		}
		*at = files->list.len;
	}
	*ret_new = made;
	return *at - 1;
}

void zombie_files_finish(struct zombie_files *files)
{
	vec_foreach (&files->list, f)
		if (!f->zombies)
			f->zombies = f->writeback;
}

void zombie_files_free(struct zombie_files *files)
{
	vec_free(&files->list);
	vec_free(&files->ranges);
	map_u64_free(&files->by_inode);
	arena_free(&files->strings);
}

bool zombie_is_below(const char *path, size_t len, const char *below)
{
	size_t n = below ? strlen(below) : 0;

	while (n && below[n - 1] == '/')
		n--;
	if (!n)
		return true;
	if (below[0] != '/' && len && path[0] == '/') {
		path++;
		len--;
	}
	return len >= n && memcmp(path, below, n) == 0 && (len == n || path[n] == '/');
}
