// Zombie memory cgroups: how many, whose, what pins them, where it goes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, useApi, type Loaded } from "./api";
import type { Window } from "./axis";
import { Charts } from "./overview";
import type { State } from "./state";
import { bytes, count, span } from "./time";
import type { Overview, Pin, Zombies } from "./types";
import { Await, Empty, Unknowns, text } from "./ui";

function Fact(props: { name: string; value: string; note?: string }): JSX.Element {
  return <div class="fact"><span class="fact-name">{props.name}</span><b class="fact-value">{props.value}</b>{props.note && <span class="dim">{props.note}</span>}</div>;
}

// Growth of the window itself, by least squares over what was recorded.
function growth(o: Overview | undefined): { perHour: number; last: number } | null {
  const y = o?.series.tracked;
  if (!o || !y) return null;
  let n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, last = 0;
  y.forEach((v, i) => { if (v !== null) { n++; sx += i; sy += v; sxx += i * i; sxy += i * v; last = v; } });
  const d = n * sxx - sx * sx;
  return n > 2 && d > 0 ? { perHour: ((n * sxy - sx * sy) / d / (o.step_ns / 1e9)) * 3600, last } : null;
}

function pinName(p: Pin): string {
  if (p.file) return p.file + (p.deleted ? " (deleted)" : "");
  if (p.inode) return `${p.kind} inode ${p.inode}${p.device ? " on " + p.device : ""}`;
  return p.kind;
}

export function ZombiesBody(props: { data: Zombies; overview?: Overview; window: Window; state: State }): JSX.Element {
  const { data } = props;
  const [all, setAll] = useState(false);
  const g = growth(props.overview);
  const byFile = new Map<string, { count: number; bytes: number }>();
  for (const z of data.zombies ?? []) for (const p of z.pins ?? []) {
    const row = byFile.get(pinName(p)) ?? { count: 0, bytes: 0 };
    row.count++;
    row.bytes += p.bytes ?? 0;
    byFile.set(pinName(p), row);
  }
  for (const p of data.pins ?? []) byFile.set(pinName(p as Pin), { count: p.count, bytes: p.bytes ?? 0 });
  const pins = [...byFile].sort((a, b) => b[1].bytes - a[1].bytes || b[1].count - a[1].count).slice(0, 100);
  const list = data.zombies ?? [];
  return (
    <>
      <div class="facts">
        <Fact name="tracked by the kernel" value={count(data.tracked)} note={data.method ? `method ${data.method}` : undefined} />
        <Fact name="live" value={count(data.live)} />
        <Fact name="zombies" value={count(data.dying)} note={data.ratio !== undefined ? `${data.ratio.toFixed(1)} tracked for each live one` : undefined} />
        <Fact name="memory they pin" value={bytes(data.bytes)} />
        <Fact name="growth" value={data.rate_per_hour !== undefined ? `${count(Math.round(data.rate_per_hour))} / h` : g ? `${count(Math.round(g.perHour))} / h` : "unknown"}
          note={g && g.perHour > 1 && g.last < 65536 ? `65,536 in ${span(((65536 - g.last) / g.perHour) * 3600)} at this rate` : undefined} />
      </div>
      {props.overview && <Charts data={{ ...props.overview, series: { tracked: props.overview.series.tracked ?? [], live: props.overview.series.live ?? [] } }} window={props.window} state={props.state} />}
      {data.forecast && <p class="dim">Forecast: {Object.entries(data.forecast).map(([k, v]) => `${k.replaceAll("_", " ")} ${text(v)}`).join(", ")}</p>}
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
      {pins.length > 0 && (
        <>
          <h3>What pins them</h3>
          <div class="scroll" tabIndex={0} role="region" aria-label="pins">
            <table><thead><tr><th class="num">zombies</th><th class="num">memory</th><th>pin</th></tr></thead>
              <tbody>{pins.map(([name, p]) => <tr><td class="num">{count(p.count)}</td><td class="num">{bytes(p.bytes)}</td><td class="mono text">{name}</td></tr>)}</tbody></table>
          </div>
        </>
      )}
      {list.length > 0 && (
        <>
          <h3>List <span class="dim">{count(list.length)}</span></h3>
          <div class="scroll tall" tabIndex={0} role="region" aria-label="list of zombies">
            <table><thead><tr><th class="num">id</th><th class="num">memory</th><th class="num">file</th><th class="num">slab</th><th>owner</th><th>path</th></tr></thead>
              <tbody>{list.slice(0, all ? list.length : 200).map((z) => <tr><td class="num">{z.id}</td><td class="num">{bytes(z.bytes)}</td><td class="num">{bytes(z.file_bytes)}</td><td class="num">{bytes(z.slab_bytes)}</td><td class="mono">{z.owner ?? ""}</td><td class="mono text">{z.path}</td></tr>)}</tbody></table>
            {!all && list.length > 200 && <p><button type="button" onClick={() => setAll(true)}>show all {count(list.length)}</button></p>}
          </div>
        </>
      )}
      <Unknowns list={data.unknown} />
    </>
  );
}

export function ZombiesView(props: { state: State; window: Window; overview: Loaded<Overview>; version: number }): JSX.Element {
  const zombies = useApi<Zombies>(path("zombies"), Math.floor(props.version / 10));
  return (
    <section class="panel" aria-label="zombies">
      <h2>Zombie memory cgroups</h2>
      <Await of={zombies} height={420}>{(data) => <ZombiesBody data={data} overview={props.overview.data} window={props.window} state={props.state} />}</Await>
    </section>
  );
}
