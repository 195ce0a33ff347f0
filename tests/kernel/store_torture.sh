#!/bin/bash
# What happens to a recording when the recorder is killed before any write, the disk fails to keep its word, the power goes, the clock
# is set, or somebody plants things. Real kernel, real files; as root for the power cut.
set -u
zscope=$1 dump=$2 part=$3
tmp=$(mktemp -d /var/tmp/zscope-torture-XXXXXX)
loop=
cleanup() {
	[ -n "$loop" ] && umount "$tmp/mnt" 2>/dev/null
	mountpoint -q "$tmp/ram" && umount "$tmp/ram"
	rm -rf "$tmp"
}
trap cleanup EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
# until the dump of a recording that is being written has such a line; half a minute
wait_for() {
	for _ in $(seq 1 150); do
		"$dump" "$2" 2>/dev/null | grep -q "^$1" && return 0
		sleep 0.2
	done
	return 1
}
record() { "$zscope" record "$@" 2>>"$tmp/log"; }

# The recorder copies into a mapped file where it can, so that there is nothing to see of most writes: the calls around them are what a
# kill can be put before (kernel/store-kill kills in the middle of the copying).
kill_before_every() { # CALL STORE LEAST: every CALL, until the recording ends by itself
	local call=$1 store=$2 n runs=0 ended=
	for n in $(seq 1 80); do
		rm -rf "$store"
		# in a shell of its own, which keeps its word about the kill to itself
		(strace -f -qq -o /dev/null -e trace="$call" -e inject="$call":signal=KILL:when=$n \
			"$zscope" record --store "$store" --interval 100ms --segment 1s --for 1500ms --no-profile; exit $?) 2>/dev/null && ended=$n
		"$dump" "$store" >"$tmp/out" 2>"$tmp/err"
		case $? in
		0) runs=$((runs + 1)) ;;
		2) grep -qE 'the recording is empty|no readable segment|no recording there|No such file' "$tmp/err" || fail "killed before $call $n: $(cat "$tmp/err")" ;;
		*) fail "killed before $call $n: $(tail -n 1 "$tmp/out")" ;;
		esac
		[ -z "$ended" ] || break
	done
	# a chatty kernel log wakes the recorder more often than it ticks
	[ -n "$ended" ] || ended=81
	[ $runs -ge "$3" ] || fail "$call: only $runs of the killed recordings had anything in them"
	echo "killed before each of $((ended - 1)) $call"
}

killed_everywhere() {
	kill_before_every ppoll "$tmp/kill" 2
	kill_before_every fallocate "$tmp/kill" 1
	kill_before_every ftruncate "$tmp/kill" 1
	kill_before_every fdatasync "$tmp/kill" 1
	# a file system that promises no room: written to in the ordinary way
	mkdir "$tmp/ram" && mount -t ramfs none "$tmp/ram" || { fail "no ramfs"; return; }
	kill_before_every pwrite64 "$tmp/ram/kill" 2
	umount "$tmp/ram"
	rm -rf "$tmp/kill"
	(strace -f -qq -o /dev/null -e trace=ppoll -e inject=ppoll:signal=KILL:when=8 \
		"$zscope" record --store "$tmp/kill" --interval 100ms --segment 1s --for 20s --no-profile; :) 2>/dev/null
	# and it goes on in the same directory
	record --store "$tmp/kill" --interval 100ms --for 1s --no-profile || fail "no recording after a kill"
	"$dump" "$tmp/kill" >"$tmp/out" || fail "unreadable after a restart"
	grep -q 'cut off without its footer' "$tmp/out" || fail "the kill is not named: $(tail -n 1 "$tmp/out")"
}

failing_fdatasync() {
	strace -f -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1 \
		"$zscope" record --store "$tmp/eio" --interval 200ms --for 5s --no-profile 2>/dev/null || fail "died of a failed fdatasync"
	[ "$(find "$tmp/eio" -name '*.seg' | wc -l)" -ge 2 ] || fail "no new segment after a failed fdatasync"
	"$dump" "$tmp/eio" >"$tmp/out" || fail "unreadable after a failed fdatasync"
	grep -q 'fdatasync: Input/output error' "$tmp/out" || fail "the failed fdatasync is not named"
}

ticks_of() { "$dump" "$1" 2>/dev/null | sed -n 's/^ticks \([0-9]*\).*/\1/p'; }

# What a disk holds when the power goes: a copy of the disk in the middle of a recording, without any sync but the recorder's own. Then
# the disk fails under the recorder, which goes on in memory.
power_cut() { # TYPE SIZE OPTIONS
	local type=$1 pid ticks=0 mnt=$tmp/mnt
	mkdir -p "$mnt"
	rm -f "$tmp/disk" "$tmp/disk.cut"
	command -v "mkfs.$type" >/dev/null && grep -qw "$type" /proc/filesystems || { echo "skipped: power cut on $type (not here)"; return; }
	truncate -s "$2" "$tmp/disk" && "mkfs.$type" -q "$tmp/disk" >/dev/null 2>&1 && mount -o "loop$3" "$tmp/disk" "$mnt" 2>/dev/null || {
		echo "skipped: power cut on $type (no loop device)"
		return
	}
	loop=yes
	"$zscope" record --store "$mnt/s" --interval 200ms --no-profile 2>"$tmp/err" &
	pid=$!
	# 60 ticks are 12 s: the sync after 10 s is done
	for _ in $(seq 1 300); do
		ticks=$(ticks_of "$mnt/s")
		[ "${ticks:-0}" -lt 60 ] || break
		sleep 0.2
	done
	[ "${ticks:-0}" -ge 60 ] || fail "$type: $ticks ticks in a minute"
	kill -STOP $pid
	cp --sparse=always "$tmp/disk" "$tmp/disk.cut"
	kill -CONT $pid
	if [ "$type" != btrfs ]; then
		# FS_IOC_SHUTDOWN: from here on every page and every call fails
		python3 -c 'import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' \
			"$mnt" || fail "FS_IOC_SHUTDOWN"
		for _ in $(seq 1 150); do
			grep -q 'recording goes on in memory' "$tmp/err" && break
			sleep 0.2
		done
		grep -q 'recording goes on in memory' "$tmp/err" || fail "$type: the failing disk is not named: $(cat "$tmp/err")"
	fi
	kill -TERM $pid
	wait $pid
	local status=$?
	if [ "$type" = btrfs ]; then
		[ $status -eq 0 ] || fail "$type: status $status"
	else
		[ $status -eq 2 ] || fail "$type: died of the failing disk: $status"
		grep -q 'never reached the disk: the disk fails' "$tmp/err" || fail "$type: what was not written is not told: $(cat "$tmp/err")"
	fi
	umount "$mnt" && mount -o "loop$3" "$tmp/disk.cut" "$mnt" || fail "$type does not come back"
	"$dump" "$mnt/s" >"$tmp/out" || fail "$type: unreadable after a power cut: $(tail -n 2 "$tmp/out")"
	ticks=$(sed -n 's/^ticks \([0-9]*\).*/\1/p' "$tmp/out")
	[ "${ticks:-0}" -ge 40 ] || fail "$type: only ${ticks:-0} of at least 40 synced ticks came back"
	echo "$type: $ticks ticks came back after the power cut"
	umount "$mnt"
	loop=
}

clock_step() {
	command -v faketime >/dev/null || { echo "skipped: clock step (no faketime)"; return; }
	echo "+0" >"$tmp/faketimerc"
	local lib
	lib=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
	LD_PRELOAD=$lib FAKETIME_TIMESTAMP_FILE="$tmp/faketimerc" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
		"$zscope" record --store "$tmp/step" --interval 200ms --no-profile 2>/dev/null &
	local pid=$!
	wait_for 'ticks [3-9]' "$tmp/step" || fail "no ticks before the clock step"
	echo "+3600" >"$tmp/faketimerc"
	wait_for 'event clock-step' "$tmp/step" || fail "the step forward is not recorded"
	echo "-3600" >"$tmp/faketimerc"
	for _ in $(seq 1 150); do
		[ "$("$dump" "$tmp/step" 2>/dev/null | grep -c '^event clock-step')" -lt 2 ] || break
		sleep 0.2
	done
	kill -TERM $pid
	wait $pid || fail "died of a clock step"
	"$dump" "$tmp/step" >"$tmp/out" || fail "unreadable after clock steps: $(tail -n 1 "$tmp/out")"
	[ "$(grep -c '^event clock-step' "$tmp/out")" -eq 2 ] || fail "clock steps are not recorded: $(grep -c clock-step "$tmp/out")"
	[ "$(find "$tmp/step" -name '*.seg' | wc -l)" -ge 3 ] || fail "a segment holds two clocks"
}

one_writer_private_files() {
	"$zscope" record --store "$tmp/one" --interval 100ms --no-profile 2>>"$tmp/log" &
	local pid=$! from to
	wait_for 'ticks [1-9]' "$tmp/one" || fail "no ticks"
	"$zscope" record --store "$tmp/one" --for 1s --no-profile 2>"$tmp/err"
	[ $? -eq 2 ] || fail "a second recorder was not refused"
	grep -q "another recorder (pid $pid)" "$tmp/err" || fail "the refusal names no pid: $(cat "$tmp/err")"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "the refusal is not one line"
	"$dump" "$tmp/one" >"$tmp/out" || fail "unreadable while it is written"
	grep -q '^ticks [1-9].* losses 0$' "$tmp/out" || fail "while written: $(tail -n 1 "$tmp/out")"
	[ -z "$(find "$tmp/one" -perm /077)" ] || fail "files that others can read: $(find "$tmp/one" -perm /077)"
	from=$(date +%s%N)
	kill -TERM $pid
	wait $pid || fail "SIGTERM is no clean end"
	to=$(date +%s%N)
	[ $((to - from)) -lt 5000000000 ] || fail "SIGTERM took $(((to - from) / 1000000)) ms"
	"$dump" "$tmp/one" 1 2 >/dev/null 2>"$tmp/err"
	[ $? -eq 2 ] && grep -q 'outside the recording' "$tmp/err" || fail "a time outside: $(cat "$tmp/err")"
	ln -s "$tmp/one" "$tmp/link"
	record --store "$tmp/link" --for 1s --no-profile
	[ $? -eq 2 ] || fail "wrote through a symbolic link"
	mkdir "$tmp/other" && ln -s /etc/hostname "$tmp/other/lock" && chmod 700 "$tmp/other"
	record --store "$tmp/other" --for 1s --no-profile
	[ $? -eq 2 ] || fail "took a planted lock"
}

# The last line says what came of it; what never reached the disk makes the status.
closing_words() {
	local pid
	"$zscope" record --store "$tmp/words" --interval 200ms --for 2s --no-profile 2>"$tmp/err" || fail "status $? of a good recording"
	tail -n 1 "$tmp/err" | grep -qE '[0-9]+ ticks? in [0-9]+ s, [0-9]+ KiB written, [0-9]+ missed, nothing lost$' ||
		fail "the end is not told: $(tail -n 1 "$tmp/err")"
	mkdir "$tmp/ram" && mount -t tmpfs -o size=8k,mode=700 none "$tmp/ram" && mkdir "$tmp/ram/s" || { fail "no tmpfs"; return; }
	"$zscope" record --store "$tmp/ram/s" --interval 200ms --for 2s --no-profile 2>"$tmp/err"
	[ $? -eq 2 ] || fail "a full disk is status 0"
	grep -q 'the last .* s never reached the disk: the disk is full' "$tmp/err" || fail "a full disk: $(cat "$tmp/err")"
	umount "$tmp/ram"
	# an older recording that has to go is told, once for all of its segments, there too
	mount -t tmpfs -o size=1m,mode=700 none "$tmp/ram" && mkdir "$tmp/ram/s" || { fail "no tmpfs"; return; }
	"$zscope" record --store "$tmp/ram/s" --interval 200ms --segment 1s --for 3s --no-profile 2>"$tmp/err" || fail "status $? of a good recording"
	head -c 2M /dev/zero >"$tmp/ram/filler" 2>/dev/null
	"$zscope" record --store "$tmp/ram/s" --interval 200ms --segment 1s --for 4s --no-profile 2>"$tmp/err"
	[ "$(grep -cE 'the disk is full: the .*oldest segments? of the recording, 20.* to 20.*, w.* deleted to make room' "$tmp/err")" -le 2 ] &&
		grep -q 'deleted to make room' "$tmp/err" || fail "what made room is not told, or not once: $(cat "$tmp/err")"
	tail -n 1 "$tmp/err" | grep -q 'nothing lost' && fail "it says that nothing was lost: $(cat "$tmp/err")"
	"$zscope" events --store "$tmp/ram/s" --id recorder-dropped --json | grep -q '"id":"recorder-dropped"' || fail "what made room is not in the recording"
	umount "$tmp/ram"
	# who runs the tests may ignore it (nohup), and that is inherited
	env --default-signal=HUP "$zscope" record --store "$tmp/hup" --interval 100ms --no-profile 2>"$tmp/err" &
	pid=$!
	wait_for 'ticks [1-9]' "$tmp/hup" || fail "no ticks"
	kill -HUP $pid
	wait $pid || fail "SIGHUP is no clean end: $?"
	"$dump" "$tmp/hup" | grep -q 'losses 0$' || fail "not sealed on SIGHUP"
	# without root: what to do, and what is not recorded
	cp "$zscope" "$tmp/zscope" && chmod 755 "$tmp" && mkdir "$tmp/denied" "$tmp/nobody" && chown 65534 "$tmp/nobody"
	local nobody="setpriv --reuid 65534 --regid 65534 --clear-groups $tmp/zscope record --interval 200ms --for 1s --no-profile"
	$nobody --store "$tmp/denied/s" 2>"$tmp/err" && fail "recorded where it may not"
	grep -q 'Permission denied: needs root, or --store DIR that you may write' "$tmp/err" || fail "as nobody: $(cat "$tmp/err")"
	$nobody --store "$tmp/nobody/s" 2>"$tmp/err" || fail "as nobody: $(cat "$tmp/err")"
	[ "$(cat /proc/sys/kernel/dmesg_restrict)" = 0 ] || grep -q 'cannot be recorded: /dev/kmsg' "$tmp/err" ||
		fail "nobody is not told that the kernel's log is missing: $(cat "$tmp/err")"
}

command -v strace >/dev/null || { echo "strace is missing"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "root is missing"; exit 77; }
case $part in
kill) killed_everywhere ;;
power)
	power_cut ext4 64M ""
	power_cut xfs 300M ""
	power_cut btrfs 128M ",commit=300"
	;;
rest)
	failing_fdatasync
	clock_step
	one_writer_private_files
	closing_words
	;;
*) fail "no such part: $part" ;;
esac
[ $failed -eq 0 ] && echo "all of it survived"
exit $failed
