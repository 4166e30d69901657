// The engine's figures equal the native simulator's to the last digit: its modules in Node, and the worker in Chromium.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { build, preview } from "vite";
import { simulate, visit } from "./harness.mjs";

const root = path.join(import.meta.dirname, "../..");
const modules = path.join(root, "target/page");
const folder = path.join(root, "tools/sim/scenarios");
const read = (name) => fs.readFileSync(path.join(folder, `${name}.toml`), "utf8");

const MANY = ["none", "adaptive", "aimd", "heroku-remaining", "fulljit", "netflix-vegas", "oracle"];
/** Together they cover every kind of server, demand, latency, hint and measure. */
const RUNS = [
  ["b-4", MANY], ["b-10-strangers", MANY], ["clear", MANY], ["e-5", MANY], ["e-5-remaining", MANY], ["e-20-retry-after", MANY],
  ["strangers", MANY], ["s-1-4", MANY], ["l", MANY], ["i-4-3", MANY], ["j-5", ["adaptive", "aimd-concurrency", "heroku-gradual"]],
  ["g", ["adaptive", "aimd+vegas"]], ["h", ["adaptive", "gradient2"]], ["autoscaling", ["adaptive"]],
].map(([name, laws]) => ({ name, laws }));
const SEEDS = [1, 7];
/** What the story's module must run by itself. */
const STORY = { names: ["b-4", "b-10-strangers", "e-5", "e-20-retry-after", "s-1-4", "l"], laws: ["none", "backoff", "adaptive"] };

const OWN = `
title = "laws of its own"
end = "2min"
[laws.article]
autosleeper = { initial = "1ms", most = "15min", up = 1.5, down = 0.6, threshold = 5, spread = 0.0 }
[server.bucket]
burst = 5
rate = "90/min"
[[clients]]
processes = 4
threads = 2
`;

/** A scenario, a law and a seed, and the command's output for them. */
async function native(file, laws, seeds) {
  const rows = await Promise.all(seeds.map((seed) => simulate(file, "--law", laws.join(","), "--seeds", `${seed}`)));
  return rows.flatMap((rows, i) => rows.map(({ law, metrics, digests }) =>
    ({ scenario: fs.readFileSync(file, "utf8"), law, seed: seeds[i], metrics: JSON.stringify(metrics), digest: digests[0] })));
}

function temporary(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-engine-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

/** The part of the engine that needs no browser. */
async function simulator() {
  const entry = path.join(root, "web-demo/src/engine/simulator.ts");
  const { output } = (await build({
    configFile: false, logLevel: "warn", build: { write: false, lib: { entry, formats: ["es"], fileName: "simulator" } },
  }))[0];
  return (await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)).Simulator;
}

/** The exports of a module. */
const load = async (part) => new WebAssembly.Instance(await WebAssembly.compile(fs.readFileSync(path.join(modules, `${part}.wasm`)))).exports;

test("figures and digests in Node are the command's, to the last digit", async () => {
  const Simulator = await simulator();
  const story = new Simulator(await load("story"));
  const lab = new Simulator(await load("lab"));
  const check = (simulator, { scenario, law, seed, metrics, digest }, label) => {
    const [world] = simulator.open(scenario, law, seed, false);
    // In slices, as on the page; they must not change the result.
    for (let now = 1; simulator.advance(world, now); now *= 1.7) simulator.frame(world);
    assert.equal(simulator.digest(world), digest, label);
    assert.equal(JSON.stringify(simulator.metrics(world)), metrics, label);
    simulator.close(world);
  };
  for (const { name, laws } of RUNS) {
    const file = path.join(folder, `${name}.toml`);
    for (const run of await native(file, laws, SEEDS)) check(lab, run, `${name}, ${run.law}, seed ${run.seed}`);
  }
  for (const name of STORY.names) {
    const file = path.join(folder, `${name}.toml`);
    for (const run of await native(file, STORY.laws, SEEDS)) check(story, run, `${name}, ${run.law}, seed ${run.seed}, story`);
  }
});

test("the story's module rejects what it does not support", async () => {
  const Simulator = await simulator();
  const story = new Simulator(await load("story"));
  for (const [scenario, law, code] of [
    [read("h"), "adaptive", "scenario"],
    [OWN, "article", "scenario"],
    [read("b-4"), "aws-cubic", "law"],
    [read("b-4").replace("burst = 4", "burst = 0"), "adaptive", "scenario"],
    ["title = 3", "adaptive", "scenario"],
    ["", "adaptive", "scenario"],
  ]) {
    assert.throws(() => story.open(scenario, law, 1, false), { code }, `${law} in ${scenario}`);
  }
  story.open(read("b-4"), "adaptive", 1, false); // the rejections left it intact
});

/** The engine alone on an empty page. */
async function engine(t) {
  const source = temporary(t);
  const entry = path.join(root, "web-demo/src/engine/index.ts");
  fs.writeFileSync(path.join(source, "index.html"), '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.ts"></script>');
  fs.writeFileSync(path.join(source, "main.ts"), `import { engine, What } from ${JSON.stringify(entry)}; Object.assign(globalThis, { engine, What });`);
  const shared = { configFile: path.join(root, "web-demo/vite.config.ts"), root: source, logLevel: "warn" };
  await build({ ...shared, build: { outDir: path.join(source, "dist"), modulePreload: false } });
  const server = await preview({
    ...shared, build: { outDir: path.join(source, "dist") }, preview: { host: "127.0.0.1", port: 0 },
  });
  t.after(() => server.close());
  const { page, trouble } = await visit(t, server.resolvedUrls.local[0]);
  await page.waitForFunction(() => "engine" in globalThis);
  return { page, trouble };
}

test("figures and digests in Chromium are the command's, many worlds at once", async (t) => {
  const { page, trouble } = await engine(t);
  const own = path.join(temporary(t), "own.toml");
  fs.writeFileSync(own, OWN);
  const names = ["b-4", "e-5-remaining", "strangers", "i-4-3", "g"];
  const expected = [
    ...(await Promise.all(names.map((name) => native(path.join(folder, `${name}.toml`), ["none", "adaptive", "aimd"], [3])))).flat(),
    ...await native(own, ["article", "adaptive"], [3]),
  ];
  const found = await page.evaluate(async (runs) => {
    const simulator = await engine();
    const worlds = await Promise.all(runs.map((run) => simulator.open(run)));
    const end = Math.max(...worlds.map((world) => world.end));
    for (let now = 1; now < 3 * end; now *= 3) await Promise.all(worlds.map((world) => world.advance(now)));
    const found = await Promise.all(worlds.map(async (world) => ({ metrics: JSON.stringify(await world.metrics()), digest: await world.digest() })));
    worlds.forEach((world) => world.close());
    return found;
  }, expected);
  found.forEach((found, i) => {
    const { metrics, digest, law } = expected[i];
    assert.deepEqual(found, { metrics, digest }, `${i}: ${law}`);
  });
  assert.deepEqual(trouble, []);
});

test("frames add up to the metrics for any slices", async (t) => {
  const { page } = await engine(t);
  const sums = await page.evaluate(async (scenario) => {
    const world = await (await engine()).open({ scenario, law: "adaptive", seed: 1 }, { steps: true });
    const bins = [], shapes = new Set();
    let last, decided = 0, from = 0, left = 0, waited = 0;
    for (let now = 0.5; !last?.over; now += 7.3) {
      last = await world.advance(now);
      if (last.bins.from !== from) throw new Error(`a gap before bin ${last.bins.from}`);
      from += last.bins.count;
      bins.push(...last.bins.offered);
      shapes.add(last.bins.byProcess.served.length === last.bins.count * world.processes && last.waiting.length === world.processes);
      decided += last.steps.what.filter((what) => what === What.Decided).length;
      last.steps.what.forEach((what, i) => {
        if (what === What.Left) [left, waited] = [left + 1, waited + last.steps.value[i]];
      });
    }
    const sum = (values) => values.reduce((sum, value) => sum + value, 0);
    const { calls, throttles } = await world.metrics();
    return {
      shapes: [...shapes], bins: from * world.bin - world.end, offered: sum(bins) - calls, decided: decided - calls,
      calls: sum(last.served) + sum(last.throttled) - calls, throttles: sum(last.throttled) - throttles, left: left - calls, waited,
    };
  }, read("e-5"));
  assert.ok(sums.waited > 100, `${sums.waited} s`);
  const { waited, ...rest } = sums;
  assert.deepEqual(rest, { shapes: [true], bins: 0, offered: 0, decided: 0, calls: 0, throttles: 0, left: rest.left });
  assert.ok(Math.abs(rest.left) <= 5, "no more are on their way than clients can have");
});

test("error messages equal the command's", async (t) => {
  const { page } = await engine(t);
  const say = (scenario, law = "adaptive") => page.evaluate(async (spec) => {
    try {
      await (await engine()).open(spec);
    } catch (error) {
      return [error.code, error.message];
    }
  }, { scenario, law, seed: 1 });
  const good = read("b-4");
  const [code, message] = await say(good.replace("burst = 4", "burst = 4\ncolour = 1"));
  assert.equal(code, "scenario");
  const line = good.split("\n").findIndex((line) => line === "burst = 4") + 2;
  assert.match(message, new RegExp(`^the scenario, line ${line}: unknown field \`colour\`, expected `));
  assert.match((await say(good.replace("burst = 4", "burst = 0")))[1], /^the scenario, line \d+: burst must be 1 or more: an empty bucket never serves a call/);
  const [noLaw, there] = await say(good, "magic");
  assert.deepEqual([noLaw, there.split(", ").length > 20], ["law", true]);
  assert.match(there, /^there is no law "magic"; there are adaptive, fixed, none, /);
});

test("a long run does not delay a short one, and a closed world is discarded", async (t) => {
  const { page } = await engine(t);
  const order = await page.evaluate(async ([long, short]) => {
    const order = [];
    const simulator = await engine();
    const [slow, quick, gone] = await Promise.all([
      simulator.open({ scenario: long, law: "aimd", seed: 1 }), simulator.open({ scenario: short, law: "adaptive", seed: 1 }),
      simulator.open({ scenario: long, law: "aimd", seed: 2 }),
    ]);
    gone.advance(1e6).then(() => order.push("closed"));
    const all = [slow.advance(1e6).then(() => order.push("long")), quick.advance(60).then(() => order.push("short"))];
    gone.close();
    await Promise.all(all);
    return order;
  }, [read("a-5x5"), read("e-5")]);
  assert.deepEqual(order, ["short", "long"]);
});
