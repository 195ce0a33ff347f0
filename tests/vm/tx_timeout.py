#!/usr/bin/env python3
"""A real Tx timeout in a virtual machine: the NIC's peer stops reading, so the ring of its one queue fills and the kernel's watchdog
fires. The recorder must find it three ways (the counter of the queue, the tracepoint, the kernel's line) though no tracefs is mounted, and
the kernel's word makes one trusted reset event that names the queue and does not blame the timer's CPU. Then a flood through real printk:
nothing is lost uncounted and the one reset line in it is found. A line that is printed just before the recorder ends is in the recording.

usage: tx_timeout.py ZSCOPE"""
import os, socket, sys, tempfile

from kernels import package
from rig import INIT_HEAD, SHELL, boot, check, initramfs, need_tools

zscope = os.path.abspath(sys.argv[1])
FLOOD = 20000

INIT = INIT_HEAD + SHELL + r"""for m in $(cat /modules); do insmod $m 2>/dev/null; done
events() { zscope events --store $1 --json $2 | tr '\n' ',' | sed 's/,$//'; }
ip link set lo up
ip addr add 10.9.9.1/24 dev eth0
ip link set eth0 up arp off
recording() { # recording DIR: starts it and waits until it records
	zscope record --no-profile --store $1 2>$1.err &
	recorder=$!
	until_true 60 grep -q "recording to" $1.err
	sleep 1
}
recording /tmp/timeout
for i in 1 2 3 4 5 6 7 8 9 10; do ping -s 60000 -c 60 10.9.9.2 >/dev/null 2>&1 & done
# the watchdog looks every 5 s
timeouts() { cat /sys/class/net/eth0/queues/tx-0/tx_timeout; }
found() { [ "$(timeouts)" -ge 2 ] && zscope events --store /tmp/timeout --json | grep -q net-xmit-timeout; }
until_true 90 found
kill $recorder
wait $recorder
say tracefs "{\"mounts\":$(grep -c tracefs /proc/mounts)}"
say timeouts "{\"count\":$(timeouts)}"
say events "[$(events /tmp/timeout)]"
killall ping
recording /tmp/flood
# one write each: the kernel keeps one record per write
awk 'BEGIN { for (i = 0; i < FLOOD; i++) {
	if (i == int(FLOOD / 2)) { print "ena 0000:00:05.0 eth9: Keep alive watchdog timeout."; }
	else print "nvme nvme1: I/O " i " QID 4 timeout, completion polled";
	fflush() }
	print "nvme nvme1: the end of the flood" }' > /dev/kmsg
# until the recorder, which shares the emulated core with all this, has come to the end of it
came() { zscope events --store /tmp/flood --lines | grep -q 'end of the flood'; }
until_true 90 came
echo "nvme nvme1: the last line" > /dev/kmsg
kill $recorder
wait $recorder
say flood "[$(events /tmp/flood)]"
said() { zscope events --store /tmp/flood --lines | grep -c "$1"; }
say stored "{\"lines\":$(said 'QID 4 timeout'),\"end\":$(said 'end of the flood'),\"last\":$(said 'the last line')}"
echo "@@end@@ {}"
poweroff -f
"""


def judge_timeout(answers):
    check(answers["tracefs"]["mounts"] == 0, "tracefs is mounted: the test proves nothing")
    check(answers["timeouts"]["count"] >= 1, "the watchdog did not fire: the test proves nothing")
    found = answers["events"]
    by_id = lambda i: [e for e in found if e["id"] == i]
    check(not by_id("events-partial"), by_id("events-partial"))
    queue = by_id("net-queue-timeout")
    check(queue and all(e["trusted"] and (e["fields"]["iface"], e["fields"]["queue"]) == ("eth0", "0") for e in queue), found)
    trace = by_id("net-xmit-timeout")
    check(trace and all(e["trusted"] for e in trace), found)
    hits = sum(int(e["fields"]["hits"]) for e in trace)
    counted = int(queue[-1]["fields"]["now"])
    check(abs(hits - counted) <= 1, (hits, counted))  # one may fall between the two readings
    said = by_id("net-tx-timeout")  # virtio_net tells of it and does not reset
    check(said and said[0]["trusted"] and said[0]["source"] == "kmsg", found)
    fields = said[0]["fields"]
    check((fields["iface"], fields["queue"], fields["driver"], fields["reset"]) == ("eth0", "0", "virtio_net", "no"), said)
    check("cpu" not in fields and int(fields["stall_ms"]) >= 5000, said)
    proof = said[0]["queue_proof"]
    check(proof["cpu"] == 0 and proof["irq"] > 0 and proof["verdict"] != "starved core", proof)
    return f"{counted} Tx timeouts: counter of the queue, tracepoint ({hits}) and kernel line ({len(said)} events)"


def judge_flood(answers):
    found = answers["flood"]
    reset = [e for e in found if e["fields"].get("iface") == "eth9"]
    lost = sum(int(e["fields"]["lost"]) for e in found if e["id"] == "kmsg-lost")
    stored = answers["stored"]["lines"]
    check(answers["stored"]["end"] == 1, f"the recorder never came to the end of the flood: {answers['stored']}")
    check(answers["stored"]["last"] == 1, f"what was printed just before the end is missing: {answers['stored']}")
    check(len(reset) == 1 or lost, f"the reset in the flood was seen {len(reset)} times, nothing was lost: {answers['stored']}")
    check(stored + lost >= FLOOD - 1, f"{FLOOD} lines: {stored} stored, {lost} counted as lost")
    check(not any(e["trusted"] for e in reset), reset)
    return f"flood of {FLOOD} records: {stored} stored, {lost} counted as lost, the reset found {len(reset)} times"


need_tools()
deb = package("6.12")
with tempfile.TemporaryDirectory(prefix="zscope-vm-") as tmp:
    kernel, initrd = initramfs(tmp + "/tree", deb, (zscope,), ("virtio_net", "virtio_pci"), INIT.replace("FLOOD", str(FLOOD)))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for s in (ours, theirs):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    answers = boot(kernel, initrd, "-netdev", f"socket,id=n,fd={theirs.fileno()}", "-device", "virtio-net-pci,netdev=n",
                   append="printk.devkmsg=on log_buf_len=8M net.ifnames=0", pass_fds=[theirs.fileno()])
    print(judge_timeout(answers))
    print(judge_flood(answers))
