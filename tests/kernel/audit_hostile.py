#!/usr/bin/env python3
"""`audit --root` on trees that want to lead it astray: links that are swapped while it reads, kernels without openat2, FIFOs, devices,
endless includes, 10,000 drop-ins, files without end. Nothing from outside the root may appear, nothing may block, and the fallback must
say what openat2 says."""
import ctypes, json, os, shutil, subprocess, sys, tempfile, threading, time

zscope = os.path.abspath(sys.argv[1])
SECRET = "4321s"  # a RestartSec= that only files outside the root hold: the forecast tells it
failures = []


def check(what, good, detail=""):
    if not good:
        failures.append(f"{what}: {str(detail)[:1500]}")


def put(path, text="", mode="w"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode) as f:
        f.write(text)


def unit(restart="on-failure", more=""):
    return f"[Service]\nExecStart=/bin/true\nRestart={restart}\nRestartSec=10s\n{more}[Install]\nWantedBy=multi-user.target\n"


def audit(root, *front, all_units=True):
    r = subprocess.run([*front, zscope, "audit", "--root", root, "--json", *(["--all"] if all_units else [])], capture_output=True, timeout=120)
    return r, json.loads(r.stdout) if r.stdout.strip() else None


def plain(answer):
    """What does not depend on the moment."""
    def strip(x):
        if isinstance(x, dict):
            return {k: strip(v) for k, v in x.items() if k not in ("time", "time_ns")}
        return [strip(v) for v in x] if isinstance(x, list) else x
    return strip(answer)


def hostile_tree(root):
    system, vendor = root + "/etc/systemd/system", root + "/usr/lib/systemd/system"
    os.makedirs(system + "/multi-user.target.wants")
    os.makedirs(vendor)
    os.symlink("usr/lib", root + "/lib")
    put(root + "/etc/machine-id", "uninitialized\n")
    put(vendor + "/multi-user.target", "[Unit]\n")
    os.symlink("/usr/lib/systemd/system/multi-user.target", system + "/default.target")
    put(vendor + "/plain.service", unit())
    os.symlink("/usr/lib/systemd/system/plain.service", system + "/multi-user.target.wants/plain.service")
    for name, target in (("up", "../" * 20 + "outside/up.service"), ("absolute", os.path.dirname(root) + "/outside/up.service"),
                         ("proc", "/proc/self/root" + os.path.dirname(root) + "/outside/up.service"), ("cycle-a", "cycle-b.service"),
                         ("cycle-b", "cycle-a.service"), ("dev", "/dev/zero")):
        os.symlink(target, f"{system}/{name}.service")
    os.symlink(os.path.dirname(root) + "/outside", system + "/plain.service.d")
    os.mkfifo(system + "/fifo.service")
    os.makedirs(system + "/dropped.service.d")
    os.mkfifo(system + "/dropped.service.d/10-fifo.conf")
    put(system + "/dropped.service", unit())
    put(system + "/includes.service", ".include /etc/systemd/system/includes.service\n" * 100 + unit())
    put(system + "/huge.service", b"#" + b"x" * (6 << 20) + b"\n" + unit().encode(), "wb")
    put(system + "/oneline.service", b"[Unit]\nDescription=" + b"y" * (1 << 20) + b"\\xff\n" + unit().encode(), "wb")
    put(system + "/many.service", unit())
    for i in range(10000):
        put(f"{system}/many.service.d/{i:05}.conf", f"[Service]\nRestartSec={'1ms' if i < 9999 else '7s'}\n")
    if os.geteuid() == 0:
        os.mknod(system + "/node.service", 0o20666, os.makedev(1, 5))


def endless(root):
    """10,000 drop-ins, files without end, FIFOs, devices: read to the end."""
    r, want = audit(root)
    check("hostile tree: status", r.returncode in (0, 1), (r.returncode, r.stderr))
    check("hostile tree: nothing from outside", SECRET not in r.stdout.decode(errors="replace"), r.stdout)
    units = {u["unit"]: u for u in want["units"]}
    check("plain unit is there", "plain.service" in units, list(units))
    words = json.dumps(units.get("many.service", {}))
    check("the last of 10,000 drop-ins counts", "7s" in words or "7.0 s" in words or "7 s" in words, words)
    # a few are enough for what is traced below
    shutil.rmtree(root + "/etc/systemd/system/many.service.d")
    os.unlink(root + "/etc/systemd/system/huge.service")


def fallback(root):
    """The same answer with openat2, without it (ENOSYS, old kernels) and where it is forbidden (EPERM, old container engines)."""
    r, want = audit(root)
    for error in ("ENOSYS", "EPERM"):
        with tempfile.NamedTemporaryFile() as log:
            r, got = audit(root, "strace", "-f", "-qq", "-o", log.name, "-e", "trace=openat2", "-e", f"inject=openat2:error={error}")
            injected = log.read().count(b"(INJECTED)")
        check(f"{error}: was injected", injected >= 1, injected)
        check(f"{error}: nothing from outside", SECRET not in r.stdout.decode(errors="replace"))
        check(f"{error}: the same answer", plain(got) == plain(want),
              [(a, b) for a, b in zip(plain(want)["units"], plain(got)["units"]) if a != b][:1] or (plain(got)["unknown"], plain(want)["unknown"]))


def race(root, outside):
    """One name is now a file, now a link out; a directory likewise, swapped in one step, thousands of times while audits run."""
    system = root + "/etc/systemd/system"
    libc = ctypes.CDLL(None, use_errno=True)
    put(system + "/raced.service", unit())
    os.symlink("../" * 20 + outside.lstrip("/") + "/up.service", system + "/raced.other")
    put(system + "/raced.service.d/a.conf", "[Service]\nRestartSec=5s\n")
    os.symlink(outside, system + "/raced.other.d")
    stop, swaps = threading.Event(), [0]

    def swap():
        while not stop.is_set():
            for a, b in (("raced.service", "raced.other"), ("raced.service.d", "raced.other.d")):
                # AT_FDCWD, RENAME_EXCHANGE
                if libc.renameat2(-100, f"{system}/{a}".encode(), -100, f"{system}/{b}".encode(), 2) != 0:
                    stop.set()
                swaps[0] += 1
            time.sleep(0.0002)

    thread = threading.Thread(target=swap)
    thread.start()
    for i in range(10):
        front = [] if i % 2 else ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS"]
        r, answer = audit(root, *front)
        check("race: status", r.returncode in (0, 1, 2) and answer is not None, (r.returncode, r.stderr))
        check("race: nothing from outside", SECRET not in r.stdout.decode(errors="replace"), r.stdout)
    stop.set()
    thread.join()
    return swaps[0]


def control(root, outside):
    """If such a file were read, it would show: the same unit inside a root does."""
    os.makedirs(root + "/etc/systemd/system")
    for name, files in (("up", ["up.service"]), ("dropped", ["dropped.service.d/a.conf"])):
        for file in files:
            os.makedirs(os.path.dirname(f"{root}/etc/systemd/system/{file}"), exist_ok=True)
            shutil.copy(f"{outside}/{os.path.basename(file)}", f"{root}/etc/systemd/system/{file}")
    put(root + "/etc/systemd/system/dropped.service", unit())
    r, answer = audit(root)
    for u in answer["units"]:
        check(f"control: {u['unit']} shows what it holds", SECRET in json.dumps(u), u)
    check("control: both units", len(answer["units"]) == 2, answer["units"])


if not shutil.which("strace"):
    print("strace is missing")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="zscope-hostile-") as tmp:
    outside = tmp + "/outside"
    put(outside + "/up.service", f"[Service]\nExecStart=/bin/true\nRestart=always\nRestartSec={SECRET}\n[Install]\nWantedBy=multi-user.target\n")
    put(outside + "/a.conf", f"[Service]\nRestart=always\nRestartSec={SECRET}\n")
    control(tmp + "/control", outside)
    hostile_tree(tmp + "/root")
    began = time.monotonic()
    endless(tmp + "/root")
    fallback(tmp + "/root")
    swaps = race(tmp + "/root", outside)
    check("race: links were swapped", swaps > 100, swaps)
    print(f"{swaps} swaps during 10 audits, {time.monotonic() - began:.1f} s")
print("\n".join(failures) or "good")
sys.exit(1 if failures else 0)
