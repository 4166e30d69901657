// The engine: its module in Node, and its worker in Chromium. tools/sim/tests/wasm.rs compares the figures of the
// laboratory's module with the native simulator's.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test, { after } from "node:test";
import { build, preview } from "vite";
import { scenario as read, simulator, sources, visit } from "./harness.mjs";

const root = path.join(import.meta.dirname, "../..");
const [{ Simulator }] = await sources("engine/simulator");
const lab = await simulator(Simulator, "lab");

/** The address of the engine alone on an empty page. */
const address = await (async () => {
  const source = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-engine-"));
  const entry = path.join(root, "web-demo/src/engine/index.ts");
  fs.writeFileSync(path.join(source, "index.html"), '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.ts"></script>');
  fs.writeFileSync(path.join(source, "main.ts"), `import { engine } from ${JSON.stringify(entry)}; Object.assign(globalThis, { engine });`);
  const shared = { configFile: false, worker: { format: "es" }, root: source, logLevel: "warn" };
  await build({ ...shared, build: { outDir: path.join(source, "dist"), modulePreload: false } });
  const server = await preview({ ...shared, build: { outDir: path.join(source, "dist") }, preview: { host: "127.0.0.1", port: 0 } });
  after(async () => {
    await server.close();
    fs.rmSync(source, { recursive: true });
  });
  return server.resolvedUrls.local[0];
})();

/** The figures of a run in slices, as on the page; they must not change the result. */
function outcome(simulator, scenario, law) {
  const [world] = simulator.open(scenario, law, 7);
  for (let now = 1; simulator.advance(world, now); now *= 1.7) simulator.frame(world);
  const seen = { digest: simulator.digest(world), metrics: simulator.metrics(world) };
  simulator.close(world);
  return seen;
}

/** Opens an empty page that has only the engine. */
async function engine(t) {
  const { page, trouble } = await visit(t, address);
  await page.waitForFunction(() => "engine" in globalThis);
  return { page, trouble };
}

test("many worlds at once have the figures of one in Node", async (t) => {
  const { page, trouble } = await engine(t);
  const runs = ["b-4", "strangers", "g"].map(read).flatMap((scenario) => ["none", "adaptive", "aimd"].map((law) => ({ scenario, law, seed: 7 })));
  const found = await page.evaluate(async (runs) => {
    const simulator = await engine();
    const worlds = await Promise.all(runs.map((run) => simulator.open(run)));
    const end = Math.max(...worlds.map((world) => world.end));
    for (let now = 1; now < 3 * end; now *= 3) await Promise.all(worlds.map((world) => world.advance(now)));
    const found = await Promise.all(worlds.map(async (world) => ({ digest: await world.digest(), metrics: await world.metrics() })));
    worlds.forEach((world) => world.close());
    return found;
  }, runs);
  found.forEach((found, i) => assert.deepEqual(found, outcome(lab, runs[i].scenario, runs[i].law), `${i}: ${runs[i].law}`));
  assert.deepEqual(trouble, []);
});

test("frames add up to the metrics for any slices", async (t) => {
  const { page } = await engine(t);
  const sums = await page.evaluate(async (scenario) => {
    const world = await (await engine()).open({ scenario, law: "adaptive", seed: 1 });
    const sum = (values) => values.reduce((sum, value) => sum + value, 0);
    const sums = { offered: 0, throttled: 0, left: 0, waited: 0 }, shapes = new Set();
    let last, from = 0;
    for (let now = 0.5; !last?.over; now += 7.3) {
      last = await world.advance(now);
      if (last.bins.from !== from) throw new Error(`a gap before bin ${last.bins.from}`);
      from += last.bins.count;
      for (const name in sums) sums[name] += sum(last.bins[name]);
      shapes.add(last.waiting.length === world.processes && last.served.length === world.processes);
    }
    const { calls, throttles } = await world.metrics();
    return {
      shapes: [...shapes], bins: from * world.bin - world.end, offered: sums.offered - calls,
      calls: sum(last.served) + sums.throttled - calls, throttles: sums.throttled - throttles, left: sums.left - calls, waited: sums.waited,
    };
  }, read("e-5"));
  assert.ok(sums.waited > 100, `${sums.waited} s`);
  const { waited, ...rest } = sums;
  assert.deepEqual(rest, { shapes: [true], bins: 0, offered: 0, calls: 0, throttles: 0, left: rest.left });
  assert.ok(Math.abs(rest.left) <= 5, "no more are on their way than clients can have");
});

test("a rejection has the command's message", async (t) => {
  const { page } = await engine(t);
  const rejected = (scenario, law = "adaptive") => page.evaluate(async (spec) => {
    const ready = await engine();
    const rejected = ({ code, message }) => [code, message];
    return Promise.all([ready.open(spec).catch(rejected), ready.parse(spec.scenario).catch(rejected)]);
  }, { scenario, law, seed: 1 });
  const good = read("b-4");
  const [opened, checked] = await rejected(good.replace("burst = 4", "burst = 4\ncolour = 1"));
  assert.deepEqual(checked, opened);
  assert.equal(opened[0], "scenario");
  assert.match(opened[1], /^the scenario, line \d+: unknown field `colour`, expected /);
  const [[code, there]] = await rejected(good, "magic");
  assert.equal(code, "law");
  assert.match(there, /^there is no law "magic"; there are adaptive, fixed, none, /);
});

/** Its calls take two nanoseconds, so a second of it takes minutes. */
const ENDLESS = "end = '20min'\nlatency = { constant = '1ns' }\n[server.bucket]\nburst = 20\nrate = '10/s'\n[[clients]]\nthreads = 2\n";

test("a long run does not delay a short one, however fast its calls are, and a closed world is discarded", async (t) => {
  const { page } = await engine(t);
  const order = await page.evaluate(async ([long, short, endless]) => {
    const order = [];
    const simulator = await engine();
    const open = (scenario, law, seed) => simulator.open({ scenario, law, seed });
    const [slow, quick, gone, busy] = await Promise.all([
      open(long, "aimd", 1), open(short, "adaptive", 1), open(long, "aimd", 2), open(endless, "none", 1),
    ]);
    for (const world of [gone, busy]) world.advance(1e6).then(() => order.push("closed"));
    const all = [slow.advance(1e6).then(() => order.push("long")), quick.advance(60).then(() => order.push("short"))];
    gone.close();
    await Promise.all(all);
    busy.close();
    return order;
  }, [read("a-5x5"), read("e-5"), ENDLESS]);
  assert.deepEqual(order, ["short", "long"]);
});
