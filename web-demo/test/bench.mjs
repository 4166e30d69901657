// What the page weighs, how soon it is there, and how evenly it moves: `node bench.mjs FILE` writes
// it down as a page, `node bench.mjs FILE --json` as JSON. `cargo xtask bench page` runs it.
//
// Nothing here is a test, for a busy machine is slow. What it weighs is one; see page.test.mjs.

import fs from "node:fs";
import os from "node:os";
import { MOST, browser, show, site, visit } from "./harness.mjs";

const LOADS = 5;
const SLOWER = 4;
const SECONDS = 8;

/** What `site` and `visit` want of a test: to be told when it is over. */
function errand() {
  const ends = [];
  return { after: (end) => ends.unshift(end), end: async () => { for (const end of ends) await end(); } };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Notes what happens on the main thread, from before the first script on. */
function watch() {
  globalThis.tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ startTime, duration }) => [startTime, duration])))
    .observe({ type: "longtask", buffered: true });
  // The first figure runs: its state says so, a frame of it has been drawn, and the thread is free.
  const look = () => {
    if (document.getElementById("hammer")?.dataset.state !== "runs") return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => { globalThis.ready = performance.now(); }));
  };
  requestAnimationFrame(look);
}

/** How long a fixed piece of work takes in the page, in ms. */
function work() {
  const begin = performance.now();
  let sum = 0;
  for (let i = 0; i < 2e7; i++) sum = (sum * 31 + i) | 0;
  return [performance.now() - begin, sum][0];
}

async function load(slower) {
  const test = errand();
  const { url, sent } = await site(test);
  const { page } = await visit(test, url, {
    before: async (page) => {
      await page.addInitScript(watch);
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setCPUThrottlingRate", { rate: slower });
    },
  });
  await page.waitForFunction(() => globalThis.ready !== undefined, null, { timeout: 60_000 });
  await page.waitForLoadState("networkidle");
  const files = sent.map(({ name, bytes }) => ({ name: name || "index.html", bytes }));
  const seen = await page.evaluate(() => ({
    ready: globalThis.ready,
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    // What a press of a key would have had to wait for: the part of each long task beyond 50 ms.
    blocked: globalThis.tasks.filter(([start]) => start < globalThis.ready).reduce((sum, [, time]) => sum + time - 50, 0),
  }));
  seen.work = await page.evaluate(work);
  await test.end();
  return { ...seen, files };
}

/** Frames a second, and the 95th percentile of the time between two, while a part of the page runs. `begin` may say more of it. */
async function frames(what, address, id, begin) {
  const test = errand();
  const { url } = await site(test);
  const { page } = await visit(test, url + address);
  await show(page, id);
  const more = await begin(page);
  await page.waitForFunction((id) => document.getElementById(id).dataset.state === "runs", id, { timeout: 60_000 });
  const seen = await page.evaluate((seconds) => new Promise((done) => {
    const times = [];
    const tick = (now) => {
      times.push(now);
      if (now - times[0] < seconds * 1000) requestAnimationFrame(tick);
      else done(times);
    };
    requestAnimationFrame(tick);
  }), SECONDS);
  const state = await page.evaluate((id) => document.getElementById(id).dataset.state, id);
  const gaps = seen.slice(1).map((time, index) => time - seen[index]).sort((a, b) => a - b);
  const time = seen.at(-1) - seen[0];
  await test.end();
  return { what: more ? `${what}, ${more}` : what, rate: (1000 * gaps.length) / time, p95: gaps[Math.floor(gaps.length * 0.95)], state };
}

const loads = { 1: [], [SLOWER]: [] };
for (let turn = 0; turn < LOADS; turn++) for (const slower of [1, SLOWER]) loads[slower].push(await load(slower));
const of = (slower, key) => median(loads[slower].map((seen) => seen[key]));

const LAWS = "none,backoff,aws-cubic,aimd,heroku-remaining,adaptive";
const rows = [
  await frames("figure 1: twenty workers, twice", "", "hammer", () => {}),
  await frames("figure 3: 25 workers", "", "limit", async (page) => {
    await page.locator("#limit .more > summary").click();
    const speed = page.locator("#limit .speed");
    // An hour a second, or the fastest that there is.
    const values = await speed.locator("option").evaluateAll((options) => options.map(({ value }) => Number(value)));
    const value = values.includes(3600) ? 3600 : Math.max(...values);
    await speed.selectOption(String(value));
    await page.locator("#limit .restart").click();
    return `${value / 3600} h/s`;
  }),
  await frames("laboratory: six laws, five clients each", `?lab=1&laws=${LAWS}#lab`, "lab", () => {}),
  await frames("laboratory: six laws, 25 workers each, 1 h/s", `?lab=1&preset=day&laws=${LAWS}&speed=3600#lab`, "lab", () => {}),
];

const seen = {
  files: loads[1][0].files,
  loads: [1, SLOWER].map((slower) => ({
    slower, measured: of(slower, "work") / of(1, "work"), paint: of(slower, "paint"), ready: of(slower, "ready"), blocked: of(slower, "blocked"),
  })),
  frames: rows,
};
const chromium = (await browser()).version();
await (await browser()).close();

const table = (head, rows) => [head, head.map((_, column) => (column ? "--:" : "---")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
const whole = (value) => Math.round(value).toLocaleString("en").replaceAll(",", " ");

function page({ files, loads, frames }) {
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return `# The page: what it weighs, how soon it is there, how evenly it moves

Written by \`cargo xtask bench page\`: headless Chromium ${chromium} on ${os.cpus().length} cores (${os.cpus()[0].model.trim()}),
drawing without a graphics card, over loopback without delay.

## The first load

Bytes over the wire, gzipped, heads included, until the first figure runs and nothing more comes.
They may be ${whole(MOST)}.

${table(["file", "bytes"], [...files.map(({ name, bytes }) => [name.replace(/-[\w-]{8}\./, "."), whole(bytes)]), ["all", whole(all)]])}

## Interactive

The first figure runs, a frame of it has been drawn, and the page's thread is free to answer: median of
${LOADS} loads, in ms from the start of the navigation. \`blocked\` is the part of long tasks beyond 50 ms until then.
Chromium slows the page's own thread alone, and not the engine's, which is another.

${table(["processor", "slower, measured", "first paint", "interactive", "blocked"], loads.map(({ slower, measured, paint, ready, blocked }) =>
    [slower === 1 ? "as it is" : `${slower} × slower`, measured.toFixed(1), whole(paint), whole(ready), whole(blocked)]))}

## Frames

Over ${SECONDS} s of a run. Chromium draws 60 a second at most.

${table(["what runs", "frames/s", "95 % of them within, ms"], frames.map(({ what, rate, p95 }) => [what, rate.toFixed(1), p95.toFixed(1)]))}
`;
}

const [file, form] = process.argv.slice(2);
fs.writeFileSync(file, form === "--json" ? `${JSON.stringify(seen, null, 2)}\n` : page(seen));
