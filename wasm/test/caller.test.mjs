// All ways to make calls and to observe them.

import assert from "node:assert/strict";
import test from "node:test";
import { tidegate, TidegateError } from "tidegate";
import { tidegate as lite } from "tidegate/lite";
import { observe } from "tidegate/otel";
import { pacing } from "tidegate/pacing";
import { testClock } from "tidegate/test";
import { serve } from "./http.mjs";
import { program } from "./tools.mjs";

const nothing = () => {};
const hour = { limit: 1, per: 3_600_000 };

test("a gate with other defaults is the same gate", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 429 }));
  const gate = tidegate({ law: "none" });
  const account = gate.with({ key: "account", retry: false });
  const { fetch } = account;
  assert.equal((await fetch(url)).status, 429);
  assert.equal((await account.with({ key: "other" }).fetch(url, {}, { key: "third" })).status, 429);
  await account.run(nothing);
  account.tryAcquire().settle();
  assert.deepEqual([seen.length, gate.stats("account").admitted, gate.stats("third").admitted, gate.stats().keys], [2, 3, 1, 2]);
  assert.equal(await gate.with({ deadline: 1_000 }).run((signal) => signal instanceof AbortSignal), true);
});

test("a wrapped function is paced, and keeps its arguments and errors", async () => {
  const gate = tidegate({ law: "fixed", requests: hour, queue: 0 });
  const add = gate.wrap((one, other) => one + other, { key: "sum" });
  assert.equal(await add(1, 2), 3);
  await assert.rejects(add(3, 4), TidegateError);
  const fails = gate.with({ key: "else" }).wrap(async () => { throw new RangeError("mine"); });
  await assert.rejects(fails(), /mine/);
  assert.deepEqual([gate.stats("sum").ok, gate.stats("else").failed], [1, 1]);
});

test("a peek returns the cause of the wait, and charges nothing", async () => {
  const { options, advance } = testClock();
  const gate = tidegate({ ...options, concurrency: 2, requests: { limit: 1, per: 1_000, burst: 3 } });
  assert.deepEqual(gate.peek(), { wait: 0, cause: undefined, waiting: 0, inFlight: 0 });
  assert.equal(gate.stats().keys, 0);
  const [one, two] = [gate.tryAcquire(), gate.tryAcquire()];
  assert.deepEqual(gate.peek(), { wait: 0, cause: "concurrency", waiting: 0, inFlight: 2 });
  for (const permit of [one, two, gate.tryAcquire()]) permit?.settle();
  gate.tryAcquire().settle();
  for (let i = 0; i < 3; i++) assert.deepEqual(gate.peek(), { wait: 1_000, cause: "pacing", waiting: 0, inFlight: 0 });
  const call = gate.run(nothing);
  assert.deepEqual(gate.peek(), { wait: 2_000, cause: "pacing", waiting: 1, inFlight: 0 });
  await advance(1_000);
  await call;
  gate.tryAcquire({ key: "b" }).settle({ outcome: "throttled", retryAfter: 60_000 });
  const { wait, cause } = gate.peek("b");
  assert.ok(wait >= 60_000);
  assert.equal(cause, "cooldown");
});

test("soonest chooses the key whose next call can be sent first", () => {
  const { options } = testClock();
  const gate = tidegate({ ...options, concurrency: 2 });
  const keys = ["a", "b", "c"];
  for (const expected of ["a", "b", "c", "a"]) {
    assert.equal(gate.soonest(keys), expected, "the one with fewer calls in flight");
    gate.tryAcquire({ key: expected });
  }
  const wait = (key, retryAfter) => gate.tryAcquire({ key }).settle({ outcome: "throttled", retryAfter });
  wait("b", 60_000);
  assert.equal(gate.soonest(keys), "c");
  wait("c", 30_000);
  assert.equal(gate.soonest(["x", ...keys]), "x", "one that was never used");
  assert.throws(() => gate.soonest([]), { code: "POLICY" });
});

test("a paused gate sends nothing, and then sends by priority", async () => {
  const gate = tidegate({ law: "none" });
  const sent = [];
  gate.run(() => sent.push("before"));
  gate.pause();
  const causes = [];
  gate.on("wait", ({ cause }) => causes.push(cause));
  const calls = [gate.run(() => sent.push("low")), gate.run(() => sent.push("high"), { priority: 1 }), gate.run(() => sent.push("new key"), { key: "new" })];
  await assert.rejects(gate.run(nothing, { deadline: 30 }), { code: "DEADLINE_EXCEEDED" });
  assert.deepEqual([gate.tryAcquire(), gate.peek().cause, gate.peek("never used").cause], [null, "paused", "paused"]);
  assert.deepEqual(sent, ["before"]);
  gate.resume();
  await Promise.all(calls);
  assert.deepEqual(sent.filter((name) => name !== "new key"), ["before", "high", "low"]);
  assert.deepEqual([sent.length, causes], [4, Array(4).fill("paused")]);
  assert.equal(gate.stats().causes.paused, 4);
});

test("a gate is idle when no call waits and no call or body is in flight", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200, streams: true }));
  const gate = tidegate();
  await gate.idle();
  const answer = await gate.fetch(url);
  let idle = false;
  const rest = gate.idle().then(() => (idle = true));
  await new Promise((wake) => setTimeout(wake, 50));
  assert.equal(idle, false);
  seen[0].end();
  await answer.text();
  await rest;
});

test("each attempt has an event when it is sent and when it has its outcome", async (t) => {
  const { url } = await serve(t, (number) => (number === 1 ? { status: 429, headers: { "retry-after": "1" } } : { status: 200 }));
  const gate = tidegate({ law: "backoff", backoff: { base: 1, max: 1 } });
  const events = [];
  for (const name of ["sent", "settled", "retry"]) gate.on(name, (event) => events.push([name, event]));
  await (await gate.fetch(url)).text();
  const told = events.map(([name, { attempt, outcome, status }]) => [name, attempt, outcome, status].filter((value) => value !== undefined));
  assert.deepEqual(told, [["sent", 1], ["retry", 2], ["settled", 1, "throttled", 429], ["sent", 2], ["settled", 2, "ok", 200]]);
  const [[, first], [, { ms }], , [, second]] = events;
  assert.equal(first.waited, 0);
  assert.ok(ms >= 1_000 && second.waited >= 900, "a cooldown counts");
});

/** The warnings that a program writes to its console. */
async function warningsOf(rest) {
  const { stderr } = await program(`import { tidegate } from "tidegate"; const nothing = () => {};\n${rest}`);
  return stderr.split("\n").filter((line) => line.startsWith("tidegate: "));
}

test("the first long wait causes one warning, which an option disables", async () => {
  const waits = (options) => `
    const gate = tidegate({ requests: { limit: 1, per: 10_000 }, ${options} });
    gate.tryAcquire();
    gate.run(nothing, { deadline: 60_000 }).catch(nothing);
    gate.run(nothing).catch(nothing);
    gate.run(nothing).catch(nothing);
    gate.close();`;
  const [warning, ...more] = await warningsOf(waits(""));
  assert.match(warning, /^tidegate: a call of the gate waits 20 s or more: the limit is lower than the demand\. \(/);
  assert.deepEqual(more, []);
  assert.deepEqual(await warningsOf(waits("warnAfter: Infinity")), []);
  assert.deepEqual(await warningsOf(waits("warnAfter: 40_000")), []);
});

test("a call inside another one that waits for the other's place causes a warning", async () => {
  const [warning, ...more] = await warningsOf(`
    const gate = tidegate({ concurrency: 1, warnAfter: 200 });
    gate.run(() => gate.run(nothing)).catch(nothing);
    setTimeout(process.exit, 1_000);`);
  assert.match(warning, /waits 0\.2 s or more: all slots are taken by calls in flight\. A call inside another call with the same key may wait forever: use another key\./);
  assert.deepEqual(more, []);
});

test("a call that waits for something else by then causes no such warning, and neither does a wait of centuries", async () => {
  const warnings = (warnAfter) => warningsOf(`
    const gate = tidegate({ concurrency: 1, warnAfter: ${warnAfter} });
    gate.run(() => new Promise((done) => setTimeout(done, 100))).catch(nothing);
    gate.run(nothing).catch(nothing);
    setTimeout(() => { gate.pause(); gate.run(nothing).catch(nothing); }, 150);
    setTimeout(process.exit, 1_000);`);
  assert.deepEqual(await warnings(200), []);
  assert.deepEqual(await warnings(Number.MAX_SAFE_INTEGER), []);
});

test("calls that wait for responses whose bodies nobody reads cause a warning that names the way out", async () => {
  const [warning, ...more] = await warningsOf(`
    const pull = (to) => to.enqueue(new Uint8Array(10_000));
    const fetch = async () => new Response(new ReadableStream({ pull }));
    const gate = tidegate({ concurrency: 1, warnAfter: 200, fetch });
    const calls = (options) => Promise.all([1, 2, 3].map(() => gate.fetch("http://127.0.0.1", {}, options)));
    await calls({ release: "headers", key: "other" });
    calls({}).catch(nothing);
    setTimeout(process.exit, 1_000);`);
  assert.match(warning, /bodies are not read keep their slots: read or cancel the bodies, or use release: "headers"\./);
  assert.deepEqual(more, []);
});

test("Node runs until calls that have no place were sent: a retry, and a call with several keys", async () => {
  const two = (entry, options, key) => `
    import { tidegate } from "${entry}";
    const gate = tidegate({ law: "none", concurrency: 1, ...${JSON.stringify(options)} });
    let attempts = 0;
    const run = () => gate.run(() => (attempts++ ? "ok" : { status: 429 }), ${JSON.stringify(key)});
    console.log(...await Promise.all([run(), run()]));`;
  const paced = { law: "fixed", requests: { limit: 1, per: 200 } };
  for (const parts of [["tidegate", paced], ["tidegate/lite", { gap: 200 }], ["tidegate/full", paced, { key: ["a", "b"] }]]) {
    const { stdout } = await program(two(...parts));
    assert.equal(stdout, "ok ok\n");
  }
});

test("with a test's clock an hour passes at once, including timers", async () => {
  const { options, advance } = testClock();
  const gate = tidegate({ ...options, requests: hour });
  const done = [];
  const calls = [1, 2, 3].map((number) => gate.run(() => done.push(number)));
  calls.push(assert.rejects(gate.run(() => new Promise(nothing), { key: "hangs", deadline: 100 }), { code: "DEADLINE_EXCEEDED" }));
  const one = pacing({ ...hour, ...options });
  one.take();
  one.wait().then(() => done.push("paced"));
  await advance(3_599_999);
  assert.deepEqual(done, [1]);
  await advance(1);
  assert.deepEqual(done, [1, 2, "paced"]);
  await advance(3_600_000);
  await Promise.all(calls);
  assert.deepEqual([done, options.now()], [[1, 2, "paced", 3], 7_200_000]);
});

test("a meter records attempts, waits and retries", async () => {
  const told = [];
  const instrument = (name) => ({
    add: (value, attributes) => told.push([name, value, attributes]),
    record: (value, attributes) => told.push([name, value >= 0, attributes]),
  });
  const gate = tidegate({ law: "backoff", backoff: { base: 1, max: 1 }, attempts: 2 });
  const end = observe(gate, { createCounter: instrument, createHistogram: instrument });
  const throttled = () => { throw Object.assign(new Error(), { status: 429 }); };
  await assert.rejects(gate.run(throttled, { key: "k" }));
  end();
  await gate.run(nothing);
  const key = { "tidegate.key": "k" };
  const names = told.map(([name]) => name);
  assert.equal(names.filter((name) => name === "tidegate.attempts").length, 2);
  assert.deepEqual(told.find(([name]) => name === "tidegate.attempts"), ["tidegate.attempts", 1, { ...key, "tidegate.outcome": "throttled" }]);
  assert.deepEqual(told.find(([name]) => name === "tidegate.retries"), ["tidegate.retries", 1, key]);
  assert.deepEqual(told.find(([name]) => name === "tidegate.gave_up"), ["tidegate.gave_up", 1, { ...key, "tidegate.reason": "attempts" }]);
  assert.deepEqual(told.find(([name]) => name === "tidegate.attempt.duration"), ["tidegate.attempt.duration", true, key]);
  assert.deepEqual(told.find(([name]) => name === "tidegate.wait.duration"), ["tidegate.wait.duration", true, key]);
});

test("a call without options has its events, also for a listener that is added while it runs", async () => {
  const gate = tidegate({ seed: 1 });
  const told = [];
  const listen = (name) => gate.on(name, (event) => told.push([name, event.attempt, event.outcome]));
  let attempts = 0;
  const work = () => {
    if (!attempts++) ["sent", "settled", "retry", "gaveUp"].forEach(listen);
    return attempts < 2 ? { status: 429 } : "done";
  };
  assert.equal(await gate.run(work), "done");
  assert.deepEqual(told, [["retry", 2, undefined], ["settled", 1, "throttled"], ["sent", 2, undefined], ["settled", 2, "ok"]]);
  const error = new Error("fails");
  await assert.rejects(gate.run(() => Promise.reject(error)), error);
  // As got throws it.
  const response = { statusCode: 429, headers: { "retry-after": "7" } };
  await assert.rejects(gate.run(() => Promise.reject({ response }), { retry: false }));
  assert.equal(told.at(-1)[2], "throttled");
  const { ok, throttled, failed, inFlight } = gate.stats();
  assert.deepEqual({ ok, throttled, failed, inFlight }, { ok: 1, throttled: 2, failed: 1, inFlight: 0 });
  gate.close();
});

test("a value with the properties of a response is returned, and a getter that throws frees the call's place", async () => {
  for (const gate of [tidegate(), lite()]) {
    const article = { status: 1, excerpt: "It begins" };
    assert.equal(await gate.run(() => article), article);
    assert.equal((await gate.run(() => ({ status: 200, excerpt: new Uint8Array(9_000) }))).status, 200);
    const value = { get status() { throw new Error("no status"); } };
    await assert.rejects(gate.run(() => value), /^Error: no status/);
    await gate.idle();
    gate.close();
    await assert.rejects(gate.run(nothing), { code: "CLOSED" });
  }
});
