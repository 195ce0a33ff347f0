// The state of the page lives in the URL, so that a link reproduces the view:
//   #/cores?from=1700000000&to=1700000600&s0=1700000120&s1=1700000125&cpu=5
import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["overview", "cores", "heat", "flame", "zombies", "units", "resets"] as const;
export type View = (typeof VIEWS)[number];

export interface State {
  view: View;
  from?: number; // the window of the axis; absent = the whole recording, following it
  to?: number;
  s0?: number; // the selection inside it
  s1?: number;
  b0?: number; // what a diff compares with; absent = the time before the selection
  b1?: number;
  cpu?: number;
  comm?: string;
  unit?: string;
  mode?: string; // of the view: busy|sys|…, flame|diff|top
  q?: string; // search
  ev?: string; // the event that is looked at
}

const NUMBERS = ["from", "to", "s0", "s1", "b0", "b1", "cpu"] as const;
const TEXTS = ["comm", "unit", "mode", "q", "ev"] as const;

export function parseState(hash: string): State {
  const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
  const view = (VIEWS as readonly string[]).includes(path) ? (path as View) : "overview";
  const state: State = { view };
  const params = new URLSearchParams(query ?? "");
  for (const key of NUMBERS) {
    const text = params.get(key);
    if (text !== null && text !== "" && Number.isFinite(Number(text)) && Number(text) >= 0) state[key] = Number(text);
  }
  for (const key of TEXTS) {
    const text = params.get(key);
    if (text !== null && text.length <= 200) state[key] = text;
  }
  if (state.from !== undefined && !(state.to !== undefined && state.to > state.from)) delete state.from, delete state.to;
  if (state.s0 !== undefined && !(state.s1 !== undefined && state.s1 > state.s0)) delete state.s0, delete state.s1;
  return state;
}

export function formatState(state: State): string {
  const params = new URLSearchParams();
  for (const key of NUMBERS) {
    const value = state[key];
    if (value !== undefined) params.set(key, String(Math.round(value * 1000) / 1000));
  }
  for (const key of TEXTS) if (state[key]) params.set(key, state[key]!);
  const query = params.toString();
  return `#/${state.view}${query ? "?" + query : ""}`;
}

let current = parseState(location.hash);
const listeners = new Set<(s: State) => void>();

export const getState = (): State => current;

// replace: small moves (cursor, typing) do not fill the history.
export function go(change: Partial<State>, replace = false): void {
  const next = { ...current, ...change };
  if (change.view && change.view !== current.view && !("mode" in change)) delete next.mode;
  const hash = formatState(next);
  if (hash === formatState(current)) return;
  current = parseState(hash);
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  listeners.forEach((l) => l(current));
}

addEventListener("popstate", () => {
  current = parseState(location.hash);
  listeners.forEach((l) => l(current));
});

export function useAppState(): State {
  const [state, set] = useState(current);
  useEffect(() => {
    set(current);
    listeners.add(set);
    return () => void listeners.delete(set);
  }, []);
  return state;
}
