// Driver resets: queue → IRQ → core → task, each with its proof and the way to the core in those seconds.
import type { JSX } from "preact";
import { at, path, useApi } from "./api";
import type { Window } from "./axis";
import { isReset } from "./overview";
import { go, type State } from "./state";
import { clock, count, stamp } from "./time";
import type { EventRow, QueueProof, Reset, Resets } from "./types";
import { Empty, EvidenceList } from "./ui";

const SHOWN = 20; // resets whose proof is asked for at once

interface Parts { nic?: string; queue?: string; irq?: string; core?: number; task?: string; reason?: string; driver?: string }

// The proof's word first; without one, what the lines of the log say themselves.
export function resetParts(e: EventRow, p?: QueueProof): Parts {
  const f = e.fields ?? {};
  const task = p?.tasks[0];
  return {
    nic: f.iface, queue: f.queue, reason: f.cause, driver: f.driver,
    irq: p?.irq?.toString() ?? f.irq, core: p?.cpu,
    task: task && `${task.comm} (pid ${task.pid}) ${Math.round(task.percent)} %`,
  };
}

// The stall is what is looked at: the proof's window, else the five seconds before the reset.
export function resetWindow(e: EventRow, p?: QueueProof): Partial<State> {
  const s0 = p ? p.from_ns / 1e9 : Math.floor(e.time_ns / 1e9) - 5;
  const s1 = p ? p.to_ns / 1e9 : Math.floor(e.time_ns / 1e9) + 1;
  return { cpu: p?.cpu, comm: undefined, unit: undefined, s0, s1, from: Math.floor(s0) - 60, to: Math.ceil(s1) + 30 };
}

function Step(props: { name: string; value?: string; onClick?: () => void; label?: string }): JSX.Element {
  return (
    <li class={props.value === undefined ? "none" : undefined}>
      <span class="step-name">{props.name}</span>
      {props.onClick ? <button type="button" class="step-value link" onClick={props.onClick}>{props.label ?? props.value}</button> : <b class="step-value">{props.value ?? "unknown"}</b>}
    </li>
  );
}

function Proof(props: { p: QueueProof; open: boolean }): JSX.Element {
  const { p } = props;
  const busy = [["sys", p.sys], ["usr", p.usr], ["soft", p.soft], ["steal", p.steal], ["idle", p.idle]].filter((b) => b[1] !== undefined);
  return (
    <div class="proof">
      <p><b class={"sev " + (p.verdict === "cannot tell" ? "info" : "crit")}>{p.verdict}</b> {p.why}</p>
      {busy.length > 0 && <p class="dim num">core {p.cpu} from {clock(p.from_ns / 1e9, 1)} to {clock(p.to_ns / 1e9, 1)}: {busy.map(([n, v]) => `${n} ${(v as number).toFixed(1)} %`).join(", ")}</p>}
      {p.tasks.slice(1).length > 0 && <p class="dim">also on it: {p.tasks.slice(1).map((t) => `${t.comm} (pid ${t.pid}) ${Math.round(t.percent)} %`).join(", ")}</p>}
      {p.kernel_path && <p class="mono text">{p.kernel_path.split(";").join(" → ")}</p>}
      {p.evidence.length > 0 && <details open={props.open}><summary>{p.evidence.length} {p.evidence.length === 1 ? "piece" : "pieces"} of evidence</summary><EvidenceList list={p.evidence} /></details>}
    </div>
  );
}

export function ResetCard(props: { e: EventRow; proof?: QueueProof; loading?: boolean; on: boolean; linked: boolean; early?: boolean }): JSX.Element {
  const { e, proof } = props;
  const p = resetParts(e, proof);
  const w = resetWindow(e, proof);
  return (
    <article class={"reset" + (props.on ? " on" : "") + (props.early ? " early" : "")} aria-current={props.on ? "true" : undefined}>
      <header>
        <b>{stamp(e.time_ns / 1e9, 3)}</b>
        <span class={"sev " + e.severity}>{p.reason ?? e.id}</span>
        {p.driver && <span class="dim">{p.driver}</span>}
        {e.injected ? <span class="tag">injected</span> : null}
        {props.early ? <span class="tag">before the recording began</span> : null}
        {!e.trusted && !e.injected ? <span class="tag">not the kernel's word</span> : null}
      </header>
      <ol class="path" aria-label="from queue to task">
        <Step name="interface" value={p.nic} />
        <Step name="queue" value={p.queue} />
        <Step name="IRQ" value={p.irq} />
        <Step name="core" value={p.core === undefined ? undefined : String(p.core)} onClick={props.linked ? () => go({ view: "cores", ...w }) : undefined} label={p.core === undefined ? "look at all cores then" : `core ${p.core} at ${clock(e.time_ns / 1e9)}`} />
        <Step name="task" value={p.task} />
      </ol>
      {proof ? <Proof p={proof} open={props.on || !props.linked} /> : props.loading ? <p class="dim proof-place">reading the seconds around it</p> : null}
      <p class="mono text log">{e.text}</p>
      {props.linked && (
        <p class="actions">
          <button type="button" onClick={() => go({ view: "heat", ...w })}>Heat map of the stall</button>
          <button type="button" onClick={() => go({ view: "flame", ...w })}>Flame graph of the stall</button>
        </p>
      )}
    </article>
  );
}

export const proofsOf = (r: Resets | undefined): Map<string, Reset> => new Map((r?.resets ?? []).map((e) => [e.event, e]));

export function ResetsView(props: { state: State; window: Window; whole: Window; events: EventRow[] }): JSX.Element {
  const { state, window: w } = props;
  const within = (e: EventRow): boolean => e.time_ns / 1e9 >= w.from && e.time_ns / 1e9 < w.to;
  // the kernel's log reaches further back than the recording: these are known, but nothing around them is
  const before = (e: EventRow): boolean => e.time_ns / 1e9 < props.whole.from;
  const resets = props.events.filter(isReset).filter((e) => e.event === state.ev || within(e) || (state.from === undefined && before(e))).reverse();
  const on = resets.find((e) => e.event === state.ev);
  const rest = resets.filter((e) => e !== on);
  const proven = rest.filter((e) => !before(e)).slice(0, SHOWN);
  // asked again only when there is a new one
  const list = useApi<Resets>(proven.length ? path("resets", { from: at(Math.floor(proven[proven.length - 1].time_ns / 1e9)), to: at(Math.ceil(proven[0].time_ns / 1e9) + 1), limit: SHOWN }) : null);
  const one = useApi<Resets>(on && !before(on) ? path("resets", { event: on.event }) : null);
  const proofs = proofsOf(list.data);
  const chosen = proofsOf(one.data);
  return (
    <section class="panel" aria-label="resets">
      <h2>Network resets <span class="dim">{count(resets.length)}</span></h2>
      {resets.length === 0 && <Empty title="No reset in this window">The kernel log of this window names none.{state.from !== undefined ? " Zoom out to see the whole recording." : ""}</Empty>}
      {on && <ResetCard key={on.event} e={on} proof={chosen.get(on.event)?.queue_proof} loading={one.loading} on linked={!before(on)} early={before(on)} />}
      {rest.slice(0, 200).map((e) => <ResetCard key={e.event} e={e} proof={proofs.get(e.event)?.queue_proof} loading={list.loading} on={false} linked={!before(e)} early={before(e)} />)}
    </section>
  );
}
