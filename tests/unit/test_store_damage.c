/* Torture of one small segment: cut at every byte, every byte flipped. Nothing false may come out,
 * at most the frame that was hit may be missing, and what is missing must be named. */
#include <dirent.h>

#include "store_fixture.h"

enum { SECONDS = 8, ROOM = 8192 };

static void segment_path(const struct fixture *f, char ret[300])
{
	DIR *d = opendir(f->dir);
	for (struct dirent *e; (e = readdir(d));)
		if (strstr(e->d_name, ".seg"))
			snprintf(ret, 300, "%s/%.64s", f->dir, e->d_name);
	closedir(d);
}

static size_t load(const char *path, uint8_t **ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	*ret = malloc((size_t)st.st_size);
	CHECK_EQ(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

static void save(const char *path, const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* How many events come out; false data fails the test. */
static unsigned read_all(const struct fixture *f, unsigned *ret_losses, uint32_t *ret_seen)
{
	struct store_reader *r;
	struct frame frame;
	struct err err;
	unsigned n = 0;

	*ret_seen = 0;
	CHECK_EQ(store_reader_open(f->dir, &r, &err), 0);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_ALL, &err), 0);
	while (store_reader_next(r, &frame, &err) == 1) {
		if (frame.kind != FRAME_EVENT)
			continue;
		long s = fixture_second_of(&frame);
		CHECK(s >= 0 && s < SECONDS);
		CHECK(!(*ret_seen & 1U << s));
		*ret_seen |= 1U << s;
		n++;
	}
	*ret_losses = (unsigned)store_reader_losses(r)->list.len;
	for (unsigned i = 0; i < *ret_losses; i++)
		CHECK(strstr(store_reader_losses(r)->list.items[i].why, ".seg: byte ") != NULL);
	store_reader_close(r);
	return n;
}

static void record(struct fixture *f)
{
	fixture_open(f, NULL);
	for (int i = 0; i < SECONDS; i++)
		fixture_second(f);
	fixture_close(f);
}

TEST(cut_at_every_byte)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	char path[300];
	uint8_t *bytes;
	unsigned losses, last = 0;
	uint32_t seen;

	record(&f);
	segment_path(&f, path);
	size_t len = load(path, &bytes);
	uint8_t *torn = calloc(1, len + ROOM);
	for (size_t cut = 0; cut <= len; cut++) {
		save(path, bytes, cut);
		unsigned n = read_all(&f, &losses, &seen);
		CHECK(n >= last && n <= last + 1);
		CHECK_EQ(seen, (1U << n) - 1);
		/* behind the footer stands only where it begins */
		CHECK_EQ(losses, cut >= len - 16 ? 0 : 1);
		last = n;
		/* with room behind that was never used, as after a kill */
		memcpy(torn, bytes, cut);
		save(path, torn, cut + ROOM);
		CHECK_EQ(read_all(&f, &losses, &seen), n);
		CHECK_EQ(losses, cut >= len - 16 ? 0 : 1);
	}
	free(torn);
	CHECK_EQ(last, SECONDS);
	free(bytes);
}

TEST(flip_every_byte)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	char path[300];
	uint8_t *bytes;
	unsigned losses, all_found = 0;
	uint32_t seen;

	record(&f);
	segment_path(&f, path);
	size_t len = load(path, &bytes);
	for (size_t at = 0; at < len; at++) {
		for (int bit = 0; bit < 8; bit += 7) {
			bytes[at] ^= (uint8_t)(1 << bit);
			save(path, bytes, len);
			unsigned n = read_all(&f, &losses, &seen);
			CHECK(n >= SECONDS - 1);
			CHECK(n == SECONDS || losses >= 1);
			/* the file type and the way to the footer carry no data */
			CHECK(losses >= 1 || at < 8 || at >= len - 16);
			all_found += n == SECONDS;
			bytes[at] ^= (uint8_t)(1 << bit);
		}
	}
	CHECK(all_found < 2 * len);
	free(bytes);
}

TEST(another_format_is_refused_in_one_line)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	uint64_t from, to;
	struct err err;
	char path[300];
	struct frame frame;

	record(&f);
	segment_path(&f, path);
	save(path, (const uint8_t *)"ZSCOPE1\n\xf5 and so on, in another way", 36);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_span(r, &from, &to, &err), -EPROTONOSUPPORT);
	CHECK(strstr(err.text, "recorded in format 1 by another version") != NULL);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_ALL, &err), 0);
	CHECK_EQ(store_reader_next(r, &frame, &err), 0);
	CHECK_EQ(store_reader_losses(r)->list.len, 1);
	store_reader_close(r);
}

/* A recording of which nothing is left names its file and what is wrong with it. */
TEST(a_store_without_a_readable_segment_names_it)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	uint8_t noise[3000];
	uint64_t from, to;
	struct err err;
	char path[300], expect[400];

	record(&f);
	segment_path(&f, path);
	save(path, noise, 0);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_span(r, &from, &to, &err), -ENODATA);
	snprintf(expect, sizeof(expect),
		 "%s: no readable segment; 1 damaged: %s: the file has no bytes", f.dir,
		 strrchr(path, '/') + 1);
	CHECK_STR(err.text, expect);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 167 + i / 251);
	save(path, noise, sizeof(noise));
	CHECK_EQ(store_reader_span(r, &from, &to, &err), -ENODATA);
	snprintf(expect, sizeof(expect),
		 "%s: no readable segment; 1 damaged: %s: no intact frame in it", f.dir,
		 strrchr(path, '/') + 1);
	CHECK_STR(err.text, expect);
	store_reader_close(r);
}

/* What a killed recorder lost ends where it was last seen at work, not a minute later. */
TEST(the_loss_of_a_kill_is_bounded)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct frame frame;
	struct err err;
	uint8_t *bytes;
	char path[300];

	uint64_t now = clock_real_ns();
	f.clock.real_ns = now - 20 * NS_PER_S;
	fixture_open(&f, NULL);
	for (int i = 0; i < 4; i++)
		fixture_second(&f);
	uint64_t last = f.clock.real_ns - NS_PER_S;
	fixture_close(&f);
	segment_path(&f, path);
	size_t len = load(path, &bytes);
	save(path, bytes, len - 16 - 40); /* into the footer */
	struct timespec times[2] = { { .tv_sec = (time_t)(last / NS_PER_S) },
				     { .tv_sec = (time_t)(last / NS_PER_S) } };
	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_ALL, &err), 0);
	while (store_reader_next(r, &frame, &err) == 1)
		;
	CHECK_EQ(store_reader_losses(r)->list.len, 1);
	const struct store_loss *loss = &store_reader_losses(r)->list.items[0];
	CHECK(loss->to_ns >= last && loss->to_ns <= last + 2 * NS_PER_S);
	CHECK(strstr(loss->why, "cut off without its footer; at most this is missing") != NULL);
	/* a file of an earlier boot: the power may have taken the newest of it */
	times[1].tv_sec = 1;
	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_ALL, &err), 0);
	while (store_reader_next(r, &frame, &err) == 1)
		;
	loss = &store_reader_losses(r)->list.items[0];
	CHECK(loss->to_ns >= now && loss->to_ns <= clock_real_ns());
	store_reader_close(r);
	free(bytes);
}

/* Text that looks like a frame inside of a frame must not come out when the outer one is hit. */
TEST(recorded_text_cannot_forge_a_frame)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	char path[300];
	uint8_t *bytes, *forged;
	unsigned losses;
	uint32_t seen;
	struct err err;

	record(&f);
	segment_path(&f, path);
	size_t forged_len = load(path, &forged); /* a whole valid segment as hostile text */
	CHECK_EQ(unlink(path), 0);
	f.clock.real_ns = T0;
	fixture_open(&f, NULL);
	CHECK_EQ(store_writer_tick(f.w, &f.clock, &err), 0);
	CHECK_EQ(store_writer_append(f.w, FRAME_KMSG, 1, T0, forged, forged_len, &err), 0);
	fixture_close(&f);
	segment_path(&f, path);
	size_t len = load(path, &bytes);
	for (size_t at = 0; at < len; at++) {
		bytes[at] ^= 1;
		save(path, bytes, len);
		CHECK_EQ(read_all(&f, &losses, &seen), 0);
		bytes[at] ^= 1;
	}
	free(bytes);
	free(forged);
}

TEST_MAIN
