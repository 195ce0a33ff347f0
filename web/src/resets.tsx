// Driver resets: queue → IRQ → core → task, each with the way to the core at that second.
import type { JSX } from "preact";
import type { Window } from "./axis";
import { isReset } from "./overview";
import { go, type State } from "./state";
import { clock, stamp } from "./time";
import type { EventRow } from "./types";
import { Empty } from "./ui";

const first = (e: EventRow, ...keys: string[]): string | undefined => {
  for (const k of keys) if (e.fields?.[k]) return e.fields[k];
  return undefined;
};

export function resetParts(e: EventRow): { nic?: string; queue?: string; irq?: string; core?: number; task?: string; reason?: string; driver?: string } {
  const core = first(e, "core", "cpu", "starved_core", "starved_cpu");
  return {
    nic: first(e, "iface", "nic", "dev", "device", "interface", "netdev"), queue: first(e, "queue", "txq", "q"), irq: first(e, "irq"),
    core: core !== undefined && /^\d+$/.test(core) ? Number(core) : undefined,
    task: first(e, "task", "comm", "process"), reason: first(e, "reason", "trigger", "cause"), driver: first(e, "driver"),
  };
}

// The five seconds before the reset are what starved it.
export function toCore(e: EventRow, core: number | undefined): void {
  const t = Math.floor(e.time_ns / 1e9);
  go({ view: "cores", cpu: core, s0: t - 5, s1: t + 1, from: t - 60, to: t + 30 });
}

function Step(props: { name: string; value?: string; onClick?: () => void; label?: string }): JSX.Element {
  return (
    <li class={props.value === undefined ? "none" : undefined}>
      <span class="step-name">{props.name}</span>
      {props.onClick ? <button type="button" class="step-value link" onClick={props.onClick}>{props.label ?? props.value}</button> : <b class="step-value">{props.value ?? "unknown"}</b>}
    </li>
  );
}

export function ResetCard(props: { e: EventRow; on: boolean; linked: boolean }): JSX.Element {
  const { e } = props;
  const p = resetParts(e);
  return (
    <article class={"reset" + (props.on ? " on" : "")} aria-current={props.on ? "true" : undefined}>
      <header>
        <b>{stamp(e.time_ns / 1e9, 3)}</b>
        <span class={"sev " + e.severity}>{p.reason ?? e.id}</span>
        {p.driver && <span class="dim">{p.driver}</span>}
        {e.injected ? <span class="tag">injected</span> : null}
        {!e.trusted && !e.injected ? <span class="tag">not the kernel's word</span> : null}
      </header>
      <ol class="path" aria-label="from queue to task">
        <Step name="interface" value={p.nic} />
        <Step name="queue" value={p.queue} />
        <Step name="IRQ" value={p.irq} />
        <Step name="core" value={p.core === undefined ? undefined : String(p.core)} onClick={props.linked ? () => toCore(e, p.core) : undefined} label={p.core === undefined ? "look at all cores then" : `core ${p.core} at ${clock(e.time_ns / 1e9)}`} />
        <Step name="task" value={p.task} />
      </ol>
      <p class="mono text log">{e.text}</p>
    </article>
  );
}

export function ResetsView(props: { state: State; window: Window; events: EventRow[] }): JSX.Element {
  const { state, window: w } = props;
  const resets = props.events.filter(isReset).filter((e) => e.event === state.ev || (e.time_ns / 1e9 >= w.from && e.time_ns / 1e9 < w.to)).reverse();
  const on = resets.find((e) => e.event === state.ev);
  const rest = resets.filter((e) => e !== on);
  return (
    <section class="panel" aria-label="resets">
      <h2>Network resets <span class="dim">{resets.length}</span></h2>
      {resets.length === 0 && <Empty title="No reset in this window">The kernel log of this window names none. Zoom out to see the whole recording.</Empty>}
      {on && <ResetCard e={on} on linked />}
      {rest.slice(0, 200).map((e) => <ResetCard key={e.event} e={e} on={false} linked />)}
    </section>
  );
}
