#include <string.h>

#include "check.h"
#include "demangle.h"

static const char *shown(const char *symbol)
{
	static char name[512];
	return demangle(symbol, name, sizeof(name)) ? name : "(none)";
}

TEST(rust_legacy)
{
	CHECK_STR(shown("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"),
		  "core::fmt::Formatter::write_str");
	CHECK_STR(shown("_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone"
			"17h0123456789abcdefE"),
		  "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
}

TEST(rust_v0)
{
	CHECK_STR(shown("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
	CHECK_STR(shown("_RNvNtCs1234_7mycrate6module3foo"), "mycrate::module::foo");
	CHECK_STR(shown("_RNCNvCs1234_7mycrate4main0B3_"), "mycrate::main::{closure}");
	CHECK_STR(shown("_RINvNtC3std3mem8align_ofjdE"), "std::mem::align_of::<usize, f64>");
	CHECK_STR(shown("_RNvMCs1234_7mycrateNtB2_3Foo3bar"), "<mycrate::Foo>::bar");
	CHECK_STR(shown("_RINvCs1234_7mycrate3fooRShE"), "mycrate::foo::<&[u8]>");
	CHECK_STR(shown("_RNvCs1234_7mycrate3foo.llvm.1234"), "mycrate::foo");
}

TEST(cxx_by_its_own_library)
{
	CHECK_STR(shown("_ZNSt6vectorIiSaIiEE9push_backERKi"),
		  "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

TEST(what_is_not_mangled_stays)
{
	CHECK_STR(shown("main"), "(none)");
	CHECK_STR(shown("__libc_start_main"), "(none)");
	CHECK_STR(shown("_Rubbish"), "(none)");
	CHECK_STR(shown("_ZN"), "(none)");
	CHECK_STR(shown("_RB_"), "(none)");
	CHECK_STR(shown("_RNvB_B_"), "(none)");
}

TEST_MAIN
