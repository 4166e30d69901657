// One budget for the tabs of real browsers: tabs that are frozen, closed, reloaded or busy, or that share with another
// version.

import assert from "node:assert/strict";
import { once } from "node:events";
import test, { after } from "node:test";
import { api, measured } from "./live.mjs";
import { Chromium, closeBrowsers, Firefox, WebKit } from "./tabs-browser.mjs";

const GATE = `
  import { tidegate } from "tidegate/tabs";
  globalThis.make = (options) => tidegate({ law: "fixed", requests: { limit: 10, per: 1_000 }, ...options });
  globalThis.missed = (gate) => new Promise((tell) => gate.on("missed", ({ error }) => tell(error?.message)));
  globalThis.gate = make();
  tell("ready");
`;

after(closeBrowsers);

/** A test in each browser. `tabs` opens tabs whose gates share a budget. */
function inEach(name, check, browsers = [Chromium, Firefox, WebKit]) {
  for (const Browser of browsers) test(`${name}, in ${Browser.name}`, (t) => check(t, (count) => tabs(t, Browser, count)));
}

async function tabs(test, Browser, count) {
  const browser = new Browser();
  await browser.start(GATE);
  test.after(() => browser.close());
  const all = [];
  for (let i = 0; i < count; i++) {
    const tab = await browser.open();
    await once(tab, "message");
    all.push(tab);
  }
  return all;
}

const call = (tab) => tab.run("gate.run(() => 7)");
const holds = (tab) => tab.run("!!gate.budget()");
const alone = (tab) => tab.run("gate.stats().alone");

inEach("the first tab holds the budget, and another one takes over if it is frozen or closed", async (t, tabs) => {
  const run = async () => {
    const all = await tabs(3);
    const [first, second, third] = all;
    for (const tab of all) assert.equal(await call(tab), 7);
    assert.deepEqual(await Promise.all(all.map(holds)), [true, false, false]);
    // Only in Chromium are tabs hidden, so that they can be frozen.
    await (first.freeze ? first.freeze(true) : first.close());
    const live = [second, third];
    while (!(await Promise.all(live.map(holds))).includes(true)) for (const tab of live) await call(tab);
    const [next, last] = (await holds(second)) ? [second, third] : [third, second];
    await next.close();
    while (!(await holds(last))) await call(last);
    if (!first.freeze) return [await alone(last)];
    await first.freeze(false);
    assert.equal(await call(first), 7);
    assert.equal(await holds(first), false);
    return Promise.all([alone(first), alone(last)]);
  };
  assert.ok(await measured(t, run, (sent) => sent.every((calls) => calls === 0)), "calls were sent without a lease");
});

inEach("a tab with a busy page loses the seat, and grants nothing before it has checked", async (t, tabs) => {
  const [busy, other] = await tabs(2);
  await call(busy);
  await call(other);
  const end = busy.run("for (const end = performance.now() + 4_000; performance.now() < end; ); gate.run(() => 8)");
  while (!(await holds(other))) await call(other);
  assert.equal(await end, 8);
  assert.deepEqual([await holds(busy), await holds(other)], [false, true]);
}, [Chromium, Firefox]);

inEach("the policy of the tab that joined last applies, and the others are told once", async (t, tabs) => {
  const all = await tabs(2);
  for (const [i, limit] of [40, 20, 40].entries()) {
    const tab = all[i % 2];
    // The third is a page that is loaded again, with the policy from before.
    if (i === 2) await tab.reload().then(() => once(tab, "message"));
    await tab.run(`(() => {
      globalThis.told = [];
      globalThis.own = make({ requests: { limit: ${limit}, per: 1_000 }, name: "policies" });
      own.on("missed", ({ error }) => error?.code === "POLICY" && told.push(error.message));
      for (let i = 0; i < 5; i++) void (async () => { for (;;) await own.run(() => 1); })();
    })()`);
    const interval = () => tab.run("(async () => { await own.run(() => 1); return own.budget()?.interval; })()");
    while ((await interval()) !== 1_000 / limit);
    const other = all[(i + 1) % 2];
    if (i) while (!(await other.run("told.length")));
    for (let i = 0; i < 10; i++) await tab.run("own.run(() => 1)");
    assert.equal(await interval(), 1_000 / limit, "an earlier policy has replaced it");
    if (i) assert.deepEqual(await other.run("told.map((message) => message.match(/\"limit\":\\d+/g))"), [[`"limit":${60 - limit}`, `"limit":${limit}`]]);
  }
}, [Chromium]);

inEach("a reloaded page continues from what was learned", async (t, tabs) => {
  const { url } = await api(t, "--limit", "1000");
  const [tab] = await tabs(1);
  const learn = (calls) => tab.run(`(async () => {
    globalThis.own = make({ law: "aimd", requests: undefined, name: "learns" });
    for (let i = 0; i < ${calls}; i++) await own.run(() => fetch("${url}"));
    return own.budget().interval;
  })()`);
  const interval = await learn(30);
  await tab.reload();
  await once(tab, "message");
  const learnt = await learn(1);
  assert.ok(interval > 0 && learnt < interval * 1.5, `${interval} ms between two calls, and then ${learnt}`);
});

inEach("a tab of another version is reported, and calls continue", async (t, tabs) => {
  const [tab, old] = await tabs(2);
  // As its messages would be, where it has the seat.
  await old.run(`new Promise((seated) => void navigator.locks.request("tidegate:other", async () => {
    const channel = new BroadcastChannel("tidegate:other");
    channel.onmessage = ({ data: { tab, id } }) => channel.postMessage({ version: 7, kind: "answer", tab, id });
    seated();
    await new Promise(() => {});
  }))`);
  const [sent, trouble] = await tab.run('(async () => { const gate = make({ name: "other" }), why = missed(gate); return [await gate.run(() => 7), await why]; })()');
  assert.equal(sent, 7);
  assert.match(trouble, /another tab uses version 7 of the protocol, and this one version 1: reload the older one/);
});

inEach("without locks, calls continue within the tab's share, and the reason is reported", async (t, tabs) => {
  const [tab] = await tabs(1);
  const [trouble, alone] = await tab.run(`(async () => {
    Object.defineProperty(navigator, "locks", { value: undefined });
    const gate = make({ name: "nowhere" }), why = missed(gate);
    await gate.run(() => 7);
    return [await why, gate.stats().alone];
  })()`);
  assert.match(trouble, /need a secure context/);
  assert.equal(alone, 1);
});

inEach("a damaged item in the storage is dropped and repaired", async (t, tabs) => {
  const [tab] = await tabs(1);
  const damaged = [
    "", "junk", "7", "[]", "{}", '{"ended":true,"budgets":null}', '{"ended":true,"budgets":{"":null}}', '{"ended":true,"budgets":{"":["x",""]}}',
    '{"ended":true,"budgets":{"":[1,"%"],"a":[2,"AAAA"]}}', '{"ended":true,"budgets":{"":[1,"AAAA"],"__proto__":7}}',
  ];
  for (const [i, item] of damaged.entries()) {
    const [alone, trouble, held, stored] = await tab.run(`(async () => {
      const name = "damaged-${i}", trouble = [];
      localStorage.setItem("tidegate:" + name, ${JSON.stringify(item)});
      const gate = make({ name });
      gate.on("missed", ({ error }) => error.message === "no answer arrived in time" || trouble.push(String(error))); // busy machine
      await Promise.all(["", "__proto__"].map((key) => gate.run(() => 7, { key })));
      const held = !!gate.budget();
      await gate.close();
      return [gate.stats().alone, trouble, held, localStorage.getItem("tidegate:" + name)];
    })()`);
    assert.deepEqual([alone, trouble, held], [0, [], true], item);
    const { ended, budgets } = JSON.parse(stored);
    assert.equal(ended, true);
    for (const key of ["", "__proto__"]) {
      assert.ok(Object.hasOwn(budgets, key) && budgets[key].length === 2, `${key} in ${stored}`);
    }
  }
});

inEach("without storage, leases continue, and the budget reports why", async (t, tabs) => {
  const [tab] = await tabs(1);
  const [unstored, alone] = await tab.run(`(async () => {
    Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
    const gate = make({ name: "full" });
    await gate.run(() => 7);
    return [gate.budget().unstored, gate.stats().alone];
  })()`);
  assert.match(unstored, /QuotaExceededError/);
  assert.equal(alone, 0);
});
