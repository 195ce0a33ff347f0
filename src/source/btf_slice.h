/* A small part of the kernel's type description (BTF). The whole of it has 100,000 types in 5 to 10
 * MB, and libbpf reads and indexes all of that for each object that it loads: 60 ms and 9 MB to
 * find the places of a hundred fields. Here one pass over the bytes copies only the types that an
 * object names, with all their members; what is embedded in them by value keeps its size, pointers
 * point to nothing. Enough for every CO-RE relocation of that object, and nothing else. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "map.h"

enum btf_slice_what {
	BTF_SLICE_STRUCT,
	BTF_SLICE_FUNC,
	BTF_SLICE_VARIABLE, /* the kernel describes those that each core has its own of */
};

/* What is asked for of the whole description: an id, and of a variable its place. */
struct btf_slice_find {
	const char *name;
	enum btf_slice_what what;
	uint32_t id;     /* 0 = there is none */
	uint32_t offset; /* of a variable, from the start of its section */
	bool placed;     /* a section has it: the offset is known */
};

/* names: types to keep. -EBADMSG when the bytes are no BTF, -EOPNOTSUPP when it
 * has kinds that are not known here. */
int btf_slice_make(const void *blob, size_t len, const struct map_str *names,
		   struct btf_slice_find *finds, size_t n_finds, struct buf *ret, struct err *err);
