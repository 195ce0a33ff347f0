// Bundle the page: node build.mjs OUTDIR writes app.js, app.css and index.html. No name in the bundle depends on the machine.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
mkdirSync(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15"],
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: out,
  // "</script" must not end the report's script element
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
});
const js = readFileSync(join(out, "app.js"), "utf8");
if (/<\/script|<!--/i.test(js)) throw new Error("app.js cannot stand inside a script element");
writeFileSync(join(out, "index.html"), readFileSync(join(here, "src/index.html"), "utf8"));
