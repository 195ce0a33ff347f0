#!/usr/bin/env python3
"""A real systemd as pid 1 of a real kernel with cgroup v2 only: a unit that crash-loops and leaves the page cache of a file behind each
time. zscope must name the unit as the owner of the zombies and the files that hold them, name it in check and audit, name it as the
culprit in why; fix and purge must cure it, undo must bring the unit back.

The root file system is the debootstrap tree of tests/rig/nspawn.sh as an ext4 image, made once; the machine writes to a throw-away copy.

usage: systemd.py ZSCOPE"""
import fcntl, os, subprocess, sys, tempfile

from kernels import package
from rig import SHELL, boot, check, initramfs, need_tools, skip

zscope = os.path.abspath(sys.argv[1])
UNIT = "leaky-agent.service"
MASKED = ("containerd docker snapd snapd.seeded snapd.apparmor snapd.aa-prompt-listener unattended-upgrades e2scrub_reap multipathd open-iscsi iscsid "
          "apparmor systemd-firstboot systemd-networkd-wait-online systemd-udev-settle getty@tty1 serial-getty@ttyS0").split()
MASKED_OTHER = "docker.socket iscsid.socket multipathd.socket snapd.socket apt-daily.timer apt-daily-upgrade.timer fstrim.timer".split()

# The initramfs loads what the disk needs, puts the program and the units into the tree and hands over to systemd.
INIT = "#!/bin/sh\n" + SHELL + r"""export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in $(cat /modules); do insmod $m 2>/dev/null; done
mkdir -p /root
until_true 60 test -b /dev/vda
mount -t ext4 /dev/vda /root || echo "NO ROOT"
mkdir -p /root/opt/zscope/lib
cp /bin/zscope /root/opt/zscope/
find /lib /lib64 /usr/lib -name '*.so*' 2>/dev/null | grep -v -E '/(ld-linux|libc\.so|libm\.so)' | while read -r f; do cp "$f" /root/opt/zscope/lib/; done
cp /leaky-agent /driver /root/opt/zscope/
chmod 755 /root/opt/zscope/leaky-agent /root/opt/zscope/driver
cp /leaky-agent.service /driver.service /root/etc/systemd/system/
for u in MASKED; do ln -sf /dev/null /root/etc/systemd/system/$u; done
mkdir -p /root/etc/systemd/system/multi-user.target.wants
for u in leaky-agent driver; do ln -sf ../$u.service /root/etc/systemd/system/multi-user.target.wants/$u.service; done
umount /proc /sys /dev 2>/dev/null
exec switch_root /root /sbin/init
"""
AGENT = r"""#!/bin/sh
n=$(cat /var/tmp/leak.n 2>/dev/null || echo 0)
dd if=/dev/zero of=/var/tmp/leak-$n bs=4k count=4 2>/dev/null
sync -f /var/tmp
echo $((n + 1)) > /var/tmp/leak.n
exit 1
"""
AGENT_UNIT = """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/opt/zscope/leaky-agent
Restart=always
RestartSec=1
MemoryAccounting=yes
[Install]
WantedBy=multi-user.target
"""
DRIVER_UNIT = """[Service]
Type=oneshot
ExecStart=/opt/zscope/driver
StandardOutput=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
"""
DRIVER = "#!/bin/sh\n" + SHELL + r"""export LD_LIBRARY_PATH=/opt/zscope/lib PATH=/usr/sbin:/usr/bin:/sbin:/bin
z() { /opt/zscope/zscope "$@" 2>>/run/zscope.err; }
state() { say $1 "{\"enabled\":\"$(systemctl is-enabled leaky-agent.service 2>/dev/null)\",\"active\":\"$(systemctl is-active leaky-agent.service)\",\"restarts\":$(systemctl show -p NRestarts --value leaky-agent.service)}"; }
echo
restarts() { [ "$(systemctl show -p NRestarts --value leaky-agent.service)" -ge $1 ]; }
until_true 150 restarts 8
say host "{\"release\":\"$(uname -r)\",\"init\":\"$(cat /proc/1/comm)\",\"v1\":$(grep -c ' cgroup ' /proc/mounts)}"
state before
say zombies "$(z zombies --json --list --pins)"
# a systemd that answers too late is named and not waited for: asked again
ask() {
	answer=$(z "$@" --json)
	case $answer in *"systemd did not answer"* | *"no answer within"*) return 1 ;; esac
}
until_true 20 ask check
say check "$answer"
until_true 20 ask audit
say audit "$answer"
# how often the unit restarts within the watch is up to the machine
for i in 1 2 3; do
	why=$(z why --watch 6s --json)
	step=$(echo "$why" | sed -n 's/.*"plan":\[.*{"id":\([0-9]*\),"action":"disable","target":"leaky-agent.service".*/\1/p')
	[ -z "$step" ] || break
done
say why "$why"
say step "{\"id\":${step:-0}}"
say fix "{\"status\":$(z fix ${step:-0} --apply --no-purge >/run/fix.txt 2>&1; echo $?)}"
state fixed
say purge "$(z purge --apply --json)"
# one that nothing holds is being released just now
all_held() {
	after=$(z zombies --json --list --pins)
	! echo "$after" | sed 's/{"id":/\n&/g' | grep '"path":"/system.slice/leaky-agent.service"' | grep -qvE '"kind":"(file|writeback)"'
}
until_true 10 all_held
say after "$after"
say undo "{\"status\":$(z undo >/run/undo.txt 2>&1; echo $?)}"
state undone
tail -n 20 /run/zscope.err /run/fix.txt /run/undo.txt
say end "{}"
sync
echo o > /proc/sysrq-trigger
sleep 20
"""


def image():
    """The tree as an ext4 image, made once."""
    here = os.path.dirname(os.path.abspath(__file__))
    r = subprocess.run([here + "/../rig/nspawn.sh", "tree"], capture_output=True, text=True)
    if r.returncode != 0:
        skip(r.stderr.strip())
    tree = r.stdout.strip()
    path = tree.replace("/tree-", "/image-") + ".ext4"
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            with open(path + ".part", "w") as f:
                f.truncate(2 << 30)
            subprocess.check_call(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-d", tree, path + ".part"])
            os.rename(path + ".part", path)
    return path


def judge_found(a):
    zombies = a["zombies"]
    check(zombies["method"] == "census" and zombies["cgroup"]["mode"] == "v2", zombies["cgroup"])
    groups = {g["owner"]: g["count"] for g in zombies["groups"]}
    check(zombies["groups"][0]["unit"] == UNIT and groups[UNIT] >= 5, groups)
    ours = [z for z in zombies["zombies"] if z["path"] == "/system.slice/" + UNIT]
    check(len(ours) == groups[UNIT] and all(z["owner"] == UNIT for z in ours), ours)
    files = [p["file"] for z in ours for p in z["pins"] if p.get("file", "").startswith("/var/tmp/leak-")]
    check(len(set(files)) >= len(ours) - 1, f"{len(ours)} zombies, held by {files}")
    loops = [x for x in a["check"]["lines"] if x["id"] == "crash-loops"]
    check(loops and loops[0]["detail"] == UNIT and loops[0]["status"] != "green", loops)
    audit = [u for u in a["audit"]["units"] if u["crash_loop"]]
    check([u["unit"] for u in audit] == [UNIT] and audit[0]["zombies"] >= 5, audit)
    check(a["why"]["verdict"]["culprit"] == {"kind": "unit", "name": UNIT}, a["why"]["verdict"])
    return len(ours)


def judge(a):
    check(a["host"]["init"] == "systemd" and a["host"]["v1"] == 0, a["host"])
    found = judge_found(a)
    check(a["step"]["id"] > 0 and a["fix"]["status"] == 0, f"{a['why']['plan']}, {a['fix']}")
    check(a["fixed"]["enabled"] == "masked" and a["fixed"]["active"] in ("failed", "inactive"), a["fixed"])
    # No page of the unit's own files holds any that is left. What can be left: executables that run elsewhere stay mapped, metadata pages of
    # the file system are in use, and 6.12 passes over some writeback structures that are clean.
    left = [z for z in a["after"]["zombies"] if z["owner"] == UNIT]
    freed = a["purge"]["freed"]
    own = [p for z in left for p in z["pins"] if p["kind"] == "file" and p["file"].startswith("/var/tmp/leak")]
    bare = [z for z in left if not any(p["kind"] in ("file", "writeback") for p in z["pins"])]
    check(not own and not bare, f"purged, and still held by {own}, {bare}: {a['purge']}")
    check(len(left) <= found / 2 and freed >= found, f"{len(left)} of {found} are left, {freed} were freed: {left}, {a['purge']}")
    check(a["undo"]["status"] == 0 and a["undone"]["enabled"] == "enabled", f"{a['undo']}, {a['undone']}")
    check(a["undone"]["active"] in ("active", "activating", "deactivating"), f"undo did not start it again: {a['undone']}")
    return f"{a['host']['release']}: {found} zombies of {UNIT} named with their files, the unit named by check, audit and why; " \
        f"fixed, {freed} purged, {len(left)} of the unit left, undone"


need_tools()
if os.geteuid() != 0:
    skip("needs root")
masked = " ".join([u + ".service" for u in MASKED] + MASKED_OTHER)
with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
    kernel, initrd = initramfs(tmp + "/tree", package("6.12"), (zscope,), ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic"),
                               INIT.replace("MASKED", masked),
                               [("/leaky-agent", AGENT.encode()), ("/leaky-agent.service", AGENT_UNIT.encode()),
                                ("/driver", DRIVER.encode()), ("/driver.service", DRIVER_UNIT.encode())])
    print(judge(boot(kernel, initrd, "-drive", f"file={image()},format=raw,if=virtio,snapshot=on",
                     append="systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all systemd.show_status=0")))
