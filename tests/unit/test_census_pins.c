/* What a census makes of what holds zombies: whose rows and sums it gives, and what it calls
 * unknown. Only the kernel's part is replaced, by a small tree behind the same functions
 * (census_impl.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "census_impl.h"
#include "check.h"
#include "fake_root.h"
#include "zombies.h"

enum { CSS = 0x100000 };

static struct {
	struct census_rec records[8];
	unsigned n_records;
	struct census_writeback held[8];
	unsigned n_held;
	bool held_fails, held_lost;
	struct walk_state walk;
	struct pins_state pin;
	struct paths_state path;
	struct writeback_state writeback;
	struct census_target targets[CENSUS_OUT];
	struct census_part parts[CENSUS_OUT];
} fake;

static struct census_rec *add_record(unsigned depth, const char *name)
{
	struct census_rec *rec = &fake.records[fake.n_records++];

	*rec = (struct census_rec){ .depth = depth,
				    .css = CSS + fake.n_records * 64ull,
				    .serial = fake.n_records };
	snprintf(rec->name, sizeof(rec->name), "%s", name);
	return rec;
}

static struct census_rec *add_zombie(unsigned depth, const char *name)
{
	struct census_rec *rec = add_record(depth, name);

	rec->dying = 1;
	rec->have = CENSUS_HAVE_LRU | CENSUS_HAVE_REFS;
	rec->refs = 1;
	return rec;
}

static void add_held(const struct census_rec *rec, unsigned ino)
{
	fake.held[fake.n_held++] = (struct census_writeback){
		.css = rec->css,
		.cleaner = 1,
		.file = { .inode = 0x900000 + ino, .ino = ino, .dev = 8u << 20 | 1, .nlink = 1 },
	};
}

int census_load(struct census *c, enum census_job job, struct err *err)
{
	struct census_ctl *ctl[] = { &fake.walk.ctl, &fake.pin.ctl, &fake.path.ctl,
				     &fake.writeback.ctl };
	void *out[] = { fake.records, NULL, fake.parts, fake.held };

	c->programs[job].ctl = ctl[job];
	c->programs[job].out = out[job];
	return 0;
}

int census_load_object(const struct census *c, const void *elf, size_t elf_bytes,
		       struct bpf_object **ret, struct err *err)
{
	return err_set(err, -ENOSYS, "not in this test");
}

int census_prepare(struct census *c, struct err *err)
{
	return census_load(c, CENSUS_JOB_WALK, err);
}

void census_unload(struct census *c)
{
}

int census_slice(struct census *c, enum census_job job, struct err *err)
{
	struct census_ctl *ctl = c->programs[job].ctl;

	ctl->done = 1;
	ctl->out_n = 0;
	if (job == CENSUS_JOB_WALK)
		ctl->out_n = fake.n_records;
	if (job == CENSUS_JOB_WRITEBACK) {
		ctl->out_n = fake.n_held;
		ctl->done = !fake.held_fails; /* a list that never ends */
		ctl->steps += 100000;
		fake.writeback.lost = fake.held_lost;
	}
	for (unsigned i = 0; job == CENSUS_JOB_PATHS && i < ctl->targets; i++) {
		struct census_part *p = &fake.parts[ctl->out_n++];
		*p = (struct census_part){ .index = i };
		snprintf(p->name, sizeof(p->name), "file%llu",
			 (unsigned long long)fake.targets[i].check);
	}
	return 0;
}

const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf)
{
	static const size_t sizes[] = { sizeof(struct census_rec), sizeof(struct census_pin),
					sizeof(struct census_part),
					sizeof(struct census_writeback) };

	return (const char *)c->programs[job].out + n * sizes[job];
}

int census_set_targets(struct census *c, enum census_job job, const struct census_target *targets,
		       unsigned n, struct err *err)
{
	memcpy(fake.targets, targets, n * sizeof(*targets));
	return 0;
}

struct seen {
	unsigned n;
	struct {
		char path[64];
		size_t n_pins;
		struct zombie_pin pins[4];
		char file[64];
	} zombies[8];
};

static int see(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct seen *seen = arg;

	CHECK(seen->n < 8 && z->n_pins <= 4);
	snprintf(seen->zombies[seen->n].path, 64, "%s", z->path);
	seen->zombies[seen->n].n_pins = z->n_pins;
	for (size_t i = 0; i < z->n_pins; i++) {
		seen->zombies[seen->n].pins[i] = z->pins[i];
		if (files && zombie_pin_has_file(&z->pins[i]))
			snprintf(seen->zombies[seen->n].file, 64, "%s",
				 files->list.items[z->pins[i].file].path);
	}
	seen->n++;
	return 0;
}

struct answer {
	struct seen seen;
	struct zombie_files files;
	struct census_summary summary;
	struct unknowns unknowns;
};

static void answer_free(struct answer *a)
{
	zombie_files_free(&a->files);
	census_summary_free(&a->summary);
	unknowns_free(&a->unknowns);
}

static void ask(enum cgroup_memory memory, unsigned want, const char *below, struct answer *ret)
{
	AUTO_FAKE_ROOT struct fake_root root = fake_root_new();
	struct zombies_options options = {
		.want = want, .below = below, .each = see, .arg = &ret->seen
	};
	struct offer offer = { .memory = memory };
	struct census_totals totals;
	struct census *census;
	struct err err = { 0 };

	*ret = (struct answer){ 0 };
	fake_root_put(&root, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	fake_root_put(&root, "proc/swaps", "Filename Type Size Used Priority\n");
	root.root.live = true;
	CHECK_EQ(census_open(&root.root, &offer, want, &census, &err), 0);
	CHECK_EQ(zombies_read_with(census, "", &root.root, &offer, &options, &ret->files,
				   &ret->summary, &totals, &ret->unknowns, &err),
		 0);
	census_close(census);
}

static const char *why(const struct answer *a, const char *what)
{
	vec_foreach (&a->unknowns.list, u)
		if (strcmp(u->what, what) == 0)
			return u->why;
	return "";
}

static void writeback_of_three(void)
{
	memset(&fake, 0, sizeof(fake));
	add_record(1, "mine")->children = 1;
	struct census_rec *mine = add_zombie(2, "z");
	struct census_rec *other = add_zombie(1, "other");
	add_held(other, 71);
	add_held(mine, 70);
	add_held(mine, 70); /* the list changed and was read again */
	add_held(mine, 72);
}

TEST(writeback_of_zombies_that_were_not_asked_for_gives_no_file)
{
	AUTO(answer_free) struct answer a;

	writeback_of_three();
	ask(CGROUP_MEMORY_V2, CENSUS_WANT_PINS, "/mine", &a);
	CHECK_EQ(a.seen.n, 1);
	CHECK_STR(a.seen.zombies[0].path, "/mine/z");
	CHECK_EQ(a.seen.zombies[0].n_pins, 2);
	CHECK_EQ(a.seen.zombies[0].pins[0].kind, PIN_WRITEBACK);
	CHECK_STR(a.seen.zombies[0].file, "/file72");
	CHECK_EQ(a.files.list.len, 2);
	vec_foreach (&a.files.list, f) {
		CHECK_EQ(f->writeback, 1);
		CHECK_EQ(f->zombies, 1);
		CHECK(f->inode != 71);
	}
}

TEST(a_part_of_the_writeback_is_not_given_as_the_whole)
{
	AUTO(answer_free) struct answer a;

	writeback_of_three();
	fake.held_fails = true;
	ask(CGROUP_MEMORY_V2, CENSUS_WANT_PINS, NULL, &a);
	CHECK_STR(why(&a, CENSUS_WRITEBACK_UNKNOWN), "the lists of writeback did not end");
	CHECK_EQ(a.files.list.len, 0);
	CHECK_EQ(a.seen.zombies[0].pins[0].kind, PIN_REFERENCE);
}

TEST(writeback_that_may_be_missing_is_unknown)
{
	AUTO(answer_free) struct answer a;

	writeback_of_three();
	fake.held_lost = true;
	ask(CGROUP_MEMORY_V2, CENSUS_WANT_PINS, NULL, &a);
	CHECK_STR(why(&a, CENSUS_WRITEBACK_UNKNOWN),
		  "its lists changed while they were read: some may be missing");
	CHECK_EQ(a.files.list.len, 3);
}

TEST(pages_on_no_list_are_no_reference)
{
	AUTO(answer_free) struct answer a;

	memset(&fake, 0, sizeof(fake));
	struct census_rec *batch = add_zombie(1, "batch");
	struct census_rec *plain = add_zombie(1, "plain");
	batch->have |= CENSUS_HAVE_USAGE | CENSUS_HAVE_KMEM;
	plain->have = batch->have;
	batch->kmem_pages = plain->kmem_pages = plain->usage_pages = 5;
	batch->usage_pages = 7;
	ask(CGROUP_MEMORY_V1, CENSUS_WANT_PINS, NULL, &a);
	CHECK_EQ(a.seen.zombies[0].pins[0].kind, PIN_PAGES);
	CHECK_EQ(a.seen.zombies[0].pins[0].bytes, 2 * (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK_EQ(a.seen.zombies[1].pins[0].kind, PIN_REFERENCE);
}

TEST(a_parent_is_held_by_the_zombies_below)
{
	AUTO(answer_free) struct answer a;

	memset(&fake, 0, sizeof(fake));
	struct census_rec *pod = add_zombie(1, "pod");
	pod->children = 1;
	pod->have |= CENSUS_HAVE_BELOW;
	pod->below = 2;
	add_zombie(2, "container");
	ask(CGROUP_MEMORY_V1, CENSUS_WANT_PINS, NULL, &a);
	CHECK_EQ(a.seen.zombies[0].n_pins, 1);
	CHECK_EQ(a.seen.zombies[0].pins[0].kind, PIN_CHILD);
	CHECK_EQ(a.seen.zombies[0].pins[0].below, 2);
	CHECK_EQ(a.seen.zombies[1].pins[0].kind, PIN_REFERENCE);
}

TEST(a_sum_is_known_when_it_is_known_of_all)
{
	AUTO(answer_free) struct answer counted;
	AUTO(answer_free) struct answer listed;

	memset(&fake, 0, sizeof(fake));
	add_zombie(1, "a")->have |= CENSUS_HAVE_KMEM;
	add_zombie(1, "b")->lru[0] = 3;
	ask(CGROUP_MEMORY_V1, 0, NULL, &counted);
	CHECK(counted.summary.have & CENSUS_BYTES);
	CHECK(counted.summary.have & CENSUS_SWAP_SUM); /* there is no swap */
	CHECK(!(counted.summary.have & (CENSUS_SPLIT | CENSUS_SLAB_SUM)));
	CHECK(*why(&counted, "shmem_bytes") && *why(&counted, "slab_bytes"));
	fake.records[1].lru[0] = 0;
	fake.records[1].have |= CENSUS_HAVE_KMEM;
	ask(CGROUP_MEMORY_V1, 0, NULL, &listed);
	CHECK(listed.summary.have & CENSUS_SPLIT && listed.summary.have & CENSUS_SLAB_SUM);
}

TEST_MAIN
