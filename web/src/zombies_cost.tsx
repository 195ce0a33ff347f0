// Beside the zombies: when their number will hurt, who makes them, what reclaim takes among them and who pays.
import type { JSX } from "preact";
import { bytes, count, span, stamp } from "./time";
import type { Churn, ChurnGroup, Cost, Forecast, Reclaim, ReclaimGroup, ReclaimPayer, Zombies } from "./types";
import { Table, type Column } from "./ui";

// When a limit is reached, seen from the last census.
function When(props: { at_ns?: number; from_ns: number; known: boolean }): JSX.Element {
  if (!props.known) return <span class="dim">unknown</span>;
  if (!props.at_ns) return <span class="dim">not at this rate</span>;
  if (props.at_ns <= props.from_ns) return <span class="sev crit">reached</span>;
  return <><b>{stamp(props.at_ns / 1e9)}</b> <span class="dim">in {span((props.at_ns - props.from_ns) / 1e9)}</span></>;
}

interface Onset { what: string; now: string; rate: string; limit: string; at_ns?: number; known: boolean }

// What happens at that number of zombies, and how it is known.
function cpuOnset(f: Forecast): string {
  if (f.basis === "none") return "CPU: no number of zombies is known at which this kernel stalls";
  if (f.measured === "reads") return "CPU: a read of memory.numa_stat takes 1 s (by what it takes here)";
  if (f.measured === "reclaim") return "CPU: one pass of reclaim in a hundred takes 1 s (by how they grew here)";
  return "CPU: the original incident's hosts stalled at that number (not measured on this one)";
}

// Two things can come first: the number at which the CPU hurts, and a tenth of the host's RAM.
export function Onsets(props: { data: Zombies; forecast: Forecast }): JSX.Element {
  const { data, forecast: f } = props;
  const rate = Math.round(data.rate_per_hour ?? 0), plus = rate > 0 ? "+" : "";
  const rows: Onset[] = [
    { what: cpuOnset(f), now: count(data.dying), rate: `${plus}${count(rate)} an hour`, limit: f.basis === "none" ? "none known" : count(f.threshold), at_ns: f.reaches_ns, known: f.basis !== "none" },
    { what: "RAM: a tenth of the host's", now: bytes(f.ram_bytes_now), rate: f.ram_bytes_per_day ? `+${bytes(f.ram_bytes_per_day)} a day` : rate > 0 ? "unknown" : "none", limit: bytes(f.ram_limit_bytes), at_ns: f.ram_reaches_ns, known: f.ram_limit_bytes !== undefined },
  ];
  const columns: Column<Onset>[] = [
    { head: "what runs out", main: true, cell: (o) => o.what },
    { head: "now", num: true, cell: (o) => o.now },
    { head: "at this rate", num: true, cell: (o) => o.rate },
    { head: "limit", num: true, cell: (o) => o.limit },
    { head: "reached", style: "nowrap", cell: (o) => <When at_ns={o.at_ns} from_ns={f.to_ns} known={o.known} /> },
  ];
  return (
    <>
      <h3>When it will hurt</h3>
      <Table label="when it will hurt" columns={columns} rows={rows} />
      <p class="dim">Forecast from {count(f.points)} censuses since {stamp(f.from_ns / 1e9)}{rate > 0 ? "" : ": it does not grow"}{f.doubling_hours ? `; the number doubles in ${span(f.doubling_hours * 3600)}` : ""}{f.reboot_lasts_days ? `; a reboot fixes it for about ${span(f.reboot_lasts_days * 86400)}` : ""}.</p>
    </>
  );
}

function creator(g: ChurnGroup): JSX.Element {
  const c = g.creator;
  if (!c) return <>{g.made ? "unknown" : "–"}</>;
  const home = c.unit ?? c.cgroup;
  return <>{c.comm} <span class="dim">pid {c.pid}{c.parent_comm ? `, child of ${c.parent_comm} ${c.ppid}` : ""}{home ? `, ${home}` : ""}</span></>;
}

export function ChurnPart(props: { churn: Churn }): JSX.Element | null {
  const { churn } = props;
  const groups = churn.groups.filter((g) => g.made || g.removed || g.released);
  if (!groups.length) return null;
  const columns: Column<ChurnGroup>[] = [
    { head: "made", num: true, cell: (g) => count(g.made) },
    { head: "removed", num: true, cell: (g) => count(g.removed) },
    { head: "released", num: true, cell: (g) => count(g.released) },
    { head: "left behind", title: "removed, and still held by the kernel", num: true, cell: (g) => count(g.left_behind) },
    { head: "one every", num: true, cell: (g) => (g.every_s !== undefined ? span(g.every_s) : "–") },
    { head: "creator", style: "text", cell: creator },
    { head: "owner", main: true, style: "mono text", cell: (g) => g.owner },
  ];
  return (
    <>
      <h3>Who makes them <span class="dim">memory cgroups made and removed in {span((churn.to_ns - churn.from_ns) / 1e9)}{churn.lost ? `, ${count(churn.lost)} events were lost` : ""}</span></h3>
      <Table label="who makes them" columns={columns} rows={groups} most={5} />
    </>
  );
}

function where(g: ReclaimGroup): JSX.Element {
  if (g.kind === "limit") return <><span class="mono">{g.path ?? `cgroup ${g.cgroup}`}</span> is at its limit</>;
  if (g.kind === "asked") return <>asked for <span class="dim">(memory.reclaim, memory.force_empty)</span></>;
  return <>the host is short of memory <span class="dim">{g.kind === "kswapd" ? "(kswapd, its CPU time)" : "(direct)"}</span></>;
}

const nanos = (ns: number | undefined): string => (ns === undefined ? "unknown" : span(ns / 1e9));

const RECLAIM: Column<ReclaimGroup>[] = [
  { head: "passes", num: true, cell: (g) => count(g.passes) },
  { head: "in all", num: true, cell: (g) => nanos(g.total_ns) },
  { head: "p50", title: "half of the passes took less", num: true, cell: (g) => nanos(g.p50_ns) },
  { head: "p99", title: "99 of 100 passes took less", num: true, cell: (g) => nanos(g.p99_ns) },
  { head: "longest", num: true, cell: (g) => nanos(g.max_ns) },
  { head: "freed", num: true, cell: (g) => bytes(g.freed_bytes) },
  { head: "zombies there", num: true, cell: (g) => count(g.zombies_below) },
  { head: "where", main: true, style: "text", cell: where },
];

interface Paid { p: ReclaimPayer; g: ReclaimGroup }
const PAYERS: Column<Paid>[] = [
  { head: "in all", num: true, cell: ({ p }) => nanos(p.total_ns) },
  { head: "passes", num: true, cell: ({ p }) => count(p.passes) },
  { head: "longest", num: true, cell: ({ p }) => nanos(p.max_ns) },
  { head: "process", main: true, style: "nowrap", cell: ({ p }) => <>{p.comm} <span class="dim">pid {p.pid}</span></> },
  { head: "unit or cgroup", style: "mono text", cell: ({ p }) => p.unit ?? p.cgroup ?? "unknown" },
  { head: "in", style: "mono text", cell: ({ g }) => g.path ?? (g.kind === "limit" ? `cgroup ${g.cgroup}` : g.kind === "asked" ? "asked for" : "the host") },
];

function Payers(props: { reclaim: Reclaim }): JSX.Element | null {
  const rows: Paid[] = props.reclaim.groups
    .filter((g) => g.kind !== "kswapd") // nobody waited for it
    .flatMap((g) => g.payers.map((p) => ({ p, g }))).sort((a, b) => b.p.total_ns - a.p.total_ns);
  if (!rows.length) return null;
  const processes = new Set(rows.map((r) => r.p.pid)).size;
  return (
    <>
      <h3>Who waited for it <span class="dim">{count(processes)} {processes === 1 ? "process" : "processes"}{props.reclaim.lost_payers ? `; of ${count(props.reclaim.lost_payers)} passes it is not known` : ""}</span></h3>
      <Table label="who waited for reclaim" columns={PAYERS} rows={rows} most={5} />
    </>
  );
}

function ReclaimPart(props: { reclaim: Reclaim }): JSX.Element {
  const { reclaim } = props;
  const watched = `${span((reclaim.to_ns - reclaim.from_ns) / 1e9)} from ${stamp(reclaim.from_ns / 1e9)}`;
  if (!reclaim.groups.length) return <><h3>What reclaim took</h3><p class="dim">No reclaim happened in {watched}: what it costs among these zombies could not be measured.</p></>;
  return (
    <>
      <h3>What reclaim took <span class="dim">in {watched}{reclaim.lost ? `; ${count(reclaim.lost)} passes could not be counted` : ""}</span></h3>
      <Table label="what reclaim took" columns={RECLAIM} rows={reclaim.groups} most={10} />
      <Payers reclaim={reclaim} />
    </>
  );
}

export function CostPart(props: { cost: Cost }): JSX.Element {
  const { cost } = props;
  const measured = cost.measured_percpu_bytes_per_zombie !== undefined;
  return (
    <>
      {cost.why && (
        <>
          <h3>What they cost</h3>
          <p>{measured
            ? <>Each took {bytes(cost.measured_percpu_bytes_per_zombie)} of per-core memory and {bytes(cost.measured_slab_bytes_per_zombie)} of slab <span class="dim">(measured here while {count(cost.measured_over_zombies)} came or went)</span>: {bytes(cost.ram_bytes)} in all.</>
            : <>Each takes about {bytes(cost.expected_percpu_bytes_per_zombie)} of per-core memory and {bytes(cost.expected_slab_bytes_per_zombie)} of slab <span class="dim">(expected of such a kernel, not measured here)</span>.</>}</p>
          <p class="dim">{cost.why[0].toUpperCase() + cost.why.slice(1)}.</p>
        </>
      )}
      {cost.reclaim ? <ReclaimPart reclaim={cost.reclaim} /> : <><h3>What reclaim took</h3><p class="dim">Not measured in this window: the recorder notes it once a minute, where it may use BPF.</p></>}
    </>
  );
}
