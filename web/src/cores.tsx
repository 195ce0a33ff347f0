// Core × second: one row a core, one column a second (or the worst second of a column when zoomed out).
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { at, inside, path, useApi } from "./api";
import type { Window } from "./axis";
import { heatTable } from "./ramp";
import { go, type State } from "./state";
import { clock, span, stamp, ticks } from "./time";
import type { CoresAt, CoreTimes, Matrix } from "./types";
import { Await, Canvas, Legend, Unknowns, useTheme } from "./ui";

export const MODES: Record<string, string> = { busy: "all but idle", sys: "in the kernel", soft: "interrupts", steal: "stolen" };
const GUTTER = 44;

export function unpack(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

export function CoreMap(props: { data: Matrix; window: Window; state: State }): JSX.Element {
  const { data, window: w, state } = props;
  const theme = useTheme();
  const rows = useMemo(() => data.rows.map(unpack), [data]);
  const n = rows.length;
  const rowHeight = Math.max(3, Math.min(22, Math.floor(560 / Math.max(1, n))));
  const height = Math.max(n * rowHeight, 20) + 22;
  const [hover, setHover] = useState<[number, number] | null>(null);
  const drag = useRef<{ row: number; col: number } | null>(null);
  const step = data.step_ns / 1e9, start = data.from_ns / 1e9, end = start + step * data.cols;
  const picture = useMemo(() => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, data.cols);
    canvas.height = Math.max(1, n);
    const ctx = canvas.getContext("2d")!;
    const image = ctx.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = heatTable();
    rows.forEach((row, y) => row.forEach((v, x) => { pixels[y * data.cols + x] = v === 255 ? 0 : table[Math.round((Math.min(v, 100) / 100) * 255)]; }));
    ctx.putImageData(image, 0, 0);
    return canvas;
  }, [rows, theme]);

  const cell = (x: number, y: number, width: number): [number, number] | null => {
    const col = Math.floor(((x - GUTTER) / (width - GUTTER)) * data.cols), row = Math.floor(y / rowHeight);
    return col >= 0 && col < data.cols && row >= 0 && row < n ? [row, col] : null;
  };
  const pick = (row: number, c0: number, c1: number) => {
    const a = Math.min(c0, c1), b = Math.max(c0, c1) + 1;
    go({ cpu: data.cpus[row], s0: Math.floor(start + a * step), s1: Math.max(Math.ceil(start + b * step), Math.floor(start + a * step) + 1) });
  };
  const key = (e: KeyboardEvent) => {
    const row = Math.max(0, data.cpus.indexOf(state.cpu ?? data.cpus[0]));
    const col = state.s0 !== undefined ? Math.max(0, Math.min(data.cols - 1, Math.floor((state.s0 - start) / step))) : 0;
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, e.shiftKey ? -10 : -1], ArrowRight: [0, e.shiftKey ? 10 : 1] };
    const m = moves[e.key];
    if (e.key === "Enter") { e.preventDefault(); go({ view: "heat" }); return; }
    if (!m) return;
    e.preventDefault();
    e.stopPropagation();
    pick(Math.max(0, Math.min(n - 1, row + m[0])), Math.max(0, Math.min(data.cols - 1, col + m[1])), Math.max(0, Math.min(data.cols - 1, col + m[1])));
  };
  const value = hover ? rows[hover[0]][hover[1]] : null;
  return (
    <>
      <Canvas
        height={height}
        role="application"
        class="map"
        label={`${n} cores by ${data.cols} columns of ${span(step)}; arrow keys move, Enter opens the heat map`}
        deps={[picture, state.s0, state.s1, state.cpu, hover, w.from, w.to]}
        onKeyDown={key}
        pointer={(kind, x, y, width) => {
          const c = cell(x, y, width);
          if (kind === "leave") setHover(null);
          else if (kind === "move") setHover(c);
          else if (kind === "down" && c) drag.current = { row: c[0], col: c[1] };
          else if (kind === "up" && drag.current) {
            const from = drag.current;
            drag.current = null;
            pick(from.row, from.col, c ? c[1] : from.col);
          }
        }}
        draw={({ ctx, width, color }) => {
          const body = n * rowHeight;
          const x = (t: number) => GUTTER + ((t - start) / (end - start)) * (width - GUTTER);
          ctx.imageSmoothingEnabled = false;
          ctx.fillStyle = color("hair");
          ctx.fillRect(GUTTER, 0, width - GUTTER, body);
          ctx.drawImage(picture, GUTTER, 0, width - GUTTER, body);
          ctx.font = "11px system-ui, sans-serif";
          ctx.fillStyle = color("dim");
          ctx.textBaseline = "middle";
          ctx.textAlign = "right";
          const every = Math.max(1, Math.ceil(14 / rowHeight));
          data.cpus.forEach((cpu, i) => {
            if (i % every === 0 || cpu === state.cpu) {
              ctx.fillStyle = cpu === state.cpu ? color("text") : color("dim");
              if (cpu === state.cpu || state.cpu === undefined || Math.abs(i - data.cpus.indexOf(state.cpu)) >= every) ctx.fillText(String(cpu), GUTTER - 6, Math.max(6, i * rowHeight + rowHeight / 2));
            }
          });
          ctx.textAlign = "left";
          ctx.textBaseline = "top";
          ctx.fillStyle = color("dim");
          for (const t of ticks(start, end, Math.max(2, Math.floor(width / 90)))) {
            ctx.fillRect(Math.round(x(t.at)), body, 1, 4);
            const tw = ctx.measureText(t.label).width;
            ctx.fillText(t.label, Math.min(width - tw, Math.max(GUTTER, x(t.at) - tw / 2)), body + 6);
          }
          if (state.s0 !== undefined) {
            const a = Math.max(GUTTER, x(state.s0)), b = Math.max(a + 3, x(state.s1!));
            ctx.strokeStyle = color("accent");
            ctx.lineWidth = 1;
            ctx.setLineDash([3, 3]);
            ctx.strokeRect(a + 0.5, 0.5, b - a - 1, body - 1);
            ctx.setLineDash([]);
            const row = data.cpus.indexOf(state.cpu ?? -1);
            if (row >= 0) {
              ctx.lineWidth = 2;
              ctx.strokeRect(a - 1, row * rowHeight - 1, b - a + 2, rowHeight + 2);
            }
          }
        }}
      />
      <p class="hover-line">
        {hover ? <>core <b>{data.cpus[hover[0]]}</b> at <b>{clock(start + hover[1] * step)}</b>: <b>{value === 255 ? "not recorded" : `${value} %`}</b> {MODES[data.mode]}{step > 1 ? <span class="dim"> (worst second of {span(step)})</span> : null}</>
          : <span class="dim">{inside ? "" : "click a hot cell: it selects the core and the second"}</span>}
      </p>
    </>
  );
}

const COLUMNS = ["usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "idle"];

function Times(props: { data: CoresAt; cpu?: number }): JSX.Element {
  const one = props.data.cpus.find((c) => c.cpu === props.cpu);
  const line = (name: string, c: CoreTimes) => (
    <tr><th scope="row">{name}</th>{COLUMNS.map((k) => <td class={"num" + (k !== "idle" && c[k] >= 90 ? " hot" : "")}>{c[k] === undefined ? "–" : c[k].toFixed(1)}</td>)}</tr>
  );
  return (
    <table class="small">
      <thead><tr><th>{clock(props.data.from_ns / 1e9)}</th>{COLUMNS.map((k) => <th class="num">%{k}</th>)}</tr></thead>
      <tbody>{line("all", props.data.all)}{one && line("core " + props.cpu, one)}</tbody>
    </table>
  );
}

export function Selected(props: { state: State }): JSX.Element {
  const { state } = props;
  const url = state.s0 !== undefined && !inside ? path("cores/at", { time: at(state.s0) }) : null;
  const times = useApi<CoresAt>(url);
  return (
    <div class="selected" aria-live="polite">
      {state.s0 === undefined ? <p class="dim">Nothing is selected yet.</p> : (
        <>
          <p><b>{state.cpu !== undefined ? `core ${state.cpu}` : "all cores"}</b> {stamp(state.s0)} <span class="dim">for {span(state.s1! - state.s0)}</span></p>
          <div class="scroll" tabIndex={0} role="region" aria-label="times of the core">{times.data ? <Times data={times.data} cpu={state.cpu} /> : <div class="times-place">{times.error?.message ?? ""}</div>}</div>
          <p class="actions">
            <button type="button" class="primary" onClick={() => go({ view: "heat" })}>Heat map of this moment</button>
            <button type="button" onClick={() => go({ view: "flame" })}>Flame graph</button>
          </p>
        </>
      )}
    </div>
  );
}

export function CoresView(props: { state: State; window: Window; version: number }): JSX.Element {
  const { state, window: w } = props;
  const theme = useTheme();
  const mode = state.mode && MODES[state.mode] ? state.mode : "busy";
  const cols = Math.max(60, Math.min(1600, Math.round(innerWidth - 80)));
  const matrix = useApi<Matrix>(path("cores", { from: at(w.from), to: at(w.to), cols, mode }), state.from === undefined ? props.version : 0);
  return (
    <section class="panel" aria-label="cores">
      <div class="bar">
        <h2>Every core, every second</h2>
        <div class="choice" role="group" aria-label="what is shown">
          {Object.keys(MODES).map((m) => <button type="button" aria-pressed={m === mode} title={MODES[m]} onClick={() => go({ mode: m === "busy" ? undefined : m }, true)}>{m}</button>)}
        </div>
        <Legend low="0 %" high="100 %" theme={theme} />
      </div>
      <Await of={matrix} height={300}>{(data) => <><CoreMap data={data} window={w} state={state} /><Unknowns list={data.unknown} /></>}</Await>
      <Selected state={state} />
    </section>
  );
}
