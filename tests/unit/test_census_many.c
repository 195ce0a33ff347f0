/* The user side of the census with 500,000 zombies: every one arrives, with its path, owner, bytes
 * and pinning file, in slices of bounded size, and memory does not grow with their number. Only the
 * kernel's part is replaced, by a generator behind the same functions (census_impl.h). */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "census_impl.h"
#include "check.h"
#include "fake_root.h"
#include "view_zombies.h"
#include "zombies.h"

enum { MANY = 500000, HALF = MANY / 2, FILES = 1000, WARM = 50000, FIRST_ID = 1000 };

static struct {
	unsigned next; /* record to give: two parents, each followed by its zombies */
	struct census_target targets[CENSUS_OUT];
	struct census_rec records[CENSUS_OUT];
	struct census_pin pins[CENSUS_OUT];
	struct census_part parts[CENSUS_OUT];
	struct walk_state walk;
	struct pins_state pin;
	struct paths_state path;
	unsigned most_out;
	uint64_t slices;
} fake;

/* Zombie k is number k of its half: containers first, then units. */
static void zombie_name(unsigned k, char *ret, size_t size)
{
	if (k < HALF)
		snprintf(ret, size, "%064x", k);
	else
		snprintf(ret, size, "job-%u.service", k);
}

static void fill_record(unsigned at, struct census_rec *rec)
{
	bool parent = at == 0 || at == HALF + 1;
	unsigned k = at <= HALF ? at - 1 : at - 2;

	*rec = (struct census_rec){ .depth = 1, .css = 0x100000 + at * 64ull, .serial = at + 1 };
	if (parent) {
		snprintf(rec->name, sizeof(rec->name), "%s", at ? "system.slice" : "docker");
		return;
	}
	rec->depth = 2;
	rec->dying = 1;
	rec->id = FIRST_ID + k;
	rec->have = CENSUS_HAVE_LRU | CENSUS_HAVE_KMEM | CENSUS_HAVE_REFS;
	rec->lru[2] = 1;
	rec->kmem_pages = 2;
	rec->refs = 1;
	zombie_name(k, rec->name, sizeof(rec->name));
	fake.walk.dying++;
}

static void give_records(void)
{
	while (fake.walk.ctl.out_n < CENSUS_OUT && fake.next < MANY + 2)
		fill_record(fake.next++, &fake.records[fake.walk.ctl.out_n++]);
	fake.walk.ctl.steps += fake.walk.ctl.out_n;
	fake.walk.ctl.done = fake.next == MANY + 2;
}

static void give_pins(void)
{
	for (unsigned i = 0; i < fake.pin.ctl.targets; i++) {
		uint64_t at = (fake.targets[i].ptr - 0x100000) / 64;
		CHECK_EQ(fake.targets[i].check, at + 1);
		uint64_t file = at % FILES;
		fake.pins[fake.pin.ctl.out_n++] = (struct census_pin){
			.inode = 0x900000 + file,
			.ino = 7000 + file,
			.pages = 1,
			.zombie = i,
			.kind = CENSUS_PIN_FILE,
			.dev = 8u << 20 | 1,
			.nlink = 1,
		};
	}
	fake.pin.ctl.done = 1;
}

static void give_parts(void)
{
	for (unsigned i = 0; i < fake.path.ctl.targets; i++) {
		struct census_part *p = &fake.parts[fake.path.ctl.out_n++];
		*p = (struct census_part){ .index = i };
		snprintf(p->name, sizeof(p->name), "file%llu",
			 (unsigned long long)fake.targets[i].check - 7000);
	}
	fake.path.ctl.done = 1;
}

int census_load(struct census *c, enum census_job job, struct err *err)
{
	struct census_ctl *ctl[] = { &fake.walk.ctl, &fake.pin.ctl, &fake.path.ctl };
	void *out[] = { fake.records, fake.pins, fake.parts };

	c->programs[job].ctl = ctl[job];
	c->programs[job].out = out[job];
	return 0;
}

int census_prepare(struct census *c, struct err *err)
{
	return census_load(c, CENSUS_JOB_WALK, err);
}

void census_unload(struct census *c)
{
}

int census_read_holders(struct census *c, struct unknowns *unknowns, struct err *err)
{
	return 0;
}

int census_slice(struct census *c, enum census_job job, struct err *err)
{
	struct census_ctl *ctl = c->programs[job].ctl;

	/* what a slice may do is bounded before it starts */
	CHECK(ctl->budget > 0 && ctl->budget <= 4000);
	ctl->out_n = 0;
	if (job == CENSUS_JOB_WALK)
		give_records();
	else if (job == CENSUS_JOB_PINS)
		give_pins();
	else
		give_parts();
	if (ctl->out_n > fake.most_out)
		fake.most_out = ctl->out_n;
	fake.slices += job == CENSUS_JOB_WALK;
	c->slices++;
	return 0;
}

const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf)
{
	static const size_t sizes[] = { sizeof(struct census_rec), sizeof(struct census_pin),
					sizeof(struct census_part) };

	return (const char *)c->programs[job].out + n * sizes[job];
}

int census_set_targets(struct census *c, enum census_job job, const struct census_target *targets,
		       unsigned n, struct err *err)
{
	memcpy(fake.targets, targets, n * sizeof(*targets));
	return 0;
}

struct arriving {
	bool pins;
	unsigned n;
	size_t heap_warm;
	struct buf text, scratch;
};

static int arrive(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct arriving *a = arg;
	unsigned k = a->n++, at = k < HALF ? k + 1 : k + 2;
	char name[80], expect[400];
	struct json j;

	zombie_name(k, name, sizeof(name));
	buf_clear(&a->text);
	json_init(&j, &a->text);
	view_zombie_json(&j, z, files, 0, &a->scratch);
	int n = snprintf(expect, sizeof(expect),
			 k < HALF ? "{\"id\":%u,\"path\":\"/docker/%s\",\"owner\":\"docker "
				    "container %s\",\"kind\":\"docker\",\"container\":\"%s\","
				    "\"bytes\":4096,\"file_bytes\":4096,"
				  : "{\"id\":%u,\"path\":\"/system.slice/%s\",\"owner\":\"%s\","
				    "\"kind\":\"unit\",\"unit\":\"%s\",\"bytes\":4096,"
				    "\"file_bytes\":4096,",
			 FIRST_ID + k, name, name, name);
	if (strncmp(a->text.data, expect, (size_t)n) != 0)
		CHECK_STR(a->text.data, expect);
	snprintf(expect, sizeof(expect), "\"serial\":%u", at + 1);
	CHECK(strstr(a->text.data, expect) != NULL);
	snprintf(expect, sizeof(expect),
		 "\"pins\":[{\"kind\":\"file\",\"file\":\"/file%u\",\"device\":\"8:1\","
		 "\"inode\":%u,",
		 at % FILES, 7000 + at % FILES);
	CHECK_EQ(strstr(a->text.data, expect) != NULL, a->pins);
	if (k == WARM)
		a->heap_warm = mallinfo2().uordblks;
	return 0;
}

static void run_many(unsigned want)
{
	AUTO_FAKE_ROOT struct fake_root root = fake_root_new();
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	struct arriving a = { .pins = want == CENSUS_WANT_PINS };
	struct zombies_options options = { .want = want, .each = arrive, .arg = &a };
	struct offer offer = { .memory = CGROUP_MEMORY_V1 };
	struct census_totals totals;
	struct census *census;
	struct err err = { 0 };

	memset(&fake, 0, sizeof(fake));
	fake_root_put(&root, "proc/self/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	fake_root_put(&root, "proc/swaps", "Filename Type Size Used Priority\n");
	root.root.live = true;
	CHECK_EQ(census_open(&root.root, &offer, want, &census, &err), 0);
	CHECK_EQ(zombies_read_with(census, "", &root.root, &offer, &options, &files, &summary,
				   &totals, &unknowns, &err),
		 0);
	size_t heap = mallinfo2().uordblks;
	census_close(census);

	CHECK_EQ(a.n, MANY);
	CHECK_EQ(summary.dying, MANY);
	CHECK_EQ(summary.bytes, MANY * UINT64_C(4096));
	CHECK(totals.complete);
	CHECK_EQ(fake.most_out, CENSUS_OUT);
	CHECK_EQ(fake.slices, (MANY + 2 + CENSUS_OUT - 1) / CENSUS_OUT);
	/* one group of containers; units are groups of their own, up to a limit that is counted */
	uint64_t grouped = summary.other_groups;
	vec_foreach (&summary.groups, g)
		grouped += g->count;
	CHECK_EQ(grouped, MANY);
	CHECK_EQ(summary.groups.items[0].count, HALF);
	CHECK_EQ(files.list.len, a.pins ? FILES : 0);
	/* units have their groups' names; nothing else is kept */
	CHECK(heap < a.heap_warm + (4 << 20));
	printf("%u zombies: heap %zu KiB after %d, %zu KiB in the end\n", a.n, a.heap_warm >> 10,
	       WARM, heap >> 10);
	buf_free(&a.text);
	buf_free(&a.scratch);
}

TEST(each_of_half_a_million_is_listed)
{
	run_many(CENSUS_WANT_SPLIT);
}

TEST(each_of_half_a_million_gets_its_pinning_file)
{
	run_many(CENSUS_WANT_PINS);
}

TEST_MAIN
