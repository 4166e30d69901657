// Calls that count against the limits of several keys: an account, a model, a route.

import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, test } from "node:test";
import { build } from "esbuild";
import { tidegate as main } from "tidegate";
import { tidegate } from "tidegate/full";
import { tidegate as local } from "tidegate/local";
import { testClock } from "tidegate/test";
import { chance } from "./tools.mjs";
import { handedOver } from "./workers.mjs";

/** The entry of edge workers, where each call polls on its own timer. */
async function onTheEdge() {
  const dist = new URL("node_modules/tidegate/dist/", import.meta.url);
  const contents = (name) => `export default new WebAssembly.Module(Buffer.from("${fs.readFileSync(new URL(`${name}.wasm`, dist), "base64")}", "base64"));`;
  const { outputFiles } = await build({ entryPoints: [new URL("full.edge-light.js", dist).pathname], bundle: true, format: "esm", write: false, plugins: [handedOver(contents)] });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
const { tidegate: edge } = await onTheEdge();
const BOTH = [];
const both = (name, run) => {
  for (const [where, make] of [["in Node", tidegate], ["on the edge", edge]]) BOTH.push([`${name}, ${where}`, (t) => run(make, t)]);
};

const nothing = () => {};
const [ACCOUNT, A, B] = ["account", "model a", "model b"];

/** A gate with a clock; each key admits one call every `ms`, at most `burst` at once. */
function paced(make, ms, burst = 1, more) {
  const { options, advance } = testClock();
  const gate = make({ law: "fixed", requests: { limit: 1, per: ms, burst }, seed: 1, queue: 100_000, ...options, ...more });
  return { gate, advance, now: options.now, timers: options.timers };
}

test("an entry whose calls have one key names the one whose calls have several", async () => {
  for (const make of [main, local]) {
    const key = ["a", "b"];
    const gate = make({ key: () => key });
    const right = { name: "PolicyError", message: 'key is ["a","b"]; it must be a string, or several in tidegate/full' };
    await assert.rejects(gate.run(nothing, { key }), right);
    await assert.rejects(gate.fetch("http://127.0.0.1:9", {}, { key }), right);
    await assert.rejects(gate.fetch("http://127.0.0.1:9"), right);
    for (const call of [() => gate.tryAcquire({ key }), () => gate.peek(key)]) assert.throws(call, right);
    await gate.close();
  }
});

test("a list of keys that is invalid is reported for all kinds of calls", async () => {
  const gate = tidegate({ keys: 2 });
  for (const [key, message] of [
    [["a", 5], /^key is 5; it must be a string/],
    [[["a"]], /^key is \["a"\]; it must be a string/],
    [{ a: 1 }, /^key is \[object Object\]; it must be a string/],
    [["a", "b", "c"], /^key is a list of 3 keys, but the option keys is 2/],
  ]) {
    const right = (error) => error.name === "PolicyError" && message.test(error.message);
    await assert.rejects(gate.run(nothing, { key }), right);
    await assert.rejects(tidegate({ key: () => key, keys: 2 }).fetch("http://127.0.0.1:9"), right);
    assert.throws(() => gate.tryAcquire({ key }), right);
  }
  assert.equal(gate.stats().keys, 0);
});

both("a call is charged to all keys or to none, and counts once for each", async (make) => {
  const { gate, advance } = paced(make, 1_000);
  gate.tryAcquire({ key: ACCOUNT }).settle();
  for (let i = 0; i < 9; i++) assert.equal(gate.tryAcquire({ key: [A, ACCOUNT] }), null);
  const waits = gate.run(nothing, { key: [ACCOUNT, A, A] });
  // The model is not charged for the wait of the account.
  assert.equal(await gate.run(() => "served", { key: A }), "served");
  assert.equal(gate.peek([A, ACCOUNT]).cause, "pacing");
  await advance(5_000);
  await waits;
  for (const key of [ACCOUNT, A]) {
    const { ok, inFlight, waiting } = gate.stats(key);
    assert.deepEqual({ ok, inFlight, waiting }, { ok: 2, inFlight: 0, waiting: 0 }, key);
  }
  assert.equal(await gate.run(() => "one key", { key: [B] }), "one key");
  assert.equal(await gate.run(() => "no key", { key: [] }), "no key");
  assert.equal(gate.stats("").ok, 1);
});

test("a peek at several keys is that of the longest wait, and soonest chooses among lists", () => {
  const { gate } = paced(tidegate, 1_000);
  gate.tryAcquire({ key: ACCOUNT });
  gate.tryAcquire({ key: A }).settle({ outcome: "throttled", retryAfter: 60_000 });
  const { wait, cause } = gate.peek([ACCOUNT, A]);
  assert.ok(wait >= 60_000);
  assert.equal(cause, "cooldown");
  assert.deepEqual(gate.peek([B, ACCOUNT]), gate.peek(ACCOUNT));
  const keys = [[ACCOUNT, A], [ACCOUNT, B]];
  assert.equal(gate.soonest(keys), keys[1]);
  assert.equal(gate.stats(ACCOUNT).admitted, 1);
});

both("calls that wait for a slow model do not slow down others of the account", async (make) => {
  const { gate, advance } = paced(make, 100);
  gate.tryAcquire({ key: A }).settle({ outcome: "throttled", retryAfter: 12_000 });
  const slow = Array.from({ length: 20 }, () => gate.run(nothing, { key: [ACCOUNT, A] }));
  let sent = 0;
  const fast = Array.from({ length: 100 }, (_, i) => gate.run(() => sent++, { key: i % 2 ? [ACCOUNT, B] : ACCOUNT }));
  await advance(10_500);
  assert.equal(sent, 100);
  await Promise.all(fast);
  await advance(10_000);
  await Promise.all(slow);
});

both("a call is served beside constant demand for each of its keys", async (make) => {
  const one = { law: "none", concurrency: 1 };
  // Policy, the costs of the others' calls, how long these take, and the longest time between two turns.
  const worlds = [
    [{}, [1, 1, 1], [0, 0, 0], 100],
    [{}, [1, 3, 7], [0, 0, 0], 700],
    [{ requests: { limit: 1, per: 100, burst: 3 } }, [1, 2, 1], [70, 0, 0], 200],
    [one, [1, 1, 1], [20, 20, 20], 20],
    [one, [1, 1, 1], [500, 13, 200], 500],
    [{ concurrency: 1 }, [1, 1, 1], [70, 300, 10], 300],
  ];
  for (const [world, [policy, costs, takes, turn]] of worlds.entries()) {
    for (const keys of [[ACCOUNT, A], [A, ACCOUNT], [B, A, ACCOUNT]]) {
      const { gate, advance, timers } = paced(make, 100, 7, policy);
      let goesOn = true;
      const others = [ACCOUNT, A, B].flatMap((key, i) => Array.from({ length: 3 }, async () => {
        const options = { key, cost: costs[i] };
        while (goesOn) await gate.run(() => takes[i] && new Promise((wake) => timers.setTimeout(wake, takes[i])), options);
      }));
      await advance(turn);
      for (let call = 0; call < 2; call++) {
        const served = gate.run(() => true, { key: keys });
        // Its turn in all queues, and four times as long as it has to keep a permit.
        let left = 3 * keys.length + 5;
        const ended = served.then(() => (left = -1));
        while (left-- > 0) await advance(turn);
        assert.equal(left, -2, `world ${world}, ${keys}`);
        await ended;
      }
      goesOn = false;
      await advance(turn * 4);
      await Promise.all(others);
      gate.close();
    }
  }
});

both("no key exceeds its limit, all calls are served and no permit is lost, in random worlds", async (make) => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = chance(seed);
    const [burst, places] = [1 + random(4), 1 + random(4)];
    const { gate, advance, now, timers } = paced(make, 100, burst, { concurrency: places, attempts: 3, retryBudget: { percent: 100, reserve: 1_000 } });
    const names = ["account", "other account", "a", "b", "c"].slice(0, 3 + random(3));
    const log = new Map(names.map((name) => [name, { sent: [], flying: 0 }]));
    let [begun, served, aborted] = [0, 0, 0];
    const work = (keys, ms, isThrottled) => async () => {
      for (const key of keys) {
        log.get(key).sent.push(now());
        assert.ok(++log.get(key).flying <= places, `seed ${seed}: ${key}`);
      }
      await new Promise((wake) => timers.setTimeout(wake, ms));
      for (const key of keys) log.get(key).flying--;
      if (isThrottled()) throw Object.assign(new Error("throttled"), { status: 429 });
    };
    for (let step = 0; step < 60; step++) {
      for (let calls = random(4); calls--; begun++) {
        const keys = names.filter(() => random(2));
        if (!keys.length) keys.push(names[0]);
        if (!random(4)) keys.reverse();
        const controller = new AbortController();
        let left = +!random(20);
        const options = { key: keys.length > 1 || random(2) ? keys : keys[0], priority: random(3) ? 0 : 1, signal: random(4) ? undefined : controller.signal };
        gate.run(work(keys, random(80), () => left-- > 0), options).then(() => served++, () => aborted++);
        if (options.signal) setTimeout(() => controller.abort(), 0);
      }
      await advance(random(150));
    }
    await advance(300_000);
    assert.equal(served + aborted, begun, `seed ${seed}: all ended`);
    assert.ok(served > begun / 2);
    for (const [name, { sent, flying }] of log) {
      // A plain token bucket; times are exact to a microsecond.
      let [tokens, last] = [burst, 0];
      for (const time of sent) {
        tokens = Math.min(burst, tokens + (time - last) / 100);
        last = time;
        // The gate catches up for timers that are up to two milliseconds late.
        assert.ok(tokens > 0.979, `seed ${seed}: ${name} has ${tokens} at ${time}`);
        tokens -= 1;
      }
      const { inFlight, waiting } = gate.stats(name);
      assert.deepEqual({ inFlight, waiting, flying }, { inFlight: 0, waiting: 0, flying: 0 }, `seed ${seed}: ${name}`);
    }
    gate.close();
  }
});

both("priority, deadline, signal, pause and close hold in whichever queue the call waits", async (make) => {
  for (const slow of [ACCOUNT, A]) {
    const { gate, advance, now } = paced(make, 1_000);
    const key = [ACCOUNT, A];
    const sent = [];
    gate.tryAcquire({ key: slow }).settle();
    const calls = [0, 1, 2].map((priority) => gate.run(() => sent.push(priority), { key, priority }));
    await assert.rejects(gate.run(nothing, { key, deadline: 500 }), { name: "DeadlineExceeded" });
    const controller = new AbortController();
    const aborted = gate.run(nothing, { key, signal: controller.signal });
    controller.abort("enough");
    await assert.rejects(aborted, (reason) => reason === "enough");
    assert.ok(now() === 0);
    await advance(2_500);
    assert.deepEqual(sent, [2, 1], slow);
    gate.pause();
    await advance(10_000);
    assert.deepEqual(sent, [2, 1]);
    gate.resume();
    await advance(1_000);
    assert.deepEqual(sent, [2, 1, 0]);
    await advance(1_000);
    await Promise.all(calls);
    assert.deepEqual([gate.stats(ACCOUNT).waiting, gate.stats(A).waiting, gate.stats().inFlight], [0, 0, 0]);
    gate.tryAcquire({ key: slow === A ? ACCOUNT : A });
    const closed = assert.rejects(gate.run(nothing, { key }), { name: "Closed" });
    gate.close();
    await advance(1_000);
    await closed;
  }
});

both("a call with a deadline keeps its place when it moves between queues", async (make) => {
  const { gate, advance } = paced(make, 100);
  gate.tryAcquire({ key: A }).settle({ outcome: "throttled", retryAfter: 1_000 });
  const call = gate.run(() => "served", { key: [ACCOUNT, A], deadline: 4_000 });
  // Later calls of the account would take ten seconds.
  const later = Array.from({ length: 100 }, () => gate.run(nothing, { key: ACCOUNT }));
  await advance(4_000);
  assert.equal(await call, "served");
  await advance(20_000);
  await Promise.all(later);
});

both("a retry passes through all keys, and each one counts it", async (make) => {
  const { options, advance } = testClock();
  const gate = make({ law: "none", attempts: 3, seed: 1, ...options });
  const told = [];
  gate.on("sent", ({ key, attempt }) => told.push([key, attempt]));
  const ended = assert.rejects(gate.run(() => { throw Object.assign(new Error("busy"), { status: 503 }); }, { key: [ACCOUNT, A] }), /busy/);
  await advance(60_000);
  await ended;
  assert.deepEqual(told, [[A, 1], [A, 2], [A, 3]]);
  for (const key of [ACCOUNT, A]) {
    const { busy, inFlight, retries } = gate.stats(key);
    assert.deepEqual({ busy, inFlight, retries }, { busy: 3, inFlight: 0, retries: 2 }, key);
  }
});

test("hints describe the limit of the last key, and blame it alone if it is used up", async () => {
  for (const [headers, throttled] of [
    [{ "retry-after": "60", "ratelimit-remaining": "0" }, 1],
    [{ "retry-after": "60", "ratelimit-remaining": "700" }, 3],
    [{ "retry-after": "60" }, 3],
    [{ "retry-after": "60", "ratelimit-remaining": "\u0130" }, 3],
  ]) {
    for (const settle of [
      (gate, key, reply) => gate.run(() => reply, { key, retry: false }),
      (gate, key, reply) => gate.tryAcquire({ key }).settle(reply),
    ]) {
      const { options } = testClock();
      const gate = tidegate({ seed: 1, ...options });
      await settle(gate, [ACCOUNT, A, "route"], { status: 429, headers });
      const { throttled: counted, abandoned, inFlight } = gate.stats();
      assert.deepEqual([counted, abandoned, inFlight], [throttled, 3 - throttled, 0], JSON.stringify(headers));
      assert.ok(gate.peek("route").wait >= 60_000);
      for (const key of [ACCOUNT, A]) assert.ok(gate.peek(key).wait < (throttled > 1 ? 60_000 : 1));
    }
  }
  const gate = tidegate({ tokens: { limit: 100, per: 60_000, burst: 100 } });
  await gate.run(nothing, { key: [ACCOUNT, A], cost: { tokens: 10 }, actualCost: () => ({ tokens: 90 }) });
  assert.ok(gate.tryAcquire({ key: ACCOUNT, cost: { tokens: 90 } }));
  assert.equal(gate.tryAcquire({ key: A, cost: { tokens: 20 } }), null);
});

test("the end of a body frees the places of all keys", async () => {
  const { readable, writable } = new TransformStream();
  const gate = tidegate({ fetch: async () => new Response(readable) });
  const body = (await gate.fetch("https://api/", {}, { key: [ACCOUNT, A] })).text();
  const inFlight = () => [ACCOUNT, A].map((key) => gate.stats(key).inFlight);
  assert.deepEqual(inFlight(), [1, 1]);
  await writable.close();
  await body;
  assert.deepEqual(inFlight(), [0, 0]);
});

// They wait for timers most of the time.
describe("calls with several keys, with both entries", { concurrency: 8 }, () => {
  for (const [name, run] of BOTH) test(name, run);
});
