// Zombie memory cgroups: how many, whose, what pins them, where it goes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { at, path, useApi, type Loaded } from "./api";
import type { Window } from "./axis";
import { Chart, type ChartSpec } from "./overview";
import type { State } from "./state";
import { bytes, clock, count, span } from "./time";
import type { Holder, Overview, PinFile, Zombie, ZombieGroup, Zombies } from "./types";
import { Await, Empty, Table, Unknowns, type Column } from "./ui";
import { ChurnPart, CostPart, Onsets } from "./zombies_cost";

function Fact(props: { name: string; value: string; note?: string }): JSX.Element {
  return <div class="fact"><span class="fact-name">{props.name}</span><b class="fact-value">{props.value}</b>{props.note && <span class="dim">{props.note}</span>}</div>;
}

// The forecast beside what was counted: as long again as half of the window, from the last count on.
export function withForecast(o: Overview, perHour: number | undefined): { data: Overview; to: number } {
  const dying = o.series.dying ?? [];
  let last = dying.length - 1;
  while (last >= 0 && dying[last] === null) last--;
  if (perHour === undefined || last < 0) return { data: { ...o, series: { dying } }, to: 0 };
  const more = Math.max(10, Math.round(dying.length / 2)), step = (perHour * o.step_ns) / 3.6e12;
  const forecast = Array.from({ length: last + 1 + more }, (_, i) => (i < last ? null : Math.max(0, dying[last]! + (i - last) * step)));
  return { data: { ...o, series: { dying: [...dying.slice(0, last + 1), ...Array<null>(more).fill(null)], forecast } }, to: (o.from_ns + (last + 1 + more) * o.step_ns) / 1e9 };
}

function pinName(p: { kind: string; file?: string; device?: string; inode?: number; deleted?: boolean }): string {
  if (p.file) return p.file + (p.deleted ? " (deleted)" : "");
  if (p.inode) return `${p.kind} inode ${p.inode}${p.device ? " on " + p.device : ""}`;
  return p.kind;
}

const SPEC: ChartSpec = { title: "Zombies", unit: "", lines: [{ key: "dying", label: "counted" }, { key: "forecast", label: "forecast", dash: [4, 3] }] };

function Growth(props: { data: Zombies; overview?: Overview; window: Window; state: State }): JSX.Element | null {
  const { data, overview } = props;
  const f = data.forecast;
  if (!overview) return null;
  const shown = withForecast(overview, data.rate_per_hour);
  return (
    <>
      <Chart spec={SPEC} data={shown.data} window={{ from: props.window.from, to: Math.max(props.window.to, shown.to) }} state={props.state} />
      {f && <Onsets data={data} forecast={f} />}
    </>
  );
}

const share = (row: ZombieGroup, dying: number | undefined): number => Math.round(100 * (row.share ?? row.count / Math.max(1, dying ?? row.count)));

const HOLDERS: Column<[string, Holder]>[] = [
  { head: "zombies", num: true, cell: ([, h]) => count(h.zombies) },
  { head: "memory", num: true, cell: ([, h]) => bytes(h.bytes) },
  { head: "held by", main: true, cell: ([kind]) => kind },
  { head: "freed by", style: "text", cell: ([, h]) => h.freed_by ?? "" },
];

const FILES: Column<PinFile>[] = [
  { head: "zombies", num: true, cell: (p) => count(p.zombies) },
  { head: "memory", num: true, cell: (p) => bytes(p.bytes) },
  { head: "kind", cell: (p) => p.kind },
  { head: "file", main: true, style: "mono text", cell: pinName },
];

// Columns that no row knows are left out: a recorded census has no slab and no pins.
function listColumns(list: Zombie[]): Column<Zombie>[] {
  const columns: (Column<Zombie> & { has?: (z: Zombie) => boolean })[] = [
    { head: "id", num: true, cell: (z) => z.id },
    { head: "memory", num: true, cell: (z) => bytes(z.bytes), has: (z) => z.bytes !== undefined },
    { head: "file", num: true, cell: (z) => bytes(z.file_bytes), has: (z) => z.file_bytes !== undefined },
    { head: "slab", num: true, cell: (z) => bytes(z.slab_bytes), has: (z) => z.slab_bytes !== undefined },
    { head: "owner", style: "mono", cell: (z) => z.owner ?? "" },
    { head: "held by", cell: (z) => z.pins?.slice(0, 3).map(pinName).join(", ") ?? "", has: (z) => z.pins !== undefined },
    { head: "path", main: true, style: "mono text", cell: (z) => z.path },
  ];
  return columns.filter((c) => !c.has || list.some(c.has));
}

export function ZombiesBody(props: { data: Zombies; overview?: Overview; window: Window; state: State }): JSX.Element {
  const { data } = props;
  const files = data.files ?? [];
  const list = data.zombies ?? [];
  const owners: Column<ZombieGroup>[] = [
    { head: "zombies", num: true, cell: (g) => count(g.count) },
    { head: "share", cell: (g) => <span class="meter"><i style={{ width: `${share(g, data.dying)}%` }} /></span> },
    { head: "memory", num: true, cell: (g) => bytes(g.bytes) },
    { head: "one every", num: true, cell: (g) => (g.created_every_s !== undefined ? span(g.created_every_s) : "–") },
    { head: "kind", cell: (g) => g.kind ?? "" },
    { head: "owner", main: true, style: "mono text", cell: (g) => g.owner },
  ];
  return (
    <>
      <div class="facts">
        <Fact name="tracked by the kernel" value={count(data.tracked)} note={data.method ? `method ${data.method}` : undefined} />
        <Fact name="live" value={count(data.live)} />
        <Fact name="zombies" value={count(data.dying)} note={data.ratio !== undefined ? `${data.ratio.toFixed(1)} tracked for each live one` : undefined} />
        <Fact name="memory they pin" value={bytes(data.bytes)} />
        <Fact name="growth" value={data.rate_per_hour !== undefined ? `${count(Math.round(data.rate_per_hour))} / h` : "unknown"} note={data.census_ns ? `census of ${clock(data.census_ns / 1e9)}` : undefined} />
      </div>
      <Growth {...props} />
      <h3>By owner</h3>
      {data.groups?.length
        ? <Table label="zombies by owner" columns={owners} rows={data.groups} most={10} />
        : <Empty title="No owners known">{data.dying ? "The recorder counted the zombies but could not name them: that takes BPF." : "There is none to name."}</Empty>}
      {data.churn && <ChurnPart churn={data.churn} />}
      {data.cost && <CostPart cost={data.cost} />}
      {data.held_by && <><h3>What holds them</h3><Table label="what holds them" columns={HOLDERS} rows={Object.entries(data.held_by)} /></>}
      {files.length > 0 && <><h3>Files that hold them <span class="dim">{count(data.files_in_all)}</span></h3><Table label="files that hold them" columns={FILES} rows={files} most={20} of={data.files_in_all} /></>}
      {list.length > 0 && (
        <>
          <h3>{data.dying !== undefined && list.length < data.dying ? "The largest of them" : "List"} <span class="dim">{count(list.length)}</span></h3>
          <Table label="list of zombies" columns={listColumns(list)} rows={list} most={200} of={data.dying} tall />
        </>
      )}
      <Unknowns list={data.unknown} />
    </>
  );
}

export function ZombiesView(props: { state: State; window: Window; overview: Loaded<Overview>; version: number }): JSX.Element {
  const { state } = props;
  const [now, setNow] = useState(0); // how often the host itself was asked
  const recorded = useApi<Zombies>(path("zombies", state.from !== undefined ? { from: at(props.window.from), to: at(props.window.to) } : {}), Math.floor(props.version / 10));
  const live = useApi<Zombies>(now ? path("zombies/now") : null, now);
  // what the host says now, with what only the recording knows, and what it does not
  const known = new Set(["owners", "files that hold them"]);
  const unknown = [...(live.data?.unknown ?? []), ...(recorded.data?.unknown ?? []).filter((u) => !known.has(u.what))];
  const shown = now && live.data ? { ...live.data, rate_per_hour: recorded.data?.rate_per_hour, forecast: recorded.data?.forecast, churn: recorded.data?.churn, cost: recorded.data?.cost, unknown } : null;
  return (
    <section class="panel" aria-label="zombies">
      <div class="bar">
        <h2>Zombie memory cgroups</h2>
        <button type="button" disabled={live.loading} title="counts and names them on the host itself, with the files that hold them" onClick={() => setNow(now + 1)}>Look at the host now</button>
        {shown && <button type="button" onClick={() => setNow(0)}>As recorded</button>}
      </div>
      {now && live.error ? <p class="notice" role="status">{live.error.message}</p> : null}
      <Await of={recorded} height={420}>{(data) => <ZombiesBody data={shown ?? data} overview={props.overview.data} window={props.window} state={state} />}</Await>
    </section>
  );
}
