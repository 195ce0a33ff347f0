#!/bin/bash
# Bad input: one clear line on stderr that says what to do, exit status 2, nothing on stdout, no crash.
set -u
zscope=$(realpath "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
status=0

refuses() { # refuses TEXT COMMAND...
	local text=$1
	shift
	timeout 60 "$@" >out 2>err </dev/null
	local r=$?
	if [ $r -ne 2 ] || [ -s out ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -qF -- "$text" err; then
		echo "FAILED: $* (status $r)"
		cat out err
		status=1
	fi
}

# to Nagios, status 2 is an alarm: whatever is wrong, also with the words themselves, is one line on stdout and status 3
nagios() { # nagios TEXT COMMAND...
	local text=$1
	shift
	timeout 60 "$@" >out 2>err </dev/null
	local r=$?
	if [ $r -ne 3 ] || [ -s err ] || [ "$(wc -l <out)" -ne 1 ] || ! grep -qF -- "ZSCOPE UNKNOWN - $text" out; then
		echo "FAILED: $* (status $r)"
		cat out err
		status=1
	fi
}

mkdir empty
: >nothing.tar.zst
head -c 3000 /dev/urandom >junk.tar.zst
printf '\x28\xb5\x2f\xfd\x00\x00' >cut.tar.zst
refuses "unknown command 'chekc'" "$zscope" chekc
refuses "did you mean 'check'" "$zscope" chekc
refuses "unknown command 'xyzzy': see" "$zscope" xyzzy
refuses "unknown command 'nosuch'" "$zscope" help nosuch
refuses "unknown option '--frmat'" "$zscope" check --frmat nagios
refuses "--format takes one of" "$zscope" check --format xml
refuses "--format needs" "$zscope" check --format
refuses "unexpected argument 'now'" "$zscope" check now
nagios "unknown option '--bogus'" "$zscope" check --format nagios --bogus
nagios "unknown option '--bogus'" "$zscope" check --bogus --format=nagios
nagios "unknown option '--bogus'" "$zscope" --bogus --format nagios
nagios "--interval: 'bogus' is not a duration" "$zscope" check --interval bogus --format nagios --bogus
nagios "unexpected argument 'extra'" "$zscope" check --format nagios extra
nagios "--format takes one of text/nagios/npd" "$zscope" check --format nagios --format xml
nagios "--store needs DIR" "$zscope" check --format nagios --store
nagios "--interval: at least" "$zscope" check --format nagios --interval 1ms
nagios "--json and --format exclude each other" "$zscope" check --format nagios --json
nagios "/does/not/exist" "$zscope" check --format nagios --root /does/not/exist
nagios "junk.tar.zst" "$zscope" check --format nagios --root junk.tar.zst
refuses "unknown option '--bogus'" "$zscope" check --format npd --bogus
refuses "unknown option '--bogus'" "$zscope" cores --bogus --count many
refuses "/does/not/exist: No such file or directory: --root takes the directory of" "$zscope" check --root /does/not/exist
refuses "/does/not/exist: No such file or directory: --root takes the directory of" "$zscope" cores --root /does/not/exist
refuses "/dev/null: Not a directory: --root takes the directory of" "$zscope" cores --root /dev/null
refuses "proc/stat" "$zscope" cores --root empty
# whatever is wrong with a file of a captured host, it is named below that host
mkdir -p h/proc h/.zscope/before/proc h/.zscope/before/.zscope
printf 'cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n' | tee h/proc/stat >h/.zscope/before/proc/stat
refuses "h/.zscope/clock: is missing: the two readings cannot be compared" "$zscope" cores --root h
printf 'real_ns 3\nmono_ns 3\nboot_ns 3\n' | tee h/.zscope/clock >h/.zscope/before/.zscope/clock
refuses "h/.zscope/clock: not after the clock in .zscope/before: the two readings cannot be compared" "$zscope" cores --root h
echo x >h/.zscope/clock
refuses "zscope: h/.zscope/clock: not the three clocks" "$zscope" cores --root h
rm h/.zscope/clock
echo x >h/proc/stat
refuses "zscope: h/proc/stat: no line of any core" "$zscope" cores --root h
rm h/proc/stat
mkfifo h/proc/stat
refuses "zscope: h/proc/stat: not a regular file" "$zscope" cores --root h
tar -cf bare.tar empty
refuses "bare.tar/proc/stat" "$zscope" cores --root bare.tar
refuses "bare.tar: no systemd unit directory" "$zscope" audit --root bare.tar
refuses "bare.tar: no recording in it" "$zscope" cores --root bare.tar --at -1m
# a hostile name of a capture is no less hostile in a message about what lies in it
mkdir -p stored/var/lib/zombiescope
tar -cf "$(printf 'ev\033[31mil.tar')" -C stored .
refuses 'ev?[31mil.tar' "$zscope" cores --at -1m --root "$(printf 'ev\033[31mil.tar')"
! grep -q "$(printf '\033')" err || { echo "FAILED: an escape code came through"; status=1; }
! grep -q zscope-root- err || { echo "FAILED: a directory is named that the user does not know"; status=1; }
refuses "junk.tar.zst: not a tar archive: damaged, or not a file that 'zscope capture' wrote" "$zscope" check --root junk.tar.zst
refuses "cut.tar.zst: damaged (cut short): copy it again" "$zscope" check --root cut.tar.zst
# one byte of a capture, anywhere: damaged, and never another host
"$zscope" capture --root h -o h.tar.zst >/dev/null || status=1
for part in 1 2 3 4 5; do
	cp h.tar.zst hit.tar.zst
	at=$(($(stat -c %s h.tar.zst) * part / 6))
	printf '\x'"$(printf %x $((($(od -An -tu1 -j $at -N 1 h.tar.zst) + 91) % 256)))" | dd of=hit.tar.zst bs=1 seek=$at conv=notrunc status=none
	refuses "hit.tar.zst: damaged (zstd: " "$zscope" check --root hit.tar.zst
done
tar -cPf up.tar ../"${tmp##*/}"/junk.tar.zst
refuses "up.tar: refused: '../${tmp##*/}/junk.tar.zst' may lead out of it" "$zscope" check --root up.tar
refuses "--count" "$zscope" cores --count many
refuses "--count" "$zscope" cores --count 0
refuses "--interval" "$zscope" cores --interval 1ns
refuses "--interval" "$zscope" cores --interval soon
refuses "--for: shorter than one --interval" "$zscope" cores --for 500ms
refuses "--store and --root exclude each other" "$zscope" cores --store empty --at 10:00 --root empty
refuses "--at" "$zscope" cores --at yesterday-ish
refuses "not a time" "$zscope" cores --at "2026-02-30 10:00"
refuses "too far: times lie between 1970 and 2554" "$zscope" cores --at "9999-01-01 10:00"
# what is wrong with the window itself is not hidden by a recording that is missing, too
for command in cores flame heat why zombies export events report; do
	refuses "the window ends before it starts" "$zscope" $command --store nowhere --from -5m --to -10m
done
for command in cores flame heat why zombies export events; do
	refuses "--at and --from/--to exclude each other" "$zscope" $command --store nowhere --at now --from -5m
done
refuses "nowhere" "$zscope" report --store nowhere --at -7m --from -10m --to -5m
refuses "empty, no capture" "$zscope" check --root nothing.tar.zst
refuses "--interval" "$zscope" check --interval 0
refuses "--interval" "$zscope" capture --interval 1ms -o new.tar.zst
# nothing is no capture, and no file is left of it
refuses "empty holds nothing of a host: give the top of" "$zscope" capture --root empty -o none.tar.zst
[ ! -e none.tar.zst ] || { echo "FAILED: a capture of nothing was written"; status=1; }
mkdir taken && : >taken/x.tar.zst
refuses "taken/x.tar.zst: File exists: remove it first, or give another file with -o" "$zscope" capture --interval 30s -o taken/x.tar.zst
refuses "taken/none/x.tar.zst: No such file or directory: make its directory first" "$zscope" capture --interval 30s -o taken/none/x.tar.zst
refuses "--interval takes" "$zscope" record --store new --for 1s --interval 1d
refuses "--segment takes" "$zscope" record --store new --for 1s --segment 0
refuses "--segment takes" "$zscope" record --store new --for 1s --segment 1h
refuses "--hz takes" "$zscope" record --store new --for 1s --hz 0
refuses "--hz takes a number" "$zscope" record --store new --for 1s --hz 4294967393
refuses "--max-bytes takes at least" "$zscope" record --store new --for 1s --max-bytes 1
refuses "--cpu takes a number" "$zscope" lab run busy-core --cpu 4294967296 --for 1s
refuses "unexpected argument 'more'" "$zscope" lab list more
refuses "one scenario" "$zscope" lab run
refuses "--store needs DIR" "$zscope" record --store '' --for 1s
refuses "--root needs DIR" "$zscope" check --root ''
refuses "--store needs DIR, not an option: '--help'" "$zscope" record --store --help --for 1s
refuses "nowhere" "$zscope" cores --store nowhere --at 10:00
refuses "empty: the recording is empty: fill it with 'zscope record', or give another --store" "$zscope" cores --store empty --at 10:00
refuses "junk.tar.zst: Not a directory: --store takes the one that 'zscope record'" "$zscope" cores --store junk.tar.zst --at 10:00
for command in "record --for 1s" "note hello"; do
	refuses "new/deep/dir: No such file or directory: make the directory above it first" "$zscope" $command --store new/deep/dir
done
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	mkdir -m 700 mine
	chmod 755 .
	cp "$zscope" zscope
	refuses "mine: Permission denied: a recording is for its owner alone" setpriv --reuid nobody --clear-groups ./zscope cores --store mine --at 10:00
	rm -f zscope
fi
refuses "--json and the report itself cannot both go to stdout" "$zscope" report --store empty --json -o -
refuses "--json and --textfile exclude each other" "$zscope" metrics --store empty --json --textfile new
refuses "--json and --openmetrics exclude each other" "$zscope" metrics --store empty --json --openmetrics
for format in --perf-script --folded --svg --html --pprof --speedscope --diff; do
	refuses "one format at a time" "$zscope" export --store empty --json $format
done
for command in report metrics export; do
	refuses "nowhere" "$zscope" $command --json --store nowhere
done
refuses "taken: File exists" "$zscope" capture --interval 10ms -o taken
refuses "no/such/dir" "$zscope" capture --interval 10ms -o no/such/dir/x
if [ -e /dev/full ]; then
	"$zscope" check --interval 10ms >/dev/full 2>err && status=1
	grep -q "No space left" err || { echo "FAILED: a full disk goes unnoticed"; status=1; }
	"$zscope" check --format nagios --interval 10ms >/dev/full 2>err
	[ $? -eq 3 ] && grep -q "No space left" err || { echo "FAILED: a full disk is an alarm"; status=1; }
fi
[ -z "$(ls -d /tmp/zscope-root-* 2>/dev/null)" ] || echo "note: other captures are being looked at"
[ ! -e new ] && [ ! -e new.tar.zst ] && [ ! -e ./--help ] || { echo "FAILED: something was written"; status=1; }
exit $status
