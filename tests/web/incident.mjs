// The real thing: the recorder records a lab incident on this host, the page shows it while it happens, four clicks lead from the verdict to
// the flame graph, and a real Prometheus fires.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browser, build, check, finish, serve, source, stop } from "./lib.mjs";

class Skip extends Error {}
const skip = (why) => { console.log("skipped: " + why); process.exit(77); };
let skipped;
const prometheus = ["/usr/bin/prometheus", "/usr/local/bin/prometheus"].find(existsSync);
if (process.getuid() !== 0) skip("needs root: it records this host and stages an incident");
if (!prometheus) skip("prometheus is not installed");

const work = mkdtempSync(join(tmpdir(), "zscope-incident-"));
const zscope = join(build, "zscope"), store = join(work, "store"), state = join(work, "lab");
mkdirSync(state);
const env = { ...process.env, ZSCOPE_LAB_STATE: state };
const quiet = { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(what, seconds, ask) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await wait(500)) {
    const got = await ask().catch(() => undefined);
    if (got) return got;
  }
  check(what, false, `not within ${seconds} s`);
  return undefined;
}
const freePort = () => new Promise((r) => { const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => r(port)); }); });
// a lab run that does not end the test when it fails: its output tells why
const lab = (...args) => new Promise((r) => {
  const child = spawn(zscope, ["lab", ...args], { env });
  let out = "";
  child.stdout.on("data", (d) => { out += d; });
  child.stderr.on("data", (d) => { out += d; });
  child.on("close", (code) => r({ code, out }));
});

const recorder = spawn(zscope, ["record", "--store", store], { stdio: "ignore" });
const children = [recorder];
let b, server;
try {
  await until("the recorder writes", 60, async () => existsSync(store));
  server = await serve(store);
  await until("the first seconds are served", 60, async () => (await fetch(server.url + "api/v1/overview")).ok);
  const before = await (await fetch(server.url + "metrics")).text();
  check("zero series stand before the first reset", /^zscope_net_resets_total\{device="[^"]+",reason="netdev-watchdog"\} \d+$/m.test(before) || !/^zscope_net_resets_total/m.test(before));
  if (!/^zscope_net_resets_total\{/m.test(before)) throw new Skip("no network interface here: there is nothing to reset");
  const port = await freePort();
  cpSync(join(source, "dist/prometheus/zombiescope.rules.yml"), join(work, "zombiescope.rules.yml"));
  writeFileSync(join(work, "prometheus.yml"), `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [zombiescope.rules.yml]
scrape_configs: [{ job_name: zscope, static_configs: [{ targets: ["${new URL(server.url).host}"] }] }]
`);
  children.push(spawn(prometheus, [`--config.file=${work}/prometheus.yml`, `--storage.tsdb.path=${work}/tsdb`, `--web.listen-address=127.0.0.1:${port}`, "--log.level=error"], { stdio: "ignore" }));
  await until("prometheus scrapes", 60, async () => (await (await fetch(`http://127.0.0.1:${port}/api/v1/query?query=zscope_net_resets_total`)).json()).data.result.length > 0);

  b = await browser();
  const page = await b.newPage({ viewport: { width: 1400, height: 900 } });
  const trouble = [];
  page.on("pageerror", (e) => trouble.push(e.message));
  await page.goto(server.url);
  await page.locator(".state.live").waitFor({ timeout: 60000 });

  const run = await lab("run", "pinterest", "--keep", "--for", "60s");
  check("the incident is staged", run.code === 0, run.out);
  const reset = await lab("run", "net-reset", "--mode", "inject");
  if (reset.code !== 0) throw new Skip("no reset can be injected here: " + reset.out.trim());

  // without a reload: the reset and the verdict come by themselves
  await page.getByText(/Look at the reset of/).first().waitFor({ timeout: 120000 });
  check("the reset appears in the open page", true);
  let clicks = 0;
  const click = async (locator) => { clicks++; await locator.click(); };
  await click(page.getByText(/Look at the reset of/).first());
  await page.locator(".reset.on .proof").waitFor({ timeout: 60000 });
  check("its proof names interrupt and core", /\/proc\/irq\/\d+\/effective_affinity_list/.test(await page.locator(".reset.on").innerText()), await page.locator(".reset.on").innerText());
  await click(page.locator(".reset.on .path button"));
  await page.locator("canvas.map").waitFor({ timeout: 60000 });
  await click(page.getByRole("button", { name: "Heat map of this moment" }));
  await page.locator(".heat-scroll canvas").or(page.getByText("No samples in this window")).first().waitFor({ timeout: 60000 });
  // the samples of a starved host are written some seconds later
  const at = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
  const window = `from=@${at.get("s0")}&to=@${at.get("s1")}` + (at.get("cpu") ? `&cpu=${at.get("cpu")}` : "");
  await until("the samples are written", 60, async () => (await (await fetch(`${server.url}api/v1/flame?${window}`)).json()).samples > 0);
  await click(page.getByRole("button", { name: /^Flame graph/ }));
  await page.locator(".flame-scroll canvas").or(page.getByText("No samples here")).first().waitFor({ timeout: 60000 });
  check("the flame graph of those seconds is there", (await page.locator(".flame-scroll canvas").count()) === 1, await page.locator("main").innerText());
  check("in four clicks or fewer", clicks <= 4, String(clicks));
  check("no trouble in the page", trouble.length === 0, trouble.join("; "));
  const shots = join(build, "meson-logs", "screenshots");
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, "incident-flame.png"), fullPage: true });
  await page.goto(server.url + "#/overview");
  await page.locator(".verdict").waitFor();
  await page.screenshot({ path: join(shots, "incident-overview.png"), fullPage: true });

  const alert = await until("a real Prometheus fires ZscopeNetReset", 120, async () =>
    (await (await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)).json()).data.alerts.find((a) => a.labels.alertname === "ZscopeNetReset" && a.state === "firing"));
  check("a real Prometheus fires ZscopeNetReset", alert !== undefined);
  if (alert) check("its runbook is served", (await fetch(alert.annotations.runbook_url)).ok, alert.annotations.runbook_url);

  // what was done about it stands in the recording, and is counted
  const id = run.out.match(/^(\d+-[0-9a-f]+) stands/m)?.[1];
  if (id) {
    execFileSync(zscope, ["purge", "--apply", "--store", store, "--below", `/zscope-lab-${id}`], quiet);
    const counted = await until("the purge is counted", 60, async () => /^zscope_purges_total [1-9]/m.test(await (await fetch(server.url + "metrics")).text()));
    check("the purge is counted", counted === true);
  }
  execFileSync(zscope, ["report", "--store", store, "-o", join(work, "report.html")], quiet);
  await page.goto("file://" + join(work, "report.html"));
  await page.locator(".reset .proof").first().waitFor({ timeout: 30000 });
  check("the report of the incident has the reset with its proof", true);
} catch (e) {
  if (e instanceof Skip) skipped = e.message;
  else check("the test ran to its end", false, e.stack);
} finally {
  await lab("clean");
  await b?.close();
  for (const child of children.reverse()) await stop(child);
  if (server) check("serve ends cleanly", (await server.stop()) === 0);
  rmSync(work, { recursive: true, force: true });
}
if (skipped) skip(skipped);
finish();
