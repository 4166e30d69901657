// Measures the page: its size, when it is ready, its frame times and its input latency. `cargo xtask bench page` runs
// `node bench.mjs FILE`, which writes Markdown.
//
// These are not tests, because a busy machine is slow. page.test.mjs tests the size.

import fs from "node:fs";
import os from "node:os";
import { browser, show, site, slowDown, visit } from "./harness.mjs";

const LOADS = 5;
const SLOWER = 4;
const SECONDS = 8;

/** The part of a test context that `site` and `visit` use: cleanup at the end. */
function errand() {
  const ends = [];
  return { after: (end) => ends.unshift(end), end: async () => { for (const end of ends) await end(); } };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** Records what happens on the main thread, from before the first script on. */
function watch() {
  globalThis.tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ startTime, duration }) => [startTime, duration])))
    .observe({ type: "longtask", buffered: true });
  // The first figure runs: it says so, one of its frames has been drawn, and the thread is free.
  const look = () => {
    if (!document.getElementById("search")?.dataset.mode) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => { globalThis.ready = performance.now(); }));
  };
  requestAnimationFrame(look);
}

/** The time that a fixed amount of work takes in the page, ms. */
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
      await slowDown(page, slower);
    },
  });
  await page.waitForFunction(() => globalThis.ready !== undefined, null, { timeout: 60_000 });
  await page.waitForLoadState("networkidle");
  const files = sent.map(({ name, bytes }) => ({ name: name || "index.html", bytes }));
  const seen = await page.evaluate(() => ({
    ready: globalThis.ready,
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    // How long a key press would have waited: the part of each long task beyond 50 ms.
    blocked: globalThis.tasks.filter(([start]) => start < globalThis.ready).reduce((sum, [, time]) => sum + time - 50, 0),
  }));
  seen.work = await page.evaluate(work);
  await test.end();
  return { ...seen, files };
}

/** Key presses while a part runs. */
const PRESSES = 12;

/** Records the time from each input to the frame that shows its effect. */
function watchInput() {
  globalThis.answers = [];
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) if (interactionId > 0) globalThis.answers.push(duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
}

/**
 * Frames per second, the 95th percentile of the time between two, and the slowest response to a
 * key, while a part of the page runs. `begin` may change its settings, and returns what to add to
 * its name.
 */
async function frames({ what, address = "", id, begin, ready, control, keys }, slower) {
  const test = errand();
  const { url } = await site(test);
  const { page } = await visit(test, url + address, { before: (page) => page.addInitScript(watchInput) });
  await slowDown(page, slower);
  await show(page, id);
  await begin?.(page);
  await page.waitForFunction(([id, ready]) => Object.values(document.getElementById(id).dataset).includes(ready), [id, ready], { timeout: 60_000 });
  const seen = await page.evaluate((seconds) => new Promise((done) => {
    const times = [];
    const tick = (now) => {
      times.push(now);
      if (now - times[0] < seconds * 1000) requestAnimationFrame(tick);
      else done(times);
    };
    requestAnimationFrame(tick);
  }), SECONDS);
  await page.locator(`#${id} ${control}`).first().focus();
  for (let press = 0; press < PRESSES; press++) {
    await page.keyboard.press(keys[press % keys.length]);
    await page.waitForTimeout(400);
  }
  const answers = await page.evaluate(() => globalThis.answers);
  const gaps = seen.slice(1).map((time, index) => time - seen[index]).sort((a, b) => a - b);
  const time = seen.at(-1) - seen[0];
  await test.end();
  return { what, slower, rate: (1000 * gaps.length) / time, p95: gaps[Math.floor(gaps.length * 0.95)], answer: Math.max(16, ...answers) };
}

/** The load by other programs before the measurement: on a busy machine all times are too long. */
const [busy] = os.loadavg();
const loads = { 1: [], [SLOWER]: [] };
for (let turn = 0; turn < LOADS; turn++) for (const slower of [1, SLOWER]) loads[slower].push(await load(slower));
const of = (slower, key) => median(loads[slower].map((seen) => seen[key]));

const laws = ["none", "backoff", "aws-cubic", "aimd", "heroku-remaining", "adaptive"];
const search = { id: "search", control: "[role=slider]", keys: ["ArrowUp", "ArrowDown"] };
const laboratory = { id: "lab", ready: "runs", control: ".bar button", keys: ["Enter"] };
const PARTS = [
  { what: "the first page: its tour", ...search, ready: "tour" },
  { what: "the first page: four clients and their limit", ...search, ready: "live" },
  { what: "the first page: with five others", ...search, ready: "live", begin: (page) => page.locator("#others").fill("5") },
  { what: "laboratory: six laws, five clients each", address: `lab.html?laws=${laws}`, ...laboratory },
  { what: "laboratory: six laws, 25 workers each, 1 h/s", address: `lab.html?preset=day&laws=${laws}&speed=3600`, ...laboratory },
];
const rows = [];
for (const slower of [1, SLOWER]) for (const part of PARTS) rows.push(await frames(part, slower));

const { files } = loads[1][0];
const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
const chromium = (await browser()).version();
await (await browser()).close();

const table = (head, rows) => [head, head.map((_, column) => (column ? "--:" : "---")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
const processor = (slower) => (slower === 1 ? "as it is" : `${slower} × slower`);
const whole = (value) => Math.round(value).toLocaleString("en").replaceAll(",", " ");

const values = {
  chromium,
  cores: os.cpus().length,
  model: os.cpus()[0].model.trim(),
  busy: busy.toFixed(1),
  loads: LOADS,
  seconds: SECONDS,
  presses: PRESSES,
  files: table(["file", "bytes"], [...files.map(({ name, bytes }) => [name.replace(/-[\w-]{8}\./, "."), whole(bytes)]), ["all", whole(all)]]),
  times: table(["processor", "measured slowdown", "first paint", "interactive", "blocked"], [1, SLOWER].map((slower) =>
    [processor(slower), (of(slower, "work") / of(1, "work")).toFixed(1), ...["paint", "ready", "blocked"].map((key) => whole(of(slower, key)))])),
  frames: table(["what runs", "processor", "frames/s", "95 % within, ms", "slowest response, ms"], rows.map(({ what, slower, rate, p95, answer }) =>
    [what, processor(slower), rate.toFixed(1), p95.toFixed(1), whole(answer)])),
};
const text = fs.readFileSync(new URL("bench.txt", import.meta.url), "utf8");
fs.writeFileSync(process.argv[2], text.replace(/\{(\w+)\}/g, (_, name) => values[name]));
