// Live: the page follows the recorder, and the incident appears in it while it happens, without a reload.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browser, build, check, finish, serve, stop } from "./lib.mjs";

const work = mkdtempSync(join(tmpdir(), "zscope-live-"));
const store = join(work, "store");
const maker = spawn(join(build, "tests/web/make-store"), [store, "8", "120", String(Math.floor(Date.now() / 1000)), "60"], { stdio: "inherit" });
await new Promise((r) => setTimeout(r, 1000));
const server = await serve(store);
const b = await browser();
try {
  const page = await b.newPage();
  await page.goto(server.url + "#/resets");
  await page.locator(".state.live").waitFor();
  const before = await page.locator(".axis-window").innerText();
  check("no reset yet", (await page.locator(".reset:not(.early)").count()) === 0);
  await page.locator(".reset:not(.early)").waitFor({ timeout: 60000 });
  check("the reset appears by itself", true);
  check("the axis moved on", (await page.locator(".axis-window").innerText()) !== before);
} catch (e) {
  check("the tests ran to their end", false, e.stack);
} finally {
  await b.close();
  check("serve ends cleanly", (await server.stop()) === 0);
  await stop(maker);
  rmSync(work, { recursive: true });
}
finish();
