#!/usr/bin/env python3
"""Every event of quipper's perf.data files against quipper's own text-protobuf decode of them."""
import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
import peer

DUMP = sys.argv[2]
# the member of an event that holds its fields, by our names
BODIES = ["mmap_event", "comm_event", "fork_event", "exit_event", "lost_event", "lost_samples_event", "throttle_event",
          "sample_event", "context_switch_event", "namespaces_event", "read_event", "aux_event", "itrace_start_event"]


def parse_text(path):
    """A text protobuf as nested dicts: name → list of values."""
    root = {}
    stack = [root]
    line_re = re.compile(r'\s*([A-Za-z_0-9]+)(?:\s*\{|:\s*(.*))$')
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        line = line.rstrip("\n")
        if line.strip() == "}":
            stack.pop()
            continue
        m = line_re.match(line)
        if not m:
            continue
        if m.group(2) is None:
            child = {}
            stack[-1].setdefault(m.group(1), []).append(child)
            stack.append(child)
        else:
            stack[-1].setdefault(m.group(1), []).append(m.group(2))
    return root


def value(text):
    if text.startswith('"'):
        return text[1:-1].encode("latin-1", "replace").decode("unicode_escape").encode("latin-1")
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def same(ours, theirs):
    if isinstance(theirs, bytes):
        if len(theirs) == 20 and re.fullmatch(r"[0-9a-f]{40}", ours or ""):
            return bytes.fromhex(ours) == theirs
        return (ours or "").encode("utf-8", "surrogateescape") == theirs
    if isinstance(theirs, int) and isinstance(ours, int):
        return ours & (2**64 - 1) == theirs & (2**64 - 1) or ours & 0xffffffff == theirs & 0xffffffff and theirs < 0
    return ours == theirs


def differences(event, ours):
    """Fields in which one of our records is not what quipper says."""
    wrong = []
    header = event["header"][0]
    for field in ("type", "misc", "size"):
        theirs = int(header[field][0])
        # quipper writes records anew: names are padded differently, so a size may be less
        if field != "size" and ours[field] != theirs:
            wrong.append((field, ours[field], theirs))
    for name in BODIES:
        if name not in event:
            continue
        body = event[name][0]
        info = body if name == "sample_event" else body.get("sample_info", [{}])[0]
        place = ours["info"]
        checked = 0
        for field in ("ip", "pid", "tid", "sample_time_ns", "addr", "id", "stream_id", "cpu", "period"):
            if field in info:
                checked += 1
                if not same(place.get(field), value(info[field][0])):
                    wrong.append(("info." + field, place.get(field), info[field][0]))
        if "callchain" in body:
            # quipper sets the highest bit of addresses that lie in no map
            theirs = [int(v) for v in body["callchain"]]
            chain = ours.get("callchain", [])
            if len(chain) != len(theirs) or any(t not in (o, o | 1 << 63) for o, t in zip(chain, theirs)):
                wrong.append(("callchain", chain, theirs))
        if name == "sample_event":
            continue
        for field in ("pid", "tid", "ppid", "ptid", "start", "len", "pgoff", "maj", "min", "ino", "ino_generation", "prot",
                      "flags", "filename", "comm", "fork_time_ns", "lost", "num_lost", "time_ns", "id", "stream_id",
                      "next_prev_pid", "next_prev_tid", "build_id"):
            if field in body and not same(ours.get(field), value(body[field][0])):
                wrong.append((field, ours.get(field), body[field][0]))
        if "link_info" in body:
            theirs = [int(v) for link in body["link_info"] for v in (link["dev"][0], link["ino"][0])]
            if ours.get("link_info") != theirs:
                wrong.append(("link_info", ours.get("link_info"), theirs))
    return wrong


def covered(kernel):
    """Start addresses of quipper's maps, and those that it joined from neighbours (pieces of a huge page)."""
    maps = {}
    for e in kernel:
        for m in e.get("mmap_event", []):
            maps.setdefault(int(m["pid"][0]), {})[int(m["start"][0])] = int(m["len"][0])
    return maps


def event_time(event):
    """When it happened; 0 = it has no time."""
    for name in BODIES:
        for body in event.get(name, []):
            info = body if name == "sample_event" else body.get("sample_info", [{}])[0]
            return int(info.get("sample_time_ns", ["0"])[0])
    return 0


def join_like_quipper(kernel, ours):
    """Join our maps where quipper joined them: a piece that lies inside one of its longer maps."""
    maps = covered(kernel)
    joined = []
    for o in ours:
        if o["type"] in (1, 10):
            known = maps.get(o["pid"], {})
            last = next((p for p in reversed(joined) if p["type"] in (1, 10) and p["pid"] == o["pid"]), None)
            if (o["start"] not in known and last and last["start"] + last["len"] == o["start"] and
                    known.get(last["start"], 0) >= last["len"] + o["len"]):
                last["len"] += o["len"]
                continue
        joined.append(o)
    return joined


def check_attrs(cases, name, expected, ours):
    for i, entry in enumerate(expected.get("file_attrs", [])):
        attr = entry["attr"][0]
        wrong = [f for f in ("type", "config", "sample_period", "sample_type", "read_format")
                 if f in attr and int(attr[f][0]) != ours["attrs"][i][f]]
        for bit, f in ((0, "disabled"), (1, "inherit"), (8, "mmap"), (9, "comm"), (10, "freq"), (12, "enable_on_exec"),
                       (18, "sample_id_all"), (23, "mmap2"), (24, "comm_exec"), (25, "use_clockid"), (26, "context_switch"),
                       (28, "namespaces")):
            if f in attr and (attr[f][0] == "true") != bool(ours["attrs"][i]["flags"] >> bit & 1):
                wrong.append(f)
        cases.check(f"{name} attr {i}", not wrong, wrong)


def check_file(cases, path, expected_path):
    name = os.path.basename(path)
    r = peer.run([DUMP, path])
    lines = [json.loads(line) for line in r.stdout.decode("utf-8", "surrogateescape").splitlines()]
    cases.check(f"{name} reads", r.returncode == 0, r.stderr.decode())
    if not lines:
        return
    ours, summary = lines[:-1], lines[-1]
    expected = parse_text(expected_path)
    check_attrs(cases, name, expected, summary)
    kernel = [e for e in expected.get("events", []) if int(e["header"][0]["type"][0]) < 64]
    # quipper leaves out what it does not know (BPF_EVENT and newer ones)
    known = {int(e["header"][0]["type"][0]) for e in kernel} | {1, 3, 4, 7, 9, 10}
    ours = [o for o in ours if o["type"] in known or o["type"] < 17]
    # quipper sorts files by time, and writes pipes as they are or sorted
    if not summary["pipe"] or [event_time(e) for e in kernel] == sorted(event_time(e) for e in kernel):
        ours.sort(key=lambda o: o["info"].get("sample_time_ns", 0))
    ours = join_like_quipper(kernel, ours)
    cases.check(f"{name} count", len(kernel) == len(ours), f"{len(ours)} records, quipper has {len(kernel)}")
    bad = [(i, d) for i, (e, o) in enumerate(zip(kernel, ours)) for d in [differences(e, o)] if d]
    cases.check(f"{name} events", not bad, f"{len(bad)} of {len(kernel)} differ, first: {str(bad[:1])[:500]}")


def check_build_ids(cases, path, expected_path):
    name = os.path.basename(path)
    r = peer.run([DUMP, path])
    ours = {(b["build_id"], b["file"]) for b in json.loads(r.stdout.decode().splitlines()[-1])["build_ids"]}
    # a line that begins with blanks names a file without a build id
    theirs = {tuple(line.split(None, 1)) for line in open(expected_path).read().splitlines() if line[:1].strip()}
    cases.check(f"{name} build-ids", theirs <= ours, f"missing {sorted(theirs - ours)[:3]}")


cases = peer.Cases()
root = peer.data("quipper")
for path in sorted(glob.glob(os.path.join(root, "*"))):
    if path.endswith((".pb_text", ".buildids", ".md")):
        continue
    if "corrupted" in path:
        r = peer.run([DUMP, path])
        cases.check(os.path.basename(path) + " is refused", r.returncode == 1, r.stderr.decode())
        continue
    for suffix in (".pb_text", ".pr.out.pb_text"):
        if os.path.exists(path + suffix):
            check_file(cases, path, path + suffix)
    if os.path.exists(path + ".buildids"):
        check_build_ids(cases, path, path + ".buildids")
cases.finish()
