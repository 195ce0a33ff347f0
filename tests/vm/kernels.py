"""Debian's kernels: those that this machine's apt offers, and those of other suites of the same archive, looked up with a sources list of
their own. No mirror is named here: apt is asked which one serves this machine. Signatures are checked with Debian's own keys. Nothing is
installed; what was downloaded once is kept. Not offered: 5.4 to 5.9 (never in a Debian release), 7.0 (its modules are gone)."""
import fcntl, glob, os, re, shutil, subprocess, tempfile

from rig import CACHE, skip

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# which package, and in which suites besides those of this machine
KERNELS = {
    "5.10": (r"linux-image-5\.10\.[0-9.-]+-cloud-amd64$", ("bullseye",)),
    "6.1": (r"linux-image-6\.1\.[0-9.-]+-cloud-amd64$", ("bookworm",)),
    "6.12": (r"linux-image-6\.12\.[0-9.]+[+]?[a-z0-9.]*-cloud-amd64$", ("bookworm-backports",)),
    "6.18": (r"linux-image-6\.18\.[0-9.]+[+]?[a-z0-9.]*-cloud-amd64$", ("trixie-backports",)),
    "7": (r"linux-image-7\.[0-9.]+[+]?[a-z0-9.]*-cloud-amd64$", ("trixie-backports", "sid")),
}


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, **more)


def archive():
    """Where this machine's own Debian comes from; None when apt does not know (no lists, or it is no Debian)."""
    wanted = "$(CREATED_BY) $(ORIGIN) $(LABEL) $(RELEASE) $(REPO_URI)"
    for line in run("apt-get", "indextargets", "--format", wanted).stdout.splitlines():
        kind, origin, label, release, *uri = line.split(" ")
        if (kind, origin, label) == ("Packages", "Debian", "Debian") and re.fullmatch(r"[a-z]+", release) and uri:
            return uri[0]
    return None


def suite_options(suite):
    """apt's options to look into another suite of the archive; or why it cannot be done."""
    uri = archive()
    if not uri:
        return None, "apt knows no Debian archive"
    state = f"{CACHE}/apt-{suite}"
    for d in ("lists/partial", "archives/partial"):
        os.makedirs(f"{state}/{d}", exist_ok=True)
    signed = f"[signed-by={KEYS}] " if os.path.exists(KEYS) else ""  # else by the keys that apt trusts anyway
    with open(state + "/sources.list", "w") as f:
        f.write(f"deb {signed}{uri} {suite} main\n")
    options = [f"Dir::Etc::sourcelist={state}/sources.list", "Dir::Etc::sourceparts=/dev/null", f"Dir::State::lists={state}/lists",
               "Dir::State::status=/dev/null", f"Dir::Cache={state}", "Acquire::Languages=none", "Acquire::http::Timeout=20",
               "APT::Sandbox::User=root"]
    options = [x for o in options for x in ("-o", o)]
    r = run("apt-get", *options, "update", "-qq")
    if r.returncode != 0 or not glob.glob(f"{state}/lists/*InRelease"):
        return None, f"{suite}: " + (r.stderr.strip().splitlines() or ["no answer"])[0]
    return options, None


def newest(options, pattern):
    names = run("apt-cache", *options, "pkgnames", "linux-image").stdout.split()
    version = lambda n: [int(x) for x in re.findall(r"\d+", n)]
    return max((n for n in names if re.match(pattern, n)), key=version, default=None)


def download(options, name, into):
    """The image and, where it is split, the packages that hold it; into a directory that is there whole or not at all."""
    work = tempfile.mkdtemp(prefix="zscope-kernel-", dir=CACHE)
    for part in (name, *(name.replace("-image-", f"-{p}-") for p in ("base", "binary", "modules"))):
        if part != name and run("apt-cache", *options, "show", part).returncode != 0:
            continue
        r = run("apt-get", *options, "-o", "APT::Sandbox::User=root", "download", "-qq", part, cwd=work)
        if r.returncode != 0:
            shutil.rmtree(work)
            return f"{part}: " + (r.stderr.strip().splitlines() or ["cannot be downloaded"])[-1]
    try:
        os.rename(work, into)
    except OSError:  # somebody else was quicker
        shutil.rmtree(work)
    return None


def package(kernel):
    """The package files of a kernel of KERNELS, or of a .deb; skips the test when nobody offers it."""
    if kernel.endswith(".deb"):
        return [os.path.abspath(kernel)]
    os.makedirs(CACHE, exist_ok=True)
    with open(CACHE + "/lock", "w") as lock:  # apt serves one at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        return offered(kernel)


def offered(kernel):
    pattern, suites = KERNELS[kernel]
    have = [d for d in glob.glob(CACHE + "/linux-image-*") if re.match(pattern, os.path.basename(d))]
    why = []
    for suite in (None, *suites):
        if have:
            break
        options, problem = ([], None) if not suite else suite_options(suite)
        name = newest(options, pattern) if options is not None else None
        if name:
            problem = download(options, name, f"{CACHE}/{name}")
        elif not problem:
            problem = f"{suite or 'this machine'}: no such package"
        if problem:
            why.append(problem)
        else:
            have = [f"{CACHE}/{name}"]
    if not have:
        skip(f"no kernel {kernel}: " + "; ".join(why))
    return sorted(glob.glob(have[0] + "/*.deb"))
