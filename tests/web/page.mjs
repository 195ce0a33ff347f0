// The page in a real browser, over a generated recording with an incident and hostile names.
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { axeSource, browser, build, check, finish, run, serve } from "./lib.mjs";

const work = mkdtempSync(join(tmpdir(), "zscope-web-"));
const shots = join(build, "meson-logs", "screenshots");
mkdirSync(shots, { recursive: true });
const store = join(work, "store"), report = join(work, "report.html");
await run(join(build, "tests/web/make-store"), [store, "96", "900"]);
await run(join(build, "zscope"), ["report", "--store", store, "-o", report]);
const server = await serve(store);
const b = await browser();

// A page that counts everything that must not happen.
async function open(hash = "", options = {}) {
  const context = await b.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  page.trouble = [];
  page.requests = [];
  page.on("pageerror", (e) => page.trouble.push(e.message));
  page.on("console", (m) => { if (m.type() === "error" && !/404/.test(m.text())) page.trouble.push(m.text()); });
  page.on("request", (r) => page.requests.push(r.url()));
  if (hash !== null) await page.goto(server.url + hash);
  return page;
}

async function axe(page, name) {
  // the page's own policy forbids what a test injects: ask through the debugger
  await page.evaluate(axeSource());
  const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  check(`${name}: no accessibility violation`, result.violations.length === 0,
    result.violations.map((v) => `${v.id} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].failureSummary?.split("\n")[1] ?? ""}`).join("; "));
}

const hacked = (page) => page.evaluate(() => window.hacked !== undefined || document.querySelector("#app img, #app script") !== null);
// the picture is drawn: the canvas has more than one colour
const drawn = (page, selector) => page.evaluate((s) => {
  const c = document.querySelector(s);
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  const seen = new Set();
  for (let i = 0; i < d.length; i += 4 * 97) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return seen.size;
}, selector);

try {
  // verdict → reset → core → heat map → flame graph
  {
    const page = await open();
    await page.getByRole("heading", { level: 2 }).first().waitFor();
    await page.getByText(/Look at the reset of/).first().waitFor();
    let clicks = 0;
    const click = async (locator) => { clicks++; await locator.click(); };
    await page.screenshot({ path: join(shots, "1-overview.png"), fullPage: true });
    await axe(page, "overview");
    const verdict = await page.locator(".verdict").innerText();
    check("overview: the plan names the unit, in readable bytes", /disable\s+ecs"><img/.test(verdict) && !/\ufffd\ufffd/.test(verdict), verdict);
    await click(page.getByText(/Look at the reset of/).first());
    await page.locator(".reset.on").waitFor();
    await page.locator(".reset.on .proof").waitFor();
    const proof = await page.locator(".reset.on").innerText();
    check("resets: the proof goes from queue to task", /starved core/.test(proof) && /IRQ\s+→?\s*47/.test(proof) && /pid 4711/.test(proof) && /memcg_stat_show/.test(proof) && /effective_affinity_list/.test(proof), proof);
    await axe(page, "resets");
    await page.screenshot({ path: join(shots, "2-resets.png") });
    await click(page.getByRole("button", { name: /core 5 at/ }));
    await page.locator(".selected b").first().waitFor();
    await page.locator(".map").waitFor();
    check("cores: the map is drawn", (await drawn(page, "canvas.map")) > 5);
    check("cores: the second of the core is shown", (await page.locator("td.hot").count()) > 0);
    await axe(page, "cores");
    await page.screenshot({ path: join(shots, "3-cores.png"), fullPage: true });
    await click(page.getByRole("button", { name: "Heat map of this moment" }));
    await page.locator(".heat-scroll canvas").waitFor();
    check("heat: the map is drawn", (await drawn(page, "canvas.map")) > 5);
    await axe(page, "heat");
    await page.screenshot({ path: join(shots, "4-heat.png"), fullPage: true });
    await click(page.getByRole("button", { name: /^Flame graph/ }));
    await page.locator(".flame-scroll canvas").waitFor();
    check("flame: the graph is drawn", (await drawn(page, "canvas.map")) > 5);
    await axe(page, "flame");
    await page.screenshot({ path: join(shots, "5-flame.png"), fullPage: true });
    check("from verdict to flame graph in four clicks or fewer", clicks <= 4, String(clicks));
    await page.locator("#search").fill("memcg_stat_show");
    await page.getByText(/matched/).waitFor();
    const matched = await page.locator(".flame-right").innerText();
    check("search tells how much matches", parseFloat(matched.match(/([\d.]+) %/)?.[1] ?? "0") > 30, matched);
    await page.waitForTimeout(400);
    const link = page.url();
    check("the link is short", link.length <= 200, String(link.length));
    await page.getByRole("button", { name: "Table" }).click();
    await page.getByRole("cell", { name: "memcg_stat_show" }).first().waitFor();
    await axe(page, "table");
    check("no script ran from names", !(await hacked(page)));
    check("no trouble in the console", page.trouble.length === 0, page.trouble.join("; "));
    check("no request left this machine", page.requests.every((u) => u.startsWith(server.url) || u.startsWith("data:")));
    const again = await open();
    await again.goto(link);
    await again.locator(".flame-scroll canvas").waitFor();
    check("a link reproduces the view", (await again.locator("#search").inputValue()) === "memcg_stat_show" && (await again.getByRole("button", { name: "core 5 ×" }).count()) === 1);
    await page.context().close();
    await again.context().close();
  }
  // zombies: whose, which, and where it goes
  {
    const page = await open("#/zombies");
    await page.getByRole("region", { name: "zombies by owner" }).waitFor();
    const text = await page.locator(".panel").innerText();
    check("zombies: by owner, with growth and forecast", /44,\d\d\d/.test(text) && /900 \/ h/.test(text) && /Forecast from \d+ censuses/.test(text), text.slice(0, 600));
    check("zombies: the largest by name", /\/docker\/0{60}/.test(text));
    const part = async (name) => (await page.getByRole("region", { name }).innerText()).replace(/\s+/g, " ");
    const hurt = await part("when it will hurt");
    const f = (await (await fetch(server.url + "api/v1/zombies")).json()).forecast;
    const day = await page.evaluate((ns) => { const d = new Date(ns / 1e6), p = (n) => String(n).padStart(2, "0"); return `${d.getFullYear()}-${p(d.getMonth() + 1)}-${p(d.getDate())} ${p(d.getHours())}:${p(d.getMinutes())}`; }, f.ram_reaches_ns);
    check("zombies: the onset by number", /CPU: the original incident's hosts stalled at that number \(not measured on this one\) 59,970 \+900 an hour 70,000 \d{4}-\d\d-\d\d \d\d:\d\d:\d\d in 11 h 0\d min/.test(hurt), hurt);
    check("zombies: and by RAM, later", hurt.includes("RAM: a tenth of the host's 16.1 GB +5.8 GB a day 38.4 GB " + day) && / in 3 d 20 h/.test(hurt) && f.ram_reaches_ns > f.reaches_ns, hurt);
    const took = await part("what reclaim took");
    check("zombies: where reclaim ran and how long", /1,500 38 s 21 ms 21 ms 90 ms 6.3 GB 31,000 \/jobs\.slice\/job"><img src=x onerror=window\.hacked=1>.*\.scope is at its limit/.test(took), took);
    check("zombies: what kswapd frees is unknown, not zero", /45 180 ms 4.2 ms 4.2 ms 6.0 ms unknown unknown the host is short of memory \(kswapd, its CPU time\)/.test(took), took);
    const paid = await part("who waited for reclaim");
    check("zombies: who paid, and nobody for kswapd", /38 s 1,500 90 ms "><img id=pay pid 5150 job"><img/.test(paid) && !/kswapd/.test(paid), paid);
    check("zombies: who makes them", /180 180 0 180 5 s runc"><img src=x onerror=window\.hacked=1>.* pid 812, docker\.service docker containers under \/docker/.test(await part("who makes them")), await part("who makes them"));
    check("zombies: no script ran from names", !(await hacked(page)));
    await page.screenshot({ path: join(shots, "zombies-whole.png"), fullPage: true });
    // a window has its own reclaim; one that no measurement ended in says so
    const end = (await (await fetch(server.url + "api/v1/status")).json()).to_ns / 1e9;
    await page.evaluate((t) => { location.hash = `#/zombies?from=${t - 300}&to=${t - 180}`; }, end);
    await page.getByText(/^What reclaim took in 2 min/).waitFor();
    check("zombies: reclaim of the window", /^passes.*where 200 5 s /.test(await part("what reclaim took")), await part("what reclaim took"));
    await page.evaluate((t) => { location.hash = `#/zombies?from=${t - 50}&to=${t - 10}`; }, end);
    await page.getByText(/^Not measured in this window/).waitFor();
    check("zombies: the forecast stays", (await part("when it will hurt")).includes("70,000"));
    await page.evaluate(() => { location.hash = "#/zombies"; });
    await page.getByRole("region", { name: "what reclaim took" }).waitFor();
    await page.locator(".plot canvas").waitFor();
    await axe(page, "zombies");
    await page.getByRole("button", { name: "Look at the host now" }).click();
    await page.locator('.notice, button:has-text("As recorded")').first().waitFor();
    check("zombies: the host is asked, or it is said why not", page.trouble.length === 0, page.trouble.join("; "));
    await page.context().close();
  }
  // what a host without reclaim, without RAM and without growth says
  {
    const page = await open(null);
    await page.route(/\/api\/v1\/zombies/, async (route) => {
      const real = await (await route.fetch()).json();
      const { ram_limit_bytes, ram_reaches, ram_reaches_ns, reaches, reaches_ns, ...forecast } = real.forecast;
      await route.fulfill({ json: { ...real, rate_per_hour: -12, forecast, cost: { ...real.cost, reclaim: { ...real.cost.reclaim, passes: 0, groups: [] } } } });
    });
    await page.goto(server.url + "#/zombies");
    await page.getByText(/^No reclaim happened in 15 min/).waitFor();
    const hurt = (await page.getByRole("region", { name: "when it will hurt" }).innerText()).replace(/\s+/g, " ");
    check("zombies: falling, and RAM not known", /70,000 not at this rate/.test(hurt) && /unknown unknown$/.test(hurt), hurt);
    await page.context().close();
  }
  // everything that was found is shown, not only what leads to the verdict; what could not be told is no alarm
  {
    const page = await open(null);
    let unknown = false;
    await page.route(/\/api\/v1\/why/, async (route) => {
      const real = await (await route.fetch()).json();
      const also = { title: "also", confidence: 0.5, apart: "", chain: [{ finding: "memcg-zombies", title: "21881 zombie memory cgroups", evidence: [] }] };
      await route.fulfill({ json: unknown ? { ...real, verdict: { id: "unknown", title: "could not tell", confidence: 0 }, chain: [], findings: [], plan: [] } : { ...real, others: [also] } });
    });
    await page.goto(server.url);
    await page.getByText("1 more thing was found").waitFor();
    const others = page.locator(".others");
    check("overview: what else was found", /also, 0\.50\s+21881 zombie memory cgroups/.test(await others.innerText()), await others.innerText());
    await axe(page, "overview with more findings");
    await others.getByRole("button", { name: "Look at the zombies" }).click();
    await page.getByRole("region", { name: "zombies by owner" }).waitFor();
    unknown = true;
    await page.goto("about:blank");
    await page.goto(server.url);
    await page.locator(".verdict .badge").waitFor();
    check("overview: no verdict is not an alarm", (await page.locator(".verdict .badge.crit").count()) === 0 && (await page.locator(".verdict .badge").innerText()) === "could not tell");
    check("overview: speaks only of resets that were recorded", /There was a network reset at/.test(await page.locator(".verdict").innerText()), await page.locator(".verdict").innerText());
    // a reset that only the kernel's log knows of: shown, and said to be without more
    await page.goto(server.url + "#/resets");
    await page.locator(".reset.early").waitFor();
    check("resets: one from before the recording", /before the recording began/.test(await page.locator(".reset.early").innerText()) && (await page.locator(".reset.early button").count()) === 0);
    check("resets: it comes last", (await page.locator(".reset").last().getAttribute("class")).includes("early"));
    await page.context().close();
  }
  // filters: core, process and unit, in the flame graph and in the heat map
  {
    const page = await open("#/flame");
    const total = async () => { await page.locator(".flame-scroll canvas").waitFor(); return Number((await page.locator("h2").first().innerText()).match(/([\d,]+) samples/)[1].replaceAll(",", "")); };
    const all = await total();
    await page.getByRole("combobox", { name: "unit" }).selectOption("kubelet.service");
    await page.waitForFunction((n) => Number(document.querySelector("h2").innerText.match(/([\d,]+) samples/)?.[1].replaceAll(",", "") ?? n) < n, all);
    check("flame: one unit", (await total()) === 582, String(await total()));
    await page.keyboard.press("3");
    await page.locator(".heat-scroll canvas").waitFor();
    await page.getByText("582 samples").waitFor();
    await page.getByRole("combobox", { name: "core" }).selectOption("7");
    await page.getByText("Nothing that the filter takes ran here").waitFor();
    await axe(page, "heat without samples");
    await page.getByRole("button", { name: "Look at everything" }).click();
    await page.locator(".heat-scroll canvas").waitFor();
    check("heat: filters and back", page.trouble.length === 0, page.trouble.join("; "));
    await page.context().close();
  }
  // keyboard alone
  {
    const page = await open();
    await page.getByText(/Look at the reset of/).first().waitFor();
    await page.keyboard.press("]");
    await page.locator(".reset.on").waitFor();
    await page.getByRole("button", { name: /core 5 at/ }).focus();
    await page.keyboard.press("Enter");
    await page.locator("canvas.map").waitFor();
    await page.locator("canvas.map").focus();
    await page.keyboard.press("ArrowRight");
    check("arrows move the selection", /s0=/.test(page.url()));
    await page.keyboard.press("Enter");
    await page.locator(".heat-scroll canvas").waitFor();
    await page.locator(".heat-scroll canvas").focus();
    await page.keyboard.press("Enter");
    await page.locator(".flame-scroll canvas").waitFor();
    await page.locator(".flame-scroll canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.locator(".flame-line b.mono").waitFor();
    check("keys walk the frames", (await page.locator(".flame-line b.mono").innerText()).length > 0);
    await page.keyboard.press("1");
    await page.locator(".verdict").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    for (const key of "1234567") {
      await page.keyboard.press(key);
      await page.waitForTimeout(150);
    }
    check("keys reach every view without trouble", page.trouble.length === 0, page.trouble.join("; "));
    await page.context().close();
  }
  // dark, narrow, wide
  const hot = Math.floor((await (await fetch(server.url + "api/v1/resets")).json()).resets[0].time_ns / 1e9) - 6;
  for (const [name, options] of [["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 400, height: 800 } }], ["4k", { viewport: { width: 3840, height: 2000 } }]]) {
    const page = await open("#/overview", options);
    await page.locator(".verdict").waitFor();
    await page.locator(".plot canvas").first().waitFor();
    await axe(page, name);
    await page.screenshot({ path: join(shots, `overview-${name}.png`) });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(`${name}: nothing hangs over the edge`, wide <= 0, String(wide));
    for (const view of ["cores", "heat", "flame", "zombies", "units", "resets", "flame?mode=diff&s0=" + hot + "&s1=" + (hot + 6), "flame?mode=top"]) {
      await page.evaluate((v) => { location.hash = "#/" + v; }, view);
      await page.locator("main .skeleton, main .stale").first().waitFor({ state: "detached" });
      await page.waitForTimeout(200);
      if (name !== "4k") await axe(page, `${name} ${view}`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      check(`${name} ${view}: nothing hangs over the edge`, over <= 0, String(over));
      if (view === "flame") check(`${name} flame: the legend is whole`, await page.locator(".box.kernel").isVisible());
      if (/diff/.test(view)) check(`${name} diff: the command that draws it`, /zscope diff --from @\d+ --to @\d+ --base-from @\d+/.test(await page.locator(".small-print").innerText()));
      if (name === "narrow") check(`narrow ${view}: the head is one line`, (await page.locator(".top").evaluate((e) => e.clientHeight)) < 60);
      await page.screenshot({ path: join(shots, `${view.replace(/[?&=\d]+/g, "-")}-${name}.png`) });
    }
    check(`${name}: no trouble`, page.trouble.length === 0, page.trouble.join("; "));
    await page.context().close();
  }
  // speed of the first paint, jumps of the layout
  {
    const page = await open(null);
    await page.addInitScript(() => {
      window.shift = 0;
      new PerformanceObserver((l) => l.getEntries().forEach((e) => { if (!e.hadRecentInput) window.shift += e.value; })).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(server.url);
    await page.locator(".plot canvas").first().waitFor();
    await page.waitForTimeout(500);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
    check("first paint within two seconds on a loaded machine", paint > 0 && paint < 2000, String(paint));
    console.log(`     first paint ${Math.round(paint)} ms`);
    for (const view of ["overview", "cores", "heat", "flame", "zombies", "units", "resets"]) {
      await page.goto("about:blank");
      await page.goto(server.url + "#/" + view);
      await page.locator("main .panel").first().waitFor();
      await page.locator("main .skeleton").first().waitFor({ state: "detached" });
      await page.waitForTimeout(400);
      const shift = await page.evaluate(() => window.shift);
      check(`${view}: no layout jumps (${shift.toFixed(3)})`, shift < 0.1, String(shift));
    }
    await page.goto(server.url + "runbook#zscopenetreset");
    await axe(page, "runbook");
    check("the runbook is styled and has the alert", (await page.locator("#zscopenetreset").count()) === 1 && (await page.evaluate(() => getComputedStyle(document.querySelector("main")).maxWidth)) !== "none");
    check("loading and the runbook: no trouble", page.trouble.length === 0, page.trouble.join("; "));
    await page.context().close();
  }
  // 100,000 frames stay fluid
  {
    const page = await open(null);
    await page.route(/\/api\/v1\/flame/, async (route) => {
      const real = await (await route.fetch()).json();
      const names = Array.from({ length: 5000 }, (_, i) => `function_${i}_of_a_large_program`), nodes = [0, 0, 100000];
      for (let c = 0; c < 1000; c++) for (let d = 1; d <= 100; d++) nodes.push((c * 7 + d) % 5000, d, 100);
      await route.fulfill({ json: { ...real, samples: 100000, names, in_kernel: names.map((_, i) => i % 2), nodes, comms: [] } });
    });
    await page.goto(server.url + "#/flame");
    await page.locator(".flame-scroll canvas").waitFor();
    await page.waitForTimeout(500);
    const ms = await page.evaluate(async () => {
      const canvas = document.querySelector(".flame-scroll canvas"), box = canvas.getBoundingClientRect();
      const frames = 20, start = performance.now();
      for (let i = 0; i < frames; i++) {
        canvas.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.left + 20 + i * 37, clientY: box.top + 30 + i * 11 }));
        await new Promise((r) => requestAnimationFrame(r));
      }
      return (performance.now() - start) / frames;
    });
    console.log(`     100,000 frames: ${ms.toFixed(1)} ms a move`);
    check("a graph of 100,000 frames follows the pointer (software rendering, loaded machine)", ms < 100, ms.toFixed(1));
    await page.context().close();
  }
  // a link into nowhere, and a view of nothing
  {
    const page = await open("#/overview?from=1000&to=2000");
    await page.getByText(/outside this recording/).waitFor();
    await page.goto(server.url + "#/flame?from=NaN&to=-5&s0=9e99&cpu=99999&mode=%3Cscript%3E&comm=" + "x".repeat(500));
    await page.waitForTimeout(500);
    check("absurd links do no harm", page.trouble.length === 0 && !(await hacked(page)), page.trouble.join("; "));
    await page.context().close();
  }
  // a validation that was just made is in the report, although no recorder has taken it yet
  {
    const after = join(work, "validated.html"), fixed = "@" + (hot + 7);
    const { spawnSync } = await import("node:child_process");
    const done = spawnSync(join(build, "zscope"), ["validate", "--store", store, "--since", fixed, "--for", "40s"], { encoding: "utf8" });
    check("validate: before and after", [0, 1].includes(done.status), done.stdout + done.stderr);
    await run(join(build, "zscope"), ["report", "--store", store, "-o", after]);
    const page = await b.newPage();
    await page.goto("file://" + after);
    const line = await page.locator(".validation").innerText();
    check("report: the validation with its outcome and metrics", /Validated: (healed|better|unchanged|worse)/.test(line) && /pages scanned by waiting tasks worse/.test(line), line);
    await page.close();
  }
  // the report, from disk, with the network off
  {
    const context = await b.newContext({ viewport: { width: 1400, height: 900 }, offline: true });
    const page = await context.newPage();
    const trouble = [], requests = [];
    page.on("pageerror", (e) => trouble.push(e.message));
    page.on("console", (m) => m.type() === "error" && trouble.push(m.text()));
    page.on("request", (r) => requests.push(r.url()));
    await page.goto("file://" + report);
    await page.locator(".flame-scroll canvas").waitFor();
    await page.locator(".heat-scroll canvas").waitFor();
    check("report: the flame graph is drawn", (await drawn(page, ".flame-scroll canvas")) > 5);
    check("report: resets, cores, zombies and unknowns are there", (await page.locator(".reset").count()) > 0 && (await page.getByText("Every core, every second").count()) === 1 && (await page.getByText("What is unknown").count()) === 1);
    check("report: verdict, chain and plan", /crash-loops/.test(await page.locator(".verdict h2").innerText()) && (await page.locator(".chain li").count()) > 2 && (await page.locator(".plan li").count()) > 0);
    check("report: it says that nobody validated", (await page.getByText("Not validated").count()) === 1);
    check("report: the reset has its proof", (await page.locator(".reset .proof").count()) > 0 && /starved core/.test(await page.locator(".reset .proof").first().innerText()));
    const body = (await page.locator("body").innerText()).replace(/\s+/g, " ");
    check("report: both onsets, reclaim and who paid", /RAM: a tenth of the host's 16.1 GB/.test(body) && /is at its limit/.test(body) && /pid 5150/.test(body) && /pid 812, docker\.service/.test(body), body.slice(-3000));
    check("report: nothing was asked of a network", requests.every((u) => u.startsWith("file:") || u.startsWith("data:")), requests.join(" "));
    check("report: no script ran from names, no trouble", !(await hacked(page)) && trouble.length === 0, trouble.join("; "));
    await axe(page, "report");
    await page.screenshot({ path: join(shots, "report.png"), fullPage: true });
    await page.emulateMedia({ media: "print" });
    await page.pdf({ path: join(shots, "report.pdf") });
    await context.close();
  }
} catch (e) {
  check("the tests ran to their end", false, e.stack);
} finally {
  await b.close();
  const code = await server.stop();
  check("serve ends cleanly", code === 0, String(code));
  rmSync(work, { recursive: true });
}
finish();
