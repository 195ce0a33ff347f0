#!/bin/bash
# The README's commands are true: every `zscope` line names a command that exists with options that its --help lists, every file it links
# to is there, its make targets exist, and every command that can run in a test is run and answers. What is changed of a line before it runs
# is its time, its length and its place (a recording and files of this test); a line that nothing here knows is a failure.
set -u
source=$1 zscope=$(realpath "$2")
cd "$source" || exit 1
source=$PWD
tmp=$(mktemp -d)
recorder=
finish() {
	[ -z "$recorder" ] || { kill "$recorder" && wait "$recorder"; } 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT
status=0 ran=0 left=0
fail() { echo "README: $1"; status=1; }

mapfile -t lines < <(grep -E '^zscope ' README.md | sed 's/ *#.*//'; grep -oE '; zscope check --root [a-z0-9.]+' README.md | cut -c3-)
[ ${#lines[@]} -ge 20 ] || fail "only ${#lines[@]} commands found"
for line in "${lines[@]}"; do
	read -r _ command rest <<<"$line"
	help=$("$zscope" "$command" --help 2>/dev/null) || { fail "no command $command"; continue; }
	for word in $rest; do
		case $word in --*) grep -qe "$word " <<<"$help " || grep -qE -e "$word( |\$)" <<<"$help" || fail "zscope $command has no $word" ;; esac
	done
done
for target in $(grep -oE '^make [a-z]+' README.md | cut -d' ' -f2); do
	grep -q "^$target:" Makefile || fail "no make target $target"
done
for file in $(grep -oE '\]\(docs/[A-Z]+\.md' README.md | cut -c3-); do
	[ -f "$file" ] || fail "$file is missing"
done

# answers STATUSES ARGUMENTS...: one of these statuses, and something is said
answers() {
	local want=$1 r
	shift
	timeout 60 "$zscope" "$@" >out 2>err </dev/null
	r=$?
	ran=$((ran + 1))
	case " $want " in *" $r "*) ;; *) fail "zscope $*: status $r, not $want: $(tail -n 3 err)" ;; esac
	[ -s out ] || [ -s err ] || fail "zscope $* says nothing"
}

# what it answers is what it knows here: not without systemd, not without the profile
knows() { # knows CONDITION: the statuses of an answer
	if "$@"; then echo 0 1; else echo 2; fi
}

cd "$tmp" || exit 1
mkdir -p image/etc/systemd/system image/usr/lib/systemd/system perf-files
cp "$source/tests/fuzz/corpus/perf_data/file" perf-files/perf.data
"$zscope" record --store store --for 60s 2>record.log &
recorder=$!
for _ in $(seq 300); do grep -q 'recording to' record.log && break; sleep 0.1; done
at=@$(date +%s)
profiled() { ! grep -q 'cannot be recorded: profile' "$tmp/record.log"; }
units() { [ -d /run/systemd/system ]; }
live() { # what looks at this host goes on while the recorder gathers its seconds
	case $1 in
	"zscope check") answers "0 1" check ;;
	"zscope why") answers "0 1" why --watch 3s --state state ;;
	"zscope zombies --pins") answers "0 1" zombies --pins ;;
	"zscope cores") answers 0 cores --count 1 ;;
	"zscope audit") answers "$(knows units)" audit ;;
	"zscope audit --root /mnt/image") answers "0 1" audit --root image ;;
	"zscope import perf-files/") answers 0 import perf-files/ --store imported ;;
	"zscope capture -o node7.tar.zst") answers 0 capture -o node7.tar.zst ;;
	"zscope check --root node7.tar.zst") answers "0 1" check --root node7.tar.zst ;;
	*) return 1 ;;
	esac
}
recorded() {
	case $1 in
	"zscope record") grep -q 'nothing lost' record.log || fail "zscope record: $(cat record.log)"; ran=$((ran + 1)) ;;
	"zscope why --at 03:12:07 --for 30s") answers "0 1" why --at "$at" --for 3s --store store --state state ;;
	"zscope cores --hot --from -12h") answers "0 1" cores --hot --from -12h --store store ;;
	"zscope events --id net-driver-reset") answers "0 1" events --id net-driver-reset --store store --json ;;
	"zscope flame --at 03:12:02 --for 5s --cpu 39") answers "$(knows profiled)" flame --at "$at" --for 5s --cpu 0 --store store ;;
	"zscope heat --from -10m") answers "$(knows profiled)" heat --from -10m --store store ;;
	"zscope diff --at 03:12:02 --for 5s") answers "$(knows profiled)" diff --at "$at" --for 3s --store store ;;
	"zscope report -o incident.html") answers 0 report -o incident.html --store store; [ -s incident.html ] || fail "no report" ;;
	"zscope serve") serve ;;
	*) return 1 ;;
	esac
}
elsewhere() { # needs a sick host, changes it, or takes its time: these run in kernel/why-incident, kernel/fix-systemd and kernel/demo
	case $1 in
	"zscope fix 1" | "zscope purge --apply" | "zscope validate --for 10m") left=$((left + 1)) ;;
	*) return 1 ;;
	esac
}
serve() { # the address that it prints is one that answers
	"$zscope" serve --listen 127.0.0.1:0 --store store >page 2>&1 &
	local pid=$! url=
	for _ in $(seq 100); do url=$(grep -oE 'http://[^ ]+' page) && break; sleep 0.1; done
	python3 -c 'import sys, urllib.request; sys.exit(b"<html" not in urllib.request.urlopen(sys.argv[1], timeout=20).read())' "$url" || fail "zscope serve: $(cat page)"
	kill $pid
	wait $pid || fail "zscope serve ends with $?"
	ran=$((ran + 1))
}

later=()
for line in "${lines[@]}"; do live "$line" || later+=("$line"); done
while [ "$(date +%s)" -lt $((${at#@} + 6)) ]; do sleep 0.2; done
kill "$recorder" && wait "$recorder"
recorder=
for line in "${later[@]}"; do recorded "$line" || elsewhere "$line" || fail "nothing here knows how to try: $line"; done
echo "$ran commands ran, $left run elsewhere"
[ $((ran + left)) -eq ${#lines[@]} ] || fail "$ran of ${#lines[@]} commands ran"
exit $status
