// The shared time axis: one strip under the header, the same in every view. Drag selects, wheel zooms, arrows move.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { go, type State } from "./state";
import { clock, span, stamp, ticks } from "./time";
import type { EventRow, Overview } from "./types";
import { Canvas } from "./ui";
import { css, heat } from "./ramp";

export interface Window { from: number; to: number }

export const LEFT = 0;

export function Axis(props: { state: State; whole: Window; window: Window; overview?: Overview; events: EventRow[]; busy: boolean }): JSX.Element {
  const { window: w, whole, overview, state } = props;
  const drag = useRef<number | null>(null);
  const [ghost, setGhost] = useState<[number, number] | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  const timeAt = (x: number, width: number) => w.from + ((w.to - w.from) * Math.max(0, Math.min(width, x))) / width;
  const height = 64;

  const select = (a: number, b: number) => {
    const [t0, t1] = a < b ? [a, b] : [b, a];
    go({ s0: Math.floor(t0), s1: Math.max(Math.ceil(t1), Math.floor(t0) + 1) });
  };
  const show = (from: number, to: number) => {
    const length = Math.max(10, Math.min(to - from, whole.to - whole.from));
    from = Math.max(whole.from, Math.min(from, whole.to - length));
    if (length >= whole.to - whole.from) go({ from: undefined, to: undefined }, true);
    else go({ from: Math.floor(from), to: Math.ceil(from + length) }, true);
  };
  const zoom = (factor: number) => {
    const middle = state.s0 !== undefined ? (state.s0 + state.s1!) / 2 : (w.from + w.to) / 2;
    const length = (w.to - w.from) * factor;
    show(middle - length / 2, middle + length / 2);
  };
  const key = (e: KeyboardEvent) => {
    const step = e.shiftKey ? 10 : 1;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => select((state.s0 ?? w.to - 1) - step, (state.s1 ?? w.to) - step),
      ArrowRight: () => select((state.s0 ?? w.from) + step, (state.s1 ?? w.from + 1) + step),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => go({ from: undefined, to: undefined }),
    };
    if (!moves[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    moves[e.key]();
  };

  return (
    <section class="axis" aria-label="time axis">
      <div class="axis-bar">
        <span class="axis-window">
          <b>{stamp(w.from)}</b> – <b>{clock(w.to)}</b> <span class="dim">{span(w.to - w.from)}</span>
        </span>
        <span class="axis-sel">
          {state.s0 !== undefined
            ? <>selected <b>{clock(state.s0)}</b> – <b>{clock(state.s1!)}</b> <span class="dim">{span(state.s1! - state.s0)}</span></>
            : <span class="dim">drag over the strip to select a time</span>}
        </span>
        <span class="axis-buttons">
          <button type="button" onClick={() => zoom(2)} aria-label="zoom out" title="zoom out (-)">−</button>
          <button type="button" onClick={() => zoom(0.5)} aria-label="zoom in" title="zoom in (+)">+</button>
          <button type="button" disabled={state.s0 === undefined} title="show the selection with a minute around it"
            onClick={() => show(state.s0! - 60, state.s1! + 60)}>to selection</button>
          <button type="button" disabled={state.from === undefined} title="show the whole recording (0)" onClick={() => go({ from: undefined, to: undefined })}>all</button>
          <button type="button" disabled={state.s0 === undefined && state.cpu === undefined} title="forget the selection (Esc)"
            onClick={() => go({ s0: undefined, s1: undefined, cpu: undefined, comm: undefined, unit: undefined })}>clear</button>
        </span>
      </div>
      <div class="strip">
        <Canvas
          height={height}
          role="slider"
          class="strip-canvas"
          label="hottest core and events over time; arrow keys move the selection, plus and minus zoom"
          aria={{
            "aria-valuemin": Math.floor(w.from), "aria-valuemax": Math.ceil(w.to),
            "aria-valuenow": Math.floor(state.s0 ?? w.from), "aria-valuetext": state.s0 !== undefined ? `${clock(state.s0)} to ${clock(state.s1!)}` : "nothing selected",
          }}
          deps={[w.from, w.to, overview, props.events, state.s0, state.s1, ghost, hover]}
          onKeyDown={key}
          pointer={(kind, x, _y, width, e) => {
            const t = timeAt(x, width);
            if (kind === "down") { drag.current = t; setGhost([t, t]); }
            else if (kind === "move") { setHover(t); if (drag.current !== null) setGhost([drag.current, t]); }
            else if (kind === "up" && drag.current !== null) {
              const from = drag.current;
              drag.current = null;
              setGhost(null);
              e.preventDefault();
              select(from, Math.abs(t - from) < (w.to - w.from) / width * 3 ? from + 1 : t);
            } else if (kind === "leave") setHover(null);
            else if (kind === "dbl") show(t - (w.to - w.from) / 8, t + (w.to - w.from) / 8);
          }}
          draw={({ ctx, width, color }) => {
            const x = (t: number) => ((t - w.from) / (w.to - w.from)) * width;
            const base = 46;
            if (overview) {
              const hot = overview.series.hottest ?? [];
              const step = overview.step_ns / 1e9, start = overview.from_ns / 1e9;
              const dark = heat(0)[0] < 100;
              for (let i = 0; i < hot.length; i++) {
                const v = hot[i];
                if (v === null) continue;
                const x0 = x(start + i * step), x1 = x(start + (i + 1) * step);
                if (x1 < 0 || x0 > width) continue;
                ctx.fillStyle = css(heat(0.12 + (v / 100) * 0.8, dark));
                const h = Math.max(1, (v / 100) * 34);
                ctx.fillRect(Math.floor(x0), base - h, Math.max(1, Math.floor(x1) - Math.floor(x0)), h);
              }
            }
            ctx.fillStyle = color("line");
            ctx.fillRect(0, base, width, 1);
            for (const e of props.events) {
              const ex = x(e.time_ns / 1e9);
              if (ex < 0 || ex > width || e.severity === "info") continue;
              if (e.severity !== "crit") {
                ctx.fillStyle = color("warn");
                ctx.fillRect(ex - 1, 4, 2, 5);
                continue;
              }
              ctx.fillStyle = color("crit");
              ctx.beginPath();
              ctx.moveTo(ex - 4, 2); ctx.lineTo(ex + 4, 2); ctx.lineTo(ex, 9);
              ctx.fill();
              ctx.fillRect(ex - 0.5, 9, 1, base - 9);
            }
            ctx.fillStyle = color("dim");
            ctx.font = "11px system-ui, sans-serif";
            ctx.textBaseline = "top";
            for (const t of ticks(w.from, w.to, Math.max(2, Math.floor(width / 90)))) {
              ctx.fillRect(Math.round(x(t.at)), base, 1, 4);
              const tw = ctx.measureText(t.label).width;
              const left = Math.max(0, Math.min(width - tw, x(t.at) - tw / 2));
              ctx.fillText(t.label, left, base + 5);
            }
            const sel = ghost ?? (state.s0 !== undefined ? [state.s0, state.s1!] : null);
            if (sel) {
              const a = x(Math.min(sel[0], sel[1])), b = Math.max(a + 2, x(Math.max(sel[0], sel[1])));
              ctx.fillStyle = color("sel");
              ctx.fillRect(a, 0, b - a, base);
              ctx.fillStyle = color("accent");
              ctx.fillRect(a - 1, 0, 2, base);
              ctx.fillRect(b - 1, 0, 2, base);
            }
            if (hover !== null && !ghost) {
              const label = clock(hover);
              const tw = ctx.measureText(label).width + 8;
              const left = Math.max(0, Math.min(width - tw, x(hover) - tw / 2));
              ctx.fillStyle = color("line");
              ctx.fillRect(x(hover), 0, 1, base);
              ctx.fillStyle = color("panel");
              ctx.fillRect(left, base + 3, tw, 15);
              ctx.fillStyle = color("text");
              ctx.fillText(label, left + 4, base + 5);
            }
          }}
        />
        {props.busy && !overview ? <span class="strip-note">reading the recording</span> : null}
      </div>
    </section>
  );
}
