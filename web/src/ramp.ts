// Colour ramps that stay readable with every common colour-vision deficiency: lightness alone carries the order, hue only helps.
// Dark theme: low = background, high = bright; light theme: the other way round.
type Rgb = [number, number, number];
const DARK: Rgb[] = [[24, 27, 34], [42, 40, 84], [86, 49, 118], [148, 60, 112], [208, 84, 78], [244, 140, 52], [252, 206, 74], [252, 250, 190]];
const LIGHT: Rgb[] = [[246, 246, 243], [253, 231, 178], [252, 194, 107], [240, 144, 62], [209, 92, 58], [158, 50, 79], [98, 29, 88], [38, 14, 63]];

export function isDark(): boolean {
  const set = document.documentElement.dataset.theme;
  if (set) return set === "dark";
  return !inPrint && matchMedia("(prefers-color-scheme: dark)").matches;
}
let inPrint = false;
export const setPrint = (on: boolean): void => { inPrint = on; };

function mix(ramp: Rgb[], f: number): Rgb {
  const x = Math.max(0, Math.min(1, f)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(x));
  const k = x - i;
  return [0, 1, 2].map((c) => Math.round(ramp[i][c] + (ramp[i + 1][c] - ramp[i][c]) * k)) as Rgb;
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r},${g},${b})`;
export const heat = (f: number, dark = isDark()): Rgb => mix(dark ? DARK : LIGHT, f);

// 256 packed ABGR pixels for ImageData.
export function heatTable(dark = isDark()): Uint32Array {
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = heat(i / 255, dark);
    table[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return table;
}

// Blue = less, orange = more than before; grey = the same.
export function diverge(f: number, dark = isDark()): Rgb {
  const mid: Rgb = dark ? [66, 70, 78] : [232, 232, 228];
  const end: Rgb = f < 0 ? (dark ? [74, 150, 232] : [33, 102, 172]) : dark ? [242, 142, 60] : [204, 88, 12];
  return mix([mid, end], Math.abs(f));
}

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return ((h ^ (h >>> 13)) >>> 0) / 4294967296;
}

function hsl(h: number, s: number, l: number): Rgb {
  const a = s * Math.min(l, 1 - l);
  const f = (n: number): number => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}

// Frames: kernel in orange, everything else in blue; the name only varies the lightness.
export function frame(name: string, kernel: boolean, dark = isDark()): Rgb {
  const k = hash(name);
  if (dark) return kernel ? hsl(24 + k * 12, 0.62, 0.34 + k * 0.13) : hsl(204 + k * 14, 0.42, 0.32 + k * 0.13);
  return kernel ? hsl(26 + k * 12, 0.88, 0.66 + k * 0.14) : hsl(204 + k * 14, 0.62, 0.74 + k * 0.12);
}

// A CSS colour as the page's style gives it ("#dcdcd8").
export function parse(text: string): Rgb {
  const n = parseInt(text.replace("#", ""), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

export const pack = ([r, g, b]: Rgb): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

// Text on a packed pixel: dark or light, whichever contrasts more.
export function inkOn(pixel: number): string {
  const part = (shift: number): number => { const c = ((pixel >>> shift) & 255) / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(0) + 0.7152 * part(8) + 0.0722 * part(16) > 0.199 ? "#17181b" : "#f4f4f2";
}
