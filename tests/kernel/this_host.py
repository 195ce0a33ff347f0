#!/usr/bin/env python3
"""The captured host that every machine has: itself. A capture of this host gives the answers that the host gave a moment before: the same
lines of check, cores and zombies, known or not known alike, and the same exit status, as root and as nobody. Numbers move."""
import json, os, shutil, subprocess, sys, tempfile

zscope = os.path.realpath(sys.argv[1])
if os.geteuid() != 0:
    print("needs root")
    sys.exit(77)
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
# The colours of the others follow the load of the second that was looked at.
STEADY = ("memcg-zombies", "percpu-memory", "memory-available", "crash-loops", "driver-resets")
TRIES = 6  # also of those one may reach its threshold between the two looks; what is known does not move


def ask(user, *words):
    run = subprocess.run([*user, "./zscope", *words, "--json"], capture_output=True, text=True, timeout=120)
    if run.returncode not in (0, 1, 2) or not run.stdout:
        sys.exit(f"FAILED: {words}: status {run.returncode}: {run.stderr}")
    return json.loads(run.stdout), run.returncode


def state(line):
    """What does not move: whether the question applies, and whether its answer is known."""
    return line["status"] if line["status"] in ("unknown", "absent") else "known"


def check(user, *where):
    answer, status = ask(user, "check", *where)
    if dumb := [l["id"] for l in answer["lines"] if state(l) == "known" and not l.get("detail")]:
        sys.exit(f"FAILED: no detail: {dumb}")
    steady = {l["id"]: l["status"] for l in answer["lines"] if l["id"] in STEADY}
    firm = {
        "lines": [(l["id"], state(l), l["why"] if l["status"] == "absent" else None) for l in answer["lines"]],
        "unknown": sorted(u["what"] for u in answer["unknown"]),
        "keys": sorted(answer),
        "of": (answer.get("host"), answer.get("kernel"), answer.get("cgroup")),
    }
    return firm, (steady, status)


def cores(user, *where):
    answer, status = ask(user, "cores", *where, *([] if where else ["--count", "1"]))
    return {
        "keys": sorted(answer),
        "cores": [sorted(c) + [c["cpu"]] for c in answer["cpus"]],
        "offline": answer["offline"],
        "unknown": sorted(u["what"] for u in answer["unknown"]),
    }, status


# how this kernel was walked; what only a capture shows without being asked; what needs a recording
MOVES = {"walk", "largest", "rate_per_hour", "forecast"}


def zombies(user, *where):
    answer, status = ask(user, "zombies", *where)
    return {
        "keys": sorted(set(answer) - MOVES),
        "of": (answer["cgroup"], answer["method"], answer.get("kernel_count", {}).get("source")),
        "sum": answer["tracked"] - answer["live"] - answer["dying"] if "dying" in answer else None,
    }, status


def differ(name, live, captured):
    for key in live:
        if live[key] != captured[key]:
            return f"{name}: {key}\n  live     {live[key]}\n  captured {captured[key]}"
    return None


def compare(who, user):
    said = ""
    for i in range(TRIES):
        live = [f(user) for f in (check, cores, zombies)]
        file = f"{who}-{i}.tar.zst"
        ask(user, "capture", "-o", file)
        there = [f(user, "--root", file) for f in (check, cores, zombies)]
        for name, (a, _), (b, _) in zip(("check", "cores", "zombies"), live, there):
            if said := differ(name, a, b):
                sys.exit(f"FAILED: as {who}: {said}")
        moved = [f"{name}: {a} live, {b} captured" for name, (_, a), (_, b) in zip(("check", "cores", "zombies"), live, there) if a != b]
        if not moved:
            print(f"as {who}: {len(live[0][0]['lines'])} lines alike, status {live[0][1][1]}")
            return
        print(f"as {who}, try {i}: {moved}")
    sys.exit(f"FAILED: as {who}: never the same answer")


with tempfile.TemporaryDirectory() as dir:
    os.chdir(dir)
    shutil.copy(zscope, "zscope")
    os.chown(dir, 65534, 65534)
    os.chmod(dir, 0o755)
    compare("root", [])
    compare("nobody", NOBODY)
