#!/usr/bin/env python3
"""Turn a data file into a C array: embed.py FILE NAME OUT.c gives `const char NAME[]`, NUL-terminated, and `const size_t NAME_len`."""
import sys

path, name, out = sys.argv[1:4]
data = open(path, "rb").read() + b"\0"
with open(out, "w") as f:
    f.write("#include <stddef.h>\n\n")
    f.write(f"extern const char {name}[];\nextern const size_t {name}_len;\n")
    f.write(f"const char {name}[] = {{\n")
    for i in range(0, len(data), 20):
        f.write("\t" + ",".join(str(b if b < 128 else b - 256) for b in data[i:i + 20]) + ",\n")
    f.write(f"}};\nconst size_t {name}_len = sizeof({name}) - 1;\n")
