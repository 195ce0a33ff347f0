// A flame graph as flat arrays: layout once, draw only what is at least half a pixel wide. Pure: no DOM.
import type { Flame, FlameNode } from "./types";

export interface Graph {
  names: string[];
  kernel: Uint8Array; // per name
  name: Uint32Array; // per node, preorder
  depth: Uint16Array;
  value: Float64Array;
  base: Float64Array | null; // what the node weighed in the baseline, scaled to the same total
  start: Float64Array; // sum of values to the left, in samples
  end: Uint32Array; // one past the node's last descendant
  parent: Int32Array;
  rows: Uint32Array[]; // nodes of each depth, left to right
  total: number;
}

const MOST_NODES = 2_000_000;
const MOST_DEPTH = 4096;

export const isKernelName = (n: string): boolean => n.endsWith("_[k]") || n.endsWith("_[i]") || n === "[kernel]";
export const showName = (n: string): string => n.replace(/_\[[kij]\]$/, "");

function fromTree(root: FlameNode): { names: string[]; nodes: number[]; width: number } {
  const names: string[] = [], ids = new Map<string, number>(), nodes: number[] = [];
  const stack: [FlameNode, number][] = [[root, 0]];
  while (stack.length && nodes.length < MOST_NODES * 3) {
    const [n, depth] = stack.pop()!;
    let id = ids.get(n.name);
    if (id === undefined) ids.set(n.name, (id = names.push(n.name) - 1));
    nodes.push(id, depth, n.value);
    const children = n.children ?? [];
    for (let i = children.length - 1; i >= 0; i--) stack.push([children[i], depth + 1]);
  }
  return { names, nodes, width: 3 };
}

export function layout(flame: Flame): Graph {
  const diff = flame.base_samples !== undefined;
  const flat = flame.nodes ? { names: flame.names ?? [], nodes: flame.nodes, width: diff ? 4 : 3 } : flame.root ? fromTree(flame.root) : { names: [], nodes: [], width: 3 };
  const { names, nodes, width } = flat;
  const n = Math.min(MOST_NODES, Math.floor(nodes.length / width));
  const name = new Uint32Array(n), depth = new Uint16Array(n), value = new Float64Array(n), start = new Float64Array(n), end = new Uint32Array(n), parent = new Int32Array(n);
  const base = width === 4 ? new Float64Array(n) : null;
  const open: number[] = [], used: number[] = []; // path to the current node; how much of each is given to children
  const rowLengths: number[] = [];
  for (let i = 0; i < n; i++) {
    const d = Math.min(nodes[i * width + 1], MOST_DEPTH, open.length);
    name[i] = nodes[i * width];
    value[i] = nodes[i * width + 2];
    if (base) base[i] = nodes[i * width + 3];
    depth[i] = d;
    while (open.length > d) { end[open.pop()!] = i; used.pop(); }
    const up = d ? open[d - 1] : -1;
    parent[i] = up;
    start[i] = up >= 0 ? used[d - 1] : i ? 0 : 0;
    if (up >= 0) used[d - 1] += value[i];
    open.push(i);
    used.push(start[i]);
    rowLengths[d] = (rowLengths[d] ?? 0) + 1;
  }
  while (open.length) end[open.pop()!] = n;
  const rows = rowLengths.map((l) => new Uint32Array(l)), fill = rowLengths.map(() => 0);
  for (let i = 0; i < n; i++) rows[depth[i]][fill[depth[i]]++] = i;
  return { names, kernel: Uint8Array.from(names, (s, i) => flame.in_kernel?.[i] ?? (isKernelName(s) ? 1 : 0)), name, depth, value, base, start, end, parent, rows, total: n ? value[0] : 0 };
}

export interface Zoom { node: number }

// Calls each(node, x0, x1) for the visible nodes under the zoomed one; ancestors of it span the whole width.
export function visit(g: Graph, zoom: number, width: number, each: (node: number, x0: number, x1: number) => void): void {
  if (!g.name.length) return;
  const scale = g.value[zoom] > 0 ? width / g.value[zoom] : 0;
  for (let up = g.parent[zoom]; up >= 0; up = g.parent[up]) each(up, 0, width);
  for (let i = zoom; i < g.end[zoom]; ) {
    const w = g.value[i] * scale;
    if (w < 0.5) { i = g.end[i]; continue; }
    const x0 = (g.start[i] - g.start[zoom]) * scale;
    each(i, x0, x0 + w);
    i++;
  }
}

export function hit(g: Graph, zoom: number, width: number, x: number, depth: number): number {
  if (depth < 0 || depth >= g.rows.length || !g.name.length) return -1;
  if (depth <= g.depth[zoom]) {
    let at = zoom;
    while (g.depth[at] > depth) at = g.parent[at];
    return at;
  }
  const sample = g.start[zoom] + (x / width) * g.value[zoom];
  const row = g.rows[depth];
  let low = 0, high = row.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (g.start[row[mid]] <= sample) low = mid + 1;
    else high = mid;
  }
  const at = low - 1;
  if (at < 0) return -1;
  const node = row[at];
  return sample < g.start[node] + g.value[node] && node >= zoom && node < g.end[zoom] ? node : -1;
}

export function stackOf(g: Graph, node: number): number[] {
  const out = [];
  for (let at = node; at >= 0; at = g.parent[at]) out.push(at);
  return out.reverse();
}

export const self = (g: Graph, node: number): number => {
  let sum = g.value[node];
  for (let c = node + 1; c < g.end[node]; c = g.end[c]) sum -= g.value[c];
  return Math.max(0, sum);
};

// Names that match, and how many samples lie under the matching frames (each sample once).
export function search(g: Graph, query: string): { names: Uint8Array; samples: number; bad: boolean } {
  const names = new Uint8Array(g.names.length);
  let test: (s: string) => boolean;
  try {
    const r = new RegExp(query, "i");
    test = (s) => r.test(s);
  } catch {
    return { names, samples: 0, bad: true };
  }
  g.names.forEach((s, i) => { if (test(s)) names[i] = 1; });
  let samples = 0;
  for (let i = 0; i < g.name.length; ) {
    if (names[g.name[i]] && i > 0) { samples += g.value[i]; i = g.end[i]; } else i++;
  }
  return { names, samples, bad: false };
}

export interface TopRow { name: string; self: number; total: number; baseTotal?: number }

export function top(g: Graph): TopRow[] {
  const selfs = new Float64Array(g.names.length), totals = new Float64Array(g.names.length), bases = g.base ? new Float64Array(g.names.length) : null;
  const on = new Uint16Array(g.names.length); // recursion counts once
  const path: number[] = [];
  for (let i = 1; i < g.name.length; i++) {
    while (path.length >= g.depth[i]) on[g.name[path.pop()!]]--;
    const id = g.name[i];
    if (!on[id]) { totals[id] += g.value[i]; if (bases) bases[id] += g.base![i]; }
    on[id]++;
    path.push(i);
    selfs[id] += self(g, i);
  }
  const rows: TopRow[] = [];
  g.names.forEach((n, i) => { if (totals[i] || bases?.[i]) rows.push({ name: n, self: selfs[i], total: totals[i], baseTotal: bases?.[i] }); });
  return rows.sort((a, b) => b.self - a.self || b.total - a.total);
}
