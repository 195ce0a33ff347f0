#!/usr/bin/env python3
"""A core that really goes and comes back (a virtual machine of two) while it is recorded with profiles: off for a while under the recorder's
eyes, then off and on again between two looks. The core's samples stop and begin again, those from before are not lost, the seconds go
on, no number is absurd, `cores` says that it is offline.

usage: hotplug.py ZSCOPE PROFILE_LOAD [KERNEL...]"""
import os, sys, tempfile

from kernels import package
from rig import INIT_HEAD, OWN_CLOCK, SHELL, boot, check, initramfs, need_tools

zscope, load = map(os.path.abspath, sys.argv[1:3])
kernels = sys.argv[3:] or ["6.12"]
CORE = 1
SECOND = 10**9
COLUMNS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "idle")
REOPENED_S = 4  # documented is the second after next; the emulated machine may be late

INIT = INIT_HEAD + SHELL + r"""mark() { say $1 "{\"s\":$(adjtimex | awk '/tv_sec/ { s = $2 } /tv_usec/ { printf "%d.%06d", s, $2 }')}"; }
online() { echo $1 > /sys/devices/system/cpu/cpu1/online; }
say kernel "{\"release\":\"$(uname -r)\"}"
zscope record --store /tmp/store 2>/tmp/err &
recorder=$!
until_true 60 grep -q "recording to" /tmp/err
sleep 2
mark before
profile-load spin 1 5
mark going
profile-load spin 1 3 &
sleep 2
mark off_begin
online 0
mark off
wait %2
sleep 5
mark on_begin
online 1
mark on
profile-load spin 1 7
mark blink_begin
online 0
online 1
mark blink
profile-load spin 1 9
mark after
sleep 1
kill $recorder
wait $recorder
say status "{\"exit\":$?}"
while read -r line; do echo "recorder: $line"; done < /tmp/err
say cores "[$(zscope cores --json --store /tmp/store | tr '\n' ',' | sed 's/,$//')]"
say samples "[$(zscope export --store /tmp/store | awk '$3 == "[001]" { sub(":", "", $4); printf "%s[\"%s\",%s]", sep, $1, $4; sep = "," }')]"
say events "[$(zscope events --store /tmp/store --json | tr '\n' ',' | sed 's/,$//')]"
echo "@@end@@ {}"
poweroff -f
"""



def judge_samples(a):
    at = {k: a[k]["s"] for k in ("before", "going", "off_begin", "off", "on_begin", "on", "blink_begin", "blink", "after")}
    between = lambda t0, t1: [comm for comm, t in a["samples"] if t0 <= t < t1]
    expect = lambda t0, t1: 97 * (t1 - t0)

    def sampled(t0, t1, what):
        got = between(t0, t1)
        check(len(got) >= 0.5 * expect(t0, t1), f"{what}: {len(got)} samples in {t1 - t0:.1f} s")
        named = got.count("profile-load")
        check(named >= 0.9 * len(got), f"{what}: {len(got) - named} of {len(got)} have another name: {set(got)}")

    sampled(at["before"] + 1, at["going"], "before")
    # the seconds just before it goes: what its ring held must not go with it
    sampled(at["going"] + 0.5, at["off_begin"], "the last seconds")
    check(not between(at["off"], at["on_begin"]), "samples of a core that is offline")
    sampled(at["on"] + REOPENED_S, at["blink_begin"], "back")
    sampled(at["blink"] + REOPENED_S, at["after"], "back at once")
    first = lambda t0: min((t for _, t in a["samples"] if t > t0), default=t0 + 99) - t0
    return first(at["on"]), first(at["blink"])


def judge_cores(a):
    lines = a["cores"]
    off, on = a["off"]["s"], a["on_begin"]["s"]
    away = 0
    for line in lines:
        for c in line["cpus"] + [line["all"]]:
            check(all(0 <= c[k] <= 100 for k in COLUMNS) and sum(c[k] for k in COLUMNS) <= 100.5, (line["time"], c))
        is_away = CORE not in {c["cpu"] for c in line["cpus"]}
        t = line["time_ns"] / SECOND
        if off <= t <= on:
            check(is_away and line["offline"] == [CORE], f"offline, but {line}")
            away += 1
        elif t < off - 1.5 or t > on + 3 and not a["blink_begin"]["s"] < t < a["blink"]["s"] + 3:
            check(not is_away and line["offline"] == [], f"online, but {line}")
    check(away >= 4, f"only {away} seconds show the core offline")
    steps = [(b["time_ns"] - x["time_ns"]) / SECOND for x, b in zip(lines, lines[1:])]
    check(max(steps) < 4, f"a gap of {max(steps):.1f} s between two ticks")
    return away


def judge(a):
    check(a["status"]["exit"] == 0, f"the recorder ended with {a['status']}")
    back, blink = judge_samples(a)
    away = judge_cores(a)
    # a core without an event gives no ticks: that is no finding about the core
    missing = [e for e in a["events"] if e["id"] == "profile-missing-ticks" and e["fields"]["cpu"] == str(CORE)]
    gone = [(a["off_begin"]["s"] - 1, a["off"]["s"] + 1), (a["on_begin"]["s"] - 1, a["on"]["s"] + REOPENED_S),
            # not the second itself: that it was away for a part of it is nowhere to be read
            (a["blink"]["s"], a["blink"]["s"] + REOPENED_S)]
    blamed = [e for e in missing if any(t0 <= e["time_ns"] / SECOND <= t1 for t0, t1 in gone)]
    check(not blamed, blamed)
    return f"{a['kernel']['release']}: core {CORE} away for {away} s, sampled again {back:.1f} s after it came, {blink:.1f} s after a blink"


need_tools()
for name in kernels:
    with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
        kernel, initrd = initramfs(tmp + "/tree", package(name), (zscope, load), (), INIT)
        print(judge(boot(kernel, initrd, "-smp", "2", *OWN_CLOCK)), flush=True)
