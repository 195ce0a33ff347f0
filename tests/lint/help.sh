#!/bin/bash
# Every command has a summary, a description and an example, --json, a man page that troff accepts, and completion; every option of
# --help stands in all of them.
set -eu
zscope=$2
command -v groff >/dev/null || { echo "groff (package groff-base) is missing"; exit 77; }
for command in $("$zscope" generate commands); do
	help=$("$zscope" "$command" --help)
	man=$("$zscope" generate man "$command" | sed 's/\\-/-/g')
	wide=$(printf '%s\n' "$help" | sed '/^examples:/,$d' | LC_ALL=C.UTF-8 awk 'length > 80')
	[ -z "$wide" ] || { echo "$command --help is wider than 80 columns: $wide"; exit 1; }
	case $help in *"examples:"*"zscope $command"*) ;; *) echo "$command: no example"; exit 1 ;; esac
	printf '%s\n' "$help" | grep -qE '^  --json ' || { echo "$command: no --json"; exit 1; }
	for option in $(printf '%s\n' "$help" | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -e '--[a-z-]+'); do
		case $man in *"$option"*) ;; *) echo "$command: $option is not in the man page"; exit 1 ;; esac
		for shell in bash zsh; do
			"$zscope" generate $shell | grep -qe "$option" || { echo "$command: $option is not in $shell"; exit 1; }
		done
	done
	warnings=$("$zscope" generate man "$command" | groff -man -ww -Tutf8 2>&1 >/dev/null)
	[ -z "$warnings" ] || { echo "$command: the man page: $warnings"; exit 1; }
done
wide=$("$zscope" --help | awk 'length > 80')
[ -z "$wide" ] || { echo "zscope --help is wider than 80 columns: $wide"; exit 1; }
"$zscope" generate bash | bash -n
