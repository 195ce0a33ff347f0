#!/usr/bin/env python3
"""--json of the commands whose answer is not their JSON: record, note, report, metrics, serve and export. Every line is JSON, the
envelope is the contract's, and the values are those of the text, on a recording that was just made of this host.
  json_commands.py ZSCOPE"""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

zscope = sys.argv[1]
failures = []
host = open("/proc/sys/kernel/hostname").read().strip()
kernel = open("/proc/sys/kernel/osrelease").read().strip()
PRIORITY = "no right to a higher priority"


def check(what, got, want):
    if got != want:
        failures.append(f"{what}: got {got!r}, want {want!r}")


def run(*args):
    return subprocess.run([zscope, *args], capture_output=True, timeout=60)


def envelope(o, command, at=host, of=kernel):
    check(f"{command}: envelope", [o.get("schema"), o.get("host"), o.get("kernel")], [f"zombiescope/{command}/1", at, of])
    seconds = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{9})Z$", o.get("time", ""))
    check(f"{command}: time and its twin", seconds and int(seconds[1]), o.get("time_ns", -1) % 10**9)


def ask(command, *args):
    """The objects that COMMAND --json prints; the first has the envelope."""
    r = run(command, "--json", *args)
    check(f"{command} --json: status", r.returncode, 0)
    check(f"{command} --json: stderr", r.stderr, b"")
    return [json.loads(line) for line in r.stdout.splitlines()] or [{}]


def ends_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def no_priority():
    """A recorder without the right to a higher priority says so."""
    ends_with_us()
    ctypes.CDLL(None).prctl(24, 23, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_NICE


def record(store):
    args = [zscope, "record", "--store", store, "--interval", "100ms", "--no-profile"]
    text = subprocess.run([*args, "--for", "1500ms"], capture_output=True, timeout=60, preexec_fn=no_priority)
    said = text.stderr.decode().splitlines()
    check("record: said as text", [any(PRIORITY in line for line in said), f"zscope record: recording to {store}" in said, text.stdout],
          [True, True, b""])
    # lines come when it happens: it is still recording when they are read
    recorder = subprocess.Popen([*args, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=no_priority)
    signal.alarm(60)
    lines = [json.loads(recorder.stdout.readline())]
    while lines[-1]["state"] == "said":
        lines.append(json.loads(recorder.stdout.readline()))
    check("record: runs after the first lines", recorder.poll(), None)
    recorder.terminate()
    out, err = recorder.communicate()
    signal.alarm(0)
    check("record: status and stderr", [recorder.returncode, err], [0, b""])
    check("record: the first tick", {k: lines[-1].get(k) for k in ("state", "store", "text")}, {"state": "recording", "store": store, "text": None})
    lines += [json.loads(line) for line in out.splitlines()]
    for line in lines:
        envelope(line, "record")
    check("record: the end", [lines[-1]["state"], [line["state"] for line in lines].count("ended")], ["ended", 1])
    texts = [line["text"] for line in lines if line["state"] == "said"]
    check("record: says what the text says", any(PRIORITY in text for text in texts), True)
    recorded = {e["text"] for e in ask("events", "--store", store, "--source", "self")}
    *others, closing = texts  # the closing line comes when the store is closed
    check("record: says what there is in the end", bool(re.match(r"\d+ ticks? in \d+ s, \d+ KiB written, \d+ missed", closing)), True)
    check("record: what it said is in the recording", set(others) - recorded, set())


def note(store):
    text = 'moved "irqs"\n off \\core 5'
    o = ask("note", "--store", store, text, "now")[0]
    envelope(o, "note")
    stored = ask("events", "--store", store, "--source", "note")[-1]
    check("note: as stored", [o["text"], o["user"], o["time_ns"], o["store"]],
          [stored["text"], stored["fields"]["user"], stored["time_ns"], store])
    check("note: its text", o["text"], text + " now")
    check("note: silent without --json", run("note", "--store", store, "again").stdout, b"")
    check("note: of another time", ask("note", "--store", store, "--at", "@1700000000.5", "then")[0]["time_ns"], 1700000000500000000)


def report(store, tmp):
    path = os.path.join(tmp, "r.html")
    answer = ask("report", "--store", store, "-o", path)
    o = answer[0]
    envelope(o, "report")
    check("report: one object", len(answer), 1)
    check("report: file and bytes", [o["file"], o["bytes"]], [path, os.path.getsize(path)])
    inside = json.loads(re.search(r'id="zscope-data">(.*?)</script>', open(path).read(), re.S)[1])["report"]
    check("report: the window", [o["from_ns"], o["to_ns"]], [inside["from_ns"], inside["to_ns"]])
    check("report: in RFC 3339", [o["from"][-11:], o["to"][-11:]], [".000000000Z"] * 2)


def metrics(store):
    o = ask("metrics", "--store", store)[0]
    envelope(o, "metrics")
    text, helps, types = [], {}, {}
    for line in run("metrics", "--store", store).stdout.decode().splitlines():
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            (helps if what == "HELP" else types)[name] = rest
            continue
        name, labels, value = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line).groups()
        labels = {k: json.loads(f'"{v}"') for k, v in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")}
        text.append((name, types[name], helps[name], labels, float(value)))
    check("metrics: the numbers of the text", [(m["name"], m["type"], m["help"], m["labels"], m["value"]) for m in o["metrics"]], text)
    check("metrics: there are some", len(text) > 40, True)


def serve(store):
    server = subprocess.Popen([zscope, "serve", "--json", "--store", store, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=ends_with_us)
    signal.alarm(60)
    o = json.loads(server.stdout.readline())
    envelope(o, "serve")
    check("serve: where", [o["url"], o["address"], o["store"]], [f"http://127.0.0.1:{o['port']}/", "127.0.0.1", store])
    status = json.load(urllib.request.urlopen(o["url"] + "api/v1/status", timeout=30))
    check("serve: it answers there", status["schema"], "zombiescope/status/1")
    server.terminate()
    out, err = server.communicate()
    signal.alarm(0)
    check("serve: one line", [server.returncode, out, err], [0, b"", b""])


SCRIPT = r'''a "b\ 1/2 [003] 10.500000: 7 cycles: 
	ffffffff81000003 f+0x3 ([kernel.kallsyms])
	401 ns::<"x">::main+0x1 (/bin/x "y")

c 5 11.000001: 9 page-faults: 
	402 [unknown] (/bin/y)

a "b\ 1/2 [003] 12.000000: 7 cycles: 

'''


def perf_script(text):
    """What `export --perf-script` prints, as `export --json` has it."""
    for block in text.strip("\n").split("\n\n"):
        head, *frames = block.split("\n")
        comm, pid, tid, cpu, seconds, ns, period, event = re.match(r"(.*?) (?:(\d+)/)?(\d+)(?: \[(\d+)\])? (\d+)\.(\d+): +(\d+) (.*): $", head).groups()
        sample = {"time_ns": int(seconds) * 10**9 + int(ns), "tid": int(tid), "comm": comm, "event": event, "period": int(period), "stack": []}
        sample.update({k: int(v) for k, v in (("pid", pid), ("cpu", cpu)) if v})
        for frame in frames:
            address, name, file = re.match(r"\t *([0-9a-f]+) (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$", frame).groups()
            sample["stack"].append({"name": name, "object": file})
            if name == "[unknown]":
                sample["stack"][-1] = {"name": f"[{os.path.basename(file)}]", "object": file, "address": "0x" + address}
        yield sample


def export(tmp):
    path = os.path.join(tmp, "perf-h-1794789593-120s.txt")
    store = os.path.join(tmp, "imported")
    open(path, "w").write(SCRIPT)
    check("import", run("import", "--store", store, path).returncode, 0)
    for source in ([path], ["--store", store]):
        head, *samples = ask("export", *source)
        envelope(head, "export", None, None)
        check("export: how many follow", [head["samples"], len(samples)], [3, 3])
        check("export: in RFC 3339", samples[1].pop("time"), "2026-11-16T00:39:53.500001000Z")
        for sample in samples:
            sample.pop("time", None)
        check(f"export {source[0]}: the samples of the text", samples, list(perf_script(run("export", *source).stdout.decode())))
        check("export: from leaf to root", [f["name"] for f in samples[0]["stack"]], ["f", 'ns::<"x">::main'])
        head, *samples = ask("export", *source, "--event", "page-faults")
        check("export: one event", [head["samples"], [s["event"] for s in samples]], [1, ["page-faults"]])
        text = run("export", *source, "--event", "page-faults").stdout.decode()
        check("export: one event as text", [s["event"] for s in perf_script(text)], ["page-faults"])
        wrong = run("export", *source, "--event", "page-fault")
        check("export: an event that is not there", [wrong.returncode, wrong.stdout, b"page-faults" in wrong.stderr], [2, b"", True])
    relative = os.path.join(tmp, "relative.txt")
    open(relative, "w").write(SCRIPT)
    check("export: no made-up date", ask("export", relative)[1]["time"], "+10.500000000s")


with tempfile.TemporaryDirectory() as tmp:
    store = os.path.join(tmp, 'rec "1"')
    record(store)
    note(store)
    report(store, tmp)
    metrics(store)
    serve(store)
    export(tmp)
print("\n".join(failures) or "every line is JSON and says what the text says")
sys.exit(1 if failures else 0)
