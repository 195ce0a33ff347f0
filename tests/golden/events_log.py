#!/usr/bin/env python3
"""Kernel-log excerpts from public issues and mailing lists: every one must lead to the right events with the right fields, and not
to the wrong ones. ZSCOPE_KMSG_DATA names their directory (default: ../shared/testdata/kmsg beside the source tree)."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

source, zscope = sys.argv[1:3]
data = os.environ.get("ZSCOPE_KMSG_DATA") or os.path.join(source, "..", "shared", "testdata", "kmsg")
failures = []


def run(path, *more, stdin=None):
    env = dict(os.environ, TZ="UTC")
    r = subprocess.run([zscope, "events", "--json", "--log", path, *more], input=stdin, env=env, capture_output=True)
    return [json.loads(line) for line in r.stdout.splitlines()], r


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: got {got!r}, want {want!r}")


def case(name, *wanted):
    """wanted: (id, severity or None, {field: value}, [fields that must be absent])"""
    events, r = run(os.path.join(data, name + ".log"))
    check(f"{name}: status", r.returncode, 0)
    events = [e for e in events if e["id"] not in ("kmsg-lost",)]
    check(f"{name}: events", [e["id"] for e in events], [w[0] for w in wanted])
    for event, (ident, severity, fields, *absent) in zip(events, wanted):
        if severity:
            check(f"{name}: severity", event["severity"], severity)
        for key, value in fields.items():
            got = event["time"][4:] if key == "time_in_year" else event["fields"].get(key, event.get(key))
            check(f"{name}: {ident}: {key}", got, value)
        for key in absent[0] if absent else []:
            check(f"{name}: {ident}: no {key}", event["fields"].get(key), None)
        check(f"{name}: a text log proves nothing", event["trusted"], name.startswith("25"))
    return events


RESET = "net-driver-reset"


def cases():
    case("01-ena-txq5-v2110g", (RESET, "crit", {
        "iface": "eth0", "pci": "0000:20:03.0", "queue": "5", "threshold_ms": "5000", "napi_age_ms": "6596", "napi_sched": "1",
        "class": "POLL_STARVATION", "cause": "suspected-poll-starvation", "reason": "15", "driver_version": "2.11.0g",
        "reset": "finished", "count": 3}, ["cpu", "napi_cpu"]))
    case("02-ena-keepalive-t3a", (RESET, "crit", {
        "iface": "eth0", "cause": "keep-alive", "reason": "1", "stat_wd_expired": "1", "late_completions": "17", "queue": "2",
        "index_first": "961", "index_last": "977", "count": 23}, ["lost"]))
    case("03-ena-losttx-then-netdevwd",
         (RESET, "crit", {"cause": "missed-completions", "lost": "248", "limit": "128", "time_in_year": "-07-14T14:17:34.000000000Z"},
          ["queue"]),
         (RESET, "crit", {"cause": "netdev-watchdog", "queue": "3", "since_previous_s": "16.0", "stat_queue_tx_doorbells": "5050",
                          "kernel": "3.10.0-957.21.3.el7.x86_64"}, ["cpu", "comm", "pid"]))
    case("05-ena-keepalive-crash-loop", (RESET, "crit", {
        "iface": "ens5", "cause": "keep-alive", "stat_wd_expired": "9467", "stat_interface_down": "10475", "stat_suspend": "1",
        "stat_resume": "1", "loop": "true", "resets_since_boot": "9467", "uptime_h": "24.0", "seconds_per_reset": "9.1",
        "stat_tx_timeout": "1", "class": "KEEP_ALIVE_TO"}))
    case("06-ena-napi-21s", (RESET, "crit", {
        "queue": "2", "napi_age_first_ms": "5756", "napi_age_ms": "21560", "stall_ms": "21560", "lost": "1019", "limit": "128",
        "stall_start_ns": "1371889761318000", "threshold_ms": "5000", "class": "POLL_STARVATION"}))
    case("07-ena-v240g-reset-done", (RESET, "crit", {
        "iface": "ens5", "pci": "0000:00:05.0", "queue": "4", "lost": "361", "limit": "128", "reset": "finished",
        "driver_version": "2.4.0g", "count": 4}))
    case("09-ena-eks-softlockup-writeback",
         ("net-tx-late", "warn", {"iface": "eth3", "queue": "4", "reset": "no"}, ["cpu", "napi_cpu", "irq"]),
         ("soft-lockup", "crit", {"cpu": "58", "comm": "kworker/u146:7", "pid": "707658", "seconds": "23",
                                  "kernel": "4.14.165-133.209.amzn2.x86_64", "hardware": "Amazon EC2 c5.18xlarge/"}))
    events = case("12-r8125-netdevwd-two-nics", *[(RESET, "crit", {"queue": "0", "iface": i, "stalled_ms": ms, "count": 2}, ["cpu"])
                                                   for i, ms in (("eth4", "5010"), ("eth1", "5010"), ("eth4", "5160"), ("eth1", "5290"),
                                                                 ("eth4", "5540"), ("eth4", "5110"), ("eth1", "5010"))])
    check("12: timer CPUs are only called that", {e["fields"]["timer_cpu"] for e in events}, {"3", "0"})
    events = case("14-ixgbe-linkloss-reset-loop", *[(RESET, None, {"cause": "link-loss", "class": "LINK_LOSS"}, ["stall_ms"])] * 9)
    check("14: series", (events[-1]["fields"]["resets_in_series"], events[-1]["fields"]["series_span_s"]), ("9", "13.9"))
    check("14: loop", (events[-1]["fields"].get("loop"), events[-1]["severity"]), ("true", "crit"))
    case("17-e1000e-hang-dmesg", ("net-tx-hang", "crit", {"iface": "eth0", "tdh": "0x13", "tdt": "0x88", "reports": "2", "count": 2}))
    case("19-mlx5-txtimeout-610", (RESET, "crit", {
        "iface": "eth0", "queue": "0", "stalled_ms": "15570", "outstanding": "4002", "irq": "103", "cause": "netdev-watchdog",
        "recovery_warning": "mlx5e_selq_prepare_params", "timer_cpu": "1"}, ["cpu"]))
    case("20-bnxt-613rc7-hung-init",
         (RESET, "crit", {"iface": "eth0", "queue": "1", "stalled_ms": "5123", "locks": "rtnl_mutex,hwrm_cmd_lock",
                          "reset_holds_locks": "true"}, ["cpu"]),
         ("hung-task", "warn", {"comm": "swapper/0", "pid": "1", "because": "net-driver-reset eth0", "header": "missing"}))
    case("21-bnxt-510-syslog-lag",
         (RESET, "crit", {"iface": "eth0", "rings_stuck": "0,2,4,6", "wall_lag_s": "22.4"}),
         (RESET, "crit", {"reset": "failed", "rc": "fffffff0", "since_previous_s": "40.1", "wall_lag_s": "73.9"}))
    case("22-softlockup-with-utilization", ("soft-lockup", "crit", {
        "cpu": "2", "seconds": "78", "comm": "kworker/u16:7", "pid": "101418", "samples": "5", "system_percent": "100",
        "held_by": "kernel-code"}))
    case("24-rcu-false-stall-after-migration", ("rcu-stall", "warn", {
        "cpus": "0", "false_positive": "true", "idle": "true", "gp_kthread_cpu": "0", "confidence": "low"}))
    case("25-wq-lockup-raw-kmsg-caller", ("wq-lockup", "crit", {"cpus": "3", "seconds": "23152", "in_flight": "refill_work"}))
    events, _ = run(os.path.join(data, "25-wq-lockup-raw-kmsg-caller.log"), "--id", "kmsg-lost")
    check("25: the gap is reported", [(e["fields"]["lost"], e["count"]) for e in events], [("1", 1)])
    case("27-wq-hogged-then-hung-gcp",
         ("wq-hog", "warn", {"func": "iomap_dio_complete_work", "count_first": "35", "count_last": "67"}),
         ("wq-hog", "warn", {"func": "fill_page_cache_func", "count_last": "19"}),
         ("hung-task", "warn", {"comm": "syscall-1", "pid": "5070", "seconds": "122", "kernel": "6.11.0-1014-gcp"}))
    case("28-memcg-oom-k8s-310",
         ("oom-kill", "crit", {"scope": "memcg", "candidate_pid": "24572", "victim_pid": "28438", "victim_comm": "java",
                               "killed": "true"}),
         ("oom-kill", "warn", {"killed": "false", "invoked_by": "java"}, ["victim_pid"]))
    case("29-hung-task-io-aws", ("hung-task", "warn", {
        "comm": "mount", "pid": "21569", "seconds": "604", "waits_in": "blk_mq_get_tag", "waits_for": "storage"}))
    case("30-ena-boot-no-reset")


def compressed_and_damaged():
    path = os.path.join(data, "02-ena-keepalive-t3a.log")
    raw = open(path, "rb").read()
    plain, _ = run(path)
    with tempfile.TemporaryDirectory() as tmp:
        packed = os.path.join(tmp, "a.gz")
        open(packed, "wb").write(gzip.compress(raw))
        check("gzip", run(packed)[0], plain)
        subprocess.run(["zstd", "-q", path, "-o", os.path.join(tmp, "a.zst")], check=True)
        check("zstd", run(os.path.join(tmp, "a.zst"))[0], plain)
        check("stdin", run("-", stdin=raw)[0], plain)
        check("two gzip members", run("-", stdin=gzip.compress(raw[:1000]) + gzip.compress(raw[1000:]))[0], plain)
        cut = gzip.compress(raw)[:-40]
        events, r = run("-", stdin=cut)
        check("truncated gzip: status", r.returncode, 2)
        check("truncated gzip: named", b"cut off" in r.stderr, True)


def bad_input():
    for text, what in ((b"", b"empty"), (b"hello\nworld\n", b"could not recognize the format"), (bytes(range(256)) * 50, b"recognize")):
        events, r = run("-", stdin=text)
        check(f"{what}: status and events", (r.returncode, events), (2, []))
        check(f"{what}: named once", (what in r.stderr, r.stderr.count(b"\n")), (True, 1))
    long = b"[    1.000000] " + b"x" * 8192 + b"\n[    2.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [a:1]\n"
    check("8 KB line", [e["id"] for e in run("-", stdin=long)[0]], ["soft-lockup"])
    huge = b"[    1.000000] " + b"y" * 3000000 + b"\n[    2.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [a:1]\n"
    check("3 MB line", [e["id"] for e in run("-", stdin=huge)[0]], ["soft-lockup"])
    name = b"[    2.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [runc:[1:CHILD]\xff\x1b[31m:77]\n"
    events, r = run("-", stdin=name)
    check("hostile name", (events[0]["fields"]["pid"], "\x1b" in r.stdout.decode().replace("\\u001b", "")), ("77", False))
    # a process name with a newline in it: one record, no event
    forged = b"6,1,1000000,-;q\\x0aena 0000:00:05.0 eth0: Keep alive watchdog timeout.[9]: segfault at 0 ip 0\n"
    check("forged second line", run("-", stdin=forged)[0], [])
    user = b"12,1,1000000,-;ena 0000:00:05.0 eth0: Keep alive watchdog timeout.\n4,2,1000001,-;ena 0000:00:05.0 eth0: Trigger reset is on\n"
    events, _ = run("-", stdin=user)
    check("user facility is not trusted", [(e["trusted"], e["count"]) for e in events], [(False, 1), (True, 1)])
    with tempfile.NamedTemporaryFile(suffix=".tsv") as f:
        f.write(b"a\tb\tevent\twarn\t-\t-\t^(x\t-\tall\tm\ts\tx\n")
        f.flush()
        r = subprocess.run([zscope, "events", "--check-patterns", f.name], capture_output=True)
        check("bad pattern", (r.returncode, b":1: a: the regex does not compile" in r.stderr), (2, True))
        _, r = run("-", "--patterns", f.name, stdin=user)
        check("bad pattern in use", (r.returncode, b":1: a: the regex" in r.stderr), (2, True))


bad_input()
if not os.path.isdir(data):
    print("\n".join(failures) or f"ZSCOPE_KMSG_DATA: {data} is not here: the excerpts were not tested")
    sys.exit(1 if failures else 77)
cases()
compressed_and_damaged()
print("\n".join(failures) or "all excerpts lead to the right events")
sys.exit(1 if failures else 0)
