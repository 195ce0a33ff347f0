/* Names as programmers wrote them. Rust (legacy and v0) is done here; C++ by libstdc++'s own
 * __cxa_demangle, loaded when the first such name is shown: a host without it sees the linker's
 * names. Nothing of this runs in the recorder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* false when the name is not mangled, or not to be told; *ret is then undefined. */
bool demangle(const char *symbol, char *ret, size_t size);
bool demangle_rust(const char *symbol, char *ret, size_t size);
bool demangle_cxx(const char *symbol, char *ret, size_t size);
