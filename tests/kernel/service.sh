#!/bin/bash
# The unit as `make install` puts it, started by a really booted systemd: it comes up hardened, records every second, tells systemd that it
# lives, and stops with a sealed recording.
set -u
build=$1 dump=$2
here=$(dirname "$(realpath "$0")")
# shellcheck source=/dev/null
. "$here/../rig/nspawn.sh"
dir=$(mktemp -d /var/tmp/zscope-service-XXXXXX)
trap 'rig_down "$dir"' EXIT
failed=0
fail() { echo "FAILED: $1" >&2; failed=1; }
inside() { rig_run "$dir" "$@"; }
show() { inside systemctl show -P "$1" zombiescope.service; }

rig_overlay "$dir" || exit $?
rig_quiet "$dir"
DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet >"$dir/install.log" 2>&1 || { cat "$dir/install.log"; fail "install"; }
program=$dir/root/usr/local/bin/zscope
unit=$dir/root/usr/local/lib/systemd/system/zombiescope.service
[ -x "$program" ] && [ -f "$unit" ] || { fail "not installed: $program, $unit"; exit 1; }
grep -qx 'ExecStart=/usr/local/bin/zscope record' "$unit" || fail "the unit runs another program: $(grep ExecStart "$unit")"
# the libraries that a package would depend on
for library in $(ldd "$program" | grep -oE '/[^ ]+' | grep -vE '/(ld-linux|libc\.so|libm\.so)'); do
	cp -L "$library" "$dir/root/usr/local/lib/"
done
chroot "$dir/root" ldconfig
rig_boot "$dir" >/dev/null || exit $?

[ "$(inside systemctl is-enabled zombiescope.service)" = disabled ] || fail "installing enabled it"
inside systemctl start zombiescope.service || { inside journalctl -u zombiescope --no-pager -n 20; fail "it does not start"; exit 1; }
[ "$(show ActiveState)" = active ] || fail "state is $(show ActiveState)"
pid=$(show MainPID)
status() { inside sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status"; }
[ "$(status NoNewPrivs)" = 1 ] || fail "it may gain privileges"
[ "$(status Seccomp)" = 2 ] || fail "no filter of system calls"
# bpf 39, perfmon 38, syslog 34, sys_ptrace 19
[ "$(status CapBnd)" = 000000c400080000 ] || fail "capabilities: $(status CapBnd)"
[ "$(status CapEff)" = 000000c400080000 ] || fail "capabilities: $(status CapEff)"
[ "$(inside stat -c %a /var/lib/zombiescope)" = 700 ] || fail "the recording is open to others"
inside nsenter -t "$pid" -m touch /usr/local/not-me 2>/dev/null && fail "it could write to the system"

ticks=0
for _ in $(seq 1 300); do
	ticks=$("$dump" "$dir/root/var/lib/zombiescope" 2>/dev/null | sed -n 's/^ticks \([0-9]*\).*/\1/p')
	[ "${ticks:-0}" -lt 5 ] || break
	sleep 0.2
done
[ "${ticks:-0}" -ge 5 ] || fail "only ${ticks:-0} ticks in a minute"
inside /usr/local/bin/zscope cores --from -1m --json >"$dir/cores" 2>"$dir/err" || fail "cores of the recording: $(cat "$dir/err")"
[ "$(wc -l <"$dir/cores")" -ge 3 ] || fail "cores of the recording: $(wc -l <"$dir/cores") lines"
[ "$(show MainPID)" = "$pid" ] && [ "$(show NRestarts)" = 0 ] || fail "it was restarted"

inside systemctl stop zombiescope.service || fail "it does not stop"
[ "$(show Result)" = success ] && [ "$(show ActiveState)" = inactive ] || fail "stopped with $(show Result), $(show ActiveState)"
"$dump" "$dir/root/var/lib/zombiescope" >"$dir/out" || fail "unreadable after the stop"
grep -q 'losses 0$' "$dir/out" || fail "the recording is not whole: $(tail -n 3 "$dir/out")"
# what a container keeps from it is said, not hidden
grep '^event recorder-\|^event events-partial' "$dir/out"
tail -n 1 "$dir/out"
exit $failed
