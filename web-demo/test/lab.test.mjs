// The laboratory: its state in the address and in files, its figures compared with the simulator's, and its controls.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { beyond, leavesNothing, scenario, show, simulator, site, sources, unreached, violations, visit } from "./harness.mjs";

const [link, { USUAL }, { APIS, PRESETS, preset }, { lineOf, worldOf }, { Lane, columnWidth }, { best }, { title }, { number }, { together }, { decode }, { Simulator }] = await sources(
  ...["link", "state", "presets", "laws", "lane", "metric", "words"].map((name) => `lab/${name}`), "plot/number",
  ...["together", "frame", "simulator"].map((name) => `engine/${name}`),
);
const engine = await simulator(Simulator, "lab");
const files = { parse: async (file) => engine.parse(file), print: async (scenario) => engine.print(scenario) };

/** The query of a state: a preset or the default scenario, with other keys. */
async function lab({ preset: name = "", laws = ["adaptive", "no-gate"], seed = 1, speed = 0, at = null, ...keys } = {}) {
  const { scenario } = name ? await preset(name, files) : USUAL;
  const isChanged = Object.keys(keys).length > 0;
  return link.write({ base: isChanged ? "" : name, scenario: { ...scenario, ...keys }, laws, seed, speed, at }, files);
}

/** Runs a scenario file in the laboratory's module. */
function run(file, law, seed) {
  const [world] = engine.open(file, law, seed);
  engine.advance(world, Infinity);
  const outcome = { metrics: engine.metrics(world), digest: engine.digest(world) };
  engine.close(world);
  return outcome;
}

const read = (query) => link.read(query, files);

test("a state survives its address", async () => {
  for (const { name } of PRESETS) {
    for (const [base, seed, speed, at] of [[name, 1, 0, null], ["", Number.MAX_SAFE_INTEGER, 0.5, 12_345_000]]) {
      const was = { ...await preset(name, files), base, seed, speed, at };
      const query = await link.write(was, files);
      assert.match(query, /^\?[\w=&,.+%-]+$/, "a browser leaves the address as it is");
      assert.deepEqual(await link.read(query, files), was, name);
    }
  }
  assert.deepEqual(await link.read("", files), USUAL);
});

test("a damaged or hostile address is rejected with a sentence", async () => {
  const packed = (text) => `?scenario=${deflateRawSync(text).toString("base64url")}`;
  const file = (end, server, clients = "") => packed(`end = "${end}"\n[server.bucket]\nburst = 1\nrate = "1/s"\n${server}\n[[clients]]\n${clients}`);
  for (const [query, part] of [
    ["?scenario=1", /damaged/], ["?scenario=%%%", /damaged/], [`?scenario=${"x".repeat(8_001)}`, /too long/], [packed("x".repeat(5_000_000)), /damaged/],
    [packed("null"), /./], [packed(""), /missing field `end`/], [file("never", ""), /is not a time like/], [file("1min", "castle = {}"), /unknown field `castle`/],
    [file("1min", "", 'law = "telepathy"'), /there is no law "telepathy"/], [file("1min", "", "threads = 9999999"), /at most 1048576/],
    [file("1min", "", "processes = 4000"), /4000 programs are too many for a page/], [file("1min", "", "threads = 30000"), /30000 workers/],
    [file("24h", "", "").replace("x", "x"), null], [packed('end = "24h"\nbin = "10ms"\n[server.bucket]\nburst = 1\nrate = "1/s"\n[[clients]]'), /bins are too many/],
    [file("1min", "", "\n[[clients]]".repeat(200)), /groups of clients/], ["?preset=../../etc/passwd", /no preset/],
    ["?seed=-1", /seed is not a number/], ["?seed=x", /seed/], ["?speed=1e99", /speed/], ["?at=then", /at/],
    ["?laws=a,b,c,d,e,f,g", /more than 6 laws/], [`?laws=${"x".repeat(41)}`, /too long a name/],
  ]) {
    if (part === null) await link.read(query, files);
    else await assert.rejects(link.read(query, files), (error) => part.test(error.message) && error.message.length < 400, `${query.slice(0, 60)}, ${part}`);
  }
  assert.equal((await link.read("?at=1e9", files)).at, 20 * 60e6);
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
async function open(t, { width, height, dark, still, before: earlier, ...keys } = {}) {
  const { url: address } = await site(t);
  const before = async (page) => { await watchEnd(page); await earlier?.(page); };
  const visitor = await visit(t, `${address}lab.html${await lab(keys)}`, { width, height, dark, still, before });
  const opened = { ...visitor, address: `${address}lab.html` };
  await ready(opened);
  return opened;
}

/** Waits until the lanes of the address are there, or their rejection. */
async function ready({ page }) {
  await show(page, "lab");
  await page.waitForSelector("#lab[data-state] .lane, #lab .stage > .fault[role=alert]:not(:empty)");
}

/** Opens another state in the same page. */
async function reopen(visitor, keys) {
  await visitor.page.goto("about:blank"); // navigating to the present address does not reload the page
  await visitor.page.goto(`${visitor.address}${await lab(keys)}`);
  await ready(visitor);
}

/** The state in the page's address. */
const kept = (page) => read(new URL(page.url()).search);

/** Waits until the state in the address fulfils a condition. */
async function keeps(page, condition) {
  for (;;) {
    const is = await kept(page);
    if (condition(is)) return is;
    await page.waitForTimeout(50);
  }
}

const button = (page, name) => page.locator("#lab").getByRole("button", { name });

const unfold = (page) => page.evaluate(() => { for (const details of document.querySelectorAll("#lab details")) details.open = true; });

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

/** Runs the exported file in the simulator. "No gate" is the law none without hints. */
async function expected(page, { laws, seed }) {
  const file = await exported(page);
  const whole = engine.parse(file);
  const { hints, ...server } = whole.server;
  const bare = engine.print({ ...whole, server });
  return Object.fromEntries(laws.map((law) => [law, law === "no-gate" ? run(bare, "none", seed) : run(file, law, seed)]));
}

/** Chooses a preset and waits until its lanes are there. */
async function choose(page, name) {
  await page.locator("#lab .lane").evaluateAll((lanes) => lanes.forEach((lane) => { lane.dataset.old = ""; }));
  if (APIS.some((api) => api.name === name)) await page.locator(`#lab [data-preset="${name}"]`).click();
  else await page.getByLabel("or an example").selectOption(name);
  await keeps(page, ({ base }) => base === name);
  await page.waitForFunction(() => !document.querySelector("#lab .lane[data-old]"));
}

/** The scenario as the page shows it. */
const exported = (page) => page.locator("#lab .take .file").nth(1).textContent();

test("presets show the simulator's figures, to the last digit", async (t) => {
  const visitor = await open(t);
  const { page, trouble } = visitor;
  // A bucket with "No gate", a window with all hints, and a queue with a law in two parts.
  for (const name of ["shopify", "e-5-reset", "h"]) {
    await choose(page, name);
    const { laws } = await preset(name, files);
    await page.waitForFunction((laws) => document.querySelectorAll("#lab .figures tbody tr").length === laws, laws.length);
    await finish(page);
    assert.deepEqual(await figures(page), await expected(page, { laws, seed: 1 }), name);
    assert.equal(new URL(page.url()).search, `?preset=${name}&laws=${laws.join().replace("+", "%2B")}`);
    if (name !== "shopify") assert.deepEqual(run(await exported(page), "adaptive", 1), run(scenario(name), "adaptive", 1), "the repository's own scenario");
  }
  assert.deepEqual(trouble, []);
});

/** Waits until the run that `act` starts is over. */
async function rerun(page, act) {
  // Another run has another lane, even if its figures are equal.
  await page.locator("#lab .lane").evaluateAll((lanes) => lanes.forEach((lane) => { lane.dataset.old = ""; }));
  await act();
  await page.waitForFunction(() => document.getElementById("lab").dataset.state === "over" && !document.querySelector("#lab .lane[data-old]"));
}

const WINDOW = { window: { limit: 20, width: "10s" } };

/** A world for the controls of one section; controls that make a difference only in another are passed. */
const WORLDS = [
  { only: "Server", passed: ["Per: unit"] },
  { only: "Server", server: WINDOW },
  { only: "Server", server: { queue: { workers: 2, places: 4, service: "500ms" } } },
  { only: "Server", server: { autoscaling: { least: "5/s", most: "40/s", target: 0.7, period: "5s", credit: "1min" } }, passed: ["At most", "At most: period"] },
  { only: "Server", server: { autoscaling: { least: "2/min", most: "43200/d", target: 0.2, period: "5s", credit: "1min" } } },
  { only: "Hints", server: WINDOW, hints: { retry_after: "honest", remaining: "honest", reset: "honest", quota: "honest" }, passed: ["Remaining ×", "Reset", "Limit and period"] },
  { only: "Hints", hints: { retry_after: { always: "3s" } }, passed: ["Reset", "Limit and period"] },
  { only: "Hints", hints: { remaining: { always: 5 } }, law: "heroku-remaining", passed: ["Reset", "Limit and period"] },
  { only: "Hints", hints: { remaining: { times: 2 } }, law: "heroku-remaining", passed: ["Limit and period"] },
  { only: "Hints", server: WINDOW, hints: { remaining: "honest", reset: { always: "5s" } }, passed: ["Limit and period"] },
  { only: "Hints", hints: { quota: { always: { limit: 50, period: "1min" } } } },
  { only: "Clients", clients: [{ processes: 5, threads: 2, law: "aimd", from: "1ms" }], passed: ["Demand per worker"] },
  { only: "Clients", clients: [{ processes: 5, threads: 2, demand: { work: 2 } }] },
  { only: "Clients", clients: [{ processes: 5, threads: 2, demand: { think: "500ms" } }] },
  { only: "Clients", clients: [{ processes: 5, threads: 2, demand: { on_off: { on: "10s", off: "5s" } } }] },
  { only: "World" },
  { only: "World", latency: { lognormal: { median: "40ms", sigma: 0.5 } } },
];

/**
 * Changes one control of a section that is not in `done`, including those that appear later. Choices come last and from
 * the end, because those before them decide which others there are.
 */
async function turn({ only, done }) {
  const shown = () => [...document.querySelectorAll("#lab .take .file")].map(({ textContent }) => textContent);
  const before = shown();
  for (const details of document.querySelectorAll("#lab .controls details")) details.open = true;
  const inSection = (control) => control.closest(".controls > details").querySelector("summary").textContent.includes(only);
  const nameOf = (control) => control.getAttribute("aria-label") ?? control.labels[0].textContent;
  const all = [...document.querySelectorAll("#lab .side .field :is(input, select), #lab .side .check input")]
    .filter((control) => inSection(control) && control.checkVisibility() && !control.disabled);
  const names = all.map(nameOf);
  const left = all.filter((_, index) => !done.includes(names[index]));
  const control = left.find((control) => !(control instanceof HTMLSelectElement)) ?? left.at(-1);
  if (control) {
    // Among a law's choices the last differs most; elsewhere the next one differs.
    if (control instanceof HTMLSelectElement) control.selectedIndex = control.options[0].value === "" ? control.options.length - 1 : (control.selectedIndex + 1) % control.options.length;
    else if (control.type === "checkbox") control.checked = !control.checked;
    else control.value = control.value === "" ? "3" : String(Math.min(control.max || Infinity, Number(control.value) * 2 + (control.step === "any" ? 0 : 1)));
    for (const event of ["input", "change"]) control.dispatchEvent(new Event(event, { bubbles: true }));
    // The file of the changed state appears a little later; a state that is rejected has none.
    for (let wait = 0; wait < 200 && (shown().join() === before.join() || !shown()[1]); wait++) await new Promise((done) => setTimeout(done, 10));
  }
  return { names, turned: control && nameOf(control), shown: shown() };
}

test("every control changes the outcome", async (t) => {
  const visitor = await open(t, { at: 0 });
  const { page, trouble } = visitor;
  const visible = new Set();
  const effective = new Set();
  for (const { only, passed = [], law = "adaptive", server = { bucket: { burst: 20, rate: "10/s" } }, hints, ...keys } of WORLDS) {
    const query = await lab({ laws: [law], at: 0, end: "40s", server: { ...server, hints }, ...keys });
    const { scenario: whole, seed } = await read(query);
    const file = engine.print({ ...whole, title: title(whole) });
    /** Shows the world, without loading the page again. */
    const load = async () => {
      await page.evaluate(async ([query, file]) => {
        const pause = () => new Promise((done) => setTimeout(done, 10));
        const go = (query) => { history.pushState(null, "", query); dispatchEvent(new PopStateEvent("popstate")); };
        // A change that is still being written replaces the address, and an address that stays is not read again.
        for (;; go("?seed=9"), await pause()) {
          go(query);
          for (let wait = 0; wait < 100; wait++, await pause()) if (document.querySelectorAll("#lab .take .file")[1].textContent === file) return;
        }
      }, [query, file]);
      return outcome([` --seeds ${seed}`, file]);
    };
    /** The simulator's figures of a state, from its command and its file. */
    const outcome = ([command, file]) => JSON.stringify(run(file, law, Number(/ --seeds (\d+)/.exec(command)[1])));
    let before = await load();
    // A control that has had an effect in another world is passed.
    const known = [...effective].filter((control) => control.startsWith(`${only}: `)).map((control) => control.slice(only.length + 2));
    for (const done = [...passed, ...known]; ;) {
      const { names, turned, shown } = await page.evaluate(turn, { only, done });
      for (const name of names) visible.add(`${only}: ${name}`);
      if (!turned) break;
      done.push(turned);
      let after = before;
      try { after = outcome(shown); } catch { /* The simulator rejects it. */ }
      if (after !== before) effective.add(`${only}: ${turned}`);
      before = after !== before ? after : await load();
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
  const { page, trouble } = await open(t, { end: "5min", laws: ["none", "adaptive"], speed: 1 });
  for (const name of ["halve the limit", "double the clients", "halve the clients", "outage"]) {
    await goesOn(page);
    const before = page.url();
    await page.locator("#lab .now").getByRole("button", { name }).click();
    await page.waitForURL((now) => now.href !== before);
    await page.waitForFunction(() => document.getElementById("lab").dataset.state === "runs");
  }
  const is = await keeps(page, ({ scenario }) => scenario.server.outages?.length);
  const { server: { bucket: { steps: [step] }, outages: [outage] }, clients } = is.scenario;
  assert.ok(parseFloat(step.at) > 0 && step.rate === "5/s", JSON.stringify(step));
  assert.ok(clients.some(({ from }) => from) && clients.some(({ to }) => to) && outage.from !== step.at);
  assert.equal(await page.locator("#lab .events li").count(), 1 + 1 + 1 + clients.filter(({ to }) => to).length);
  await finish(page);
  const seen = await figures(page);
  assert.deepEqual(seen, await expected(page, is));
  assert.notEqual(seen.adaptive.metrics.recovery_s, null, "an outage is measured");
  await page.reload();
  await page.waitForSelector("#lab .lane");
  await finish(page);
  assert.deepEqual(await figures(page), seen, "the address says it all");
  // Each change can be removed.
  await rerun(page, () => page.locator("#lab .events button").first().click());
  assert.notEqual((await figures(page)).adaptive.digest, seen.adaptive.digest);
  assert.deepEqual(trouble, []);
});

test("a paused run is at the position in its address", async (t) => {
  const { page, trouble } = await open(t, { at: 120e6 });
  await page.waitForSelector("#lab[data-state=rests]");
  await page.waitForFunction(() => document.querySelector("#lab .time").textContent.startsWith("2:00 min"));
  const before = await page.locator("#lab .lane .so-far").first().textContent();
  await page.waitForTimeout(500);
  assert.equal(await page.locator("#lab .lane .so-far").first().textContent(), before);
  await button(page, "Step").click();
  await keeps(page, ({ at }) => at === 124e6);
  await button(page, "Play").click();
  await keeps(page, ({ at }) => at === null);
  await button(page, "Pause").click();
  await keeps(page, ({ at }) => at > 124e6);
  assert.deepEqual(trouble, []);
});

test("an action while it catches up applies at the target position", async (t) => {
  const { page, trouble } = await open(t, { at: 120e6 });
  await page.waitForSelector("#lab[data-state=rests]");
  await page.evaluate(() => {
    const step = [...document.querySelectorAll("#lab .bar button")].find((button) => button.textContent === "Step");
    for (let at = 0; at < 20; at++) setTimeout(() => step.click(), at * 7);
  });
  await keeps(page, ({ at }) => at === 200e6);
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
  const { scenario } = await keeps(page, ({ scenario }) => scenario.clients.length > 1);
  assert.deepEqual([scenario.server.bucket.steps[0].at, scenario.clients.at(-1).from], ["200s", "200s"]);
  assert.deepEqual(trouble, []);
});

test("a rejection is shown until it is corrected, and the previous run continues", async (t) => {
  const visitor = await open(t, { end: "10min", laws: ["none", "adaptive", "aimd"], speed: 10 });
  const { page, trouble } = visitor;
  const fault = page.locator("#lab .stage > [role=alert]");
  await page.waitForSelector("#lab[data-state=runs]");
  await unfold(page);
  await page.getByLabel("Join at", { exact: true }).fill("7200");
  await fault.getByText("The plots show the previous run").waitFor();
  await goesOn(page);
  await page.locator("#lab").getByLabel("Speed").selectOption("1");
  await button(page, "Remove none").click();
  await page.waitForTimeout(500);
  assert.match(await fault.textContent(), /The plots show the previous run/);
  assert.equal(await page.locator("#lab .lane").count(), 3, "what is throttled takes no lane away");
  await page.getByLabel("Join at", { exact: true }).fill("0");
  await page.waitForFunction(() => document.querySelectorAll("#lab .lane").length === 2);
  assert.equal(await fault.textContent(), "");
  await finish(page);
  assert.deepEqual(await figures(page), await expected(page, await kept(page)));

  await reopen(visitor, { laws: ["adaptive", "adaptive+oracle", "foo+bar"] });
  await page.locator("#lab .notice").getByText("foo+bar").waitFor();
  await fault.getByText("adaptive+oracle").waitFor();
  await button(page, "Remove adaptive+oracle").click();
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Remove adaptive");
  await page.waitForSelector("#lab .lane .plot canvas");
  assert.equal(await fault.textContent(), "");
  assert.deepEqual(trouble, []);
});

test("removing a law keeps the focus and the tables of the others, and leaves nothing behind", async (t) => {
  const { page, trouble } = await open(t, {
    at: 60e6, laws: ["none", "adaptive", "aimd"],
    before: (page) => page.addInitScript(() => {
      window.watched = 0;
      window.ResizeObserver = class extends ResizeObserver {
        #own = 0;
        observe(element) { if (element.closest("#lab")) { window.watched++; this.#own++; } super.observe(element); }
        disconnect() { window.watched -= this.#own; super.disconnect(); }
      };
    }),
  });
  const drawn = (lanes) => page.waitForFunction((lanes) => window.watched === 4 * lanes && document.querySelectorAll("#lab .lane .uplot").length === 4 * lanes, lanes);
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
  await keeps(page, ({ seed }) => seed === 7);
  await page.waitForFunction(() => document.getElementById("lab").dataset.state === "rests");
  await drawn(2);
  assert.deepEqual(await page.locator("#lab .lane > details").evaluateAll((all) => all.map(({ open }) => open)), [false, true]);
  assert.deepEqual(trouble, []);
});

async function saved(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), button(page, name).click()]);
  return { name: download.suggestedFilename(), content: fs.readFileSync(await download.path()) };
}

test("numbers and scenario can be exported, and the numbers add up to the figures", async (t) => {
  const { page, trouble } = await open(t, { preset: "e-5", end: "10min", laws: ["adaptive", "backoff", "adaptive+vegas"] });
  await finish(page);
  const seen = await figures(page);
  const numbers = await saved(page, /CSV/);
  assert.equal(numbers.name, "tidegate-lab.csv");
  const [head, ...lines] = numbers.content.toString().trim().split("\n").map((line) => line.split(","));
  assert.deepEqual(head, ["law", "from_s", "served", "throttled", "sent", "mean_wait_s"]);
  for (const [law, { metrics }] of Object.entries(seen)) {
    const own = lines.filter((line) => line[0] === law);
    const sum = (column) => own.reduce((sum, line) => sum + Number(line[column]), 0);
    assert.equal(own.length, 600);
    assert.equal(sum(3), metrics.throttles);
    assert.equal(sum(2) + sum(3), metrics.calls);
    assert.ok(metrics.util <= Math.min(1, sum(2) / 1_000), "100 a minute for ten minutes could be served");
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
  assert.equal(file.name, "tidegate-lab.toml");
  assert.equal(file.content.toString(), await exported(page));
  assert.deepEqual(trouble, []);
});

test("a scenario can be pasted, and an invalid one is rejected with a message", async (t) => {
  const { page, trouble } = await open(t, { laws: ["adaptive", "none"] });
  await page.getByText("Import a scenario").click();
  const text = page.getByLabel("Paste a scenario file", { exact: true });
  await text.fill("end = \"1min\"\n[server.bucket]\nburst = 5\nrate = \"2/weeks\"");
  await button(page, "Run it").click();
  await page.getByText("is not a rate like").waitFor();
  await text.fill(scenario("j-5"));
  await button(page, "Run it").click();
  const is = await keeps(page, ({ scenario }) => scenario.convergence);
  await finish(page);
  assert.deepEqual((await figures(page)).none, run(scenario("j-5"), "none", 1));
  assert.deepEqual(is.scenario, engine.parse(scenario("j-5")));
  const own = (name) => `end = "1min"\n[server.bucket]\nburst = 5\nrate = "2/s"\n[[clients]]\n[laws."${name}".fixed]\nrate = "1/s"`;
  await text.fill(own("a,b"));
  await button(page, "Run it").click();
  await page.getByText('cannot run a law named "a,b"').waitFor();
  await text.fill(own("mine"));
  await button(page, "Run it").click();
  assert.deepEqual((await keeps(page, ({ scenario }) => scenario.laws)).laws, ["mine", "adaptive", "none"]);
  await text.fill(scenario("j-5"));
  await button(page, "Run it").click();
  assert.deepEqual((await keeps(page, ({ scenario }) => !scenario.laws)).laws, ["adaptive", "none"]);
  await text.fill("title = \"impossible\"\nend = \"1min\"\n[server.window]\nlimit = 5\nwidth = \"1s\"\n[[clients]]\nfrom = \"2min\"");
  await button(page, "Run it").click();
  await page.getByText("clients must join before they leave").waitFor();
  const noise = Array.from({ length: 5_000 }, (_, at) => String.fromCharCode(0x4e00 + (at * 7_919) % 20_000)).join("");
  await text.fill(`title = "${noise}"\nend = "1min"\n[server.bucket]\nburst = 5\nrate = "2/s"\n[[clients]]`);
  const address = page.url();
  await button(page, "Run it").click();
  await page.locator("#lab .fault[role=status]").getByText("too long for a link").waitFor();
  assert.equal(page.url(), address, "no address that would not be read again");
  await button(page, "Copy the link").click();
  await page.locator("#lab .done").getByText("too long for a link").waitFor();
  assert.deepEqual(trouble, []);
});

test("every API has more clients than its limit serves", async () => {
  for (const { name } of APIS) {
    const { scenario } = await preset(name, files);
    const [law, bare] = worldOf("no-gate", { ...scenario, end: "2min" });
    const { metrics } = run(engine.print(bare), law, 1);
    // A bucket that begins full, or an hour's window, lasts for a while.
    assert.ok(metrics.throttled > 0.2 || name === "github", `${name}: ${metrics.throttled}`);
  }
});

test("five seeds are compared in one sentence", async (t) => {
  const { page, trouble } = await open(t, { preset: "anthropic", laws: ["no-gate", "backoff", "adaptive"], at: 0 });
  await button(page, "Compare over five seeds").click();
  await page.locator("#lab .spread .scroll").waitFor();
  const sentence = await page.locator("#lab .outcome").textContent();
  const rows = Object.fromEntries(await page.locator("#lab .spread tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[0].textContent, [...row.querySelectorAll("td")].map((cell) => cell.textContent)])));
  const [none, gate] = [rows["no-gate"], rows.adaptive];
  assert.ok(sentence.startsWith(`5 runs of 20 min. Without a gate: ${none[1]} of calls wasted. With adaptive: ${gate[1]}. Share of the limit used: ${none[3]} and ${gate[3]}.`), sentence);
  assert.ok(parseFloat(none[0]) > 50 && parseFloat(gate[0]) < 20, sentence);
  await page.locator("#lab").getByLabel("Programs", { exact: true }).fill("3");
  await page.waitForFunction(() => document.querySelector("#lab .outcome").textContent === "");
  assert.deepEqual(trouble, []);
});

test("a preset is marked until it is changed", async (t) => {
  const { page } = await open(t, { preset: "stripe", at: 0 });
  const stripe = page.locator('#lab [data-preset="stripe"]');
  assert.equal(await stripe.getAttribute("aria-pressed"), "true");
  assert.match(await page.locator("#lab .hint").textContent(), /one common plan/);
  await page.locator("#lab").getByLabel("Programs", { exact: true }).fill("3");
  assert.equal(await stripe.getAttribute("aria-pressed"), "false");
  assert.equal(await page.locator("#lab .hint").textContent(), "");
  await keeps(page, ({ base, scenario }) => base === "" && scenario.clients[0].processes === 3);
});

test("several changes of one field make one entry of the history", async (t) => {
  const { page } = await open(t, { at: 0 });
  const before = await page.evaluate(() => history.length);
  const [programs, workers] = ["Programs", "Workers in each"].map((name) => page.locator("#lab").getByLabel(name, { exact: true }));
  for (const number of [6, 7, 8]) {
    await programs.press("ArrowUp");
    await keeps(page, ({ scenario }) => scenario.clients[0].processes === number);
  }
  await workers.press("ArrowUp");
  await keeps(page, ({ scenario }) => scenario.clients[0].threads === 3);
  assert.equal(await page.evaluate(() => history.length), before + 2);
  await page.goBack();
  await keeps(page, ({ scenario }) => scenario.clients[0].threads === 2 && scenario.clients[0].processes === 8);
  await page.goBack();
  await keeps(page, ({ scenario }) => scenario.clients[0].processes === 5);
});

test("a limit of 0 says what is wrong", async (t) => {
  const { page } = await open(t, { at: 0 });
  await page.locator("#lab").getByLabel("Limit", { exact: true }).fill("0");
  await page.locator("#lab .stage > [role=alert]", { hasText: "the rate must be above 0" }).waitFor();
});

test("the best wait is that of a law whose calls were all served", () => {
  const row = (wait, throttles, lost = 0) => ({ wait_p99_ms: wait, latency_p99_ms: wait, throttles, lost });
  assert.deepEqual(best("wait_p99_ms", [row(0, 5), row(20, 0), row(30, 0)]), [1]);
  assert.deepEqual(best("wait_p99_ms", [row(0, 5), row(20, 1)]), []);
  assert.deepEqual(best("latency_p99_ms", [row(0, 5, 1), row(20, 1)]), [1]);
});

test("the plot of a long window shows how it is spent", async (t) => {
  const { page } = await open(t, { server: { window: { limit: 100, width: "1h", phase: "0s" } }, end: "2h", bin: "10s", laws: ["no-gate"], still: true });
  await page.waitForSelector("#lab[data-state=over]");
  const { data, y } = await page.locator("#lab .plot.served").evaluate(({ series }) => ({ data: series.data, y: series.y.max }));
  assert.ok(y >= 100 && Math.max(...data[1]) === 100 && data[2].every((limit) => limit === 100), `${y}`);
});

test("the laboratory has no violation for axe, shows every focus, and fits every width from both sides", async (t) => {
  const { page, trouble } = await open(t, { end: "1min", still: true, laws: ["adaptive", "backoff", "no-gate"] });
  await page.waitForSelector("#lab[data-state=over]");
  assert.deepEqual(await unreached(page), []);
  await unfold(page);
  for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 360]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await violations(page), [], `${colorScheme}, ${width} pixels`);
  }
  assert.deepEqual(trouble, []);
  for (const width of [320, 360, 768, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForTimeout(300);
    assert.deepEqual(await beyond(page), [], `${width} pixels`);
    const cut = await page.locator("#lab :is(.so-far, .time, .words, .law-line)").evaluateAll((all) => all.filter((element) => element.scrollWidth > element.clientWidth + 1).map(({ textContent }) => textContent));
    assert.deepEqual(cut, [], `cut at ${width} pixels`);
  }
});

test("Back undoes a change and restores the run", async (t) => {
  const { page, trouble } = await open(t, { end: "1min", still: true });
  await page.waitForSelector("#lab[data-state=over]");
  const first = (await figures(page)).adaptive.digest;
  const over = (end) => page.waitForFunction((end) => {
    const lab = document.getElementById("lab");
    return lab.dataset.state === "over" && lab.querySelector(".time").textContent === `${end} of ${end}`;
  }, end);
  await choose(page, "e-5");
  await over("30:00 min");
  await choose(page, "l");
  await over("5:00 min");
  await page.goBack();
  await over("30:00 min");
  assert.equal((await kept(page)).base, "e-5");
  await page.goBack();
  await over("60.0 s");
  assert.equal((await figures(page)).adaptive.digest, first);
  assert.equal(await page.locator("#lab .notice").textContent(), "");
  assert.deepEqual(trouble, []);
});

test("no share exceeds 1, and no longest wait is below the mean", async () => {
  const window = { server: { window: { limit: 20, width: "1h" } }, end: "4h", clients: [{ processes: 5 }] };
  const presets = await Promise.all(["e-5", "d-flappy", "h", "autoscaling", "i-4-1-drop"].map((name) => preset(name, files)));
  const worlds = [[window, ["no-gate", "adaptive", "aimd"]], ...presets.map(({ scenario, laws }) => [scenario, laws.slice(0, 2)])];
  for (const [whole, laws] of worlds) {
    for (const law of laws) {
      const [name, scenario] = worldOf(law, whole);
      const [number, { end, bin, processOf }] = engine.open(engine.print(scenario), name, 1);
      const processes = processOf.at(-1) + 1;
      const lane = new Lane(law, { bin, processes }, scenario, columnWidth(scenario));
      for (let now = 0; !lane.over; now += lane.width) {
        engine.advance(number, now);
        lane.take(decode(engine.frame(number), processes));
      }
      const metrics = engine.metrics(number);
      engine.close(number);
      for (const metric of Object.keys(metrics).filter((metric) => /util|throttled|jain/.test(metric))) {
        const share = metrics[metric];
        assert.ok(share === null || share <= 1 + 1e-9, `${law}, ${metric}: ${share}`);
      }
      const { waited, longest } = lane.columns;
      assert.ok(lane.now <= end && waited.length >= 100, `${waited.length} columns`);
      waited.forEach((wait, column) => assert.ok(wait === null || wait <= longest[column] + 1e-9, `${law}, column ${column}: ${wait} and ${longest[column]}`));
    }
  }
});

test("a single program shows no fairness", async (t) => {
  const { page } = await open(t, { clients: [{ threads: 4 }], laws: ["adaptive"], at: 60e6 });
  await page.waitForSelector("#lab[data-state=rests]");
  assert.match(await page.locator("#lab .lane").innerText(), /Shares of clients: there is only one/);
});

test("numbers are grouped from ten thousand on, and never shortened", () => {
  for (const [value, digits, expected] of [
    [890_835, 9, "890\u202f835"], [6_060.4, 2, "6060"], [12_345.6789, 9, "12\u202f345.6789"], [1_234_567, 3, "1\u202f234\u202f567"],
    [9_999.6, 3, "10\u202f000"], [0.00012, 3, "0.00012"], [0, 3, "0"], [null, 3, "–"], [NaN, 3, "–"],
  ]) assert.equal(number(value, digits), expected);
});

test("a burst that exceeds its plot is labelled", async (t) => {
  const { page } = await open(t, { preset: "day", laws: ["none", "adaptive"], at: 3600e6 });
  await page.waitForSelector("#lab[data-state=rests]");
  for (const lane of await page.locator("#lab .lane").all()) {
    const [most, axis] = await lane.locator(".plot.served").evaluate(({ series }) => [Math.max(...series.data[1]), series.y.max]);
    const said = await lane.locator(".peak").innerText();
    assert.ok(most > axis, `${most} of ${axis}`);
    assert.ok(Math.abs(Number(/^up to ([\d.]+) ↑$/.exec(said)?.[1]) / most - 1) < 0.01, said);
  }
});

test("a finished run that is lengthened continues to its new end", async (t) => {
  const { page } = await open(t, { end: "2min", laws: ["adaptive"] });
  await finish(page);
  await unfold(page);
  await rerun(page, () => page.getByLabel("Length of the run", { exact: true }).fill("5"));
  assert.match(await page.locator("#lab .bar .time").textContent(), /^5:00 min of 5:00 min/);
});

test("every law has the registry's one-line description", () => {
  const offered = [...engine.laws(), "adaptive+vegas", "no-gate"];
  assert.ok(offered.length > 20, `${offered.length} laws`);
  for (const law of offered) assert.ok(lineOf(law), `${law} has no line`);
  const guide = fs.readFileSync(path.join(import.meta.dirname, "../../docs/choosing.md"), "utf8");
  const table = [...guide.slice(guide.indexOf("## All laws")).matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm)];
  assert.ok(table.length >= 12);
  for (const [, law, line] of table) assert.equal(lineOf(law), line.replaceAll("`", ""), law);
});

test("no placeholder is cut off", async (t) => {
  for (const width of [360, 1280]) {
    const { page } = await open(t, { at: 60e6, laws: ["adaptive"], width });
    await page.waitForSelector("#lab[data-state=rests]");
    await unfold(page);
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
  const { page } = await open(t, { end: "20s" });
  await leavesNothing(t, page, "#lab .bar button:nth-of-type(4)", 60);
});

test("a link that is not understood says so, and opens the default state", async (t) => {
  const visitor = await open(t);
  const { page, trouble } = visitor;
  for (const [query, said] of [
    ["?scenario=1", "The link cannot be used: it is damaged. This is the default state."],
    [`?scenario=${deflateRawSync('end = "never"').toString("base64url")}`, "is not a time like"],
    ["?laws=adaptive,telepathy", "unknown laws: telepathy"],
  ]) {
    await page.goto("about:blank");
    await page.goto(`${visitor.address}${query}`);
    await page.locator("#lab .notice").getByText(said).waitFor();
    await page.waitForSelector("#lab .lane[data-law=adaptive] canvas");
    assert.match(await page.locator("#lab .words").textContent(), /^10 calls a second, in bursts of up to 20; 5 programs with 2 workers each, for 20 min$/);
  }
  assert.deepEqual(trouble, []);
});

test("it shows the end if reduced motion is preferred", async (t) => {
  const { page, trouble } = await open(t, { end: "1min", still: true });
  await page.waitForSelector("#lab[data-state=over]");
  assert.deepEqual(trouble, []);
});
