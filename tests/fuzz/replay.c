/* Replays a fuzz corpus as an ordinary test: every file once, then every prefix and some flipped
 * bytes of the small ones. A missing or empty corpus is a failure: a replay of nothing proves
 * nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { REPLAY_SMALL = 512 };

/* A fresh exact-size allocation, so that the sanitizers see any read behind the end. */
static void replay_bytes(const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, bytes, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

static void replay_around(uint8_t *bytes, size_t len)
{
	replay_bytes(bytes, len);
	if (len > REPLAY_SMALL)
		return;
	for (size_t cut = 0; cut < len; cut++)
		replay_bytes(bytes, cut);
	for (size_t at = 0; at < len; at++) {
		uint8_t saved = bytes[at];
		static const uint8_t instead[] = { 0, 0xff, '\n', '9', '-' };
		for (size_t i = 0; i < sizeof(instead); i++) {
			bytes[at] = instead[i];
			replay_bytes(bytes, len);
		}
		bytes[at] = saved;
	}
}

static int replay_file(int dir, const char *name)
{
	struct stat st;
	int fd = openat(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	uint8_t *bytes = malloc((size_t)st.st_size + 1);
	ssize_t n = read(fd, bytes, (size_t)st.st_size);
	close(fd);
	if (n < 0)
		return -1;
	replay_around(bytes, (size_t)n);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *e;
	unsigned files = 0;

	if (!dir) {
		fprintf(stderr, "no corpus directory\n");
		return 1;
	}
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && replay_file(dirfd(dir), e->d_name) == 0)
			files++;
	closedir(dir);
	printf("%u inputs replayed\n", files);
	return files ? 0 : 1;
}
