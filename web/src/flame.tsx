// Flame graph of the selection on a canvas: zoom, search, copy; difference against a baseline; table of the same numbers.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, inside, path, useApi } from "./api";
import type { Window } from "./axis";
import { hit, layout, search, showName, stackOf, top, visit, type Graph } from "./flamegraph";
import { Filters, heatWindow } from "./heat";
import { diverge, frame, inkOn, isDark, pack, parse } from "./ramp";
import { go, type State } from "./state";
import { clock, count, percent, span } from "./time";
import type { Flame } from "./types";
import { Await, Canvas, Empty, Legend, Unknowns, useTheme } from "./ui";

const ROW = 18;

export function FlameCanvas(props: { graph: Graph; query: string }): JSX.Element {
  const { graph: g } = props;
  const theme = useTheme();
  const [zoom, setZoom] = useState(0);
  const [focus, setFocus] = useState(-1);
  const [copied, setCopied] = useState(false);
  const found = useMemo(() => (props.query ? search(g, props.query) : null), [g, props.query]);
  useEffect(() => { setZoom(0); setFocus(-1); }, [g]);
  const dark = useMemo(isDark, [theme]);
  const colors = useMemo(() => g.names.map((n, i) => pack(frame(n, g.kernel[i] === 1, dark))), [g, dark]);
  const deepest = useMemo(() => {
    let d = g.depth[zoom];
    visit(g, zoom, 2000, (i) => { if (g.depth[i] > d) d = g.depth[i]; });
    return d;
  }, [g, zoom]);
  const height = Math.max(160, Math.min(30000, (deepest + 1) * ROW + 4));
  const width = useRef(0);

  const shift = (i: number): number => {
    const now = g.value[i], before = g.base![i];
    return now + before > 0 ? (now - before) / Math.max(now, before) : 0;
  };
  const picture = useRef<{ key: unknown[]; canvas: HTMLCanvasElement } | null>(null);
  // The whole graph once per zoom: boxes straight into pixels (100,000 of them take milliseconds), then the names that fit.
  const paint = (w: number, h: number, ratio: number, color: (name: string) => string): HTMLCanvasElement => {
    // very deep graphs are painted less sharp instead of taking gigabytes
    ratio = Math.min(ratio, Math.sqrt(24e6 / (w * h)));
    const canvas = document.createElement("canvas");
    const pw = (canvas.width = Math.max(1, Math.round(w * ratio))), ph = (canvas.height = Math.max(1, Math.round(h * ratio)));
    const ctx = canvas.getContext("2d")!;
    const image = ctx.createImageData(pw, ph), pixels = new Uint32Array(image.data.buffer);
    const faded = pack(parse(color("faded")));
    const labels: [number, number, number, number, number][] = [];
    visit(g, zoom, w, (i, x0, x1) => {
      const id = g.name[i];
      const fill = (found && !found.names[id]) || i === 0 || g.depth[i] < g.depth[zoom] ? faded : g.base ? pack(diverge(shift(i), dark)) : colors[id];
      const a = Math.round(x0 * ratio), gap = x1 - x0 > 3 ? 1 : 0, b = Math.min(pw, Math.max(a + 1, Math.round(x1 * ratio) - gap));
      const top = Math.round(g.depth[i] * ROW * ratio), bottom = Math.min(ph, Math.round((g.depth[i] + 1) * ROW * ratio) - 1);
      for (let y = top; y < bottom; y++) pixels.fill(fill, y * pw + a, y * pw + b);
      if (x1 - x0 > 30) labels.push([i, x0, x1, g.depth[i] * ROW, fill]);
    });
    ctx.putImageData(image, 0, 0);
    ctx.scale(ratio, ratio);
    ctx.font = "12px ui-monospace, 'DejaVu Sans Mono', monospace";
    ctx.textBaseline = "middle";
    const charWidth = ctx.measureText("x").width;
    for (const [i, x0, x1, y, fill] of labels) {
      const room = Math.floor((x1 - x0 - 8) / charWidth);
      if (room < 3) continue;
      const name = showName(g.names[g.name[i]]);
      ctx.fillStyle = inkOn(fill);
      ctx.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, x0 + 4, y + ROW / 2);
    }
    return canvas;
  };
  const copy = (node: number) => {
    const text = stackOf(g, node).slice(1).map((i) => showName(g.names[g.name[i]])).join(";");
    navigator.clipboard?.writeText(text).then(() => { setCopied(true); setTimeout(() => setCopied(false), 1500); }, () => undefined);
  };
  const key = (e: KeyboardEvent) => {
    const here = focus >= 0 ? focus : zoom;
    const sibling = (by: 1 | -1): number => {
      const row = g.rows[g.depth[here]];
      let i = row.indexOf(here) + by;
      while (i >= 0 && i < row.length && g.value[row[i]] * (width.current / g.value[zoom]) < 0.5) i += by;
      return i >= 0 && i < row.length && row[i] >= zoom && row[i] < g.end[zoom] ? row[i] : here;
    };
    let next = here;
    if (e.key === "ArrowUp") next = Math.max(0, g.parent[here]);
    else if (e.key === "ArrowDown") {
      let best = -1; // the widest child
      for (let c = here + 1; c < g.end[here]; c = g.end[c]) if (best < 0 || g.value[c] > g.value[best]) best = c;
      if (best >= 0) next = best;
    } else if (e.key === "ArrowLeft") next = sibling(-1);
    else if (e.key === "ArrowRight") next = sibling(1);
    else if (e.key === "Enter") { e.preventDefault(); setZoom(here); return; }
    else if (e.key === "Backspace" || (e.key === "Escape" && zoom)) { e.preventDefault(); e.stopPropagation(); setZoom(Math.max(0, g.parent[zoom])); return; }
    else if (e.key === "c" && !e.ctrlKey && !e.metaKey) { copy(here); return; }
    else return;
    e.preventDefault();
    e.stopPropagation();
    setFocus(next);
  };
  const about = (i: number): string => {
    const name = showName(g.names[g.name[i]]);
    const part = `${count(g.value[i])} samples, ${percent(g.value[i], g.total)}`;
    return g.base ? `${name}: ${part}, before ${percent(g.base[i], g.base[0])}` : `${name}: ${part}`;
  };
  return (
    <div class="flame">
      <p class="flame-line" aria-live="polite">
        {focus >= 0 ? <><b class="mono">{showName(g.names[g.name[focus]])}</b><span>{about(focus).slice(showName(g.names[g.name[focus]]).length + 2)}</span></> : <span class="dim">click a frame to zoom; arrows, Enter and Backspace do the same; c copies the stack</span>}
        <span class="flame-right">
          {found && (found.bad ? <span class="bad">this is no regular expression</span> : <span>matched <b>{percent(found.samples, g.total)}</b></span>)}
          {zoom > 0 && <button type="button" onClick={() => setZoom(0)}>reset zoom</button>}
          <button type="button" disabled={focus < 0} onClick={() => copy(focus)}>{copied ? "copied" : "copy stack"}</button>
        </span>
      </p>
      <div class="flame-scroll">
        <Canvas
          height={height}
          role="application"
          class="map"
          label={`flame graph of ${count(g.total)} samples; arrow keys walk the frames, Enter zooms, Backspace goes back. The same numbers are in the table.`}
          deps={[g, zoom, focus, found, colors]}
          onKeyDown={key}
          pointer={(kind, x, y, w) => {
            const node = hit(g, zoom, w, x, Math.floor(y / ROW));
            if (kind === "move") setFocus(node);
            else if (kind === "down" && node >= 0) { setFocus(node); setZoom(node); }
          }}
          draw={({ ctx, width: w, height: h, ratio, color }) => {
            width.current = w;
            const key = [g, zoom, found, colors, w, h, ratio];
            if (!picture.current || key.some((k, i) => k !== picture.current!.key[i])) picture.current = { key, canvas: paint(w, h, ratio, color) };
            ctx.drawImage(picture.current.canvas, 0, 0, w, h);
            if (focus < 0) return;
            // only the outline moves with the pointer
            const scale = w / g.value[zoom];
            const up = g.depth[focus] < g.depth[zoom];
            const x0 = up ? 0 : (g.start[focus] - g.start[zoom]) * scale, x1 = up ? w : x0 + g.value[focus] * scale;
            ctx.strokeStyle = color("accent");
            ctx.lineWidth = 2;
            ctx.strokeRect(x0 + 1, g.depth[focus] * ROW + 1, Math.max(1, x1 - x0 - 3), ROW - 3);
          }}
        />
      </div>
    </div>
  );
}

export function Top(props: { graph: Graph; query: string }): JSX.Element {
  const rows = useMemo(() => top(props.graph), [props.graph]);
  const g = props.graph;
  let shown = rows;
  if (props.query) {
    try { const r = new RegExp(props.query, "i"); shown = rows.filter((x) => r.test(x.name)); } catch { shown = []; }
  }
  const diff = g.base !== null;
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label="functions by samples">
      <table>
        <thead><tr><th class="num">self</th><th class="num">self %</th><th class="num">total %</th>{diff && <th class="num">before %</th>}<th>function</th></tr></thead>
        <tbody>
          {shown.slice(0, 500).map((r) => (
            <tr>
              <td class="num">{count(r.self)}</td><td class="num">{percent(r.self, g.total)}</td><td class="num">{percent(r.total, g.total)}</td>
              {diff && <td class="num">{percent(r.baseTotal ?? 0, g.base![0])}</td>}
              <td class="mono text">{showName(r.name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length > 500 && <p class="dim">{count(shown.length - 500)} more functions; search to narrow</p>}
    </div>
  );
}

// What is looked at: the selection, else the seconds that the heat map shows.
export function flameWindow(state: State, w: Window): Window {
  if (state.s0 !== undefined) return { from: state.s0, to: state.s1! };
  return heatWindow(w, state);
}

// What a diff compares with: as given, else the minute before the selection.
export function baseWindow(state: State, sel: Window, whole: Window): Window | null {
  if (state.b0 !== undefined && state.b1 !== undefined) return { from: state.b0, to: state.b1 };
  const to = Math.floor(sel.from);
  const from = Math.max(Math.floor(whole.from), to - 60);
  return to > from ? { from, to } : null;
}

export function FlameView(props: { state: State; window: Window; whole: Window; cpus?: number }): JSX.Element {
  const { state } = props;
  const theme = useTheme();
  const mode = state.mode === "diff" || state.mode === "top" ? state.mode : "flame";
  const w = flameWindow(state, props.window);
  const base = baseWindow(state, w, props.whole);
  const filter = { cpu: state.cpu, comm: state.comm, unit: state.unit };
  const url = mode === "diff"
    ? base && path("diff", { from: at(w.from), to: at(w.to), base_from: at(base.from), base_to: at(base.to), ...filter })
    : path("flame", { from: at(w.from), to: at(w.to), ...filter });
  const flame = useApi<Flame>(url);
  const [query, setQuery] = useState(state.q ?? "");
  useEffect(() => setQuery(state.q ?? ""), [state.q]);
  useEffect(() => { const t = setTimeout(() => go({ q: query || undefined }, true), 300); return () => clearTimeout(t); }, [query]);
  const graph = useMemo(() => (flame.data ? layout(flame.data) : null), [flame.data]);
  return (
    <section class="panel" aria-label="flame graph">
      <div class="bar">
        <h2>{clock(w.from, w.from % 1 ? 2 : 0)} – {clock(w.to, w.to % 1 ? 2 : 0)} <span class="dim">{span(w.to - w.from)}{flame.data?.samples !== undefined ? `, ${count(flame.data.samples)} samples` : ""}{flame.data?.lost ? `, ${count(flame.data.lost)} lost` : ""}{flame.data?.one_second_in ? `, one second in ${flame.data.one_second_in} was read` : ""}</span></h2>
        <div class="choice" role="group" aria-label="how it is shown">
          {(["flame", "diff", "top"] as const).map((m) => <button type="button" aria-pressed={m === mode} onClick={() => go({ mode: m === "flame" ? undefined : m }, true)}>{{ flame: "Flame", diff: "Diff", top: "Table" }[m]}</button>)}
        </div>
        <input id="search" type="search" placeholder="search frames (regular expression)" aria-label="search frames" value={query} onInput={(e) => setQuery(e.currentTarget.value)} />
        <Filters state={state} choices={{ cpus: Array.from({ length: props.cpus ?? 0 }, (_, i) => i), comms: flame.data?.comms, units: flame.data?.units }} />
        {mode === "diff" ? <Legend kind="diff" low="less" high="more than before" theme={theme} /> : <span class="legend"><i class="box kernel" /> kernel <i class="box user" /> user</span>}
      </div>
      {mode === "diff" && (
        <p class="diff-line">
          compared with {base ? <b>{clock(base.from)} – {clock(base.to)}</b> : "nothing"}
          <button type="button" class="link" disabled={state.s0 === undefined} onClick={() => go({ b0: state.s0, b1: state.s1 })}>use this selection as the baseline</button>
          {state.b0 !== undefined && <button type="button" class="link" onClick={() => go({ b0: undefined, b1: undefined })}>use the minute before</button>}
        </p>
      )}
      {url === null ? <Empty title="Nothing to compare with">The recording starts with this selection. Select a later time, or set a baseline.</Empty> : (
        <Await of={flame} height={420}>
          {(data) => graph && graph.total > 0
            ? <>{mode === "top" ? <Top graph={graph} query={query} /> : <FlameCanvas graph={graph} query={query} />}<Unknowns list={data.unknown} /></>
            : <Empty title="No samples here">{state.cpu !== undefined ? `Core ${state.cpu} was idle, or was not sampled, in this window.` : "The recorder took no samples in this window."} <button type="button" class="link" onClick={() => go({ cpu: undefined, comm: undefined, unit: undefined })}>Look at all cores</button></Empty>}
        </Await>
      )}
      {inside ? null : <p class="dim small-print">The same as a file: <code>zscope {mode === "diff" ? "diff" : "flame"} --from @{Math.floor(w.from)} --to @{Math.ceil(w.to)}{mode === "diff" && base ? ` --base-from @${Math.floor(base.from)} --base-to @${Math.ceil(base.to)}` : ""}{state.cpu !== undefined ? ` --cpu ${state.cpu}` : ""} --svg</code></p>}
    </section>
  );
}
