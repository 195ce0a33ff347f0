#include "export_folded.h"

#include <string.h>

#include "auto.h"
#include "check.h"

static void add(struct profile *p, const char *comm, const char *symbol, const char *module,
		const char *event, uint64_t weight)
{
	uint32_t m = profile_add_module(p, profile_add_text(p, module), NULL, 0);
	struct profile_frame f = { .symbol = profile_add_text(p, symbol),
				   .module = m,
				   .address = 0x1f };
	struct profile_sample s = { .weight = weight,
				    .comm = profile_add_text(p, comm),
				    .pid = 7,
				    .tid = 8,
				    .have = PROFILE_HAVE_PID | PROFILE_HAVE_TID,
				    .event = profile_add_event(p, event) };
	s.stack = profile_add_stack(p, 0, profile_add_frame(p, &f));
	CHECK(profile_add_sample(p, &s));
}

/* One sample each. */
struct row {
	const char *comm, *symbol, *module;
};

static void check_folded(const struct profile *p, struct folded_options o, const char *want)
{
	AUTO_BUF struct buf out = { 0 };
	export_folded(&out, p, &o);
	CHECK_STR(buf_str(&out), want);
}

static void check_rows(const struct row *rows, size_t n, struct folded_options o, const char *want)
{
	AUTO_PROFILE struct profile p;

	CHECK_EQ(profile_init(&p), 0);
	for (size_t i = 0; i < n; i++)
		add(&p, rows[i].comm, rows[i].symbol, rows[i].module, "c", 1);
	check_folded(&p, o, want);
}

TEST(names_are_tidied_as_flamegraph_does)
{
	AUTO_PROFILE struct profile p;

	CHECK_EQ(profile_init(&p), 0);
	add(&p, "my app", "f(int)", "/x", "cycles", 2);
	add(&p, "my app", "net/http.(*Client).Do", "/x", "cycles", 1);
	add(&p, "my app", "(anonymous namespace)::g(char)", "/x", "cycles", 1);
	add(&p, "java", "Lorg/x;.call(La;)V", "/tmp/perf-12.map", "cycles", 1);
	add(&p, "a", "x->y->", "/x", "cycles", 1);
	check_folded(&p, (struct folded_options){ 0 },
		     "a;x;y_[i] 1\n"
		     "java;org/x:.call 1\n"
		     "my_app;(anonymous namespace)::g 1\n"
		     "my_app;f 2\n"
		     "my_app;net/http.(*Client).Do 1\n");
	check_folded(&p, (struct folded_options){ .tid = true, .jit = true },
		     "a-7/8;x;y_[i] 1\n"
		     "java-7/8;org/x:.call_[j] 1\n"
		     "my_app-7/8;(anonymous namespace)::g 1\n"
		     "my_app-7/8;f 2\n"
		     "my_app-7/8;net/http.(*Client).Do 1\n");
}

static void check_symbol(const char *symbol, const char *want)
{
	AUTO_BUF struct buf out = { 0 };
	export_folded_symbol(&out, symbol, strlen(symbol), "a");
	CHECK_STR(buf_str(&out), want);
}

/* As FlameGraph's script does, even where it costs the better part of a name: what is compared with
 * its output must be equal. */
TEST(a_name_ends_at_its_first_parenthesis)
{
	check_symbol("box<void (int, char*)>::call(int) const", "box<void ");
	check_symbol("run(int)::{lambda(long)#2}::operator()(long)", "run");
	check_symbol("{lambda(long)#2}::operator()(long)", "{lambda");
	check_symbol("a::operator()(int)", "a::operator");
	check_symbol("a::operator<(b<(c)0> const&)", "a::operator<");
	check_symbol("x<(anonymous namespace)::k>::l((anonymous namespace)::m)",
		     "x<(anonymous namespace)::k>::l");
	check_symbol("main.(*T[go.shape.int]).F(x)", "main.(*T[go.shape.int]).F(x)");
	check_symbol("<T as u::V>::w(x)", "<T as u::V>::w");
	check_symbol(".run()V", ".run");
	check_symbol("\"a'b\"", "ab");
}

TEST(kernels_and_jits_by_their_files)
{
	static const struct row rows[] = {
		{ "a", "b", "[nf_conntrack]" },
		{ "a", "d", "/boot/vmlinux" },
		{ "a", "e", "/tmp/perf-12.map" },
		/* FlameGraph's script does not know these */
		{ "a", "f", "/usr/lib/debug/boot/vmlinux-6.1.0-18-amd64" },
		{ "a", "g", "/lib/modules/6.1/kernel/net/x.ko" },
		{ "a", "h", "[unknown]" },
		{ "a", "i", "/root/.debug/jit/x/jitted-12-3.so" },
		{ "a", "j", "/tmp/perf-.map" },
	};

	check_rows(rows, ARRAY_LEN(rows), (struct folded_options){ .kernel = true, .jit = true },
		   "a;b_[k] 1\na;d_[k] 1\na;e_[j] 1\na;f 1\na;g 1\na;h 1\na;i 1\na;j 1\n");
}

TEST(arrows_part_inlined_functions)
{
	static const struct row rows[] = {
		{ "a", "b->->", "/x" },        { "a", "c->->d", "/x" },
		{ "a", "e->[unknown]", "/x" }, { "a", "f::operator->(int)", "/x" },
		{ "a", "->", "/x" },           { "java", "\"Lx/y;.f(La;)V", "/x" },
	};

	check_rows(rows, ARRAY_LEN(rows), (struct folded_options){ 0 },
		   "a 1\na;b 1\na;c;_[i];d_[i] 1\na;e;[x]_[i] 1\na;f::operator;_[i] 1\n"
		   "java;x/y:.f 1\n");
}

TEST(the_idle_task_has_no_pid)
{
	AUTO_PROFILE struct profile p;
	struct profile_sample s = { .weight = 1, .have = PROFILE_HAVE_PID | PROFILE_HAVE_TID };

	CHECK_EQ(profile_init(&p), 0);
	s.comm = profile_add_text(&p, "swapper");
	s.event = profile_add_event(&p, "c");
	CHECK(profile_add_sample(&p, &s));
	check_folded(&p, (struct folded_options){ .pid = true }, "swapper-? 1\n");
	check_folded(&p, (struct folded_options){ .tid = true }, "swapper-?/0 1\n");
}

TEST(unknown_functions_are_named_after_their_file)
{
	AUTO_PROFILE struct profile p;

	CHECK_EQ(profile_init(&p), 0);
	add(&p, "a", "", "/usr/lib/libc.so", "c", 1);
	add(&p, "a", "", "", "c", 1);
	add(&p, "a", "", "[kernel.kallsyms]", "c", 1);
	add(&p, "d", "", "/x (deleted)", "c", 1);
	check_folded(&p, (struct folded_options){ .pid = true, .kernel = true },
		     "a-7;[[kernel.kallsyms]]_[k] 1\na-7;[libc.so] 1\na-7;[unknown] 1\n"
		     "d-7;[unknown]  1\n");
	check_folded(&p, (struct folded_options){ .addrs = true },
		     "a;[[kernel.kallsyms] <1f>] 1\na;[libc.so <1f>] 1\na;[unknown <1f>] 1\n"
		     "d;[unknown]  1\n");
}

TEST(one_event_at_a_time)
{
	AUTO_PROFILE struct profile p;

	CHECK_EQ(profile_init(&p), 0);
	add(&p, "a", "f", "/x", "cycles", 5);
	add(&p, "a", "f", "/x", "faults", 7);
	check_folded(&p, (struct folded_options){ 0 }, "a;f 5\n");
	check_folded(&p, (struct folded_options){ .event = "faults" }, "a;f 7\n");
	check_folded(&p, (struct folded_options){ .event = "nothing" }, "");
}

TEST(hostile_names_break_no_line)
{
	AUTO_PROFILE struct profile p;

	CHECK_EQ(profile_init(&p), 0);
	add(&p, "a;b\n c", "f;g\nh\x1b[2J", "/x", "cycles", 1);
	check_folded(&p, (struct folded_options){ 0 }, "a:b?_c;f:g?h?[2J 1\n");
}

TEST_MAIN
