#!/usr/bin/env python3
"""What a purge says beforehand and does: dead parents go with their children, and every zombie that is left has a reason. What it leaves when it does not come to its end, and what it must not wait for: a journal that is undone wherever cgroup v2 is mounted,
and kept where it cannot be undone; a signal, which is answered with status 2; a file of a FUSE server that does not answer any more.
usage: purge_safe.py ZSCOPE ZOMBIE_MAKER"""
import ctypes, fcntl, json, os, random, signal, struct, subprocess, sys, tempfile, time

from zombie_rig import check, end, make_cgroup, memory_top, remove, settle

zscope, maker = sys.argv[1:3]
top, v2 = memory_top()
name = "zscope-safe-%08x" % random.getrandbits(32)
base, below, disk = f"{top}/{name}", f"/{name}", f"/var/tmp/{name}"
work = tempfile.mkdtemp(prefix="zscope-safe-")
makers = []


def restore(lines):
    path = work + "/journal"
    with open(path, "w") as f:
        f.write("".join(line + "\n" for line in lines))
    p = subprocess.run([zscope, "purge", "--restore"], capture_output=True, text=True, env=dict(os.environ, ZSCOPE_PURGE_JOURNAL=path))
    kept = os.path.exists(path)
    if kept:
        os.unlink(path)
    return p, kept


def journal():
    """cgroup v2 mounted where nobody expects it; a line that is not ours is not undone, and said."""
    mount, plain = work + "/cg2", work + "/plain"
    os.mkdir(mount)
    if subprocess.run(["mount", "-t", "cgroup2", "none", mount]).returncode:
        print("cgroup2 cannot be mounted here: its journal was not tried")
        return
    own, other = f"{mount}/zscope-purge-1", f"{mount}/{name}-other"
    try:
        os.mkdir(own)
        p, kept = restore(["rmdir " + own])
        check(p.returncode == 0 and p.stdout.startswith("1 thing that") and not kept and not os.path.exists(own), f"{p}, {kept}")
        os.mkdir(own)
        os.mkdir(other)
        os.makedirs(plain + "/zscope-purge-1")
        for line in (f"rmdir {other}", f"rmdir {plain}/zscope-purge-1", f"0 {plain}/memory.min", "nonsense", f"0 {mount}/../x/memory.min"):
            os.makedirs(own, exist_ok=True)
            p, kept = restore([line, "rmdir " + own])
            check(p.returncode == 2 and kept and "line 1 of" in p.stderr and "(1 others are)" in p.stderr, f"{line}: {p}, {kept}")
            check(not os.path.exists(own) and os.path.exists(other) and os.path.exists(plain + "/zscope-purge-1"), line)
        p, kept = restore([f"0 {mount}/{name}-gone/memory.min"])  # went with its cgroup
        check(p.returncode == 0 and not kept, p)
    finally:
        for d in (own, other):
            if os.path.isdir(d):
                os.rmdir(d)
        subprocess.run(["umount", mount])


def make(n):
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    p.stdin.write(b"".join(b"file\0%s\0%s\0" % (f"{base}/z{i}".encode(), f"{disk}/z{i}".encode()) for i in range(n)))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    settle(f"{top}/{name}-settle", v2)


def purge(*args):
    return json.loads(subprocess.check_output([zscope, "purge", "--json", *args], stderr=subprocess.DEVNULL))


def families():
    """A dead pod above dead containers: it can go exactly if all of them can."""
    for pod in ("free", "held"):
        make_cgroup(f"{base}/{pod}", v2)
    plan = [("file", "/free/c0"), ("file", "/free/c1"), ("file", "/held/c0"), ("memfd", "/held/c1")]
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    p.stdin.write(b"".join(b"%s\0%s\0%s\0" % (k.encode(), (base + c).encode(), (disk + "/" + c.replace("/", "-")).encode()) for k, c in plan))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    for pod in ("free", "held"):
        os.rmdir(f"{base}/{pod}")
    settle(f"{top}/{name}-settle", v2)
    dry = purge("--below", below + "/free")
    check((dry["plan"]["zombies"], dry["plan"]["freeable"], dry["not_freeable"]) == (3, 3, []), dry)
    dry = purge("--below", below + "/held")
    stuck = {x["kind"]: x["zombies"] for x in dry["not_freeable"]}
    check((dry["plan"]["zombies"], dry["plan"]["freeable"], stuck) == (3, 1, {"tmpfs": 1, "child": 1}), dry)
    # it was a zombie itself: nothing of that name is there when all is gone
    done = purge("--apply", "--below", below + "/free")
    check((done["freed"], done["after"]["dying"], done["left"]) == (3, 0, []), done)
    done = purge("--apply", "--below", below + "/held")
    left = {x["kind"]: x["zombies"] for x in done["left"]}
    check((done["freed"], done["after"]["dying"], left) == (1, 2, {"tmpfs": 1, "child": 1}), done)
    text = subprocess.run([zscope, "purge", "--below", base + "/held"], capture_output=True, text=True).stdout
    check("there is nothing that --apply could free" in text and "--apply does it" not in text, text)
    check("2 zombies hold" in text and "held by child; goes with the zombies below it" in text, text)
    p.kill()
    p.wait()


def hear_signals():
    """what a background job of a shell does not"""
    for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(n, signal.SIG_DFL)


def waiting(*before):
    """A purge that waits for another one, which is us: it has begun, and nothing is changed yet."""
    journal = work + "/locked"
    lock = open(journal + ".lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    p = subprocess.Popen([*before, zscope, "purge", "--json", "--apply", "--below", below], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, ZSCOPE_PURGE_JOURNAL=journal), preexec_fn=hear_signals)
    for _ in range(600):
        fds = f"/proc/{p.pid}/fd/"
        if p.poll() is not None or any(os.path.realpath(fds + fd) == lock.name for fd in os.listdir(fds)):
            break
        time.sleep(0.1)
    time.sleep(0.2)
    check(p.poll() is None, "it does not wait for another purge")
    return p, lock


def stopped():
    """Ended by each signal that people and managers send: status 2 and a clear line. One purge at a time."""
    for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        p, lock = waiting()
        p.send_signal(n)
        said = p.communicate(timeout=60)[1]
        check(p.returncode == 2 and "stopped by a signal" in said, f"{n}: {p.returncode}: {said}")
        lock.close()
    p, lock = waiting("nohup")
    p.send_signal(signal.SIGHUP)
    lock.close()
    out = p.communicate(timeout=60)[0]
    check(p.returncode == 0 and json.loads(out)["applied"], f"nohup was not honoured, or the lock: {p.returncode}")


def fuse_file(mount):
    """A file system that answers until its file is open, and then never again. Returns the process that has it open."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open("/dev/fuse", os.O_RDWR)
    if libc.mount(b"zscope", mount.encode(), b"fuse", 0, f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()):
        return None, fd
    attr = lambda ino, mode: struct.pack("<QQQQQQIIIIIIIIII", ino, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
    opener = subprocess.Popen([sys.executable, "-c", f"f = open('{mount}/f'); print('open', flush=True); import time; time.sleep(1000)"],
                              stdout=subprocess.PIPE)
    while True:
        request = os.read(fd, 1 << 20)
        length, opcode, unique, node = struct.unpack("<IIQQ", request[:24])
        reply = {26: lambda: struct.pack("<IIIIHHIIHHI", 7, 31, 0, 0, 0, 0, 65536, 1, 0, 0, 0) + bytes(28),  # INIT
                 1: lambda: struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attr(2, 0o100644),  # LOOKUP: nothing may be kept
                 3: lambda: struct.pack("<QII", 0, 0, 0) + attr(node, 0o40755 if node == 1 else 0o100644),  # GETATTR
                 14: lambda: struct.pack("<QII", 1, 0, 0)}.get(opcode, lambda: b"")()  # OPEN
        error = 0 if opcode in (26, 1, 3, 14) else -38
        os.write(fd, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)
        if opcode == 14:
            os.set_blocking(fd, False)
            deadline = time.time() + 0.5  # what opening asks for afterwards
            while time.time() < deadline:
                try:
                    request = os.read(fd, 1 << 20)
                except BlockingIOError:
                    time.sleep(0.01)
                    continue
                length, opcode, unique, node = struct.unpack("<IIQQ", request[:24])
                body = struct.pack("<QII", 0, 0, 0) + attr(node, 0o100644) if opcode == 3 else b""
                os.write(fd, struct.pack("<IiQ", 16 + len(body), 0 if opcode == 3 else -38, unique) + body)
            return opener, fd


def dead_server():
    mount = work + "/fuse"
    os.mkdir(mount)
    if not os.path.exists("/dev/fuse"):
        print("no FUSE here: a server that does not answer was not tried")
        return
    opener, fd = fuse_file(mount)
    try:
        if not opener:
            print("no FUSE here: a server that does not answer was not tried")
            return
        check(opener.stdout.readline() == b"open\n", "the file is not open")
        p = subprocess.Popen([zscope, "zombies", "--json", "--list", "--pins", "--below", below], stdout=subprocess.PIPE)
        try:
            answer = json.loads(p.communicate(timeout=20)[0])
        except subprocess.TimeoutExpired:
            os.close(fd)  # the kernel then answers in its place
            fd = -1
            p.kill()
            check(False, "it waits for a server that does not answer")
        check(any(q["kind"] == "tmpfs" for z in answer["zombies"] for q in z["pins"]), "nobody's descriptors had to be looked at")
    finally:
        if fd >= 0:
            os.close(fd)
        if opener:
            opener.kill()
            opener.wait()
        subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL)


def hold_memfd():
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    makers.append(p)
    p.stdin.write(b"memfd\0%s\0-\0" % f"{base}/held".encode())
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")
    settle(f"{top}/{name}-settle", v2)


try:
    journal()
    make_cgroup(base, v2)
    os.mkdir(base + "/home")
    os.mkdir(disk, 0o700)
    families()
    hold_memfd()
    dead_server()
    make(60)
    stopped()
    print("a purge is stopped, undone, made to wait for another one, and never for a dead server")
finally:
    end(None, makers)
    remove(base, disk, work)
