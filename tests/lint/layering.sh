#!/bin/bash
# A layer includes only itself and the layers before it. What makes it so is the include path of each, and that no include of src/ goes
# around it: one with a directory in its name ("../view/x.h") is found from anywhere. Both checks are first tried on what they must refuse.
set -eu
commands=$(dirname "$(realpath "$2")")/compile_commands.json
cd "$1"
layers="base root rec source symbol store stream model analyze gather act view cli"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "a/b", <../b>, </b>, <src/b> (the source's top is in the path of generated files), and a name made by a macro, which leads anywhere
around() {
	grep -rnE '^[[:space:]]*#[[:space:]]*(include|include_next|import)[[:space:]]*("[^"]*/|<(src|[^>]*\.\.)?/|[^"<[:space:]])' "$1"
}

for line in '#include "../view/numbers.h"' ' # include "view/numbers.h"' '#include <../view/numbers.h>' '#include <sys/../numbers.h>' \
	'#include </tmp/numbers.h>' '#include <src/view/numbers.h>' '#include NUMBERS'; do
	printf '%s\n' "$line" >"$tmp/planted.c"
	around "$tmp" >/dev/null || { echo "not refused: $line"; exit 1; }
done
printf '#include "numbers.h"\n#include <sys/stat.h>\n' >"$tmp/planted.c"
! around "$tmp" || { echo "refused, but right"; exit 1; }
! around src || { echo "an include of src/ names a header, never a directory: the layer's include path decides what it may see"; exit 1; }

python3 - "$commands" "$tmp/planted.c" $layers <<'PY'
import glob, json, re, shlex, subprocess, sys
commands, planted, layers = sys.argv[1], sys.argv[2], sys.argv[3:]

def later(layer, command):
    """The layers behind this one that a file of it would see."""
    paths = set(re.findall(r"(?:-I|-isystem ?|-iquote ?)\S*\bsrc/(\w+)(?=\s|$)", command))
    return [l for l in layers[layers.index(layer) + 1:] if l in paths]

def compiles(entry, header):
    """The real command of one of the layer's files, on a file that includes this header."""
    open(planted, "w").write(f'#include "{header}"\n')
    words = shlex.split(entry["command"])
    words = words[:words.index("-MD")] + ["-fsyntax-only", planted]
    return subprocess.run(words, cwd=entry["directory"], capture_output=True).returncode == 0

one_of = {}
for entry in json.load(open(commands)):
    m = re.search(r"src/(\w+)/[^/]*\.c$", entry["file"])
    if not m or m[1] not in layers or entry["file"].endswith("cli/main.c"):
        continue
    one_of[m[1]] = entry
    if late := later(m[1], entry["command"]):
        sys.exit(f"{entry['file']} sees {late}")
if missing := set(layers) - set(one_of):
    sys.exit(f"no file of {missing} is compiled")
for layer, behind in zip(layers, layers[1:]):
    if later(layer, one_of[layer]["command"] + f" -I../src/{behind}") != [behind]:
        sys.exit(f"an include path of {behind} in {layer} would not be noticed")
    own, wrong = (sorted(glob.glob(f"src/{l}/*.h"))[0].split("/")[-1] for l in (layer, behind))
    if not compiles(one_of[layer], own):
        sys.exit(f"{layer} cannot include its own {own}")
    if compiles(one_of[layer], wrong):
        sys.exit(f"{layer} can include {wrong} of {behind}")
PY
