#!/usr/bin/env python3
"""perf.data files of all kinds, made here with the installed perf: import must give what perf script says, and the
exporters what the import gave."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

sys.path.insert(0, os.path.dirname(__file__))
import profile_proto

ZSCOPE = sys.argv[1]
PERF = shutil.which("perf")
LOAD = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; find /usr/lib -name '*.so' >/dev/null; ls -laR /etc >/dev/null"]
KINDS = {
    "file": [],
    "compressed": ["-z"],
    "monotonic": ["-k", "mono"],
    "realtime": ["-k", "realtime"],
    "two-events": ["-e", "cpu-clock,page-faults"],
    "no-chain": [],
    "build-ids": ["--buildid-mmap"],
    "cgroups": ["--all-cgroups"],
    "period": ["-c", "1000000"],
}
failures = []
began = {}  # when each file was
PATIENCE_S = 240


def check(name, ok, why=""):
    print(("ok      " if ok else "FAILED  ") + name + ("" if ok else f": {why}"))
    if not ok:
        failures.append(name)


def run(argv, **options):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, **options)


def record(path, options, pipe=False, load=LOAD):
    """perf 6.1 crashes now and then when another recorder asks the kernel for build ids meanwhile: then again."""
    for attempt in range(6):
        r = record_once(path, options, pipe, load)
        if r.returncode == 0 and perf_samples(path):
            break
        time.sleep(0.1 * attempt)
    return r


def record_once(path, options, pipe, load):
    began[path] = time.time()
    chain = [] if "no-chain" in path else ["-g"]
    event = [] if "-e" in options else ["-e", "cpu-clock"]
    frequency = [] if "-c" in options else ["-F", "999"]
    argv = [PERF, "record", "-q", *frequency, *event, *chain, *options]
    if pipe:
        with open(path, "wb") as out:
            return subprocess.run(argv + ["-o", "-", "--", *load], stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    return run(argv + ["-o", path, "--", *load])


def perf_samples(path):
    """(comm, pid, tid, time, event, number of frames) of each sample, by perf itself."""
    r = run([PERF, "script", "--ns", "-F", "comm,pid,tid,time,event,ip,sym", "-i", path])
    return parse(r.stdout.decode("utf-8", "replace")) if r.returncode == 0 else None


def parse(text):
    samples = []
    for line in text.splitlines():
        m = re.match(r"\s*(\S.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[\d+\]\s+)?(\d+\.\d+):\s+(?:\d+\s+)?(\S+):\s*(.*)$", line)
        if m:
            samples.append([m.group(1), int(m.group(2)), int(m.group(3)), m.group(4), m.group(5), 1 if m.group(6) else 0])
        elif line.strip():
            samples[-1][5] += 1
    return [tuple(s) for s in samples]


def check_kind(name, path):
    theirs = perf_samples(path)
    r = run([ZSCOPE, "export", path])
    ours = parse(r.stdout.decode("utf-8", "replace"))
    if theirs is None:
        check(f"{name}: read, although perf itself fails on it", len(ours) > 20, r.stderr)
        return
    check(f"{name}: samples", len(ours) == len(theirs) and len(theirs) > 20, f"{len(ours)}, perf has {len(theirs)} {r.stderr}")
    if name.startswith("monotonic") or name.startswith("realtime"):
        # ours are wall time: only the distances can be compared
        def distances(samples):
            ns = [int(s[3].replace(".", "")) for s in samples]
            return [t - ns[0] for t in ns]
        check(f"{name}: times", sorted(distances(ours)) == sorted(distances(theirs)))
        now = time.time()
        first = float(ours[0][3])
        check(f"{name}: wall time", began[path] - 0.1 < first <= now, f"{began[path]}, {first}, now {now}")
    else:
        check(f"{name}: times", collections.Counter(s[3] for s in ours) == collections.Counter(s[3] for s in theirs))
    check(f"{name}: tasks and events", not other_tasks(ours, theirs), other_tasks(ours, theirs))
    # of a chain without any address perf shows none, we the sample's own; of one that is broken perf shows none at all
    shown = collections.Counter(s[:3] + s[4:] for s in theirs if s[5])
    differ = shown - collections.Counter(s[:3] + s[4:] for s in ours)
    check(f"{name}: frames", not differ and all(s[5] for s in ours), differ)


def other_tasks(ours, theirs):
    """What one side has and the other has not."""
    tasks = [collections.Counter(s[:3] + s[4:5] for s in samples) for samples in (ours, theirs)]
    return list((tasks[0] - tasks[1]).items()) + list((tasks[1] - tasks[0]).items())


def check_exports(path, store):
    folded = run([ZSCOPE, "flame", "--folded", "--store", store]).stdout.decode("utf-8", "replace")
    total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    profile = profile_proto.decode(run([ZSCOPE, "flame", "--pprof", "--store", store]).stdout)
    theirs = perf_samples(path)
    check("pprof: samples", theirs is None or sum(v[0] for _, v, _ in profile["samples"]) == len(theirs))
    check("pprof: weight", sum(v[1] for _, v, _ in profile["samples"]) == total, total)
    check("pprof: types", profile["types"] == [("samples", "count"), ("cpu", "nanoseconds")], profile["types"])
    check("pprof: leaf first", any(stack and stack[-1][0][0] in ("entry_SYSCALL_64_after_hwframe", "_start", "[unknown]", "main") or
                                   len(stack) > 3 for stack, _, _ in profile["samples"]))
    leaves = collections.Counter()
    for stack, values, _ in profile["samples"]:
        leaves[stack[0][0][0]] += values[1]
    folded_leaves = collections.Counter()
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        folded_leaves[stack.split(";")[-1]] += int(count)
    top = leaves.most_common(1)[0]
    check("pprof and folded agree on the hottest leaf", top[1] == folded_leaves.most_common(1)[0][1], (top, folded_leaves.most_common(1)))
    speedscope = json.loads(run([ZSCOPE, "flame", "--speedscope", "--store", store]).stdout)
    one = speedscope["profiles"][0]
    check("speedscope: form", speedscope["$schema"].startswith("https://www.speedscope.app/") and one["type"] == "sampled" and
          len(one["samples"]) == len(one["weights"]) and one["endValue"] == sum(one["weights"]) == total)
    check("speedscope: frames", max(max(s) for s in one["samples"]) < len(speedscope["shared"]["frames"]))
    svg = run([ZSCOPE, "flame", "--svg", "--store", store]).stdout
    xml.dom.minidom.parseString(svg)
    check("svg: no request leaves it", not re.search(rb"(href|src)=|url\(|@import|fetch\(|XMLHttpRequest", svg))
    heat_svg = run([ZSCOPE, "heat", "--svg", "--store", store]).stdout
    width = int(xml.dom.minidom.parseString(heat_svg).documentElement.getAttribute("width"))
    check("heat svg: losses are in sight", width >= 600 and b" lost, " in heat_svg and
          max(len(line) for line in re.findall(rb"<text[^>]*>([^<]*)", heat_svg)) * 7 < 700, heat_svg[-600:])
    html = run([ZSCOPE, "flame", "--html", "--store", store]).stdout
    check("html: no request leaves it", b"<svg" in html and not re.search(rb"(href|src)=|url\(|@import", html))
    tree = json.loads(run([ZSCOPE, "flame", "--json", "--store", store]).stdout)
    heat = run([ZSCOPE, "heat", "--store", store]).stdout + run([ZSCOPE, "flame", "--store", store]).stdout
    check("no wall time: seconds, never 1970", tree["from"].startswith("+") and b"1970" not in heat + svg, tree["from"])
    command = re.search(rb"--from (\+[0-9.]+) --to (\+[0-9.]+)", heat)
    check("no wall time: the times that are shown are taken", command and
          b"samples" in run([ZSCOPE, "flame", "--store", store, "--from", command[1].decode(), "--to", command[2].decode()]).stdout)
    check("host of the recording", tree["host"] == os.uname().nodename, tree["host"])
    check("json: an object with a schema", tree["schema"] == "zombiescope/flame/1")


def check_file_window(path):
    """A window of a file that is read directly: the samples in it, no others; a file without times has none."""
    ours = parse(run([ZSCOPE, "export", path]).stdout.decode("utf-8", "replace"))
    times = sorted(int(s[3].replace(".", "")) for s in ours)
    middle = times[len(times) // 2]
    inside = sum(t >= middle for t in times)
    window = ["--from", f"+{middle // 10**9}.{middle % 10**9:09d}"]
    tree = json.loads(run([ZSCOPE, "flame", "--json", path, *window]).stdout)
    check("file: a window of it", tree["samples"] == inside < len(times), (tree["samples"], inside, len(times)))
    r = run([ZSCOPE, "flame", "-", *window], input=b"a 1 cycles:\n\t1 f (m)\n\n")
    check("file: no window without times", r.returncode == 2 and b"no times" in r.stderr, r.stderr)


def check_names(scratch):
    """What a linker calls _ZN... has its programmer's name, in a file as in a recording."""
    compiler = shutil.which("cc")
    if not compiler:
        print("skipped  names: no C compiler")
        return
    program, path, store = (os.path.join(scratch, name) for name in ("names", "names.data", "names-store"))
    source = b"""void _ZN3box4call17h0123456789abcdefE(void) { for (volatile long i = 0; i < 200000000; i++); }
                 int main(void) { _ZN3box4call17h0123456789abcdefE(); }"""
    run([compiler, "-O0", "-x", "c", "-o", program, "-"], input=source).check_returncode()
    record(path, [], load=[program])
    run([ZSCOPE, "import", "--store", store, path]).check_returncode()
    for argv in (["flame", "--folded", path], ["flame", path], ["export", "--folded", path], ["flame", "--folded", "--store", store]):
        text = run([ZSCOPE, *argv]).stdout
        check(f"names: {' '.join(argv[:-1])}", b"box::call" in text and b"_ZN" not in text, text[:300])


def check_browser(scratch, store):
    """The graph's own script in a real browser: zoom and search change what is drawn."""
    chromium = shutil.which("chromium")
    if not chromium:
        print("skipped  browser: chromium is not installed")
        return
    page = os.path.join(scratch, "page.html")
    html = run([ZSCOPE, "flame", "--html", "--store", store]).stdout.decode()
    probe = ("<script>window.addEventListener('load',function(){var s=document.querySelector('svg');s.flame.search('.');"
             "var hit=s.querySelector('.hit').textContent;var g=s.querySelectorAll('g.f');"
             "s.flame.zoom(g[1].x,g[1].x+g[1].w);var w=+g[1].r.getAttribute('width');"
             "document.body.setAttribute('data-probe',hit+'|'+(w>1100)+'|'+s.querySelector('.reset').style.display);});</script></body>")
    open(page, "w").write(html.replace("</body>", probe))
    r = run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "file://" + page])
    m = re.search(r'data-probe="([^"]*)"', r.stdout.decode("utf-8", "replace"))
    check("browser: zoom and search", bool(m) and m.group(1) == "Matched: 100.0%|true|", m.group(1) if m else r.stderr[-300:])


def check_directory(scratch):
    """Two-minute files of a shell loop, here of a second: one recording, in the order of their names' times."""
    directory = os.path.join(scratch, "loop")
    os.mkdir(directory)
    starts, most = [], 2
    for _ in range(3):
        start = time.time()
        starts.append(start)
        name = time.strftime("perf-ip-10-0-0-1-%Y%m%d-%H%M%S-120s.data", time.localtime(start))
        record(os.path.join(directory, name), [])
        most = max(most, time.time() - start)  # perf may begin late
        time.sleep(1.1)
    store = os.path.join(scratch, "loop-store")
    r = run([ZSCOPE, "import", "--json", "--store", store, directory])
    result = json.loads(r.stdout)
    theirs = [perf_samples(os.path.join(directory, name)) for name in sorted(os.listdir(directory))]
    if None in theirs:
        print("skipped  directory: perf itself cannot read what it recorded")
        return
    counts = [len(samples) for samples in theirs]
    check("directory: every sample", [f["samples"] for f in result["files"]] == counts, (result["files"], counts))
    check("directory: wall time from names", all(f["wall_time"] == "file-name" for f in result["files"]))
    offsets = [f["from_ns"] / 1e9 - start for f, start in zip(result["files"], starts)]
    check("directory: times", all(-1.1 < offset < most for offset in offsets), (offsets, most))
    # however late perf began: the files of one boot keep the distances that their own clock gives them
    clocks = [f["from_ns"] - min(int(s[3].replace(".", "")) for s in samples) for f, samples in zip(result["files"], theirs)]
    check("directory: one clock", max(clocks) - min(clocks) < 2e9 and (max(offsets) - min(offsets) > 4 or len(set(clocks)) == 1),
          (offsets, clocks))
    os.utime(os.path.join(directory, sorted(os.listdir(directory))[0]), (1, 1))
    again = json.loads(run([ZSCOPE, "import", "--json", "--store", store + "2", directory]).stdout)
    check("directory: change times do not matter", [f["from_ns"] for f in again["files"]] == [f["from_ns"] for f in result["files"]])
    script = run([ZSCOPE, "export", "--store", store]).stdout.decode("utf-8", "replace")
    check("directory: export gives them all", len(parse(script)) == sum(counts), (len(parse(script)), sum(counts)))


def check_threads(scratch):
    """`perf record --threads` writes a directory with a file per core: it is one recording, also among others."""
    loop = os.path.join(scratch, "threads")
    os.mkdir(loop)
    for kind, options in (("threads", []), ("threads-compressed", ["-z"])):
        path = os.path.join(loop, kind + ".data")
        r = record(path, ["-a", "--threads=cpu", *options])
        shutil.rmtree(path + ".old", ignore_errors=True)  # of an attempt that perf crashed in
        if r.returncode != 0 or not os.path.isdir(path):
            print(f"skipped  {kind}: {r.stderr.decode()[:200]}")
            return
        check_kind(kind, path)
        times = [s[3] for s in parse(run([ZSCOPE, "export", path]).stdout.decode("utf-8", "replace"))]
        check(f"{kind}: in the order of time", [float(t) for t in times] == sorted(float(t) for t in times))
    theirs = {kind: perf_samples(os.path.join(loop, kind + ".data")) for kind in ("threads", "threads-compressed")}
    r = run([ZSCOPE, "import", "--json", "--store", loop + "-store", loop])
    files = {os.path.basename(f["file"]): f for f in json.loads(r.stdout)["files"]}
    check("threads: a directory of such directories", sorted(files) == ["threads-compressed.data", "threads.data"], sorted(files))
    check("threads: every sample of both", all(files[k + ".data"]["samples"] == len(theirs[k]) for k in theirs if theirs[k]), files)
    part = json.loads(run([ZSCOPE, "import", "--json", "--store", loop + "-part", os.path.join(loop, "threads.data", "data")]).stdout)
    check("threads: one file of it says so", "directory" in part["files"][0].get("damage", ""), part["files"])
    # a ring's file that is cut is named; what the others hold stays
    cut = os.path.join(loop, "threads.data", "data.0")
    os.truncate(cut, os.path.getsize(cut) - 5)
    part = json.loads(run([ZSCOPE, "import", "--json", "--store", loop + "-cut", os.path.join(loop, "threads.data")]).stdout)
    check("threads: a cut file is named", "data.0: it is cut" in part["files"][0].get("damage", ""), part["files"])
    check("threads: the rest is there", part["files"][0]["samples"] >= len(theirs["threads"] or []) - 1, part["files"])


def check_damage(scratch, path):
    whole = open(path, "rb").read()
    cut = os.path.join(scratch, "cut.data")
    for part in (0, 7, 16, 50, 103, 300, len(whole) // 2, len(whole) - 1):
        open(cut, "wb").write(whole[:part])
        r = run([ZSCOPE, "import", "--store", os.path.join(scratch, f"cut-{part}"), cut])
        said = r.stderr + r.stdout
        check(f"cut after {part} bytes", r.returncode in (0, 2) and (r.returncode == 2 or b"damaged" in said or part == len(whole) - 1), said)


def main():
    if not PERF:
        print("skipped: perf is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        probe = os.path.join(scratch, "probe.data")
        if record(probe, []).returncode != 0 or not perf_samples(probe):
            print("skipped: perf record does not work here (cpu-clock):", run([PERF, "script", "-i", probe]).stderr.decode("utf-8", "replace")[-500:])
            sys.exit(77)
        for kind, options in KINDS.items():
            path = os.path.join(scratch, kind + ".data")
            r = record(path, options)
            if r.returncode != 0:
                print(f"skipped  {kind}: {r.stderr.decode()[:200]}")
                continue
            check_kind(kind, path)
        pipe = os.path.join(scratch, "pipe.data")
        record(pipe, [], pipe=True)
        check_kind("pipe", pipe)
        packed = os.path.join(scratch, "file.data.gz")
        with open(packed, "wb") as out:
            subprocess.run(["gzip", "-c", os.path.join(scratch, "file.data")], stdout=out, check=True)
        check("gzip: same as unpacked", run([ZSCOPE, "export", packed]).stdout ==
              run([ZSCOPE, "export", os.path.join(scratch, "file.data")]).stdout)
        store = os.path.join(scratch, "store")
        r = run([ZSCOPE, "import", "--store", store, os.path.join(scratch, "file.data")])
        check("import says that times are relative", r.returncode == 0 and b"relative" in r.stdout, r.stdout + r.stderr)
        check("no progress bar in a pipe", r.stderr == b"", r.stderr)
        said = int(re.search(rb"(\d+) bytes$", r.stdout.strip())[1])
        size = sum(os.path.getsize(os.path.join(store, name)) for name in os.listdir(store))
        check("import says how large the recording is", said == size, (said, size))
        check_file_window(os.path.join(scratch, "file.data"))
        check_names(scratch)
        check_exports(os.path.join(scratch, "file.data"), store)
        check_browser(scratch, store)
        check_directory(scratch)
        check_threads(scratch)
        check_damage(scratch, os.path.join(scratch, "file.data"))
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
