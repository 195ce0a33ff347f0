#!/bin/sh
# clang-format is the law.
set -eu
cd "$1"
command -v clang-format-14 >/dev/null || { echo "clang-format-14 is missing"; exit 77; }
git ls-files 'src/*.[ch]' 'tests/*.[ch]' | xargs clang-format-14 --dry-run --Werror
