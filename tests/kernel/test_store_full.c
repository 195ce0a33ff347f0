/* A disk that is really full: a 1 MB tmpfs in a mount namespace of its own. */
#include <sched.h>
#include <sys/mount.h>

#include "../unit/store_fixture.h"
#include "err.h"

static void fill(const char *dir, const char *name)
{
	static const char zeroes[4096];
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0);
	while (write(fd, zeroes, sizeof(zeroes)) > 0)
		;
	close(fd);
}

/* The store lies in a sub-directory, so that the filler is not taken for one of its files. */
static void full_begin(struct fixture *f)
{
	CHECK_EQ(mkdir(f->dir, 0700), 0);
	CHECK_EQ(mount("none", f->dir, "tmpfs", 0, "size=1m,mode=0700"), 0);
	strncat(f->dir, "/s", sizeof(f->dir) - strlen(f->dir) - 1);
}

static void full_end(struct fixture *f)
{
	f->dir[strlen(f->dir) - 2] = '\0';
	umount2(f->dir, MNT_DETACH);
}

static void noise_second(struct fixture *f)
{
	static uint64_t state = 88172645463325252;
	uint64_t noise[512];
	struct err err;

	fixture_second(f);
	for (size_t i = 0; i < 512; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		noise[i] = state;
	}
	CHECK_EQ(store_writer_append(f->w, FRAME_KMSG, 1, store_writer_clock(f->w)->real_ns, noise,
				     sizeof(noise), &err),
		 0);
	store_writer_flush(f->w);
}

static unsigned read_seconds(const struct fixture *f, uint64_t from_s, uint64_t to_s,
			     size_t *ret_losses, char ret_why[160])
{
	struct store_reader *r;
	struct frame frame;
	struct err err;
	unsigned n = 0;

	CHECK_EQ(store_reader_open(f->dir, &r, &err), 0);
	CHECK_EQ(store_reader_seek(r, T0 + from_s * NS_PER_S, T0 + to_s * NS_PER_S,
				   FRAME_BIT(FRAME_EVENT), &err),
		 0);
	while (store_reader_next(r, &frame, &err) == 1) {
		CHECK(fixture_second_of(&frame) >= 0);
		n++;
	}
	*ret_losses = store_reader_losses(r)->list.len;
	if (*ret_losses && ret_why)
		snprintf(ret_why, 160, "%s", store_reader_losses(r)->list.items[0].why);
	store_reader_close(r);
	return n;
}

TEST(oldest_segments_make_room)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .segment_ns = 10 * NS_PER_S };
	size_t losses;

	full_begin(&f);
	fixture_open(&f, &options);
	for (int i = 0; i < 600; i++) { /* 2.4 MB into 1 MB */
		noise_second(&f);
		CHECK(!store_writer_degraded(f.w));
	}
	/* and it is known what that cost: 40 segments of 10 s, of which a few are still there */
	const struct store_dropped *dropped = store_writer_dropped(f.w);
	CHECK(dropped->segments > 30 && dropped->segments < 59);
	CHECK(dropped->bytes > dropped->segments * 40000);
	CHECK_EQ(dropped->from_ns, T0);
	CHECK(dropped->to_ns >= T0 + (dropped->segments - 1) * 10 * NS_PER_S);
	CHECK_EQ(read_seconds(&f, 500, 600, &losses, NULL), 100);
	CHECK_EQ(losses, 0);
	CHECK_EQ(read_seconds(&f, 0, 100, &losses, NULL), 0);
	fixture_close(&f);
	full_end(&f);
}

TEST(nothing_is_lost_while_memory_lasts)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .segment_ns = 10 * NS_PER_S };
	char filler[128];
	size_t losses;

	full_begin(&f);
	fixture_open(&f, &options);
	snprintf(filler, sizeof(filler), "%s/../filler", f.dir);
	fill(f.dir, "../filler"); /* before the first segment has got its room */
	for (int i = 0; i < 45; i++)
		noise_second(&f);
	CHECK(store_writer_degraded(f.w) != NULL);
	CHECK(strstr(store_writer_degraded(f.w), "the disk is full") != NULL);
	CHECK_EQ(unlink(filler), 0);
	noise_second(&f);
	noise_second(&f);
	CHECK(!store_writer_degraded(f.w));
	CHECK_EQ(store_writer_lost_frames(f.w), 0);
	CHECK_EQ(store_writer_dropped(f.w)->segments, 0);
	fixture_close(&f);
	CHECK_EQ(read_seconds(&f, 0, 1000, &losses, NULL), 47);
	CHECK_EQ(losses, 0);
	full_end(&f);
}

TEST(what_memory_cannot_hold_is_a_named_gap)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .segment_ns = 10 * NS_PER_S, .ring_bytes = 100000 };
	char filler[128], why[160] = "";
	size_t losses;

	full_begin(&f);
	fixture_open(&f, &options);
	snprintf(filler, sizeof(filler), "%s/../filler", f.dir);
	fill(f.dir, "../filler");
	for (int i = 0; i < 200; i++)
		noise_second(&f);
	CHECK(store_writer_lost_frames(f.w) > 100);
	CHECK_EQ(unlink(filler), 0);
	for (int i = 0; i < 30; i++)
		noise_second(&f);
	CHECK(!store_writer_degraded(f.w));
	fixture_close(&f);
	/* the newest in memory, and everything after */
	CHECK(read_seconds(&f, 190, 230, &losses, NULL) == 40);
	CHECK_EQ(read_seconds(&f, 60, 70, &losses, why), 0);
	CHECK(losses >= 1);
	CHECK(strstr(why, "not recorded: the disk is full") != NULL);
	full_end(&f);
}

int main(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		fprintf(stderr, "no mount namespace of its own (needs root): skipped\n");
		return 77;
	}
	return _cmocka_run_group_tests(__FILE__, check_tests, check_n_tests, NULL, NULL);
}
