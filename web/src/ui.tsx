// Small pieces that every view shares. Text reaches the document as text nodes only.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { inside, type ApiError, type Loaded } from "./api";
import { css, heat, diverge, setPrint } from "./ramp";
import { count, stamp } from "./time";
import type { Evidence, Unknown } from "./types";

export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children && <div class="empty-text">{props.children}</div>}
    </div>
  );
}

export function Failure(props: { error: ApiError }): JSX.Element {
  const titles: Record<number, string> = { 0: "No answer", 404: "Not in this recording", 503: "The server is busy", 410: "The recording is gone" };
  return (
    <div class={props.error.status === 404 ? "empty failure absent" : "empty failure"} role="alert">
      <p class="empty-title">{titles[props.error.status] ?? "This could not be read"}</p>
      <div class="empty-text">{props.error.message}</div>
    </div>
  );
}

// What a view shows until, and unless, its data is there. Keeps the old picture while the next one loads.
export function Await<T>(props: { of: Loaded<T>; height?: number; children: (data: T) => JSX.Element }): JSX.Element {
  const { data, error, loading } = props.of;
  if (error) return <Failure error={error} />;
  if (data === undefined) return <Skeleton height={props.height ?? 240} />;
  return <div class={loading ? "stale" : undefined} aria-busy={loading}>{props.children(data)}</div>;
}

export function Skeleton(props: { height: number }): JSX.Element {
  return <div class="skeleton" style={{ height: props.height }} role="status"><span>reading the recording</span></div>;
}

export function Unknowns(props: { list?: Unknown[] }): JSX.Element | null {
  if (!props.list?.length) return null;
  return (
    <details class="unknowns" open={!!inside}>
      <summary>{props.list.length === 1 ? "1 thing is unknown" : `${props.list.length} things are unknown`}</summary>
      <dl>{props.list.map((u) => <><dt>{u.what}</dt><dd>{u.why}</dd></>)}</dl>
    </details>
  );
}

export interface Column<T> {
  head: string;
  title?: string;
  num?: boolean;
  main?: boolean; // what the row is about: first and on its own line where the screen is narrow
  style?: string;
  cell: (row: T) => ComponentChildren;
}

// A table that scrolls by itself, shows the first rows until asked for all, and becomes a list of cards on a narrow screen.
export function Table<T>(props: { label: string; columns: Column<T>[]; rows: T[]; most?: number; of?: number; tall?: boolean }): JSX.Element {
  const { columns, rows } = props;
  const [all, setAll] = useState(false);
  const most = props.most ?? rows.length;
  const style = (c: Column<T>): string => [c.num && "num", c.main && "main", c.style].filter(Boolean).join(" ");
  return (
    <div class={props.tall ? "scroll tall" : "scroll"} tabIndex={0} role="region" aria-label={props.label}>
      <table class="cards">
        <thead><tr>{columns.map((c) => <th class={c.num ? "num" : undefined} title={c.title}>{c.head}</th>)}</tr></thead>
        <tbody>{(all ? rows : rows.slice(0, most)).map((row) => <tr>{columns.map((c) => <td class={style(c)} data-head={c.head}>{c.cell(row)}</td>)}</tr>)}</tbody>
      </table>
      {!all && rows.length > most && <p><button type="button" onClick={() => setAll(true)}>show {props.of !== undefined && props.of > rows.length ? `${count(rows.length)} of ${count(props.of)}` : `all ${count(rows.length)}`}</button></p>}
    </div>
  );
}

export function EvidenceList(props: { list?: Evidence[] }): JSX.Element | null {
  if (!props.list?.length) return null;
  return (
    <ul class="evidence">
      {props.list.map((e) => (
        <li>
          <span class="ev-what">{e.what}</span>{" "}
          <b>{text(e.value)}{e.unit ? " " + e.unit : ""}</b>
          <code class="ev-source" title="the file, field or command that shows it">{e.source}</code>
          {e.time_ns ? <time>{stamp(e.time_ns / 1e9)}</time> : null}
        </li>
      ))}
    </ul>
  );
}

export const text = (v: unknown): string =>
  v === null || v === undefined ? "unknown" : typeof v === "number" ? v.toLocaleString("en-US", { maximumFractionDigits: 2 }) : typeof v === "object" ? JSON.stringify(v) : String(v);

export function Legend(props: { low: string; high: string; kind?: "heat" | "diff"; children?: ComponentChildren; theme: string }): JSX.Element {
  const stops = Array.from({ length: 24 }, (_, i) => css(props.kind === "diff" ? diverge(i / 11.5 - 1) : heat(i / 23)));
  return (
    <div class="legend">
      <span>{props.low}</span>
      <span class="ramp" aria-hidden="true">{stops.map((c) => <i style={{ background: c }} />)}</span>
      <span>{props.high}</span>
      {props.children}
    </div>
  );
}

// Changes whenever the colours do; canvases draw again.
export function useTheme(): string {
  const read = () => document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "auto-dark" : "auto-light");
  const [theme, set] = useState(read);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const update = () => set(read());
    const before = () => { setPrint(true); set("print"); };
    const after = () => { setPrint(false); set(read()); };
    media.addEventListener("change", update);
    addEventListener("zscope-theme", update);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      media.removeEventListener("change", update);
      removeEventListener("zscope-theme", update);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  return theme;
}

export interface Paint { ctx: CanvasRenderingContext2D; width: number; height: number; ratio: number; color: (name: string) => string }

// A canvas as wide as its place, `height` CSS pixels high, sharp on every screen; draws again when deps change.
export function Canvas(props: {
  height: number;
  draw: (p: Paint) => void;
  deps: unknown[];
  label: string;
  role?: "img" | "application" | "slider";
  onKeyDown?: (e: KeyboardEvent) => void;
  pointer?: (kind: "down" | "move" | "up" | "leave" | "dbl", x: number, y: number, width: number, e: PointerEvent | MouseEvent) => void;
  class?: string;
  aria?: Record<string, string | number>;
}): JSX.Element {
  const ref = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const theme = useTheme();
  useLayoutEffect(() => {
    const box = ref.current!.parentElement!;
    const measure = () => setWidth(Math.max(40, Math.floor(box.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const canvas = ref.current!;
    if (!width) return;
    // browsers refuse canvases past 32,767 pixels: a very deep graph is drawn less sharp instead
    const ratio = Math.min(devicePixelRatio || 1, 32000 / Math.max(width, props.height));
    const w = Math.round(width * ratio), h = Math.round(props.height * ratio);
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
    const ctx = canvas.getContext("2d")!;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, props.height);
    const style = getComputedStyle(canvas);
    props.draw({ ctx, width, height: props.height, ratio, color: (name) => style.getPropertyValue("--" + name).trim() });
  }, [width, props.height, theme, ...props.deps]);
  const call = (kind: "down" | "move" | "up" | "leave" | "dbl") => (e: PointerEvent | MouseEvent) => {
    const box = ref.current!.getBoundingClientRect();
    if (kind === "down" && "pointerId" in e) {
      ref.current!.setPointerCapture(e.pointerId);
      ref.current!.focus({ preventScroll: true });
    }
    props.pointer!(kind, e.clientX - box.left, e.clientY - box.top, box.width, e);
  };
  return (
    <canvas
      ref={ref}
      class={props.class}
      style={{ height: props.height }}
      tabIndex={props.onKeyDown ? 0 : undefined}
      role={props.role ?? "img"}
      aria-label={props.label}
      onKeyDown={props.onKeyDown}
      onPointerDown={props.pointer && call("down")}
      onPointerMove={props.pointer && call("move")}
      onPointerUp={props.pointer && call("up")}
      onPointerLeave={props.pointer && call("leave")}
      onDblClick={props.pointer && call("dbl")}
      {...props.aria}
    />
  );
}

export function Kbd(props: { children: ComponentChildren }): JSX.Element {
  return <kbd>{props.children}</kbd>;
}
