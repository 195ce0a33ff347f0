#!/bin/bash
# What happens to a recording when the recorder is killed before any write, the disk fails to keep its word, the power goes, the clock
# is set, or somebody plants things. Real kernel, real files; as root for the power cut.
set -u
zscope=$1 dump=$2
tmp=$(mktemp -d /var/tmp/zscope-torture-XXXXXX)
loop=
cleanup() {
	[ -n "$loop" ] && umount "$tmp/mnt" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
record() { "$zscope" record "$@" 2>>"$tmp/log"; }

kill_before_every_write() {
	local n runs=0 ended=
	# every one, until the recording ends by itself
	for n in $(seq 1 80); do
		rm -rf "$tmp/kill"
		# in a shell of its own, which keeps its word about the kill to itself
		(strace -f -qq -o /dev/null -e trace=write,pwrite64 -e inject=write:signal=KILL:when=$n \
			"$zscope" record --store "$tmp/kill" --interval 100ms --segment 1s --for 2s --no-profile; exit $?) 2>/dev/null && ended=$n
		"$dump" "$tmp/kill" >"$tmp/out" 2>"$tmp/err"
		case $? in
		0) runs=$((runs + 1)) ;;
		2) grep -qE 'the recording is empty|no recording there|No such file' "$tmp/err" || fail "killed before write $n: $(cat "$tmp/err")" ;;
		*) fail "killed before write $n: $(tail -n 1 "$tmp/out")" ;;
		esac
		[ -z "$ended" ] || break
	done
	[ -n "$ended" ] || fail "80 writes and no end"
	echo "killed before each of $((ended - 1)) writes"
	rm -rf "$tmp/kill"
	(strace -f -qq -o /dev/null -e trace=write -e inject=write:signal=KILL:when=$((ended - 3)) \
		"$zscope" record --store "$tmp/kill" --interval 100ms --segment 1s --for 2s --no-profile; :) 2>/dev/null
	[ $runs -ge 6 ] || fail "only $runs of the killed recordings had anything in them"
	# and it goes on in the same directory
	record --store "$tmp/kill" --interval 100ms --for 1s --no-profile || fail "no recording after a kill"
	"$dump" "$tmp/kill" >"$tmp/out" || fail "unreadable after a restart"
	grep -q 'cut off without its footer' "$tmp/out" || fail "the kill is not named: $(tail -n 1 "$tmp/out")"
}

failing_fdatasync() {
	strace -f -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1 \
		"$zscope" record --store "$tmp/eio" --interval 200ms --for 8s --no-profile 2>/dev/null || fail "died of a failed fdatasync"
	[ "$(find "$tmp/eio" -name '*.seg' | wc -l)" -ge 2 ] || fail "no new segment after a failed fdatasync"
	"$dump" "$tmp/eio" >"$tmp/out" || fail "unreadable after a failed fdatasync"
	grep -q 'fdatasync: Input/output error' "$tmp/out" || fail "the failed fdatasync is not named"
}

power_cut() {
	mkdir "$tmp/mnt"
	truncate -s 64M "$tmp/disk" && mkfs.ext4 -q "$tmp/disk" 2>/dev/null && mount -o loop "$tmp/disk" "$tmp/mnt" 2>/dev/null || {
		echo "skipped: power cut (no loop device with ext4 here)"
		return
	}
	loop=yes
	"$zscope" record --store "$tmp/mnt/s" --interval 200ms --no-profile 2>/dev/null &
	local pid=$!
	sleep 7.5
	# FS_IOC_SHUTDOWN, no flush of the log
	python3 -c 'import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' \
		"$tmp/mnt" || fail "FS_IOC_SHUTDOWN"
	kill -9 $pid
	wait $pid 2>/dev/null
	umount "$tmp/mnt" && mount -o loop "$tmp/disk" "$tmp/mnt" || fail "the file system does not come back"
	"$dump" "$tmp/mnt/s" >"$tmp/out" || fail "unreadable after a power cut: $(tail -n 2 "$tmp/out")"
	local ticks
	ticks=$(sed -n 's/^ticks \([0-9]*\).*/\1/p' "$tmp/out")
	[ "${ticks:-0}" -ge 20 ] || fail "power cut: only ${ticks:-0} of at least 20 synced ticks came back"
	umount "$tmp/mnt"
	loop=
}

clock_step() {
	command -v faketime >/dev/null || { echo "skipped: clock step (no faketime)"; return; }
	echo "+0" >"$tmp/faketimerc"
	local lib
	lib=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
	LD_PRELOAD=$lib FAKETIME_TIMESTAMP_FILE="$tmp/faketimerc" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
		"$zscope" record --store "$tmp/step" --interval 200ms --for 6s --no-profile 2>/dev/null &
	local pid=$!
	sleep 2.5
	echo "+3600" >"$tmp/faketimerc"
	sleep 2
	echo "-3600" >"$tmp/faketimerc"
	wait $pid || fail "died of a clock step"
	"$dump" "$tmp/step" >"$tmp/out" || fail "unreadable after clock steps: $(tail -n 1 "$tmp/out")"
	[ "$(grep -c '^event clock-step' "$tmp/out")" -eq 2 ] || fail "clock steps are not recorded: $(grep -c clock-step "$tmp/out")"
	[ "$(find "$tmp/step" -name '*.seg' | wc -l)" -eq 3 ] || fail "a segment holds two clocks"
}

one_writer_private_files() {
	"$zscope" record --store "$tmp/one" --interval 100ms --no-profile 2>>"$tmp/log" &
	local pid=$! from to
	sleep 1.5
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
	[ $((to - from)) -lt 1000000000 ] || fail "SIGTERM took $(((to - from) / 1000000)) ms"
	"$dump" "$tmp/one" 1 2 >/dev/null 2>"$tmp/err"
	[ $? -eq 2 ] && grep -q 'outside the recording' "$tmp/err" || fail "a time outside: $(cat "$tmp/err")"
	ln -s "$tmp/one" "$tmp/link"
	record --store "$tmp/link" --for 1s --no-profile
	[ $? -eq 2 ] || fail "wrote through a symbolic link"
	mkdir "$tmp/other" && ln -s /etc/hostname "$tmp/other/lock" && chmod 700 "$tmp/other"
	record --store "$tmp/other" --for 1s --no-profile
	[ $? -eq 2 ] || fail "took a planted lock"
}

command -v strace >/dev/null || { echo "strace is missing"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "root is missing"; exit 77; }
kill_before_every_write
failing_fdatasync
power_cut
clock_step
one_writer_private_files
[ $failed -eq 0 ] && echo "all of it survived"
exit $failed
