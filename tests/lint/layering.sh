#!/bin/sh
# A wrong-way include must not compile: for each layer but the first, a file of the layer above that includes one of its headers.
set -eu
commands=$(dirname "$(realpath "$2")")/compile_commands.json
cd "$1"
layers="base root rec source symbol store stream model analyze gather act view cli"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
includes= above= checked=0
for layer in $layers; do
	header=$(find "src/$layer" -maxdepth 1 -name '*.h' | head -n 1)
	if [ -n "$above" ] && [ -n "$header" ]; then
		printf '#include "%s"\n' "$(basename "$header")" >"$tmp/t.c"
		if cc -D_GNU_SOURCE -std=gnu17 -fsyntax-only $includes "$tmp/t.c" 2>/dev/null; then
			echo "$above can include $(basename "$header") of $layer" >&2
			exit 1
		fi
		checked=$((checked + 1))
	fi
	includes="$includes -Isrc/$layer"
	above=$layer
done
# The include paths tried above are those of the real build: no object of a layer is compiled with a later layer's path.
python3 - "$commands" $layers <<'PY'
import json, re, sys
commands, layers = sys.argv[1], sys.argv[2:]
for entry in json.load(open(commands)):
    m = re.search(r"src/(\w+)/[^/]*\.c$", entry["file"])
    if not m or m[1] not in layers or entry["file"].endswith("cli/main.c"):
        continue
    paths = set(re.findall(r"-I(?:\.\./)?src/(\w+)", entry["command"]))
    late = [l for l in layers[layers.index(m[1]) + 1:] if l in paths]
    if late:
        sys.exit(f"{entry['file']} sees {late}")
PY
[ "$checked" -ge 3 ] || { echo "only $checked layers checked" >&2; exit 1; }
