// Sub-second-offset heat map: a column is a second, a row a fiftieth of it; colour = samples. Two clicks or a drag select.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { at, path, useApi } from "./api";
import type { Window } from "./axis";
import { heatTable } from "./ramp";
import { go, type State } from "./state";
import { clock, count, span, ticks } from "./time";
import type { Heat } from "./types";
import { Await, Canvas, Empty, Legend, Unknowns, useTheme } from "./ui";

const GUTTER = 44;
const MOST = 600; // seconds in one picture that shows each: narrower columns cannot be clicked
const WEEK = 7 * 86400;

// The seconds that are shown: around the selection, else the whole window with wider columns.
export function heatWindow(w: Window, state: State): Window {
  if (w.to - w.from <= MOST) return w;
  if (state.s0 === undefined || state.s1! - state.s0 > MOST) return { from: Math.max(w.from, w.to - WEEK), to: w.to };
  const from = Math.max(w.from, Math.floor(state.s0) - 60);
  return { from, to: Math.min(w.to, Math.max(from + 120, Math.min(from + MOST, Math.ceil(state.s1!) + 60))) };
}

export function HeatMap(props: { data: Heat; state: State }): JSX.Element {
  const { data, state } = props;
  const theme = useTheme();
  const rows = data.rows, cols = data.cols;
  const rowHeight = 8;
  const body = rows * rowHeight;
  const start = data.start_ns / 1e9, wide = data.column_s ?? 1; // seconds in a column
  const most = useMemo(() => data.counts.reduce((m, c) => c.reduce((a, b) => Math.max(a, b), m), 0), [data]);
  const [hover, setHover] = useState<[number, number, number] | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const drag = useRef<number | null>(null);
  const picture = useMemo(() => {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, cols);
    canvas.height = Math.max(1, rows);
    const ctx = canvas.getContext("2d")!;
    const image = ctx.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = heatTable();
    data.counts.forEach((column, x) => column.forEach((v, y) => { pixels[(rows - 1 - y) * cols + x] = table[most ? Math.round((v / most) * 255) : 0]; }));
    ctx.putImageData(image, 0, 0);
    return canvas;
  }, [data, theme]);
  // x and y → time inside the second
  const timeAt = (x: number, y: number, width: number): number => {
    const col = Math.max(0, Math.min(cols - 1, Math.floor(((x - GUTTER) / (width - GUTTER)) * cols)));
    const row = Math.max(0, Math.min(rows - 1, rows - 1 - Math.floor(y / rowHeight)));
    return wide > 1 ? start + col * wide : start + col + row / rows;
  };
  const cellLength = wide > 1 ? wide : 1 / rows;
  const select = (a: number, b: number) => {
    const s0 = Math.min(a, b), s1 = Math.max(a, b) + cellLength;
    setAnchor(null);
    go({ s0: Math.round(s0 * 1000) / 1000, s1: Math.round(s1 * 1000) / 1000 });
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Enter") { e.preventDefault(); go({ view: "flame" }); return; }
    const move = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!move) return;
    e.preventDefault();
    e.stopPropagation();
    const s0 = Math.floor(state.s0 ?? start), s1 = Math.ceil(state.s1 ?? start + 1);
    if (e.shiftKey) go({ s0, s1: Math.max(s0 + 1, s1 + move * wide) }, true);
    else go({ s0: s0 + move * wide, s1: s1 + move * wide }, true);
  };
  const hoverTime = hover ? timeAt(...hover) : null;
  return (
    <>
      <div class="heat-scroll">
        <Canvas
          height={body + 22}
          role="application"
          class="map"
          label={`heat map of ${cols} seconds by ${rows} parts of a second; arrow keys move the selection, shift widens it, Enter opens the flame graph`}
          deps={[picture, state.s0, state.s1, anchor, hoverTime]}
          onKeyDown={key}
          pointer={(kind, x, y, width) => {
            const t = timeAt(x, y, width);
            if (kind === "leave") setHover(null);
            else if (kind === "move") setHover([x, y, width]);
            else if (kind === "down" && y < body && x > GUTTER) drag.current = t;
            else if (kind === "up" && drag.current !== null) {
              const from = drag.current;
              drag.current = null;
              if (Math.abs(t - from) > 1.5 * cellLength) select(from, t);
              else if (wide > 1) select(from, from);
              else if (anchor === null) setAnchor(t);
              else select(anchor, t);
            }
          }}
          draw={({ ctx, width, color }) => {
            const cw = (width - GUTTER) / cols;
            ctx.imageSmoothingEnabled = false;
            ctx.drawImage(picture, GUTTER, 0, width - GUTTER, body);
            ctx.font = "11px system-ui, sans-serif";
            ctx.fillStyle = color("dim");
            ctx.textBaseline = "middle";
            ctx.textAlign = "right";
            [0, 250, 500, 750].forEach((ms) => ctx.fillText(ms ? `${ms}` : "0 ms", GUTTER - 6, body - (ms / 1000) * body - (ms ? 0 : 6)));
            ctx.textAlign = "left";
            ctx.textBaseline = "top";
            for (const t of ticks(start, start + cols * wide, Math.max(2, Math.floor(width / 90)))) {
              const x = GUTTER + ((t.at - start) / wide) * cw;
              ctx.fillRect(Math.round(x), body, 1, 4);
              const tw = ctx.measureText(t.label).width;
              ctx.fillText(t.label, Math.min(width - tw, Math.max(GUTTER, x - tw / 2)), body + 6);
            }
            const outline = (s0: number, s1: number) => {
              if (wide > 1) {
                const a = Math.max(0, Math.floor((s0 - start) / wide)), b = Math.min(cols, Math.max(a + 1, Math.ceil((s1 - start) / wide)));
                if (b <= 0 || a >= cols) return;
                ctx.fillStyle = color("sel");
                ctx.strokeStyle = color("accent");
                ctx.lineWidth = 1.5;
                ctx.fillRect(GUTTER + a * cw, 0, Math.max(2, (b - a) * cw), body);
                ctx.strokeRect(GUTTER + a * cw, 0, Math.max(2, (b - a) * cw), body);
                return;
              }
              // as in FlameScope: from the first cell upwards, whole columns, up to the last cell
              const c0 = Math.floor(s0 - start + 1e-6), c1 = Math.floor(s1 - start - 1e-6);
              if (c1 < 0 || c0 >= cols) return;
              const y0 = body * (1 - (s0 - start - c0)), y1 = body * (1 - (s1 - start - c1));
              ctx.fillStyle = color("sel");
              ctx.strokeStyle = color("accent");
              ctx.lineWidth = 1.5;
              const xa = GUTTER + c0 * cw, xb = GUTTER + (c0 + 1) * cw, xc = GUTTER + c1 * cw, xd = GUTTER + (c1 + 1) * cw;
              ctx.beginPath();
              if (c0 === c1) ctx.rect(xa, y1, cw, y0 - y1);
              else { ctx.moveTo(xa, y0); ctx.lineTo(xa, 0); ctx.lineTo(xc, 0); ctx.lineTo(xc, y1); ctx.lineTo(xd, y1); ctx.lineTo(xd, body); ctx.lineTo(xb, body); ctx.lineTo(xb, y0); ctx.closePath(); }
              ctx.fill();
              ctx.stroke();
            };
            if (anchor !== null && hoverTime !== null) outline(Math.min(anchor, hoverTime), Math.max(anchor, hoverTime) + cellLength);
            else if (anchor !== null) outline(anchor, anchor + cellLength);
            else if (state.s0 !== undefined) outline(state.s0, state.s1!);
          }}
        />
      </div>
      <p class="hover-line">
        {hoverTime !== null
          ? wide > 1 ? <><b>{clock(hoverTime)}</b> and {span(wide)}: <b>{count(data.counts[Math.floor((hoverTime - start) / wide)]?.reduce((a, b) => a + b, 0) ?? 0)}</b> samples</>
            : <><b>{clock(hoverTime, 2)}</b>: <b>{data.counts[Math.floor(hoverTime - start)]?.[Math.round((hoverTime % 1) * rows) % rows] ?? 0}</b> samples</>
          : <span class="dim">{wide > 1 ? `a column is ${span(wide)}: click or drag to look closer` : anchor !== null ? "click the end of the window" : "click start and end, or drag"}</span>}
      </p>
    </>
  );
}

export interface Choices { cpus?: number[]; comms?: { name: string; samples: number }[]; units?: { name: string; samples: number }[] }

function Choice(props: { name: string; all: string; value?: string; options: { value: string; label: string }[]; set: (v?: string) => void }): JSX.Element | null {
  if (props.options.length < 2 && props.value === undefined) return null;
  return (
    <select aria-label={props.name} value={props.value ?? ""} onChange={(e) => props.set(e.currentTarget.value || undefined)}>
      <option value="">{props.all}</option>
      {props.value !== undefined && !props.options.some((o) => o.value === props.value) && <option value={props.value}>{props.value}</option>}
      {props.options.map((o) => <option value={o.value}>{o.label}</option>)}
    </select>
  );
}

const names = (list?: { name: string; samples: number }[]) => [...(list ?? [])].sort((a, b) => b.samples - a.samples).slice(0, 200).map((c) => ({ value: c.name, label: `${c.name} (${count(c.samples)})` }));

// By core, process and unit; what is set stands as a button that takes it away again.
export function Filters(props: { state: State; choices: Choices }): JSX.Element {
  const { state: { cpu, comm, unit }, choices } = props;
  return (
    <span class="filters">
      {cpu !== undefined && <button type="button" title="show all cores" onClick={() => go({ cpu: undefined })}>core {cpu} ×</button>}
      {comm && <button type="button" title="show all processes" onClick={() => go({ comm: undefined })}>{comm} ×</button>}
      {unit && <button type="button" title="show all units" onClick={() => go({ unit: undefined })}>{unit} ×</button>}
      <Choice name="core" all="all cores" value={cpu?.toString()} options={(choices.cpus ?? []).map((c) => ({ value: String(c), label: `core ${c}` }))} set={(v) => go({ cpu: v === undefined ? undefined : Number(v) })} />
      <Choice name="process" all="all processes" value={comm} options={names(choices.comms)} set={(v) => go({ comm: v })} />
      <Choice name="unit" all="all units" value={unit} options={names(choices.units)} set={(v) => go({ unit: v })} />
    </span>
  );
}

const samplesOf = (data: Heat): number => data.counts.reduce((n, c) => n + c.reduce((a, b) => a + b, 0), 0);

export function HeatView(props: { state: State; window: Window; version: number; cpus?: number }): JSX.Element {
  const { state } = props;
  const theme = useTheme();
  const w = heatWindow(props.window, state);
  const cols = w.to - w.from <= MOST ? undefined : Math.max(120, Math.min(1200, Math.round((innerWidth - 80) / 2)));
  const heat = useApi<Heat>(path("heat", { from: at(Math.floor(w.from)), to: at(Math.ceil(w.to)), cols, cpu: state.cpu, comm: state.comm, unit: state.unit }), state.from === undefined && state.s0 === undefined ? props.version : 0);
  const total = useMemo(() => (heat.data ? samplesOf(heat.data) : 0), [heat.data]);
  return (
    <section class="panel" aria-label="heat map">
      <div class="bar">
        <h2>Inside the seconds <span class="dim">{heat.data ? `${count(total)} samples${heat.data.one_second_in ? `, one second in ${heat.data.one_second_in} was read` : ""}` : ""}</span></h2>
        <Filters state={state} choices={{ cpus: Array.from({ length: props.cpus ?? 0 }, (_, i) => i) }} />
        <Legend low="idle" high="most samples" theme={theme} />
      </div>
      <Await of={heat} height={444}>
        {(data) => total === 0
          ? <Empty title="No samples in this window">{state.cpu !== undefined || state.comm || state.unit ? <>Nothing that the filter takes ran here. <button type="button" class="link" onClick={() => go({ cpu: undefined, comm: undefined, unit: undefined })}>Look at everything</button></> : <>The recorder took no profile here. <code>zscope record</code> samples at 97 Hz where perf is allowed.</>}</Empty>
          : <><HeatMap data={data} state={state} /><Unknowns list={data.unknown} /></>}
      </Await>
      <p class="actions">
        <button type="button" class="primary" onClick={() => go({ view: "flame" })}>{state.s0 !== undefined ? `Flame graph of ${span(state.s1! - state.s0)}` : "Flame graph"}</button>
        <button type="button" disabled={state.s0 === undefined} onClick={() => go({ from: Math.floor(state.s0!) - 60, to: Math.ceil(state.s1!) + 60 })}>Closer</button>
        <button type="button" disabled={state.s0 === undefined} onClick={() => go({ view: "flame", mode: "diff" })}>Compare with the time before</button>
      </p>
    </section>
  );
}
