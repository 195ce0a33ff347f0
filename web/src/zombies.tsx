// Zombie memory cgroups: how many, whose, what pins them, where it goes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { at, path, useApi, type Loaded } from "./api";
import type { Window } from "./axis";
import { Chart, type ChartSpec } from "./overview";
import type { State } from "./state";
import { bytes, clock, count, span, stamp } from "./time";
import type { Overview, Zombies } from "./types";
import { Await, Empty, Unknowns } from "./ui";

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
      {f && <p class="dim">Forecast from {count(f.points)} censuses since {stamp(f.from_ns / 1e9)}: {f.reaches_ns ? <>{count(f.threshold)} zombies, where hosts stalled, {f.reaches_ns <= f.to_ns ? "are reached" : <>at <b>{stamp(f.reaches_ns / 1e9)}</b></>}</> : "it does not grow"}{f.doubling_hours ? `, doubles in ${span(f.doubling_hours * 3600)}` : ""}{f.ram_bytes_per_day ? `, ${bytes(f.ram_bytes_per_day)} of memory a day` : ""}{f.reboot_lasts_days ? `; a reboot lasts ${span(f.reboot_lasts_days * 86400)}` : ""}.</p>}
    </>
  );
}

export function ZombiesBody(props: { data: Zombies; overview?: Overview; window: Window; state: State }): JSX.Element {
  const { data } = props;
  const [all, setAll] = useState(false);
  const files = data.files ?? [];
  const list = data.zombies ?? [];
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
      {data.groups?.length ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="zombies by owner">
          <table>
            <thead><tr><th class="num">zombies</th><th>share</th><th class="num">memory</th><th>kind</th><th>owner</th></tr></thead>
            <tbody>
              {data.groups.map((row) => (
                <tr><td class="num">{count(row.count)}</td><td><span class="meter"><i style={{ width: `${Math.round(100 * (row.share ?? row.count / Math.max(1, data.dying ?? row.count)))}%` }} /></span></td>
                  <td class="num">{bytes(row.bytes)}</td><td>{row.kind ?? ""}</td><td class="mono text">{row.owner}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : <Empty title="No owners known">{data.dying ? "The recorder counted the zombies but could not name them: that takes BPF." : "There is none to name."}</Empty>}
      {data.held_by && (
        <>
          <h3>What holds them</h3>
          <div class="scroll" tabIndex={0} role="region" aria-label="what holds them">
            <table><thead><tr><th class="num">zombies</th><th class="num">memory</th><th>held by</th><th>freed by</th></tr></thead>
              <tbody>{Object.entries(data.held_by).map(([kind, h]) => <tr><td class="num">{count(h.zombies)}</td><td class="num">{bytes(h.bytes)}</td><td>{kind}</td><td class="text">{h.freed_by ?? ""}</td></tr>)}</tbody></table>
          </div>
        </>
      )}
      {files.length > 0 && (
        <>
          <h3>Files that hold them <span class="dim">{count(data.files_in_all)}</span></h3>
          <div class="scroll" tabIndex={0} role="region" aria-label="files that hold them">
            <table><thead><tr><th class="num">zombies</th><th class="num">memory</th><th>kind</th><th>file</th></tr></thead>
              <tbody>{files.slice(0, 100).map((p) => <tr><td class="num">{count(p.zombies)}</td><td class="num">{bytes(p.bytes)}</td><td>{p.kind}</td><td class="mono text">{pinName(p)}</td></tr>)}</tbody></table>
          </div>
        </>
      )}
      {list.length > 0 && (
        <>
          <h3>{data.dying !== undefined && list.length < data.dying ? "The largest of them" : "List"} <span class="dim">{count(list.length)}</span></h3>
          <div class="scroll tall" tabIndex={0} role="region" aria-label="list of zombies">
            <table><thead><tr><th class="num">id</th><th class="num">memory</th><th class="num">file</th><th class="num">slab</th><th>owner</th><th>held by</th><th>path</th></tr></thead>
              <tbody>{list.slice(0, all ? list.length : 200).map((z) => <tr><td class="num">{z.id}</td><td class="num">{bytes(z.bytes)}</td><td class="num">{bytes(z.file_bytes)}</td><td class="num">{bytes(z.slab_bytes)}</td><td class="mono">{z.owner ?? ""}</td><td>{z.pins?.slice(0, 3).map(pinName).join(", ") ?? ""}</td><td class="mono text">{z.path}</td></tr>)}</tbody></table>
            {!all && list.length > 200 && <p><button type="button" onClick={() => setAll(true)}>show all {count(list.length)}</button></p>}
          </div>
        </>
      )}
      <Unknowns list={data.unknown} />
    </>
  );
}

export function ZombiesView(props: { state: State; window: Window; overview: Loaded<Overview>; version: number }): JSX.Element {
  const { state } = props;
  const [now, setNow] = useState(0); // how often the host itself was asked
  const recorded = useApi<Zombies>(path("zombies", state.to !== undefined ? { to: at(state.to) } : {}), Math.floor(props.version / 10));
  const live = useApi<Zombies>(now ? path("zombies/now") : null, now);
  // what the host says now, with what only the recording knows
  const shown = now && live.data ? { ...live.data, rate_per_hour: recorded.data?.rate_per_hour, forecast: recorded.data?.forecast } : null;
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
