// Verdict first, then what the host looked like: event lanes and charts on the shared axis.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { at, inside, path, useApi, type Loaded } from "./api";
import type { Window } from "./axis";
import { go, type State } from "./state";
import { clock, count, span, stamp, ticks } from "./time";
import type { EventRow, Finding, Overview as OverviewData, Why } from "./types";
import { Await, Canvas, Empty, EvidenceList, Skeleton, Unknowns, useTheme } from "./ui";

// Where a finding leads: the reset or core it speaks of.
function lead(f: Finding, events: EventRow[]): { label: string; go: () => void } | null {
  const event = f.event ? events.find((e) => e.event === f.event) : undefined;
  const id = (f.finding ?? f.id ?? "").toLowerCase();
  const t = (event?.time_ns ?? f.from_ns ?? f.evidence?.find((e) => e.time_ns)?.time_ns ?? 0) / 1e9;
  if (event || /reset/.test(id)) {
    const reset = event ?? nearest(events.filter(isReset), t);
    if (reset) return { label: `Look at the reset of ${clock(reset.time_ns / 1e9)}`, go: () => go({ view: "resets", ev: reset.event }) };
  }
  if (/core|satur|stall/.test(id) && t) return { label: "Look at the core", go: () => go({ view: "cores", cpu: f.place?.cpu, s0: Math.floor(t), s1: Math.floor(t) + 1, from: Math.floor(t) - 60, to: Math.floor(t) + 60 }) };
  if (/zombie|memcg|cgroup-churn/.test(id)) return { label: "Look at the zombies", go: () => go({ view: "zombies" }) };
  if (/unit|crash|loop|service|container/.test(id)) return { label: "Look at the unit", go: () => go({ view: "units" }) };
  if (/profile|kernel-path|stack|reader|walk/.test(id) && t) return { label: "Look at the flame graph", go: () => go({ view: "flame", s0: Math.floor(t) - 5, s1: Math.ceil(t) + 1 }) };
  return null;
}

export const isReset = (e: EventRow): boolean => /reset|watchdog|paused|tx-timeout/.test(e.id) && (e.source === "kmsg" || e.source === "net" || e.source === "lab");

function nearest(events: EventRow[], t: number): EventRow | undefined {
  let best: EventRow | undefined;
  for (const e of events) if (!best || Math.abs(e.time_ns / 1e9 - t) < Math.abs(best.time_ns / 1e9 - t)) best = e;
  return best;
}

// One link of a chain: what was found, where to look at it, the evidence.
function Step(props: { f: Finding; rel: string; events: EventRow[] }): JSX.Element {
  const { f } = props;
  const link = lead(f, props.events);
  return (
    <li>
      <div class="chain-line">
        <span class="chain-rel">{props.rel}</span>
        <span class="chain-text">{f.title ?? f.text ?? f.finding ?? f.id}</span>
        {f.because?.how && <span class="dim">{f.because.how}</span>}
        {link && !inside && <button type="button" class="link" onClick={link.go}>{link.label}</button>}
      </div>
      {f.evidence?.length ? (
        <details open={!!inside}><summary>{f.evidence.length} {f.evidence.length === 1 ? "piece" : "pieces"} of evidence</summary><EvidenceList list={f.evidence} /></details>
      ) : null}
    </li>
  );
}

export function Verdict(props: { why: Loaded<Why>; events: EventRow[] }): JSX.Element {
  const { why } = props;
  if (why.error && why.error.status === 404) return <NoVerdict events={props.events} text="This recording holds no verdict." />;
  if (!why.data) return why.error ? <NoVerdict events={props.events} text={why.error.message} /> : <Skeleton height={168} />;
  const { verdict, chain = [], findings = [], others = [], plan = [] } = why.data;
  const steps = chain.length ? chain : findings;
  const resets = props.events.filter(isReset), last = resets[resets.length - 1];
  const validation = lastValidation(props.events);
  const badge = verdict?.id === "unknown" ? { class: "", text: "could not tell" } : verdict && verdict.id !== "healthy" ? { class: "crit", text: "verdict" } : { class: "good", text: "healthy" };
  return (
    <section class="verdict" aria-labelledby="verdict-title">
      <div class="verdict-head">
        <span class={"badge " + badge.class}>{badge.text}</span>
        <h2 id="verdict-title">{verdict?.title ?? "Nothing wrong was found in this window"}</h2>
        {verdict?.confidence ? <span class="confidence" title="how sure the rules are">confidence {verdict.confidence.toFixed(2)}</span> : null}
      </div>
      {steps.length > 0 && (
        <ol class="chain" aria-label="from root cause to symptom">
          {steps.map((f, i) => <Step f={f} rel={i === 0 ? "root cause" : i === steps.length - 1 && chain.length ? "symptom" : "hence"} events={props.events} />)}
        </ol>
      )}
      {others.length > 0 && (
        <details class="others" open>
          <summary>{others.length === 1 ? "1 more thing was found" : `${others.length} more things were found`}</summary>
          {others.map((o) => (
            <ol class="chain" aria-label={o.title}>
              {(o.chain ?? []).map((f, i) => <Step f={f} rel={i === 0 ? (o.confidence !== undefined ? `also, ${o.confidence.toFixed(2)}` : "also") : "hence"} events={props.events} />)}
            </ol>
          ))}
        </details>
      )}
      {!inside && resets.length > 0 && ![...steps, ...others.flatMap((o) => o.chain ?? [])].some((f) => /reset/.test(f.finding ?? f.id ?? "")) && (
        <p class="also">{resets.length === 1 ? "There was a network reset" : `There were ${resets.length} network resets, the last one`} at {clock(last.time_ns / 1e9)}{last.injected ? ", injected by the lab" : ""}. <button type="button" class="link" onClick={() => go({ view: "resets", ev: last.event })}>Look at the reset of {clock(last.time_ns / 1e9)}</button></p>
      )}
      {plan.length > 0 && (
        <details class="plan" open>
          <summary>What to do</summary>
          {!inside && <p><a href={"/runbook#" + (verdict?.id ?? "")}>The runbook on {verdict?.id ?? "this"}</a></p>}
          <ol>
            {plan.map((p) => (
              <li>
                <span>{p.action}{p.target ? " " : ""}{p.target && <b>{p.target}</b>}</span>
                {p.command && <code>{p.command}</code>}
                <span class="dim">{[p.risk && `risk ${p.risk}`, p.reversible ? "can be undone" : "cannot be undone", p.reboot && "needs a reboot"].filter(Boolean).join(", ")}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
      {validation && !inside && <ValidationLine e={validation} />}
      <Unknowns list={why.data.unknown} />
    </section>
  );
}

// What `zscope validate` found and left in the recording; the last one counts.
export const lastValidation = (events: EventRow[]): EventRow | undefined => events.filter((e) => e.id === "validate" && !e.injected).pop();

export function ValidationLine(props: { e: EventRow }): JSX.Element {
  const { outcome, since, metrics } = props.e.fields ?? {};
  return (
    <div class="validation">
      <p>Validated: <b class={"sev " + (outcome === "healed" || outcome === "better" ? "good" : outcome === "worse" ? "crit" : "info")}>{outcome ?? "unknown"}</b>{since ? <span class="dim"> since {stamp(Date.parse(since) / 1000)}</span> : null}</p>
      {metrics && <ul class="evidence">{metrics.split("; ").map((m) => <li>{m}</li>)}</ul>}
    </div>
  );
}

function NoVerdict(props: { events: EventRow[]; text: string }): JSX.Element {
  const resets = props.events.filter(isReset);
  const last = resets[resets.length - 1];
  return (
    <section class="verdict" aria-labelledby="verdict-title">
      <div class="verdict-head">
        <span class="badge">no verdict</span>
        <h2 id="verdict-title">{last ? `${resets.length === 1 ? "1 network reset" : `${resets.length} network resets, the last`} at ${clock(last.time_ns / 1e9)}` : "No reset was seen"}</h2>
        {last && <button type="button" class="link" onClick={() => go({ view: "resets", ev: last.event })}>Look at the reset of {clock(last.time_ns / 1e9)}</button>}
      </div>
      <p class="dim">{props.text}</p>
    </section>
  );
}

const LANES: { id: string; title: string; has: (e: EventRow) => boolean }[] = [
  { id: "resets", title: "Resets", has: isReset },
  { id: "kernel", title: "Kernel", has: (e) => e.source === "kmsg" && !isReset(e) },
  { id: "units", title: "Units", has: (e) => e.source === "unit" },
  { id: "containers", title: "Containers", has: (e) => e.source === "container" },
  { id: "churn", title: "Churn", has: (e) => e.source === "cgroup" },
  { id: "other", title: "Notes", has: (e) => ["note", "self", "lab", "net"].includes(e.source) && !isReset(e) },
];
const GUTTER = 84;

function Lanes(props: { events: EventRow[]; window: Window; state: State }): JSX.Element {
  const { window: w } = props;
  const rowHeight = 20;
  const [hover, setHover] = useState<EventRow[]>([]);
  const hit = (x: number, y: number, width: number): EventRow[] => {
    const lane = LANES[Math.floor(y / rowHeight)];
    if (!lane || x < GUTTER) return [];
    const per = (w.to - w.from) / (width - GUTTER);
    const t = w.from + (x - GUTTER) * per;
    return props.events.filter((e) => lane.has(e) && e.time_ns / 1e9 - 5 * per <= t && (e.end_ns ?? e.time_ns) / 1e9 + 5 * per >= t)
      .sort((a, b) => Math.abs(a.time_ns / 1e9 - t) - Math.abs(b.time_ns / 1e9 - t));
  };
  return (
    <div class="lanes">
      <Canvas
        height={LANES.length * rowHeight + 2}
        label={"event lanes: " + LANES.map((l) => `${l.title} ${props.events.filter(l.has).length}`).join(", ") + ". The same events are in the table below."}
        deps={[props.events, w.from, w.to, props.state.s0, props.state.s1, props.state.ev]}
        pointer={(kind, x, y, width) => {
          if (kind === "leave") setHover([]);
          else if (kind === "move") setHover(hit(x, y, width));
          else if (kind === "down") {
            const [e] = hit(x, y, width);
            if (e) openEvent(e);
          }
        }}
        draw={({ ctx, width, color }) => {
          const x = (t: number) => GUTTER + ((t - w.from) / (w.to - w.from)) * (width - GUTTER);
          ctx.font = "12px system-ui, sans-serif";
          ctx.textBaseline = "middle";
          if (props.state.s0 !== undefined) {
            ctx.fillStyle = color("sel");
            ctx.fillRect(Math.max(GUTTER, x(props.state.s0)), 0, Math.max(2, x(props.state.s1!) - x(props.state.s0)), LANES.length * rowHeight);
          }
          LANES.forEach((lane, i) => {
            const y = i * rowHeight;
            ctx.fillStyle = color("dim");
            ctx.fillText(lane.title, 0, y + rowHeight / 2);
            ctx.fillStyle = color("hair");
            ctx.fillRect(GUTTER, y + rowHeight - 1, width - GUTTER, 1);
            for (const e of props.events) {
              if (!lane.has(e)) continue;
              const x0 = x(e.time_ns / 1e9);
              if (x0 < GUTTER - 2 || x0 > width) continue;
              const x1 = Math.min(width, Math.max(x0 + 3, x((e.end_ns ?? e.time_ns) / 1e9)));
              ctx.fillStyle = e.severity === "crit" ? color("crit") : e.severity === "warn" ? color("warn") : color("info");
              // shape says it too: tall = critical, middle = warning, short = information
              const h = e.severity === "crit" ? 16 : e.severity === "warn" ? 11 : 6;
              ctx.fillRect(x0 - 1, y + (rowHeight - h) / 2, Math.max(3, x1 - x0), h);
            }
          });
        }}
      />
      <p class="hover-line" aria-live="off">
        {hover.length ? <><b>{clock(hover[0].time_ns / 1e9)}</b> {hover[0].text}{hover.length > 1 ? <span class="dim"> and {hover.length - 1} more</span> : null}</> : <span class="dim">point at a mark to read it, click to follow it</span>}
      </p>
    </div>
  );
}

export function openEvent(e: EventRow): void {
  const t = e.time_ns / 1e9;
  if (isReset(e)) go({ view: "resets", ev: e.event });
  else go({ ev: e.event, s0: Math.floor(t), s1: Math.floor(t) + 1 });
}

export interface ChartSpec { title: string; unit: string; lines: { key: string; label: string; dash?: number[] }[]; max?: number }
const CHARTS: ChartSpec[] = [
  { title: "CPU", unit: "%", max: 100, lines: [{ key: "hottest", label: "hottest core" }, { key: "busy", label: "whole host", dash: [4, 3] }] },
  { title: "Memory cgroups", unit: "", lines: [{ key: "tracked", label: "tracked by the kernel" }, { key: "live", label: "live", dash: [4, 3] }] },
  { title: "Pressure (some, 10 s)", unit: "%", lines: [{ key: "psi_cpu", label: "cpu" }, { key: "psi_memory", label: "memory", dash: [4, 3] }, { key: "psi_io", label: "io", dash: [1, 3] }] },
  { title: "Reclaim", unit: "pages/s", lines: [{ key: "scan_direct", label: "direct" }, { key: "scan_kswapd", label: "kswapd", dash: [4, 3] }] },
];

export function Chart(props: { spec: ChartSpec; data: OverviewData; window: Window; state: State }): JSX.Element {
  const { spec, data, window: w } = props;
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const known = spec.lines.filter((l) => data.series[l.key]?.some((v) => v !== null));
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    if (!box.current || !known.length) return;
    const place = box.current;
    const style = getComputedStyle(place);
    const color = (n: string) => style.getPropertyValue("--" + n).trim();
    const colors = [color("series1"), color("series2"), color("series3")];
    const start = data.from_ns / 1e9, step = data.step_ns / 1e9;
    const n = data.series[known[0].key].length;
    // a mark at the very edge would be cut off
    const marks = () => ticks(w.from, w.to, Math.max(2, Math.floor(place.clientWidth / 64))).filter((t) => (t.at - w.from) / (w.to - w.from) < 1 - 26 / place.clientWidth);
    const times = Array.from({ length: n }, (_, i) => start + i * step);
    const plot = new uPlot(
      {
        width: Math.max(200, place.clientWidth), height: 132, padding: [8, 4, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 5 }, drag: { x: true, y: false, setScale: false } },
        scales: { x: { time: true, range: () => [w.from, w.to] }, y: { range: (_u, _min, max) => [0, spec.max ?? Math.max(1, (max ?? 1) * 1.08)] } },
        axes: [
          { stroke: color("dim"), grid: { show: false }, ticks: { show: false }, size: 20, font: "11px system-ui, sans-serif",
            splits: () => marks().map((t) => t.at),
            values: (_u, splits) => { const l = marks(); return splits.map((s) => l.find((t) => t.at === s)?.label ?? clock(s)); } },
          { stroke: color("dim"), grid: { stroke: color("hair"), width: 1 }, ticks: { show: false }, size: 48, font: "11px system-ui, sans-serif",
            values: (_u, v) => v.map((x) => (x >= 10000 ? `${x / 1000}k` : String(x))) },
        ],
        series: [{}, ...known.map((l, i) => ({ label: l.label, stroke: colors[i], width: 1.4, dash: l.dash, points: { show: false }, spanGaps: false }))],
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          setSelect: [(u) => {
            if (u.select.width > 3) go({ s0: Math.floor(u.posToVal(u.select.left, "x")), s1: Math.ceil(u.posToVal(u.select.left + u.select.width, "x")) });
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          }],
          drawAxes: [(u) => {
            if (props.state.s0 === undefined) return;
            const a = u.valToPos(props.state.s0, "x", true), b = u.valToPos(props.state.s1!, "x", true);
            u.ctx.save();
            u.ctx.beginPath();
            u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
            u.ctx.clip();
            u.ctx.fillStyle = color("sel");
            u.ctx.fillRect(a, u.bbox.top, Math.max(2, b - a), u.bbox.height);
            u.ctx.restore();
          }],
        },
      },
      [times, ...known.map((l) => data.series[l.key])] as uPlot.AlignedData,
      place,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, place.clientWidth), height: 132 }));
    observer.observe(place);
    return () => { observer.disconnect(); plot.destroy(); };
  }, [data, w.from, w.to, theme, props.state.s0, props.state.s1]);
  const n = known.length ? data.series[known[0].key].length : 0;
  const index = at !== null && at < n ? at : null;
  return (
    <figure class="chart">
      <figcaption>
        <b>{spec.title}</b>
        <span class="chart-key">
          {known.map((l, i) => {
            const values = data.series[l.key];
            let value = index !== null ? values[index] : null;
            if (index === null) for (let k = values.length - 1; k >= 0 && value === null; k--) value = values[k];
            return <span><i class={`swatch s${i + 1}`} />{l.label} <b class="num">{value === null ? "–" : count(spec.unit ? Math.round(value * 10) / 10 : Math.round(value))}</b> {spec.unit}</span>;
          })}
          {index !== null && <span class="dim">{clock(data.from_ns / 1e9 + (index * data.step_ns) / 1e9)}</span>}
        </span>
      </figcaption>
      {known.length ? <div class="plot" ref={box} role="img" aria-label={`${spec.title}: ${known.map((l) => l.label).join(", ")} over time`} /> : <div class="plot none">not recorded in this window</div>}
    </figure>
  );
}

export function Charts(props: { data: OverviewData; window: Window; state: State }): JSX.Element {
  return <div class="charts">{CHARTS.map((spec) => <Chart key={spec.title} spec={spec} data={props.data} window={props.window} state={props.state} />)}</div>;
}

const SHOWN = 200;
export function EventTable(props: { events: EventRow[]; state: State }): JSX.Element {
  const [all, setAll] = useState(false);
  if (!props.events.length) return <Empty title="No events in this window">Nothing was logged, restarted or reset while it lasted.</Empty>;
  const rows = all ? props.events : props.events.slice(-SHOWN);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="table of events">
      <table class="events">
        <thead><tr><th>time</th><th>source</th><th>what</th><th>text</th></tr></thead>
        <tbody>
          {rows.map((e) => (
            <tr class={e.event === props.state.ev ? "on" : undefined}>
              <td class="num nowrap">{inside ? clock(e.time_ns / 1e9, 3) : <button type="button" class="link" onClick={() => openEvent(e)}>{clock(e.time_ns / 1e9, 3)}</button>}</td>
              <td class="nowrap">{e.source}</td>
              <td class="nowrap"><span class={"sev " + e.severity}>{e.id}</span>{e.injected ? <span class="tag">injected</span> : null}{!e.trusted ? <span class="tag" title="could be forged from userspace">not trusted</span> : null}</td>
              <td class="text">{e.text}{e.count && e.count > 1 ? <span class="dim"> × {e.count}</span> : null}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!all && props.events.length > SHOWN && <p><button type="button" onClick={() => setAll(true)}>show all {props.events.length}</button></p>}
    </div>
  );
}

export function OverviewView(props: { state: State; window: Window; whole: Window; overview: Loaded<OverviewData>; events: EventRow[]; version: number }): JSX.Element {
  const { state, window: w } = props;
  const why = useApi<Why>(path("why", state.from !== undefined ? { from: at(w.from), to: at(w.to) } : {}), state.from !== undefined ? 0 : Math.floor(props.version / 10));
  const shown = props.events.filter((e) => e.time_ns / 1e9 >= w.from && e.time_ns / 1e9 < w.to);
  // the verdict's height is known when it is there: nothing below it jumps
  if (!why.data && !why.error) return <Skeleton height={420} />;
  return (
    <>
      <Verdict why={why} events={props.events.filter((e) => e.time_ns / 1e9 >= props.whole.from)} />
      <section class="panel" aria-label="timeline">
        <h2>Timeline <span class="dim">{span(w.to - w.from)}</span></h2>
        <Lanes events={shown} window={w} state={state} />
        <Await of={props.overview} height={620}>{(data) => <Charts data={data} window={w} state={state} />}</Await>
      </section>
      <section class="panel" aria-label="events">
        <h2>Events <span class="dim">{count(shown.length)}</span></h2>
        <EventTable events={shown} state={state} />
      </section>
    </>
  );
}
