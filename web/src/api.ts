// The data: /api/v1 of the server, or, in a report, the JSON that lies inert inside the file.
import { useEffect, useRef, useState } from "preact/hooks";

export class ApiError extends Error {
  constructor(message: string, readonly status: number) { super(message); }
}

interface Inside { report: unknown; responses: Record<string, unknown> }
const inert = document.getElementById("zscope-data");
export const inside: Inside | null = inert ? (JSON.parse(inert.textContent ?? "null") as Inside) : null;

export type Params = Record<string, string | number | undefined>;

export function path(name: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== undefined && value !== "") query.set(key, String(value));
  const text = query.toString();
  return `/api/v1/${name}${text ? "?" + text : ""}`;
}

// A time as every command takes it.
export const at = (t: number | undefined): string | undefined => (t === undefined ? undefined : "@" + t.toFixed(3));

async function get<T>(url: string, signal: AbortSignal): Promise<T> {
  if (inside) {
    const name = url.slice("/api/v1/".length).split("?")[0];
    if (name in inside.responses) return inside.responses[name] as T;
    throw new ApiError("This report does not hold this part of the recording.", 404);
  }
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { accept: "application/json" } });
  } catch (e) {
    if (signal.aborted) throw e;
    throw new ApiError("zscope serve does not answer. Is it still running?", 0);
  }
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    if (signal.aborted) throw new DOMException("", "AbortError");
    throw new ApiError(`The answer is not JSON (status ${response.status}).`, response.status);
  }
  if (!response.ok) {
    const error = (body as { error?: { text?: string } }).error;
    throw new ApiError(error?.text ?? `Status ${response.status}`, response.status);
  }
  return body as T;
}

export interface Loaded<T> { data?: T; error?: ApiError; loading: boolean; url: string | null }

// The last good answer stays while the next one loads: the view does not jump.
export function useApi<T>(url: string | null, version = 0): Loaded<T> {
  const [loaded, set] = useState<Loaded<T>>({ loading: url !== null, url });
  const last = useRef<string | null>(null);
  useEffect(() => {
    if (url === null) {
      set({ loading: false, url });
      return;
    }
    const abort = new AbortController();
    set((old) => ({ data: old.data, loading: true, url }));
    get<T>(url, abort.signal).then(
      (data) => { last.current = url; set({ data, loading: false, url }); },
      (error) => { if (!abort.signal.aborted) set({ error: error instanceof ApiError ? error : new ApiError(String(error), 0), loading: false, url }); },
    );
    return () => abort.abort();
  }, [url, version]);
  // asked, but the effect has not run yet: nothing may look as if it were answered
  return loaded.url === url ? loaded : { data: loaded.data, loading: url !== null, url };
}

// Server-sent events: calls back with the new end of the recording, at most once a second. Reconnects by itself.
export function follow(each: (span: { from_ns: number; to_ns: number; live: boolean }) => void, state: (connected: boolean) => void): () => void {
  if (inside) return () => undefined;
  const source = new EventSource("/api/v1/live");
  source.addEventListener("span", (e) => { state(true); each(JSON.parse((e as MessageEvent<string>).data)); });
  source.addEventListener("open", () => state(true));
  source.addEventListener("error", () => state(false));
  return () => source.close();
}
