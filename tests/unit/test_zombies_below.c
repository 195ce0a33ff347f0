#include "zombies_below.h"

#include <errno.h>

#include "check.h"
#include "fake_root.h"
#include "zombies.h"

static struct offer v2_host(void)
{
	struct offer o = { .mode = CGROUP_MODE_V2, .memory = CGROUP_MEMORY_V2 };

	snprintf(o.unified.dir, sizeof(o.unified.dir), "sys/fs/cgroup");
	snprintf(o.unified.top, sizeof(o.unified.top), "/");
	return o;
}

static const char *path_of(const struct offer *offer, const char *given)
{
	static struct buf path;
	static struct err err;

	return zombies_below_path(offer, given, &path, &err) < 0 ? err.text : buf_str(&path);
}

TEST(a_path_is_taken_as_it_is_pasted)
{
	struct offer v2 = v2_host(), v1 = { .memory = CGROUP_MEMORY_V1 };

	snprintf(v1.memory_v1.dir, sizeof(v1.memory_v1.dir), "sys/fs/cgroup/memory");
	snprintf(v1.memory_v1.top, sizeof(v1.memory_v1.top), "/");
	CHECK_STR(path_of(&v1, "/docker"), "/docker");
	CHECK_STR(path_of(&v1, "docker//a/./b/"), "/docker/a/b");
	CHECK_STR(path_of(&v1, "/sys/fs/cgroup/memory/docker/"), "/docker");
	CHECK_STR(path_of(&v1, "/sys/fs/cgroup/memory"), "/");
	CHECK_STR(path_of(&v1, "/sys/fs/cgroup/memoryx"), "/sys/fs/cgroup/memoryx");
	CHECK_STR(path_of(&v2, "/sys/fs/cgroup/system.slice"), "/system.slice");
	CHECK_STR(path_of(&v2, "/"), "/");
	CHECK_STR(path_of(&v2, ""), "/");
	CHECK_STR(path_of(&v2, "/a/../b"), "/a/../b: a cgroup's path has no \"..\"");
	snprintf(v2.unified.top, sizeof(v2.unified.top), "/lxc/box");
	CHECK_STR(path_of(&v2, "/sys/fs/cgroup/init.scope"), "/lxc/box/init.scope");
}

TEST(whether_it_lives)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	struct offer o = v2_host();

	fake_root_put(&fake, "sys/fs/cgroup/docker/cgroup.procs", "");
	CHECK_EQ(zombies_below_lives(&fake.root, &o, "/docker"), 1);
	CHECK_EQ(zombies_below_lives(&fake.root, &o, "/"), 1);
	CHECK_EQ(zombies_below_lives(&fake.root, &o, "/nonexist"), 0);
	CHECK_EQ(zombies_below_lives(&fake.root, &o, "/docker/cgroup.procs"), 0);
	o.namespaced = true;
	CHECK(zombies_below_lives(&fake.root, &o, "/docker") < 0);
}

static void put_stat(struct fake_root *fake, const char *cgroup, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.stat", cgroup);
	fake_root_put(fake, path, text);
}

static struct fake_root v2_tree(void)
{
	struct fake_root fake = fake_root_new();

	put_stat(&fake, "", "nr_descendants 4\nnr_dying_descendants 110\n");
	put_stat(&fake, "/docker", "nr_descendants 0\nnr_dying_descendants 70\n");
	put_stat(&fake, "/system.slice", "nr_descendants 2\nnr_dying_descendants 30\n");
	put_stat(&fake, "/system.slice/ecs.service", "nr_descendants 0\nnr_dying_descendants 25\n");
	put_stat(&fake, "/system.slice/x.service", "nr_descendants 0\nnr_dying_descendants 0\n");
	return fake;
}

static const struct census_group *group(const struct census_summary *s, const char *owner)
{
	vec_foreach (&s->groups, g)
		if (strcmp(g->owner, owner) == 0)
			return g;
	return NULL;
}

TEST(counts_and_groups_without_a_census)
{
	AUTO_FAKE_ROOT struct fake_root fake = v2_tree();
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	struct offer o = v2_host();
	struct err err = { 0 };

	CHECK_EQ(zombies_below_stat(&fake.root, &o, "/", &s, &err), 0);
	CHECK_EQ(s.dying, 110);
	CHECK(s.have & CENSUS_DYING && s.have & CENSUS_GROUPS && !(s.have & CENSUS_BYTES));
	CHECK_EQ(s.groups.len, 4);
	CHECK_STR(s.groups.items[0].owner, "cgroups under /docker");
	CHECK_EQ(s.groups.items[0].count, 70);
	CHECK_STR(group(&s, "ecs.service")->unit, "ecs.service");
	CHECK_EQ(group(&s, "ecs.service")->count, 25);
	CHECK_EQ(group(&s, "cgroups under /system.slice")->count, 5);
	CHECK_EQ(group(&s, "cgroups under /")->count, 10);
}

static bool is_named(const struct unknowns *unknowns, const char *what)
{
	vec_foreach (&unknowns->list, u)
		if (strcmp(u->what, what) == 0)
			return true;
	return false;
}

/* The whole ladder, as the command goes it. */
static int read_below(struct fake_root *fake, const char *below, struct census_summary *s,
		      struct unknowns *unknowns)
{
	struct zombies_options options = { .below = below };
	struct census_totals totals;
	struct offer o = v2_host();
	struct err err = { 0 };

	return zombies_read_with(NULL, "no BPF", &fake->root, &o, &options, NULL, s, &totals,
				 unknowns, &err);
}

TEST(a_part_of_the_host_is_counted_by_its_own_file)
{
	AUTO_FAKE_ROOT struct fake_root fake = v2_tree();
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary none = { 0 };

	CHECK_EQ(read_below(&fake, "/sys/fs/cgroup/system.slice", &s, &unknowns), 0);
	CHECK_EQ(s.method, CENSUS_BY_CGROUP_STAT);
	CHECK_EQ(s.dying, 30);
	CHECK_EQ(s.host_dying, 110);
	CHECK(s.have & CENSUS_PART && s.have & CENSUS_HOST_DYING);
	CHECK_EQ(s.groups.len, 2);
	CHECK(is_named(&unknowns, "names, bytes and pins of zombies"));
	CHECK(!is_named(&unknowns, "zombies below the given path"));
	/* a zombie's own name cannot be asked for: not known, not none */
	CHECK_EQ(read_below(&fake, "/nonexist", &none, &unknowns), 0);
	CHECK(!(none.have & CENSUS_DYING));
	CHECK(is_named(&unknowns, "zombies below the given path"));
}

TEST(cgroup_v1_has_no_such_file)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	struct zombies_options options = { .below = "/docker" };
	struct offer o = { .memory = CGROUP_MEMORY_V1 };
	struct census_totals totals;
	struct err err = { 0 };

	snprintf(o.memory_v1.dir, sizeof(o.memory_v1.dir), "cg");
	snprintf(o.memory_v1.top, sizeof(o.memory_v1.top), "/");
	fake_root_put(&fake, "cg/docker/tasks", "");
	fake_root_put(&fake, "proc/cgroups", "memory\t4\t68680\t1\n");
	CHECK_EQ(zombies_read_with(NULL, "no BPF", &fake.root, &o, &options, NULL, &s, &totals,
				   &unknowns, &err),
		 0);
	CHECK(!(s.have & CENSUS_DYING)); /* those of the host are not those below /docker */
	CHECK_EQ(s.host_dying, 68678);
}

TEST_MAIN
