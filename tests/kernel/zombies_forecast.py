#!/usr/bin/env python3
"""A real recording of real zombies that are made at a known rate: rate, both onsets and the footprint must follow from it, in JSON and in
text. The recorder counts the whole host: what others do to it meanwhile is counted here, too, from the kernel's own number.
usage: zombies_forecast.py ZSCOPE ZOMBIE_MAKER"""
import datetime, json, os, random, signal, statistics, subprocess, sys, tempfile, time

from zombie_rig import check, end, make_cgroup, memory_top, remove, skip

zscope, maker = sys.argv[1:3]
BATCH, EVERY_S, LENGTH_S = 100, 5, 140
top, v2 = memory_top()
name = "zscope-forecast-%08x" % random.getrandbits(32)
base, shm = f"{top}/{name}", f"/dev/shm/{name}"
store = tempfile.mkdtemp(prefix="zscope-forecast-")
holders, recorder = [], None


def make(batch):
    p = subprocess.Popen([maker, base + "/home", "4096"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holders.append(p)
    p.stdin.write(b"".join(b"tmpfs\0%s\0%s\0" % (f"{base}/z{batch}-{i}".encode(), f"{shm}/z{batch}-{i}".encode()) for i in range(BATCH)))
    p.stdin.close()
    check(p.stdout.readline() == b"ready\n", "the maker failed")


def dying():
    """All that the kernel tracks; on v2 the dying ones."""
    if v2:
        return int(next(l.split()[1] for l in open(top + "/cgroup.stat") if l.startswith("nr_dying_descendants")))
    return int(next(l.split()[2] for l in open("/proc/cgroups") if l.startswith("memory\t")))


def slope(points):
    """Median of all slopes, an hour."""
    return 3600 * statistics.median((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:])


def near(value, want, part, what):
    check(abs(value - want) <= part * abs(want), f"{what}: {value}, not {want}")


def main():
    global recorder
    make_cgroup(base, v2)
    os.mkdir(base + "/home")
    os.mkdir(shm, 0o700)
    recorder = subprocess.Popen([zscope, "record", "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    host, mine, start = [], [], time.monotonic()
    for batch in range(LENGTH_S // EVERY_S):
        time.sleep(max(0, start + batch * EVERY_S - time.monotonic()))
        make(batch)
        now = time.monotonic()
        host.append((now, dying()))
        mine.append((now, (batch + 1) * BATCH))
    time.sleep(EVERY_S + 1)
    recorder.send_signal(signal.SIGTERM)
    recorder.wait()
    known, all_of_it = slope(mine), slope(host)
    # what a busy machine lets it make is compared below, not what it was meant to make
    check(known > BATCH * 3600 / EVERY_S / 4, f"the maker did not come on: {known}")
    if all_of_it < known / 10:
        skip(f"others on this host let zombies go meanwhile: {all_of_it:.0f} an hour instead of {known:.0f}")
    if all_of_it > known * 2:
        skip(f"others on this host make zombies meanwhile: {all_of_it:.0f} an hour instead of {known:.0f}")
    window = [zscope, "zombies", "--store", store, "--from", "-1h"]
    answer = json.loads(subprocess.check_output(window + ["--json"]))
    rate, f = answer["rate_per_hour"], answer["forecast"]
    # seen at other moments than ours: what others make or let go at once comes into the two at different times
    check(abs(rate - all_of_it) <= 0.25 * max(known, all_of_it), f"rate: {rate}, not {all_of_it}")
    if abs(all_of_it - known) < 0.1 * known:
        near(rate, known, 0.3, "rate as the maker knows it")
    check(f["points"] >= 10 and f["to_ns"] - f["from_ns"] >= 120e9, f)
    limit = f["threshold"]
    check(f["basis"] == "measured" or (f["basis"] == "incident" and limit == 70000), f)
    near(f["reaches_ns"] - f["to_ns"], max(0, limit - answer["dying"]) / rate * 3600e9, 0.02, "when so many are reached")
    # two decimals
    check(abs(f["reboot_lasts_days"] - limit / rate / 24) < 0.011, f"how long a reboot helps: {f}")
    check(abs(f["doubling_hours"] - answer["dying"] / rate) < 0.011, f"doubling: {f}")
    cost = answer["cost"]
    each = cost["expected_percpu_bytes_per_zombie"] + cost["expected_slab_bytes_per_zombie"]
    if "measured_percpu_bytes_per_zombie" in cost:
        check(cost["measured_over_zombies"] >= 500, cost)
        measured = cost["measured_percpu_bytes_per_zombie"]
        check(0 < measured < 10 * cost["expected_percpu_bytes_per_zombie"], cost)
        each = measured + cost["measured_slab_bytes_per_zombie"]
    near(f["ram_bytes_per_day"], rate * 24 * each, 0.02, "RAM a day")
    group = next(g for g in answer["churn"]["groups"] if g["parent"] == f"/{name}")
    near(group["made"], len(mine) * BATCH, 0.05, "made")
    near(group["every_s"], (answer["churn"]["to_ns"] - answer["churn"]["from_ns"]) / 1e9 / group["made"], 0.15, "every")  # two decimals
    check(group["creator"]["comm"] == os.path.basename(maker)[:15], group)
    total = int(next(l.split()[1] for l in open("/proc/meminfo") if l.startswith("MemTotal:"))) * 1024
    near(f["ram_limit_bytes"], total / 10, 0.01, "a tenth of RAM, as the recording tells it")
    near(f["ram_reaches_ns"] - f["to_ns"], max(0, f["ram_limit_bytes"] - f["ram_bytes_now"]) / f["ram_bytes_per_day"] * 86400e9, 0.02, "RAM onset of the recording")
    # live, beside the running kernel
    live = json.loads(subprocess.check_output([zscope, "zombies", "--store", store, "--json"]))
    near(live["rate_per_hour"], rate, 0.01, "live rate")
    lf = live["forecast"]
    near(lf["ram_limit_bytes"], total / 10, 0.01, "a tenth of RAM")
    near(lf["ram_reaches_ns"] - lf["to_ns"], max(0, lf["ram_limit_bytes"] - lf["ram_bytes_now"]) / lf["ram_bytes_per_day"] * 86400e9, 0.02, "RAM onset")
    text = subprocess.check_output([zscope, "zombies", "--store", store, "--color", "never"], text=True, env=dict(os.environ, TZ="UTC", LC_ALL="C"))
    day = datetime.datetime.fromtimestamp(lf["reaches_ns"] / 1e9, datetime.timezone.utc).strftime("on %A, %Y-%m-%d %H:%M")
    check(f"reaches {lf['threshold']:,} zombies {day}" in text or lf["reaches_ns"] <= lf["to_ns"], f"{day}: {text}")
    check("a reboot fixes it for about" in text and "RAM: " in text and "of this host's" in text, text)
    print(f"made {known:.0f} an hour; the host's number grew by {all_of_it:.0f}, the recording says {rate:.0f}")
    print(text[text.index("growth until"):text.index("cost:")].strip())


try:
    main()
finally:
    end(recorder, holders)
    remove(base, shm, store)
