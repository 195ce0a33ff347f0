// The shell: header, views, shared time axis, keys, live.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, follow, path, useApi } from "./api";
import { Axis, type Window } from "./axis";
import { CoresView } from "./cores";
import { FlameView } from "./flame";
import { HeatView } from "./heat";
import { OverviewView } from "./overview";
import { ResetsView } from "./resets";
import { go, useAppState, VIEWS, type View } from "./state";
import type { Events, Overview, Status } from "./types";
import { Empty, Failure, Kbd, Skeleton } from "./ui";
import { UnitsView } from "./units";
import { ZombiesView } from "./zombies";

const TITLES: Record<View, string> = { overview: "Overview", cores: "Cores", heat: "Heat", flame: "Flame", zombies: "Zombies", units: "Units", resets: "Resets" };

function toggleTheme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("zscope-theme", root.dataset.theme); } catch { /* private mode: the choice lasts as long as the page */ }
  dispatchEvent(new Event("zscope-theme"));
}

function Help(props: { close: () => void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => { box.current!.showModal(); }, []);
  const rows: [string, string][] = [
    ["1 … 7", "views"], ["/", "search frames"], ["← →", "move the selection"], ["Shift ← →", "ten seconds, or widen"], ["+ −", "zoom the time axis"], ["0", "whole recording"],
    ["[ ]", "previous, next reset"], ["Enter", "deeper: cores → heat → flame → zoom"], ["Backspace", "out of a zoomed frame"], ["c", "copy the stack"], ["l", "follow the recorder"], ["t", "light or dark"], ["Esc", "clear the selection"], ["?", "this help"],
  ];
  return (
    <dialog ref={box} aria-label="keys" onClose={props.close} onClick={(e) => { if (e.target === box.current) box.current!.close(); }}>
      <h2>Keys</h2>
      <dl class="keys">{rows.map(([k, what]) => <><dt><Kbd>{k}</Kbd></dt><dd>{what}</dd></>)}</dl>
      <p class="dim">Everything you see is in the address: copy it to share the view. Every view is also a command with --json.</p>
      <button type="button" onClick={() => box.current!.close()}>Close</button>
    </dialog>
  );
}

export function App(): JSX.Element {
  const state = useAppState();
  const [version, setVersion] = useState(0);
  const [connected, setConnected] = useState(false);
  const [end, setEnd] = useState<{ from_ns: number; to_ns: number; live: boolean } | null>(null);
  const [help, setHelp] = useState(false);
  const status = useApi<Status>(path("status"), end === null ? 0 : 1);
  useEffect(() => follow((s) => { setEnd(s); setVersion((v) => v + 1); }, setConnected), []);

  const from_ns = end?.from_ns ?? status.data?.from_ns, to_ns = end?.to_ns ?? status.data?.to_ns;
  const whole: Window | null = from_ns !== undefined && to_ns !== undefined && to_ns > from_ns ? { from: from_ns / 1e9, to: to_ns / 1e9 } : null;
  const live = (end?.live ?? status.data?.live ?? false) && (connected || end === null);
  const following = live && state.from === undefined;
  const window_: Window | null = useMemo(
    () => (whole ? (state.from !== undefined && state.from < whole.to && state.to! > whole.from ? { from: state.from, to: state.to! } : whole) : null),
    [whole?.from, whole?.to, state.from, state.to]);
  const outside = whole && state.from !== undefined && !(state.from < whole.to && state.to! > whole.from);

  const points = Math.max(200, Math.min(1600, Math.round(innerWidth)));
  const overview = useApi<Overview>(window_ ? path("overview", { ...(state.from !== undefined && !outside ? { from: at(window_.from), to: at(window_.to) } : {}), points }) : null, following ? version : 0);
  const eventsLoaded = useApi<Events>(whole ? path("events", { limit: 5000 }) : null, version);
  const events = useMemo(() => eventsLoaded.data?.events ?? [], [eventsLoaded.data]);

  useEffect(() => { document.title = `${TITLES[state.view]} – ${status.data?.host ?? "zombiescope"}`; }, [state.view, status.data?.host]);
  // on a narrow screen the row of views scrolls: the present one stays in sight
  useEffect(() => { document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); }, [state.view]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const target = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
        if (e.key === "Escape") target.blur();
        return;
      }
      const strip = () => document.querySelector<HTMLElement>(".strip-canvas");
      if (/^[1-7]$/.test(e.key)) go({ view: VIEWS[Number(e.key) - 1] });
      else if (e.key === "?") setHelp(true);
      else if (e.key === "t") toggleTheme();
      else if (e.key === "l") go({ from: undefined, to: undefined });
      else if (e.key === "/") { e.preventDefault(); go({ view: "flame" }); requestAnimationFrame(() => document.getElementById("search")?.focus()); }
      else if (e.key === "Escape") go({ s0: undefined, s1: undefined, cpu: undefined, comm: undefined, unit: undefined, ev: undefined });
      else if (e.key === "[" || e.key === "]") step(e.key === "]" ? 1 : -1);
      else if (["ArrowLeft", "ArrowRight", "+", "=", "-", "0"].includes(e.key) && !/^(CANVAS|BUTTON|SUMMARY)$/.test(target.tagName) && !target.classList.contains("scroll")) {
        strip()?.dispatchEvent(new KeyboardEvent("keydown", { key: e.key, shiftKey: e.shiftKey }));
        e.preventDefault();
      }
    };
    const step = (by: number) => {
      const resets = events.filter((e) => e.severity === "crit" && e.time_ns >= (from_ns ?? 0));
      if (!resets.length) return;
      const i = resets.findIndex((e) => e.event === state.ev);
      const next = resets[i < 0 ? (by > 0 ? 0 : resets.length - 1) : Math.max(0, Math.min(resets.length - 1, i + by))];
      go({ view: "resets", ev: next.event });
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [events, state.ev, from_ns]);

  const body = (): JSX.Element => {
    if (status.error) return <Failure error={status.error} />;
    if (!status.data && !end) return <Skeleton height={480} />;
    if (!whole || !window_) return <Empty title="The recording is empty">Start <code>zscope record</code>; this page follows it as soon as the first second is on disk.</Empty>;
    switch (state.view) {
      case "overview": return <OverviewView state={state} window={window_} whole={whole} overview={overview} events={events} version={version} />;
      case "cores": return <CoresView state={state} window={window_} version={following ? version : 0} />;
      case "heat": return <HeatView cpus={status.data?.cpus} state={state} window={window_} version={following ? Math.floor(version / 5) : 0} />;
      case "flame": return <FlameView cpus={status.data?.cpus} state={state} window={window_} whole={whole} />;
      case "zombies": return <ZombiesView state={state} window={window_} overview={overview} version={following ? version : 0} />;
      case "units": return <UnitsView version={following ? version : 0} />;
      case "resets": return <ResetsView state={state} window={window_} whole={whole} events={events} />;
    }
  };

  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>to the view</a>
      <header class="top">
        <h1><span class="brand">zombiescope</span> <span class="host">{status.data?.host ?? " "}</span></h1>
        <span class="dim kernel">{status.data?.kernel ?? ""}</span>
        <span class={"state " + (live ? (following ? "live" : "held") : "still")} role="status">
          {live ? (following ? "live" : <button type="button" class="link" onClick={() => go({ from: undefined, to: undefined })}>recording goes on, follow it</button>) : connected || !status.data ? "recording" : "not connected"}
        </span>
        <button type="button" onClick={toggleTheme} title="light or dark (t)">theme</button>
        <button type="button" onClick={() => setHelp(true)} title="keys (?)">keys</button>
      </header>
      <nav aria-label="views">
        {VIEWS.map((v, i) => <a href={`#/${v}`} aria-current={state.view === v ? "page" : undefined} onClick={(e) => { e.preventDefault(); go({ view: v }); }}>{TITLES[v]}<kbd aria-hidden="true">{i + 1}</kbd></a>)}
      </nav>
      {window_ && whole
        ? <Axis state={state} whole={whole} window={window_} overview={overview.data} events={events} busy={overview.loading} />
        : <section class="axis axis-empty" aria-hidden="true" />}
      {outside && <p class="notice" role="status">The address asks for a time outside this recording; the whole recording is shown. <button type="button" class="link" onClick={() => go({ from: undefined, to: undefined, s0: undefined, s1: undefined })}>forget it</button></p>}
      {status.data?.losses?.length ? <p class="notice" role="status">{status.data.losses.length} parts of the recording could not be read: {status.data.losses[0].why}</p> : null}
      <main id="main" tabIndex={-1}>{body()}</main>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}
