// Times are seconds since the epoch (float) inside the page; the API speaks nanoseconds.
export const seconds = (ns: number): number => ns / 1e9;

const pad = (n: number, w = 2): string => String(Math.floor(n)).padStart(w, "0");

export function clock(t: number, fraction = 0): string {
  t += 2e-7; // doubles hold nanoseconds since the epoch to 256 ns: 0.1 s must not read 0.099
  const d = new Date(t * 1000);
  const base = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  if (!fraction) return base;
  return base + "." + pad(Math.floor((t - Math.floor(t)) * 10 ** fraction), fraction);
}

export function day(t: number): string {
  const d = new Date(t * 1000);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
}

export const stamp = (t: number, fraction = 0): string => `${day(t)} ${clock(t, fraction)}`;

export function span(s: number): string {
  if (s <= 0) return "0 s";
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${s < 0.01 ? (s * 1000).toFixed(1) : Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 && s % 1 ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${pad((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function bytes(n: number | undefined): string {
  if (n === undefined || n === null) return "unknown";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"]; // decimal, as the commands print them
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export const count = (n: number | undefined | null): string =>
  n === undefined || n === null ? "unknown" : n.toLocaleString("en-US", { maximumFractionDigits: 1 });

export const percent = (part: number, whole: number): string =>
  whole > 0 ? `${((100 * part) / whole).toFixed(part / whole < 0.1 ? 2 : 1)} %` : "–";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

// Round tick marks of local time between t0 and t1, at most `most` of them.
export function ticks(t0: number, t1: number, most: number): { at: number; label: string }[] {
  const length = t1 - t0;
  const step = STEPS.find((s) => length / s <= most) ?? Math.ceil(length / most / 86400) * 86400;
  const offset = new Date(t0 * 1000).getTimezoneOffset() * 60;
  const out = [];
  for (let at = Math.ceil((t0 - offset) / step) * step + offset; at < t1; at += step) {
    const text = clock(at);
    out.push({ at, label: step >= 60 ? text.slice(0, 5) : text });
  }
  return out;
}
