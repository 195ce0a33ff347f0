#!/bin/bash
# lab makes what it says, in its bounds, and lab clean removes every trace, also after kill -9.
set -eu
zscope=$1
[ "$(id -u)" = 0 ] || { echo "skipped: not root"; exit 77; }
top=/sys/fs/cgroup/memory
[ -d $top ] || top=/sys/fs/cgroup
[ -w $top/cgroup.procs ] || { echo "skipped: no writable memory cgroup hierarchy"; exit 77; }
export ZSCOPE_LAB_STATE
ZSCOPE_LAB_STATE=$(mktemp -d /run/zscope-lab-test-XXXXXX)
trap '"$zscope" lab clean >/dev/null 2>&1 || true; rm -rf "$ZSCOPE_LAB_STATE"' EXIT

traces() { ls -d $top/zscope-lab-"$1" /var/tmp/zscope-lab-"$1" /dev/shm/zscope-lab-"$1" 2>/dev/null || true; }
fail() { echo "FAILED: $*"; exit 1; }

# bounds
if "$zscope" lab run zombies --count 100001 2>/dev/null; then fail "no bound on the count"; fi
if "$zscope" lab run busy-core --for 2h 2>/dev/null; then fail "no bound on the time"; fi
if "$zscope" lab run nothing 2>/dev/null; then fail "an unknown scenario"; fi
refused() { # refused TEXT ARGUMENTS...
	local text=$1 told
	shift
	if told=$("$zscope" lab run "$@" 2>&1); then fail "not refused: $*"; fi
	case $told in *"$text"*) ;; *) fail "$*: $told" ;; esac
}
refused '--count must be more than 0' zombies --count 0
refused 'busy-core takes no --count' busy-core --count 5
refused 'softirq takes no --mode' softirq --mode usr

# a busy core is really busy, in the kernel
core=$(($(nproc) - 1))
sys() { awk -v c="cpu$core" '$1 == c { print $4 }' /proc/stat; }
before=$(sys)
"$zscope" lab run busy-core --mode sys --for 2s --cpu $core 2>/dev/null
[ $(($(sys) - before)) -ge 60 ] || fail "the core was not busy in system time"

# zombies stand, and go
id=$("$zscope" lab run zombies --count 50 --mode mix --keep --for 60s --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
[ "$("$zscope" zombies --json --below "/zscope-lab-$id" | python3 -c 'import json,sys; print(json.load(sys.stdin)["dying"])')" = 50 ] || fail "not 50 zombies"
# ... and lab list tells which run that is, until it is gone
listed() { "$zscope" lab list --json | python3 -c 'import json,sys; print(*(f"""{r["id"]} {r["scenario"]} {r["cgroups"]} {r["processes"] > 0} {r["until_ns"] - r["since_ns"]}""" for r in json.load(sys.stdin)["runs"]))'; }
[ "$(listed)" = "$id zombies 1 True 60000000000" ] || fail "lab list: $(listed)"
"$zscope" lab list | grep -qE "^$id +zombies +20.*1 cgroup$" || fail "lab list: $("$zscope" lab list)"
told=$("$zscope" lab clean "$id")
case $told in "1 run removed: "*) ;; *) fail "lab clean: $told" ;; esac
[ -z "$(traces "$id")" ] || fail "left: $(traces "$id")"
[ -z "$(listed)" ] || fail "lab list shows what was removed: $(listed)"

# whatever it is doing, a signal ends it, removes everything and says so
python3 - "$zscope" <<'PY' || fail "a signal leaves something"
import glob, os, signal, subprocess, sys, time
state = os.environ["ZSCOPE_LAB_STATE"]
runs = [("INT", "zombies --count 10 --for 60s"), ("TERM", "zombies --count 90000 --mode mix --for 60s"), ("HUP", "zombies --count 90000 --keep --for 60s"),
        ("INT", "busy-core --for 60s"), ("TERM", "net-reset --for 60s"), ("HUP", "crash-loop --mode process --for 60s"), ("INT", "reclaim --for 60s"),
        ("TERM", "two-culprits --mode process --for 60s"), ("INT", "softirq --for 60s"), ("HUP", "pinterest --mode process --count 500 --for 60s")]
bad = 0
for name, what in runs:
    number = getattr(signal, "SIG" + name)
    # a shell that runs this in the background may have it ignored
    run = subprocess.Popen([sys.argv[1], "lab", "run"] + what.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
    until = time.monotonic() + 10
    while not glob.glob(f"{state}/zscope-lab-{run.pid}-*/journal") and run.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.4)
    if run.poll() is not None:
        print(f"{what}: cannot be made here: {run.stderr.read().strip()}")
        continue
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    left = [p for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/var/tmp", "/dev/shm", state) for p in glob.glob(f"{d}/zscope-lab-{run.pid}-*")]
    if run.returncode != 128 + number or left or f"was ended by SIG{name}: everything is removed" not in out:
        print(f"{what}, SIG{name}: status {run.returncode}, left {left}: {out} {err}")
        bad = 1
sys.exit(bad)
PY

# without root it says what is needed
if command -v setpriv >/dev/null; then
	own=$(mktemp -d)
	cp "$zscope" "$own/zscope" && chmod 755 "$own"
	if told=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$own/zscope" lab run busy-core --for 1s 2>&1); then fail "runs as nobody"; fi
	case $told in *"needs root"*) ;; *) fail "as nobody: $told" ;; esac
	rm -r "$own"
fi

# kill -9 in the middle: the next clean finds everything
"$zscope" lab run zombies --count 20000 --mode mix --for 60s 2>/dev/null &
pid=$!
for _ in $(seq 100); do [ -n "$(ls -d $top/zscope-lab-$pid-* 2>/dev/null)" ] && break; sleep 0.05; done
sleep 0.3
kill -9 $pid
wait $pid 2>/dev/null || true
id=$(basename "$(ls -d $top/zscope-lab-$pid-*)" | sed s/zscope-lab-//)
"$zscope" lab clean >/dev/null
[ -z "$(traces "$id")" ] || fail "after kill -9: $(traces "$id")"
[ -z "$(ls "$ZSCOPE_LAB_STATE" 2>/dev/null)" ] || fail "journals left"
for p in /proc/[0-9]*; do
	if grep -qs "zscope-lab-$id" "$p/cgroup"; then fail "process ${p#/proc/} is left"; fi
done

# the dead man ends what nobody cleans
id=$("$zscope" lab run zombies --count 3 --keep --for 1s --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["id"])')
for _ in $(seq 200); do [ -z "$(traces "$id")" ] && break; sleep 0.1; done
[ -z "$(traces "$id")" ] || fail "the dead man left: $(traces "$id")"
echo "lab makes and removes"
