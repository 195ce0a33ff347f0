#include <dirent.h>

#include "store_fixture.h"

static unsigned count_frames(struct store_reader *r, uint64_t from_s, uint64_t to_s,
			     long *ret_first, long *ret_last)
{
	struct frame frame;
	struct err err;
	unsigned n = 0;

	CHECK_EQ(store_reader_seek(r, T0 + from_s * NS_PER_S, T0 + to_s * NS_PER_S,
				   FRAME_BIT(FRAME_EVENT), &err),
		 0);
	while (store_reader_next(r, &frame, &err) == 1) {
		long s = fixture_second_of(&frame);
		CHECK(s >= 0);
		if (!n++ && ret_first)
			*ret_first = s;
		if (ret_last)
			*ret_last = s;
	}
	return n;
}

TEST(writes_rotates_and_seeks)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct err err;
	uint64_t from, to;
	long first, last;

	fixture_open(&f, NULL);
	for (int i = 0; i < 300; i++)
		fixture_second(&f);
	fixture_close(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_span(r, &from, &to, &err), 0);
	CHECK_EQ(from, T0);
	CHECK_EQ(to, T0 + 300 * NS_PER_S);
	CHECK_EQ(count_frames(r, 0, 1000, &first, &last), 300);
	CHECK_EQ(first, 0);
	CHECK_EQ(last, 299);
	for (unsigned s = 0; s < 300; s++) {
		CHECK_EQ(count_frames(r, s, s + 1, &first, NULL), 1);
		CHECK_EQ(first, s);
	}
	CHECK_EQ(count_frames(r, 55, 65, &first, &last), 10);
	CHECK_EQ(store_reader_losses(r)->list.len, 0);
	CHECK_EQ(count_frames(r, 300, 400, NULL, NULL), 0);
	store_reader_close(r);
}

TEST(anchors_give_the_clocks)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct store_clock c;
	struct err err;

	fixture_open(&f, NULL);
	for (int i = 0; i < 90; i++)
		fixture_second(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_clock(r, T0 + 70 * NS_PER_S + 5, &c, &err), 0);
	CHECK_EQ(c.real_ns, T0 + 70 * NS_PER_S);
	CHECK_EQ(c.mono_ns, 75 * NS_PER_S);
	CHECK_EQ(c.boot_ns, 76 * NS_PER_S);
	CHECK_STR(c.boot_id, f.clock.boot_id);
	CHECK_EQ(store_reader_clock(r, T0 - 1, &c, &err), -ENODATA);
	store_reader_close(r);
}

TEST(second_writer_is_refused)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_writer *other;
	struct err err;

	fixture_open(&f, NULL);
	CHECK_EQ(store_writer_open(f.dir, NULL, NULL, &other, &err), -EWOULDBLOCK);
	CHECK(strstr(err.text, "another recorder (pid ") != NULL);
	fixture_close(&f);
	fixture_open(&f, NULL);
}

TEST(permissions_and_planted_things)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_writer *w;
	struct err err;
	char other[128];
	struct stat st;

	fixture_open(&f, NULL);
	fixture_second(&f);
	fixture_close(&f);
	CHECK_EQ(stat(f.dir, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0700);
	DIR *d = opendir(f.dir);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		CHECK_EQ(fstatat(dirfd(d), e->d_name, &st, 0), 0);
		CHECK_EQ(st.st_mode & 077, 0);
	}
	closedir(d);
	/* a link to the directory, a link in place of the lock, a directory that is not ours alone
	 */
	snprintf(other, sizeof(other), "%s/link", f.fake.dir);
	CHECK_EQ(symlink(f.dir, other), 0);
	CHECK_EQ(store_writer_open(other, NULL, NULL, &w, &err), -ENOTDIR);
	snprintf(other, sizeof(other), "%s/planted", f.fake.dir);
	CHECK_EQ(mkdir(other, 0700), 0);
	snprintf(other, sizeof(other), "%s/planted/lock", f.fake.dir);
	CHECK_EQ(symlink("/etc/passwd", other), 0);
	snprintf(other, sizeof(other), "%s/planted", f.fake.dir);
	CHECK_EQ(store_writer_open(other, NULL, NULL, &w, &err), -ELOOP);
	fake_root_put(&f.fake, "shared/somebody", "text");
	snprintf(other, sizeof(other), "%s/shared", f.fake.dir);
	CHECK_EQ(chmod(other, 0755), 0);
	CHECK_EQ(store_writer_open(other, NULL, NULL, &w, &err), -EPERM);
	CHECK_EQ(stat(other, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0755);
	/* an option that a script mistook for a directory */
	CHECK_EQ(store_writer_open("--help", NULL, NULL, &w, &err), -EINVAL);
	CHECK(access("--help", F_OK) < 0);
}

TEST(retention_by_bytes_and_pins)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .max_bytes = 40000 };
	struct store_reader *r;
	struct err err;
	long first;

	fixture_open(&f, &options);
	for (int i = 0; i < 1200; i++) {
		fixture_second(&f);
		if (i == 65)
			CHECK_EQ(
				store_writer_pin(f.w, T0 + 62 * NS_PER_S, T0 + 63 * NS_PER_S, &err),
				0);
	}
	CHECK(store_writer_bytes(f.w) <= 46000);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(count_frames(r, 62, 63, NULL, NULL), 1);
	CHECK_EQ(count_frames(r, 130, 170, NULL, NULL), 0);
	CHECK_EQ(count_frames(r, 1100, 1200, &first, NULL), 100);
	store_reader_close(r);
}

TEST(retention_by_age)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .max_age_ns = 200 * NS_PER_S };
	struct store_reader *r;
	struct err err;
	uint64_t from, to;

	fixture_open(&f, &options);
	for (int i = 0; i < 900; i++)
		fixture_second(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_span(r, &from, &to, &err), 0);
	CHECK(from >= T0 + 600 * NS_PER_S && from <= T0 + 700 * NS_PER_S);
	store_reader_close(r);
}

TEST(reader_follows_a_writer)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct frame frame;
	struct err err;
	long expected = 0;

	fixture_open(&f, NULL);
	fixture_second(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_BIT(FRAME_EVENT), &err), 0);
	for (int i = 0; i < 200; i++) {
		while (store_reader_next(r, &frame, &err) == 1)
			CHECK_EQ(fixture_second_of(&frame), expected++);
		CHECK_EQ(expected, i + 1);
		fixture_second(&f);
	}
	CHECK_EQ(store_reader_losses(r)->list.len, 0);
	store_reader_close(r);
}

TEST(clock_steps_begin_a_segment)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct frame frame;
	struct err err;
	unsigned n = 0;

	fixture_open(&f, NULL);
	for (int i = 0; i < 30; i++)
		fixture_second(&f);
	f.clock.real_ns += 3600 * NS_PER_S;
	for (int i = 0; i < 30; i++)
		fixture_second(&f);
	f.clock.real_ns -= 1800 * NS_PER_S;
	for (int i = 0; i < 30; i++)
		fixture_second(&f);
	fixture_close(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(count_frames(r, 0, 30, NULL, NULL), 30);
	CHECK_EQ(count_frames(r, 3630, 3660, NULL, NULL), 30);
	CHECK_EQ(count_frames(r, 1860, 1890, NULL, NULL), 30);
	CHECK_EQ(store_reader_seek(r, 0, UINT64_MAX, FRAME_BIT(FRAME_CLOCK), &err), 0);
	while (store_reader_next(r, &frame, &err) == 1)
		n++;
	CHECK_EQ(n, 90);
	store_reader_close(r);
}

static int take_blob(void *arg, const struct store_footer *footer)
{
	const struct store_footer_blob *blob = store_footer_blob(footer, FOOTER_HEAT);
	unsigned *sealed = arg;

	if (footer->sealed && blob && blob->len == 4 && memcmp(blob->bytes, "heat", 4) == 0)
		++*sealed;
	return 0;
}

static int hook_begin(void *arg, struct store_writer *w, struct err *err)
{
	return store_writer_append(w, FRAME_KEY, 1, store_writer_clock(w)->real_ns, arg,
				   strlen(arg), err);
}

static int hook_end(void *arg, struct store_writer *w, struct err *err)
{
	return store_writer_footer_blob(w, FOOTER_HEAT, "heat", 4, err);
}

TEST(hooks_keys_and_footer_blobs)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_hooks hooks = { hook_begin, hook_end, "the key of this segment" };
	struct store_reader *r;
	struct frame frame;
	struct err err;
	unsigned sealed = 0;

	CHECK_EQ(store_writer_open(f.dir, NULL, &hooks, &f.w, &err), 0);
	for (int i = 0; i < 200; i++)
		fixture_second(&f);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_footers(r, 0, UINT64_MAX, take_blob, &sealed, &err), 0);
	CHECK_EQ(sealed, 3);
	/* the key comes first though it lies outside of the window */
	CHECK_EQ(store_reader_seek(r, T0 + 100 * NS_PER_S, T0 + 101 * NS_PER_S,
				   FRAME_BIT(FRAME_KEY) | FRAME_BIT(FRAME_EVENT), &err),
		 0);
	CHECK_EQ(store_reader_next(r, &frame, &err), 1);
	CHECK_EQ(frame.kind, FRAME_KEY);
	CHECK_EQ(frame.segment, T0 + 60 * NS_PER_S);
	CHECK_EQ(store_reader_next(r, &frame, &err), 1);
	CHECK_EQ(fixture_second_of(&frame), 100);
	CHECK_EQ(store_reader_next(r, &frame, &err), 0);
	store_reader_close(r);
}

TEST(empty_and_missing_stores)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_reader *r;
	struct err err;
	uint64_t from, to;

	CHECK_EQ(store_reader_open(f.dir, &r, &err), -ENOENT);
	CHECK(strstr(err.text, "no recording there") != NULL);
	fixture_open(&f, NULL);
	CHECK_EQ(store_reader_open(f.dir, &r, &err), 0);
	CHECK_EQ(store_reader_span(r, &from, &to, &err), -ENODATA);
	store_reader_close(r);
}

TEST_MAIN
