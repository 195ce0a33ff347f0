#!/bin/bash
# The README's commands are true: every `zscope` line names a command that exists with options that its --help lists, every file it links
# to is there, and its two make targets exist. Those that only look are really run.
set -eu
source=$1 zscope=$(realpath "$2")
cd "$source"
status=0
lines=0
fail() { echo "README: $1"; status=1; }

while read -r _ command rest; do
	lines=$((lines + 1))
	help=$("$zscope" "$command" --help 2>/dev/null) || { fail "no command $command"; continue; }
	for word in ${rest%%#*}; do
		case $word in --*) grep -qe "$word " <<<"$help " || grep -qE -e "$word( |\$)" <<<"$help" || fail "zscope $command has no $word" ;; esac
	done
done < <(grep -E '^zscope ' README.md | sed 's/ *#.*//')
[ "$lines" -ge 20 ] || fail "only $lines commands found"
for target in $(grep -oE '^make [a-z]+' README.md | cut -d' ' -f2); do
	grep -q "^$target:" Makefile || fail "no make target $target"
done
for file in $(grep -oE '\]\(docs/[A-Z]+\.md' README.md | cut -c3-); do
	[ -f "$file" ] || fail "$file is missing"
done
for command in check "cores --count 1" zombies "audit" version; do
	# shellcheck disable=SC2086 # words on purpose
	"$zscope" $command >/dev/null 2>&1 || [ $? -lt 128 ] || fail "zscope $command died"
done
exit $status
