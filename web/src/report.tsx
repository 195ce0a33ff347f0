// The report: the same views, one below the other, over the data inside the file. Read on screen or on paper.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useApi, inside, path } from "./api";
import type { Window } from "./axis";
import { CoreMap } from "./cores";
import { FlameCanvas, Top } from "./flame";
import { layout } from "./flamegraph";
import { HeatMap } from "./heat";
import { Charts, EventTable, isReset, lastValidation, ValidationLine, Verdict } from "./overview";
import { proofsOf, ResetCard } from "./resets";
import { useAppState } from "./state";
import { clock, count, span, stamp } from "./time";
import type { EventRow, Events, Flame, Heat, Matrix, Overview, Resets, Status, Unknown, Why, Zombies } from "./types";
import { Legend, Unknowns, useTheme } from "./ui";
import { ZombiesBody } from "./zombies";

interface About { from_ns: number; to_ns: number; focus_from_ns: number; focus_to_ns: number; cpu?: number; all_cores?: boolean; made_ns: number; }

function Part(props: { title: string; note?: string; children: JSX.Element | (JSX.Element | null)[] }): JSX.Element {
  return <section class="panel part"><h2>{props.title} {props.note && <span class="dim">{props.note}</span>}</h2>{props.children}</section>;
}

function Validation(props: { events: EventRow[] }): JSX.Element {
  const last = lastValidation(props.events);
  if (!last) return <Part title="Validation"><p class="dim">Not validated: nobody compared before and after a fix in this window. <code>zscope validate</code> does, and a new report shows it.</p></Part>;
  return <Part title="Validation" note={stamp(last.time_ns / 1e9)}><ValidationLine e={last} /></Part>;
}

function FlamePart(props: { data: Flame }): JSX.Element {
  const state = useAppState();
  const graph = useMemo(() => layout(props.data), [props.data]);
  return <><FlameCanvas graph={graph} query={state.q ?? ""} /><details class="screen-only"><summary>the same as a table</summary><Top graph={graph} query="" /></details></>;
}

export function Report(): JSX.Element {
  const about = inside!.report as About;
  const has = (name: string): string | null => (name in inside!.responses ? path(name) : null);
  const theme = useTheme();
  const state = useAppState();
  const status = useApi<Status>(has("status")), why = useApi<Why>(path("why")), overview = useApi<Overview>(has("overview")), events = useApi<Events>(has("events"));
  const cores = useApi<Matrix>(has("cores")), heat = useApi<Heat>(has("heat")), flame = useApi<Flame>(has("flame")), zombies = useApi<Zombies>(has("zombies"));
  const proofs = proofsOf(useApi<Resets>(has("resets")).data);
  const w: Window = { from: about.from_ns / 1e9, to: about.to_ns / 1e9 };
  const focus = { ...state, s0: about.focus_from_ns / 1e9, s1: about.focus_to_ns / 1e9, cpu: about.cpu };
  const list = events.data?.events ?? [];
  const resets = list.filter(isReset);
  const unknown: Unknown[] = [status.data?.unknown, overview.data?.unknown, cores.data?.unknown, heat.data?.unknown, flame.data?.unknown, zombies.data?.unknown, why.data?.unknown].flatMap((u) => u ?? []);
  return (
    <div class="report">
      <header class="report-head">
        <p class="brand">zombiescope report</p>
        <h1>{status.data?.host || "unknown host"}</h1>
        <p class="dim">{stamp(w.from)} – {stamp(w.to)} ({span(w.to - w.from)}), kernel {status.data?.kernel ?? "unknown"}, zscope {status.data?.version}, written {stamp(about.made_ns / 1e9)}. All times are of the reader's time zone.</p>
      </header>
      <main>
        <Verdict why={why} events={list} />
        <Validation events={list} />
        {resets.length ? <Part title="Network resets" note={String(resets.length)}><div>{resets.slice(-20).reverse().map((e) => <ResetCard e={e} proof={proofs.get(e.event)?.queue_proof} on={false} linked={false} />)}</div></Part> : null}
        {overview.data ? <Part title="Timeline" note={span(w.to - w.from)}><Charts data={overview.data} window={w} state={focus} /></Part> : null}
        {cores.data ? <Part title="Every core, every second" note={about.cpu !== undefined ? `core ${about.cpu} is marked` : ""}><Legend low="0 %" high="100 %" theme={theme} /><CoreMap data={cores.data} window={w} state={focus} /></Part> : null}
        {heat.data && heat.data.cols ? <Part title="Inside the seconds" note={!about.all_cores && about.cpu !== undefined ? `samples of core ${about.cpu}` : "samples of all cores"}><Legend low="idle" high="most samples" theme={theme} /><HeatMap data={heat.data} state={focus} /></Part> : null}
        {flame.data ? <Part title="Flame graph" note={`${clock(focus.s0)} – ${clock(focus.s1)}, ${count(flame.data.samples)} samples${!about.all_cores && about.cpu !== undefined ? ` of core ${about.cpu}` : ""}`}><FlamePart data={flame.data} /></Part> : null}
        {zombies.data ? <Part title="Zombie memory cgroups"><ZombiesBody data={zombies.data} overview={overview.data} window={w} state={focus} /></Part> : null}
        {list.length ? <Part title="Events" note={count(events.data?.total)}><EventTable events={list} state={focus} /></Part> : null}
        <Part title="What is unknown">{unknown.length ? <Unknowns list={unknown} /> : <p class="dim">Everything that this report asked for could be read.</p>}</Part>
      </main>
    </div>
  );
}
