// The laboratory: its state in the address and in files, its figures compared with the native
// simulator's, and its controls.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { createServer } from "vite";
import { shiftsOf, show, simulate, site, visit, watchShifts } from "./harness.mjs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-lab-"));
const scenarios = path.join(import.meta.dirname, "../../tools/sim/scenarios");
let vite, presets, state, url, toml, fromToml, together, Simulator;

before(async () => {
  const root = path.join(import.meta.dirname, "..");
  vite = await createServer({
    root, appType: "custom", logLevel: "error", configFile: false,
    server: { middlewareMode: true, hmr: false, ws: false, watch: null }, optimizeDeps: { noDiscovery: true, include: [] },
  });
  const load = (name) => vite.ssrLoadModule(`/src/lab/${name}.ts`);
  [presets, state, url, toml, fromToml] = await Promise.all(["presets", "state", "url", "toml", "fromtoml"].map(load));
  ({ together } = await vite.ssrLoadModule("/src/engine/together.ts"));
  ({ Simulator } = await vite.ssrLoadModule("/src/engine/simulator.ts"));
});
after(async () => {
  await vite?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** A seeded generator, so that a failure can be repeated. */
function dice(seed) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const whole = (least, most) => least + Math.floor(next() * (most - least + 1));
  const one = (...things) => things[whole(0, things.length - 1)];
  const maybe = (thing) => (next() < 0.5 ? thing() : null);
  const times = (most, thing) => Array.from({ length: whole(0, most) }, thing);
  return { whole, one, maybe, times };
}

const S = 1_000_000;

/** A random state that the engine accepts and runs quickly. */
function someState(seed) {
  const { whole, one, maybe, times } = dice(seed);
  const end = whole(20, 90) * S;
  const time = (least, most) => whole(least * 1_000, most * 1_000) * 1_000;
  const rate = () => one({ calls: whole(1, 80), per: "s" }, { calls: whole(60, 3_000), per: "min" }, { calls: whole(1, 9_999) / 4, per: "min" });
  const steps = (what) => {
    let at = 0;
    return times(3, () => ({ at: (at += time(1, 20)), ...what() }));
  };
  const told = (lie) => one("absent", "honest", { times: whole(1, 12) / 4 }, { always: lie() });
  const limit = one(
    () => ({ kind: "bucket", burst: whole(5, 50), rate: rate(), start: maybe(() => whole(0, 5)), steps: steps(() => ({ rate: rate() })) }),
    () => ({ kind: "window", limit: whole(5, 100), width: time(1, 30), phase: maybe(() => time(0, 1) - 1 + 1) }),
    () => ({ kind: "queue", workers: whole(1, 8), places: whole(0, 30), service: time(0.01, 0.5), steps: steps(() => ({ service: time(0.01, 0.5) })) }),
    () => ({ kind: "autoscaling", least: { calls: whole(1, 20), per: "s" }, most: { calls: whole(20, 60), per: "s" }, target: whole(4, 10) / 10, period: time(1, 20), credit: time(1, 60) }),
  )();
  if (limit.kind === "window" && limit.phase >= limit.width) limit.phase = 0;
  const group = () => {
    const from = whole(0, 2) ? 0 : time(1, 15);
    return {
      processes: whole(1, 5), threads: whole(1, 4),
      demand: one(
        () => ({ kind: "closed" }), () => ({ kind: "work", calls: whole(1, 300) }), () => ({ kind: "poisson", rate: { calls: whole(1, 8), per: "s" } }),
        () => ({ kind: "think", time: time(0.05, 3) }), () => ({ kind: "on_off", on: time(1, 9), off: time(0, 9) }))(),
      from, to: maybe(() => from + time(1, 60)), law: one(null, null, null, "none", "aimd"), deadline: maybe(() => time(0.1, 9)), counted: one(false, false, true),
    };
  };
  const drawn = {
    base: one(...presets.PRESETS.map(({ name }) => name)),
    scenario: {
      title: one("", `a “title” with = & # % + ; , and é ${seed}`), end, bin: S,
      measureFrom: one(0, 2 * S), peakFrom: maybe(() => 3 * S), stopWhenDone: one(true, false), stopAtRemaining: null, offered: maybe(rate),
      latency: one(
        { kind: "constant", time: time(0.001, 0.3) }, { kind: "uniform", least: 10_000, most: time(0.02, 0.5) },
        { kind: "exponential", mean: time(0.01, 0.2) }, { kind: "lognormal", median: time(0.01, 0.2), sigma: whole(0, 8) / 8 }),
      limit, strangers: maybe(rate), hints: {
        retryAfter: told(() => time(1, 9)), remaining: told(() => whole(0, 50)), reset: told(() => time(1, 9)), quota: told(() => ({ limit: whole(1, 99), period: time(1, 60) })),
      },
      outages: times(2, () => { const from = time(1, 60); return { from, to: from + time(1, 9) }; }),
      clients: [group(), ...times(2, group)],
      own: [
        maybe(() => ({ name: "mine", kind: "fixed", parameters: { rate: `${whole(1, 20)}/s`, ...one({}, { burst: "3" }) } })),
        maybe(() => ({ name: "own.2", kind: "backoff", parameters: one({}, { base: "10ms", most: "90s", factor: "1.5", jitter: "equal", attempts: "7" }, { jitter: "none" }) })),
        maybe(() => ({ name: "r_3", kind: "autosleeper", parameters: one({}, { initial: "1ms", up: "1.5", down: "0.6", threshold: "5", spread: "0" }) })),
        maybe(() => ({ name: "b4", kind: "tchannel", parameters: one({ recovery: "rate 3" }, { recovery: "value 200", most: "1000", over: "reject" }) })),
      ].filter(Boolean),
      stretches: times(2, () => ({
        name: one("calm", "storm_2"), from: 2 * S, to: 5 * S, show: one(["util", "jain"], ["throttled", "load", "peak"]),
        offered: maybe(rate), credit: whole(0, 3), every: 5 * S, times: whole(1, 3),
      })),
      convergences: times(2, () => one(
        { name: "up_s", toward: "up", at: 4 * S, until: 16 * S, width: 2 * S, rate: rate() },
        { name: "own_s", toward: "fair", at: 2 * S, until: 19 * S, width: 3 * S, rate: null })),
    },
    laws: one(["adaptive"], ["none", "adaptive"], ["adaptive", "adaptive+vegas", "fulljit.1"]),
    seed: one(1, whole(0, 1e9), Number.MAX_SAFE_INTEGER), speed: one(0, 60, 0.5), at: maybe(() => time(0, 20)),
  };
  return { ...drawn, laws: [...drawn.laws, ...drawn.scenario.own.map(({ name }) => name)].slice(0, 6) };
}

test("a state survives its address and its file unchanged", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const was = someState(seed);
    const query = url.write(was, presets.preset);
    const { state: is, notices } = url.read(query, presets.preset);
    assert.deepEqual(notices, [], query);
    assert.deepEqual(is, was, query);
    assert.equal(new URL(`http://host/${query}#lab`).search, query.replaceAll("'", "%27"), "a browser leaves the address as it is");
    const scenario = fromToml.read(toml.write(was.scenario));
    assert.deepEqual({ ...scenario, title: was.scenario.title }, was.scenario);
  }
});

test("an address is short if little differs from a preset", () => {
  for (const { name } of presets.PRESETS) {
    const preset = presets.preset(name);
    assert.ok(preset, name);
    assert.ok(url.write(preset, presets.preset).length < 40, name);
    const halved = { ...preset, laws: ["adaptive"], scenario: state.changed(preset.scenario, { clients: [{ ...preset.scenario.clients[0], processes: 3 }] }) };
    assert.ok(url.write(halved, presets.preset).length < 120, url.write(halved, presets.preset));
  }
});

test("a damaged address opens the default state and says so", () => {
  const usual = presets.preset("");
  const many = "x".repeat(20_000);
  for (const part of [
    "end=never", "end=-5s", "end=99999999999h", "bin=0.0000001s", "server=castle,9", "server=bucket,1e9/s,20", "server=bucket,10/s,-1", "server=bucket",
    "clients=9999999x1", "clients=5", "clients=0x1", "clients=5x2,law:<script>", "clients=5x2,poisson:lots", "latency=log:1ms:99", "hints=candour", "hints=remaining:nine",
    "outages=5s", "outages=%E0%A4%A", "strangers=%00", "seed=-1", "seed=1e99", "laws=", "laws=a,b,c,d,e,f,g", "laws=<img src=x>", "speed=NaN", "at=then", "preset=../../etc/passwd",
    "preset=__proto__", "stretch=a,b", "settle=x,sideways,1s-2s,1s", "__proto__=1", "constructor=1", "lab=2", "own=x:y", "own=x:fixed,rate:fast", "own=x:tchannel,recovery:soon", "own=:fixed", "own=x:backoff,constructor:1", "whatever=1", `title=${many}`, "clients=2000x1;2000x1", "end=90000h",
    "bin=1us&end=24h", `clients=${"1x1;".repeat(200)}1x1`,
  ]) {
    const { state: read, notices } = url.read(`?lab=1&${part}`, presets.preset);
    assert.ok(notices.length > 0, part);
    assert.deepEqual({ ...read, at: null }, usual, part);
    for (const notice of notices) assert.ok(notice.length < 400 && /[.:]$|\.$/.test(notice), notice);
  }
  assert.deepEqual(url.read("", presets.preset), { state: usual, notices: [] });
  assert.deepEqual(url.read("?theme=dark", presets.preset), { state: usual, notices: [] });
});

test("an invalid file is rejected with a sentence that names the error", () => {
  for (const [text, part] of [
    ["end = ", "line 1"], ["end = 5\n[server]", "end must be text"], ["", "server. is missing"], ["end='1s'\n[server.castle]", "castle"], ["end='1s'\n[server]\n[[clients]]", "exactly one"],
    ["end='1s'\nbegin='0s'\n[server.bucket]\nburst=1\nrate='1/s'", "begin"], ["end='1s'\n[server.bucket]\nburst=1\nrate='1/fortnight'", "fortnight"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[[clients]]\nprocesses=1e9", "processes"], ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[[stretch]]\nname='a b'", "a b"],
    ["end='5constructor'\n[server.bucket]\nburst=1\nrate='1/s'", "no known unit of time"],
    ["end='1s'\nlatency={lognormal={median='1ms',sigma=0.1234567}}\n[server.bucket]\nburst=1\nrate='1/s'", "sigma must have at most six decimals"],
    ["end='1s'\nlatency={lognormal={median='1ms',sigma=0.5,mode=1}}\n[server.bucket]\nburst=1\nrate='1/s'", "mode.* in lognormal"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\nsteps=[{at='1ms',rate='2/s',burst=2}]", "burst.* in a step"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[server.hints]\nremaining={times=0.0000001}", "remaining must have at most six"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[server.hints]\nquota={always={limit=1,period='1s',unit='s'}}", "unit.* in quota"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[[clients]]\ndemand={on_off={on='1s',off='1s',idle='1s'}}", "idle.* in on_off"],
    ["end='1s'\n[server]\nwindow={limit=1,width='1s',start=1}", "not support “start” in .server.window.; the command line does"],
    ["end='1s'\n[server.bucket]\nburst=1\nrate='1/s'\n[server.hints]\nreset_form='epoch'", "not support “reset_form” in .server.hints.; the command line does"],
  ]) {
    assert.throws(() => fromToml.read(text), (error) => new RegExp(part).test(error.message), text);
  }
});

test("every scenario of the repository is read, or rejected if only the command line can run it", () => {
  const rejected = [];
  for (const name of fs.readdirSync(scenarios).filter((name) => name.endsWith(".toml"))) {
    try {
      fromToml.read(fs.readFileSync(path.join(scenarios, name), "utf8"));
    } catch (error) {
      assert.match(error.message, /^the laboratory does not support “\w+” in .*; the command line does: /, name);
      rejected.push(name);
    }
  }
  assert.ok(rejected.length < 10, rejected.join());
});

test("if one of several worlds is rejected, the others are closed, even those that open later", async () => {
  const closed = [];
  const world = (name) => ({ close: () => closed.push(name) });
  const later = new Promise((resolve) => setImmediate(() => resolve(world("later"))));
  const all = [Promise.resolve(world("first")), Promise.reject(new Error("rejected")), later];
  await assert.rejects(together(all), /^Error: rejected$/);
  assert.deepEqual(closed, ["first", "later"]);
});

/** Reports a run that is shown as over before its last figures are. */
const watchEnd = (page) => page.addInitScript(() => addEventListener("DOMContentLoaded", () => {
  const lab = document.getElementById("lab");
  if (!lab) return; // the blank page between two loads
  new MutationObserver(() => {
    const caption = lab.querySelector("caption").textContent;
    if (lab.dataset.state === "over" && caption !== "Figures of the whole run") console.error(`it is over, and shows: ${caption}`);
  }).observe(lab, { attributes: true, attributeFilter: ["data-state"] });
}));

/** Opens the laboratory with this state. */
async function open(t, query, options) {
  const { url: address } = await site(t, options);
  const before = async (page) => { await watchEnd(page); await options?.before?.(page); };
  const visitor = await visit(t, `${address}${query}#lab`, { ...options, before });
  await show(visitor.page, "lab");
  await visitor.page.waitForSelector("#lab .lane");
  return { ...visitor, address };
}

const button = (page, name) => page.locator("#lab").getByRole("button", { name });

const finish = async (page) => {
  await page.waitForSelector("#lab[data-state]");
  // A short run may be over before a click arrives.
  await button(page, "To end").evaluate((end) => end.click());
  await page.waitForSelector("#lab[data-state=over]");
};

/** The table by law: metrics to the last digit, and digests. */
const figures = async (page) => {
  await page.getByLabel("All figures, and the digest of each run").check();
  return page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#lab .figures tbody tr")].map((row) => [row.dataset.law, {
    metrics: Object.fromEntries([...row.querySelectorAll("td[data-metric]")].map((cell) => [cell.dataset.metric, cell.dataset.value === "null" ? null : Number(cell.dataset.value)])),
    digest: row.querySelector(".digest").textContent,
  }])));
};

/** Runs the exported file in the native simulator. */
async function native(page, { laws, seed }) {
  const file = path.join(folder, "scenario.toml");
  const run = async (text, laws) => {
    fs.writeFileSync(file, text);
    const rows = laws.length ? await simulate(file, "--law", laws.join(), "--seeds", String(seed)) : [];
    return rows.map((row) => [row.law, { metrics: row.metrics, digest: row.digests[0] }]);
  };
  const text = await page.locator("#lab .take .file").nth(1).textContent();
  const rows = await run(text, laws.filter((law) => law !== "no-gate"));
  // "No gate" is the law none without hints.
  const [bare] = laws.includes("no-gate") ? await run(text.replace(/^\[server\.hints\]\n(.+\n)+/m, ""), ["none"]) : [];
  return Object.fromEntries(bare ? [...rows, ["no-gate", bare[1]]] : rows);
}

/** Runs a scenario that the laboratory writes in the native simulator. */
async function written({ scenario, seed }, laws) {
  const file = path.join(folder, "written.toml");
  fs.writeFileSync(file, toml.write(scenario));
  return simulate(file, "--law", laws.join(), "--seeds", String(seed));
}

test("every preset is written as the repository's own scenario", async () => {
  for (const { name } of presets.PRESETS.filter(({ name }) => name)) {
    const [own] = await simulate(path.join(scenarios, `${name}.toml`), "--law", "adaptive", "--seeds", "1");
    const [row] = await written(presets.preset(name), ["adaptive"]);
    assert.deepEqual(row.digests, own.digests, name);
  }
});

test("the laboratory's module gives the native simulator's figures for random states", async () => {
  const module = await WebAssembly.compile(fs.readFileSync(path.join(import.meta.dirname, "../../target/page/lab.wasm")));
  const lab = new Simulator((await WebAssembly.instantiate(module)).exports);
  for (let seed = 1001; seed <= 1025; seed++) {
    const drawn = someState(seed);
    const rows = await written(drawn, drawn.laws);
    assert.equal(rows.length, drawn.laws.length);
    for (const { law, metrics, digests } of rows) {
      const [world] = lab.open(toml.write(drawn.scenario), law, drawn.seed, false);
      while (lab.advance(world, Infinity));
      assert.deepEqual([lab.metrics(world), lab.digest(world)], [metrics, digests[0]], `seed ${seed}, ${law}`);
      lab.close(world);
    }
  }
});

test("presets show the native simulator's figures, to the last digit", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1");
  // A bucket with "No gate", a window with all hints, and a queue with a law in two parts.
  for (const name of ["", "e-5-reset", "h"]) {
    await page.goto(`${address}?lab=1&preset=${name}#lab`);
    await page.waitForSelector("#lab .lane");
    await finish(page);
    assert.deepEqual(await figures(page), await native(page, presets.preset(name)), name);
  }
  assert.deepEqual(trouble, []);
});

test("random states show the native simulator's figures too", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1");
  for (let seed = 1001; seed <= 1005; seed++) {
    const drawn = { ...someState(seed), at: null };
    await page.goto(`${address}${url.write(drawn, presets.preset)}#lab`);
    await page.waitForSelector("#lab .lane");
    assert.equal(await page.locator("#lab .notices").textContent(), "", `seed ${seed}`);
    await finish(page);
    assert.deepEqual(await figures(page), await native(page, drawn), `seed ${seed}: ${url.write(drawn, presets.preset)}`);
  }
  assert.deepEqual(trouble, []);
});

/**
 * Waits for the run that `act` starts, and returns its figures with the digest, or the page's
 * rejection. `act` returns null if there is nothing to do.
 */
async function rerun(page, law, act) {
  // Another run has another lane, even if its figures are equal.
  await page.locator("#lab .lane").evaluateAll((lanes) => lanes.forEach((lane) => { lane.dataset.old = ""; }));
  const acted = await act();
  if (acted === null) return { acted };
  const outcome = await page.waitForFunction((law) => {
    const host = document.getElementById("lab");
    const fault = host.querySelector(".stage > .fault").textContent;
    if (fault) return { fault };
    if (host.dataset.state !== "over" || host.querySelector(".lane[data-old]")) return null;
    return { figures: host.querySelector(`.figures tr[data-law="${law}"]`).textContent };
  }, law).catch(async () => {
    const [state, figures] = await page.evaluate(() => [document.getElementById("lab").dataset.state, document.querySelector("#lab .figures").textContent]);
    assert.fail(`no other run after ${acted}: ${state}, ${page.url()}, ${figures}`);
  });
  return { acted, ...await outcome.jsonValue() };
}

test("every control changes the outcome", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1");
  const controls = "#lab .side .field :is(input, select), #lab .side .check input";
  // Settings of custom laws that are typed in and differ from the default.
  const texts = {
    "Rate": "3/s", "Burst": "4", "First delay": "700ms", "Longest delay": "4s", "Factor": "3", "Attempts": "2", "On failure ×": "3", "On success ×": "0.5",
    "Successes before speeding up": "3", "Jitter ±": "0.7", "Jitter at most": "1ms", "Calls/s at most": "3", "Recovery": "value 1",
  };
  // All controls that have been visible, and those that have changed the outcome of some world. A world passes those
  // that make a difference only in another.
  const visible = new Set();
  const effective = new Set();
  for (const [query, only, law = "adaptive", passed = []] of [
    ["server=bucket,10/s,20", "Server", "adaptive", ["Per: unit"]], ["server=window,20,10s", "Server"], ["server=queue,2,4,500ms", "Server"],
    ["server=autoscaling,5/s,40/s,0.7,5s,60s", "Server", "adaptive", ["At most", "At most: period"]], ["server=autoscaling,2/min,43200/d,0.2,5s,60s", "Server"],
    ["server=window,20,10s&hints=retry-after,remaining,reset,quota", "Hints", "adaptive", ["Remaining ×", "Reset", "Limit and period"]],
    ["hints=retry-after:3s", "Hints", "adaptive", ["Reset", "Limit and period"]], ["hints=remaining:5", "Hints", "heroku-remaining", ["Reset", "Limit and period"]],
    ["hints=remaining:2x", "Hints", "heroku-remaining", ["Limit and period"]], ["server=window,20,10s&hints=remaining,reset:5s", "Hints", "adaptive", ["Limit and period"]],
    ["hints=quota:50/1min", "Hints"],
    ["clients=5x2,law:aimd,from:1ms", "Clients", "adaptive", ["Load", "End the run when all jobs are done"]], ["clients=5x2,work:2&stop=", "Clients"],
    ["clients=5x2,think:500ms", "Clients"], ["clients=5x2,on:10s-5s", "Clients"],
    ["own=mine:fixed,rate:4/s", "Your own", "mine"], ["own=mine:backoff", "Your own", "mine"], ["own=mine:autosleeper", "Your own", "mine"], ["own=mine:tchannel", "Your own", "mine"],
    ["latency=25ms-80ms", "World"], ["latency=log:40ms:0.5", "World"],
  ]) {
    const load = async () => {
      await page.goto("about:blank"); // navigating to the present address does not reload the page
      await page.goto(`${address}?lab=1&end=40s&laws=${law}&${query}#lab`);
      await finish(page);
      await page.getByLabel("All figures, and the digest of each run").check();
      return page.locator(`#lab .figures tr[data-law="${law}"]`).textContent();
    };
    /**
     * Changes one control that is not in `done`, including those that appear later, and returns its name. Choices come
     * last and from the end, because those before them decide which others there are.
     */
    const turn = async (done) => {
      const { all, turned } = await page.evaluate(({ controls, only, done, texts }) => {
        for (const details of document.querySelectorAll("#lab .controls details")) details.open = true;
        const inSection = (control) => control.closest(".controls > details").querySelector("summary").textContent.includes(only);
        const nameOf = (control) => control.getAttribute("aria-label") ?? control.labels[0].textContent;
        const all = [...document.querySelectorAll(controls)].filter((control) => inSection(control) && control.checkVisibility() && !control.disabled);
        const names = all.map(nameOf);
        const left = all.filter((_, index) => !done.includes(names[index]));
        const control = left.find((control) => !(control instanceof HTMLSelectElement)) ?? left.at(-1);
        if (!control) return { all: names, turned: null };
        const turned = nameOf(control);
        // Among a law's choices the last differs most; elsewhere the next one differs.
        if (control instanceof HTMLSelectElement) control.selectedIndex = control.options[0].value === "" ? control.options.length - 1 : (control.selectedIndex + 1) % control.options.length;
        else if (control.type === "text") control.value = texts[turned];
        else if (control.type === "checkbox") control.checked = !control.checked;
        else control.value = control.value === "" ? "3" : String(Math.min(control.max || Infinity, Number(control.value) * 2 + (control.step === "any" ? 0 : 1)));
        for (const event of ["input", "change"]) control.dispatchEvent(new Event(event, { bubbles: true }));
        return { all: names, turned };
      }, { controls, only, done, texts });
      for (const name of all) visible.add(`${only}: ${name}`);
      return turned;
    };
    let before = await load();
    // A control that has had an effect in another world is passed.
    const known = [...effective].filter((control) => control.startsWith(`${only}: `)).map((control) => control.slice(only.length + 2));
    for (const done = [...passed, ...known]; ;) {
      const { acted, fault, figures } = await rerun(page, law, () => turn(done));
      if (acted === null) break;
      done.push(acted);
      const changes = !fault && figures !== before;
      if (changes) effective.add(`${only}: ${acted}`);
      before = changes ? figures : await load();
    }
  }
  assert.deepEqual([...visible].filter((control) => !effective.has(control)), []);
  assert.ok(effective.size > 60, `only ${effective.size} controls were turned`);
  assert.deepEqual(trouble, []);
});

/** Waits until the run has advanced. */
async function goesOn(page) {
  const before = await page.locator("#lab .bar .time").textContent();
  await page.waitForFunction((before) => document.querySelector("#lab .bar .time").textContent !== before, before);
}

test("changes during a run are kept in the address and in the file", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&end=5min&laws=none,adaptive&speed=1");
  for (const name of ["halve the limit", "double the clients", "halve the clients", "outage"]) {
    await goesOn(page);
    const before = page.url();
    await page.locator("#lab .now").getByRole("button", { name }).click();
    await page.waitForURL((now) => now.href !== before);
    await page.waitForFunction(() => document.getElementById("lab").dataset.state === "runs");
  }
  const { state: kept } = url.read(new URL(page.url()).search, presets.preset);
  const [step] = kept.scenario.limit.steps;
  assert.ok(step.at > 0 && step.rate.calls === 5, JSON.stringify(step));
  assert.ok(kept.scenario.clients.some(({ from }) => from > step.at) && kept.scenario.clients.some(({ to }) => to > step.at));
  assert.ok(kept.scenario.outages[0].from > step.at);
  assert.equal(await page.locator("#lab .events li").count(), 1 + 1 + 1 + kept.scenario.clients.filter(({ to }) => to !== null).length);
  await finish(page);
  const seen = await figures(page);
  assert.deepEqual(seen, await native(page, kept));
  assert.notEqual(seen.adaptive.metrics.recovery_s, null, "an outage is measured");
  await page.reload();
  await page.waitForSelector("#lab .lane");
  await finish(page);
  assert.deepEqual(await figures(page), seen, "the address says it all");
  // Each change can be removed.
  await rerun(page, "adaptive", () => page.locator("#lab .events button").first().click());
  assert.notEqual((await figures(page)).adaptive.digest, seen.adaptive.digest);
  assert.deepEqual(trouble, []);
});

test("a paused run is at the position in its address", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&at=2min");
  await page.waitForSelector("#lab[data-state=rests]");
  await page.waitForFunction(() => document.querySelector("#lab .time").textContent.startsWith("2:00 min"));
  const before = await page.locator("#lab .lane .so-far").first().textContent();
  await page.waitForTimeout(500);
  assert.equal(await page.locator("#lab .lane .so-far").first().textContent(), before);
  await button(page, "Step").click();
  await page.waitForURL(/at=124s/);
  await button(page, "Play").click();
  await page.waitForFunction(() => !location.search.includes("at="));
  await button(page, "Pause").click();
  await page.waitForURL(/at=/);
  assert.deepEqual(trouble, []);
});

test("an action while it catches up applies at the target position", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&at=2min");
  await page.waitForSelector("#lab[data-state=rests]");
  await page.evaluate(() => {
    const step = [...document.querySelectorAll("#lab .bar button")].find((button) => button.textContent === "Step");
    for (let at = 0; at < 20; at++) setTimeout(() => step.click(), at * 7);
  });
  await page.waitForURL(/at=200s/);
  await page.waitForSelector("#lab[data-state=rests]");
  await page.evaluate(() => {
    const lab = document.getElementById("lab");
    const press = (name) => [...lab.querySelectorAll(".now button")].find((button) => button.textContent === name).click();
    new MutationObserver((_, observer) => {
      if (lab.dataset.state !== "catches-up") return;
      observer.disconnect();
      press("double the clients");
    }).observe(lab, { attributes: true });
    press("halve the limit");
  });
  await page.waitForURL(/clients=/);
  const { scenario } = url.read(new URL(page.url()).search, presets.preset).state;
  assert.deepEqual([scenario.limit.steps[0].at, scenario.clients.at(-1).from], [200 * S, 200 * S]);
  assert.deepEqual(trouble, []);
});

test("a rejection is shown until it is corrected, and the previous run continues", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1&end=10min&laws=none,adaptive,aimd&speed=10");
  const fault = page.locator("#lab .stage > [role=alert]");
  await page.waitForSelector("#lab[data-state=runs]");
  await page.evaluate(() => { for (const details of document.querySelectorAll("#lab .controls details")) details.open = true; });
  await page.getByLabel("Join at", { exact: true }).fill("7200");
  await fault.getByText("The plots show the previous run").waitFor();
  await goesOn(page);
  await page.locator("#lab").getByLabel("Speed").selectOption("1");
  await page.waitForURL(/speed=1$|speed=1[&#]/);
  await button(page, "Remove none").click();
  await page.waitForURL(/laws=adaptive,aimd/);
  await page.waitForTimeout(500);
  assert.match(await fault.textContent(), /The plots show the previous run/);
  assert.equal(await page.locator("#lab .lane").count(), 3, "what is throttled takes no lane away");
  await page.getByLabel("Join at", { exact: true }).fill("0");
  await page.waitForFunction(() => document.querySelectorAll("#lab .lane").length === 2);
  assert.equal(await fault.textContent(), "");
  await finish(page);
  const { state: is } = url.read(new URL(page.url()).search, presets.preset);
  assert.deepEqual(await figures(page), await native(page, is));

  await page.goto(`${address}?lab=1&laws=adaptive,adaptive%2Bgradient2,foo%2Bbar#lab`);
  await page.locator("#lab .notices").getByText("foo+bar").waitFor();
  await fault.getByText("adaptive+gradient2").waitFor();
  await button(page, "Remove adaptive+gradient2").click();
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Remove adaptive");
  await page.waitForSelector("#lab .lane .plot canvas");
  assert.equal(await fault.textContent(), "");
  assert.deepEqual(trouble, []);
});

test("removing a law keeps the focus and the tables of the others, and leaves nothing behind", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&at=1min&laws=none,adaptive,aimd", {
    before: (page) => page.addInitScript(() => {
      window.watched = 0;
      window.ResizeObserver = class extends ResizeObserver {
        #own = 0;
        observe(element) { if (element.closest("#lab")) { window.watched++; this.#own++; } super.observe(element); }
        disconnect() { window.watched -= this.#own; super.disconnect(); }
      };
    }),
  });
  const drawn = (lanes) => page.waitForFunction((lanes) => window.watched === 5 * lanes && document.querySelectorAll("#lab .lane .uplot").length === 4 * lanes, lanes);
  await page.waitForSelector("#lab[data-state=rests]");
  await drawn(3);
  await page.getByText("Numbers of aimd").click();
  await button(page, "Remove none").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Remove adaptive");
  assert.deepEqual(await page.locator("#lab .lane > details").evaluateAll((all) => all.map(({ open }) => open)), [false, true]);
  await drawn(2);
  await page.locator("#lab").getByLabel("Seed", { exact: true }).evaluate((input) => {
    input.value = "7";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForURL(/seed=7/);
  await page.waitForFunction(() => document.getElementById("lab").dataset.state === "rests");
  await drawn(2);
  assert.deepEqual(await page.locator("#lab .lane > details").evaluateAll((all) => all.map(({ open }) => open)), [false, true]);
  assert.deepEqual(trouble, []);
});

async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, name).click()]);
  return { name: download.suggestedFilename(), content: fs.readFileSync(await download.path()) };
}

test("numbers, plots and scenario can be exported, and the numbers add up to the figures", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&preset=e-5&end=10min&laws=adaptive,backoff,adaptive%2Bvegas");
  await finish(page);
  const seen = await figures(page);
  const numbers = await saved(page, /CSV/);
  assert.equal(numbers.name, "e-5.csv");
  const [head, ...lines] = numbers.content.toString().trim().split("\n").map((line) => line.split(","));
  assert.deepEqual(head, ["law", "from_s", "served", "throttled", "sent", "mean_wait_s"]);
  for (const [law, { metrics }] of Object.entries(seen)) {
    const own = lines.filter((line) => line[0] === law);
    const sum = (column) => own.reduce((sum, line) => sum + Number(line[column]), 0);
    assert.equal(own.length, 600);
    assert.equal(sum(3), metrics.throttles);
    assert.equal(sum(2) + sum(3), metrics.calls);
    assert.equal(sum(2) / 1_000, metrics.util, "100 a minute for ten minutes could be served");
    // A column of the plot spans two bins, with unequal numbers of calls sent.
    const plotted = await page.evaluate((law) => document.querySelector(`#lab .lane[data-law="${law}"] .plot.waits`).series.data[1], law);
    const means = Array.from({ length: 300 }, (_, column) => {
      const bins = own.slice(2 * column, 2 * column + 2);
      const left = bins.reduce((sum, line) => sum + Number(line[4]), 0);
      return left && Math.log10(Math.max(0.01, bins.reduce((sum, line) => sum + Number(line[4]) * Number(line[5]), 0) / left));
    });
    assert.equal(plotted.length, means.length);
    plotted.forEach((mean, column) => assert.ok(means[column] === 0 ? mean === null || Math.abs(mean) < 1e-9 : Math.abs(mean - means[column]) < 1e-9, `${law}, column ${column}`));
  }
  const file = await saved(page, /TOML/);
  assert.equal(file.name, "e-5.toml");
  assert.equal(file.content.toString(), await page.locator("#lab .take .file").nth(1).textContent());
  const image = await saved(page, /PNG/);
  assert.equal(image.content.subarray(1, 4).toString(), "PNG");
  assert.ok(image.content.readUInt32BE(16) > 750 && image.content.length > 20_000, "three lanes of plots side by side");
  assert.deepEqual(trouble, []);
});

test("a scenario can be pasted or opened, and an invalid one is rejected with a message", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&laws=adaptive,none");
  await page.getByText("Import a scenario").click();
  const text = page.getByLabel("Paste a scenario file, or open one");
  await text.fill("end = \"1min\"\n[server.bucket]\nburst = 5\nrate = \"2/weeks\"");
  await button(page, "Run it").click();
  await page.getByText("is not a rate like").waitFor();
  const file = path.join(scenarios, "j-5.toml");
  await page.getByLabel("A scenario file", { exact: true }).setInputFiles(file);
  await page.waitForURL(/settle=/);
  await finish(page);
  const rows = await simulate(file, "--law", "adaptive,none", "--seeds", "1");
  const seen = await figures(page);
  for (const { law, metrics, digests } of rows) assert.deepEqual(seen[law], { metrics, digest: digests[0] });
  await text.fill("title = \"impossible\"\nend = \"1min\"\n[server.window]\nlimit = 5\nwidth = \"1s\"\n[[clients]]\nfrom = \"2min\"");
  await button(page, "Run it").click();
  await page.getByText("clients must join before they leave").waitFor();
  const many = (write) => Array.from({ length: 120 }, (_, at) => write(at + 1));
  const clients = many((at) => `[[clients]]\ndemand = { poisson = "0.${100_000 + at}/min" }\nfrom = "${at}00100us"\nto = "${at + 1}00100us"\ndeadline = "${at}00100us"\n`);
  await text.fill(`title = "${"🌊".repeat(200)}"\nend = "1min"\n[server.bucket]\nburst = 5\nrate = "2/s"\n`
    + `steps = [${many((at) => `{ at = "${at}00100us", rate = "123456.${at}/min" }`)}]\n${clients.join("")}`);
  const address = page.url();
  await button(page, "Run it").click();
  await page.locator("#lab .too-long").getByText("too long for a link").waitFor();
  assert.equal(page.url(), address, "no address that would not be read again");
  await button(page, "Copy the link").click();
  await page.locator("#lab .done").getByText("too long for a link").waitFor();
  assert.deepEqual(trouble, []);
});

test("one click and three fields model an API, and the outcome matches five runs", async (t) => {
  const { page, trouble } = await open(t, "?lab=1");
  const names = await page.locator("#lab [data-model]").evaluateAll((all) => all.map(({ dataset }) => dataset.model));
  assert.deepEqual(names, ["github", "openai", "anthropic", "stripe", "shopify", "aws", "pool"]);
  for (const name of names) {
    await page.locator(`#lab [data-model=${name}]`).click();
    await page.waitForFunction((name) => document.querySelector(`#lab [data-model=${name}]`).ariaPressed === "true", name);
    if (name === "stripe") {
      await page.locator("#lab .model").getByLabel("Programs").fill("3");
      await page.locator("#lab .model").getByLabel("Workers in each").fill("2");
      await page.locator("#lab .model").getByLabel("Each worker wants", { exact: true }).fill("5");
    }
    await page.waitForFunction(() => document.querySelector("#lab .outcome").textContent.startsWith("In 5 runs") && !document.querySelector("#lab .spread .scroll").hidden);
    const sentence = await page.locator("#lab .outcome").textContent();
    const rows = Object.fromEntries(await page.locator("#lab .spread tbody tr").evaluateAll((rows) => rows.map((row) => [row.dataset.law, [...row.querySelectorAll("td")].map((cell) => cell.textContent)])));
    const [none, gate] = [rows["no-gate"], rows.adaptive];
    assert.ok(sentence.includes(`wasted ${none[1]} of their calls, with adaptive ${gate[1]}; they used ${none[3]} and ${gate[3]} of the limit.`), `${name}: ${sentence}`);
    const [own, other, ownUse, otherUse] = [gate[0], none[0], gate[2], none[2]].map(parseFloat);
    assert.equal(/no gate is needed/.test(sentence), own + other === 0, sentence);
    assert.equal(/saves nothing/.test(sentence), own >= other && own + other > 0, sentence);
    if (/loses throughput/.test(sentence)) assert.ok(ownUse < otherUse, sentence);
    else if (own < other) assert.ok(ownUse >= otherUse - 2.1, sentence);
    for (const text of Object.values(rows).flat()) assert.ok(!/\d+(\.\d+)? %/.test(text) || parseFloat(text) <= 100, text);
    t.diagnostic(`${name}: ${sentence}`);
  }
  assert.match(await page.locator("#lab .words").textContent(), /3 programs x 2 workers/, "the clients stay");
  assert.deepEqual(trouble, []);
});

test("Back undoes a change and restores the run", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&end=1min&laws=adaptive,no-gate&hammer=rate:20", { still: true });
  await page.waitForSelector("#lab[data-state=over]");
  const first = (await figures(page)).adaptive.digest;
  const over = (end) => page.waitForFunction((end) => {
    const lab = document.getElementById("lab");
    return lab.dataset.state === "over" && lab.querySelector(".time").textContent === `${end} of ${end}`;
  }, end);
  await page.locator('#lab [data-preset="e-5"]').click();
  await over("30:00 min");
  await page.locator('#lab [data-preset="l"]').click();
  await over("5:00 min");
  assert.match(page.url(), /preset=l/);
  assert.match(page.url(), /hammer=rate:20/, "a figure's settings stay in the address");
  await page.goBack();
  await over("30:00 min");
  assert.match(page.url(), /preset=e-5/);
  await page.goBack();
  await over("60.0 s");
  assert.equal((await figures(page)).adaptive.digest, first);
  assert.equal(await page.locator("#lab .notices").textContent(), "");
  assert.deepEqual(trouble, []);
});

test("no share exceeds 1, and no longest wait is below the mean", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1");
  for (const query of ["server=window,20,1h&end=4h&laws=no-gate,adaptive,aimd", "preset=e-5", "preset=d-flappy", "preset=h", "preset=autoscaling", "preset=day", "preset=i-4-1-drop", "server=queue,4,16,200ms&laws=no-gate,adaptive"]) {
    await page.goto(`${address}?lab=1&${query}#lab`);
    await page.waitForSelector("#lab .lane");
    await finish(page);
    await page.getByLabel("All figures, and the digest of each run").check();
    const shares = await page.locator("#lab .figures td[data-metric]").evaluateAll((cells) => cells.map((cell) => [cell.dataset.metric, cell.firstChild.textContent]));
    for (const [metric, text] of shares) if (text.endsWith("%")) assert.ok(parseFloat(text) <= 100, `${query}: ${metric} ${text}`);
    const lines = await page.locator("#lab .lane .so-far").allTextContents();
    for (const line of lines) for (const [, share] of line.matchAll(/([\d.]+) %/g)) assert.ok(Number(share) <= 100, line);
    const waits = await page.locator("#lab .lane .plot.waits").evaluateAll((plots) => plots.map(({ series }) => series.data));
    for (const [, average, longest] of waits) average.forEach((wait, column) => assert.ok(wait === null || wait <= longest[column] + 1e-9, `${query}, column ${column}: ${wait} and ${longest[column]}`));
  }
  assert.deepEqual(trouble, []);
});

test("a single program shows no fairness", async (t) => {
  const { page } = await open(t, "?lab=1&clients=1x4&laws=adaptive&at=1min");
  await page.waitForSelector("#lab[data-state=rests]");
  assert.match(await page.locator("#lab .lane").innerText(), /Shares of clients: there is only one/);
});

test("numbers are grouped from ten thousand on, and never shortened", async () => {
  const { number } = await vite.ssrLoadModule("/src/plot/number.ts");
  for (const [value, digits, expected] of [
    [890_835, 9, "890\u202f835"], [6_060.4, 2, "6060"], [12_345.6789, 9, "12\u202f345.6789"], [1_234_567, 3, "1\u202f234\u202f567"],
    [9_999.6, 3, "10\u202f000"], [0.00012, 3, "0.00012"], [0, 3, "0"], [null, 3, "–"], [NaN, 3, "–"],
  ]) assert.equal(number(value, digits), expected);
});

test("a burst that exceeds its plot is labelled", async (t) => {
  const { page } = await open(t, "?lab=1&preset=day&laws=none,adaptive&at=1h");
  await page.waitForSelector("#lab[data-state=rests]");
  for (const lane of await page.locator("#lab .lane").all()) {
    const [most, axis] = await lane.locator(".plot.served").evaluate(({ series }) => [Math.max(...series.data[1]), series.y.max]);
    const said = await lane.locator(".peak").innerText();
    assert.ok(most > axis, `${most} of ${axis}`);
    assert.ok(Math.abs(Number(/^up to ([\d.]+) ↑$/.exec(said)?.[1]) / most - 1) < 0.01, said);
  }
});

test("a finished run that is lengthened continues to its new end", async (t) => {
  const { page } = await open(t, "?lab=1&end=2min&laws=adaptive");
  await finish(page);
  await page.evaluate(() => { for (const details of document.querySelectorAll("#lab .controls details")) details.open = true; });
  await rerun(page, "adaptive", () => page.getByLabel("Length of the run", { exact: true }).fill("5"));
  assert.match(await page.locator("#lab .bar .time").textContent(), /^5:00 min of 5:00 min/);
});

test("every law has the registry's one-line description", async (t) => {
  const { page } = await open(t, "?lab=1&at=1min");
  await page.waitForSelector("#lab[data-state=rests]");
  const { lineOf } = await vite.ssrLoadModule("/src/lab/laws.ts");
  const offered = await page.locator("#lab .add-law option").allTextContents();
  assert.ok(offered.length > 20, `${offered.length} laws`);
  for (const law of offered) assert.ok(lineOf(law), `${law} has no line`);
  const readme = fs.readFileSync(path.join(import.meta.dirname, "../../README.md"), "utf8");
  const table = [...readme.slice(readme.indexOf("## The laws")).matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm)];
  assert.ok(table.length >= 13);
  for (const [, law, line] of table) assert.equal(lineOf(law), line.replaceAll("`", ""), law);
});

test("no placeholder is cut off", async (t) => {
  for (const width of [360, 1280]) {
    const { page } = await open(t, "?lab=1&at=1min&own=mine:backoff&laws=adaptive,mine", { width });
    await page.waitForSelector("#lab[data-state=rests]");
    await page.evaluate(() => { for (const details of document.querySelectorAll("#lab details")) details.open = true; });
    const cut = await page.locator("#lab input[placeholder]:not([placeholder=''])").evaluateAll((inputs) => inputs.filter((input) => {
      const style = getComputedStyle(input);
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = style.font;
      return pen.measureText(input.placeholder).width > input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    }).map(({ placeholder, labels }) => `${labels[0].textContent}: ${placeholder}`));
    assert.deepEqual(cut, [], `at ${width} pixels`);
  }
});

test("hundreds of runs leave nothing behind", async (t) => {
  const { page, context } = await open(t, "?lab=1&end=20s&laws=adaptive,no-gate");
  await page.waitForSelector("#lab[data-state]");
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const counts = async () => {
    await page.waitForSelector("#lab[data-state=runs], #lab[data-state=over]");
    // Garbage is not collected at once.
    for (let time = 0; time < 5; time++) {
      await page.waitForTimeout(400);
      await session.send("HeapProfiler.collectGarbage");
    }
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.filter(({ name }) => ["Nodes", "JSEventListeners"].includes(name)).map(({ name, value }) => [name, value]));
  };
  const restarts = (times) => page.evaluate(async (times) => {
    const restart = [...document.querySelectorAll("#lab .bar button")].find((button) => button.textContent === "Restart");
    for (let time = 0; time < times; time++) {
      restart.click();
      await new Promise((done) => setTimeout(done, 60));
    }
  }, times);
  await restarts(20);
  const before = await counts();
  await restarts(200);
  const after = await counts();
  t.diagnostic(JSON.stringify({ before, after }));
  assert.ok(after.Nodes <= before.Nodes + 100 && after.JSEventListeners <= before.JSEventListeners + 4);
});

test("a link that is not understood still opens the laboratory", async (t) => {
  const { page, trouble, address } = await open(t, "?lab=1");
  for (const [query, said] of [
    ["?lab=1&server=castle&laws=<script>alert(1)</script>&end=never", /server was not understood.*laws was not understood|end was not understood/s],
    ["?lab=1&laws=adaptive,telepathy", /unknown laws: telepathy/], ["?lab=7&preset=nowhere&%E0%A4%A=1", /version/],
    ["?lab=1&clients=5x2,law:telepathy", /there is no law/],
  ]) {
    await page.goto(`${address}${query}#lab`);
    await page.waitForFunction((source) => new RegExp(source, "s").test(document.querySelector("#lab .notices")?.textContent + document.querySelector("#lab .fault")?.textContent), said.source);
  }
  assert.deepEqual(trouble, []);
});

test("it fits phones and wide screens, and axe finds no violation", async (t) => {
  const axe = fs.readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
  for (const [width, dark] of [[360, false], [360, true], [1280, false], [1920, true]]) {
    const { page, trouble } = await open(t, "?lab=1&preset=h&laws=vegas,gradient2,tchannel,adaptive&at=5min", { width, dark });
    await page.waitForSelector("#lab[data-state=rests]");
    await page.evaluate(() => document.querySelectorAll("#lab details").forEach((details) => { details.open = true; }));
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing sticks out");
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await window.axe.run("#lab")).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`));
    assert.deepEqual(violations, [], `${width} ${dark ? "dark" : "light"}`);
    assert.deepEqual(trouble, []);
  }
});

test("nothing shifts while the laboratory loads and runs", async (t) => {
  for (const width of [360, 1280]) {
    const { page } = await open(t, "?lab=1", { width, before: watchShifts });
    await page.waitForTimeout(3_000);
    const shifts = await shiftsOf(page);
    t.diagnostic(`layout shift ${shifts.reduce((sum, { value }) => sum + value, 0).toFixed(4)} at ${width} pixels`);
    assert.deepEqual(shifts.filter(({ value }) => value >= 0.005), []);
  }
});

/** Reads a value until it has been the same for a second, and returns it. */
async function stands(read) {
  for (let was, is = await read(); ; is = await read()) {
    if (is === was) return is;
    was = is;
    await new Promise((done) => setTimeout(done, 1_000));
  }
}

test("it pauses out of view, and shows the end if reduced motion is preferred", async (t) => {
  const { page, trouble } = await open(t, "?lab=1&end=10min&speed=2");
  await page.waitForSelector("#lab[data-state=runs]");
  const time = () => page.locator("#lab .bar .time").textContent();
  await page.evaluate(() => {
    document.body.append(Object.assign(document.createElement("div"), { style: "height: 3000px" }));
    window.scrollTo({ top: 1e6, behavior: "instant" });
  });
  // The browser may notice late, but in the end it stands still.
  const before = await stands(time);
  await page.locator("#lab .bar").scrollIntoViewIfNeeded();
  await page.waitForFunction((before) => document.querySelector("#lab .bar .time").textContent !== before, before);
  assert.ok(!new URL(page.url()).search.includes("at="), "nobody has stopped it");
  assert.deepEqual(trouble, []);
  const quiet = await open(t, "?lab=1&end=1min", { still: true });
  await quiet.page.waitForSelector("#lab[data-state=over]");
  assert.deepEqual(quiet.trouble, []);
});
