// What the browser tests share: start the server, start Chromium, count checks.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { join } from "node:path";

export const [build, source] = process.argv.slice(2, 4);
const require = createRequire(join(source, "web/package.json"));
export const axeSource = () => require("axe-core").source;

const browserPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
if (!browserPath) {
  console.log("skipped: chromium is not installed");
  process.exit(77);
}

export async function browser() {
  const { chromium } = require("playwright-core");
  return chromium.launch({
    executablePath: browserPath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// Starts `zscope serve` on a free port; resolves with the address it prints.
export function serve(store) {
  const child = spawn(join(build, "zscope"), ["serve", "--store", store, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`zscope serve ended with ${code}`)));
    child.stdout.once("data", (line) => resolve({ url: String(line).trim(), child, stop: () => stop(child) }));
  });
}

export function stop(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve(child.exitCode);
    child.removeAllListeners("exit");
    child.on("exit", (code) => resolve(code));
    child.kill("SIGTERM");
  });
}

export function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${program} ended with ${code}`))));
  });
}

let failed = 0;
export function check(what, ok, detail = "") {
  console.log(`${ok ? "ok  " : "FAIL"} ${what}${ok || detail === "" ? "" : ": " + detail}`);
  if (!ok) failed++;
}
export const finish = () => process.exit(failed ? 1 : 0);
