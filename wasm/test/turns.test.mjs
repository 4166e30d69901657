// The effect of waiting calls on the program: on its event loop, on its end, and on nested calls.

import assert from "node:assert/strict";
import test from "node:test";
import { Closed, DeadlineExceeded, tidegate } from "tidegate";
import { program } from "./tools.mjs";

const nothing = () => {};
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const MANY = 20_000;
/** How many calls may end their wait in one turn of the event loop. */
const BATCH = 500;

/** The most calls that end between two turns of the event loop, until all have. */
async function mostInATurn(calls) {
  let [ended, before, most] = [0, 0, 0];
  const all = Promise.allSettled(calls.map((call) => call.catch(nothing).then(() => ended++)));
  while (ended < calls.length) {
    await new Promise(setImmediate);
    most = Math.max(most, ended - before);
    before = ended;
  }
  await all;
  return most;
}

const waiting = (gate, work = nothing) => Array.from({ length: MANY }, () => gate.run(work));
const hourly = (more) => tidegate({ law: "fixed", requests: { limit: 1, per: 3_600_000 }, queue: MANY + 1, ...more });

test("many calls that are admitted at once do not block the event loop", async () => {
  const gate = hourly();
  gate.tryAcquire();
  const calls = waiting(gate);
  gate.setPolicy({ law: "none" });
  assert.ok((await mostInATurn(calls)) <= 2 * BATCH);
  assert.equal(gate.stats().ok, MANY);
});

test("calls that admit each other do not block the event loop", async () => {
  const gate = tidegate({ law: "none", concurrency: 1, queue: MANY });
  assert.ok((await mostInATurn(waiting(gate))) <= 2 * BATCH);
  assert.equal(gate.stats().ok, MANY);
});

test("a gate that closes rejects waiting calls without blocking the event loop", async () => {
  const gate = hourly();
  gate.tryAcquire();
  const calls = waiting(gate);
  gate.close();
  await assert.rejects(gate.run(nothing), Closed);
  assert.throws(() => gate.tryAcquire(), Closed);
  await assert.rejects(calls[0], Closed);
  assert.ok((await mostInATurn(calls)) <= 2 * BATCH);
  await assert.rejects(calls[MANY - 1], Closed);
});

test("a signal that aborts many calls blocks the event loop no longer than others, and none of them is sent", async () => {
  const gate = hourly();
  gate.tryAcquire();
  const controller = new AbortController();
  let sent = 0;
  const calls = Array.from({ length: MANY }, () => gate.run(() => sent++, { signal: controller.signal }));
  const last = gate.run(() => "sent");
  controller.abort("enough");
  gate.setPolicy({ law: "none" });
  assert.ok((await mostInATurn(calls)) <= 2 * BATCH);
  await assert.rejects(calls[MANY - 1], (reason) => reason === "enough");
  assert.equal(await last, "sent");
  assert.deepEqual([sent, gate.stats().abandoned, gate.stats().waiting], [0, 0, 0]);
});

test("a gate that is closed while its calls are admitted does not affect the next gate", async () => {
  const before = hourly();
  before.tryAcquire();
  const calls = waiting(before);
  before.setPolicy({ law: "none" });
  before.close();
  const gate = tidegate({ law: "fixed", requests: { limit: 1, per: 1 }, now: () => 0 });
  gate.tryAcquire();
  const waits = gate.run(() => "served");
  await Promise.allSettled(calls);
  gate.setPolicy({ law: "none" });
  assert.equal(await waits, "served");
});

/** What a program prints, and for how long it lives. */
async function lifeOf(rest) {
  const begun = performance.now();
  const source = `import { tidegate } from "tidegate"; const nothing = () => {};\n${rest}`;
  const { stdout } = await program(source);
  return { stdout: stdout.trim(), ms: performance.now() - begun };
}

test("a program ends with its calls", async () => {
  const { stdout } = await lifeOf(`
    const hour = { limit: 1, per: 3_600_000 };
    const gate = tidegate({ law: "fixed", requests: hour, backoff: { base: 1, max: 1 } });
    await gate.run(nothing, { deadline: 3_000_000 });
    const controller = new AbortController();
    const waits = gate.run(nothing, { signal: controller.signal, deadline: 7_200_000 });
    controller.abort("enough");
    await waits.catch(console.log);
    await gate.run(nothing, { deadline: 1_000 }).catch(({ code }) => console.log(code));
    const other = tidegate({ keys: 1 });
    await other.run(() => { throw Object.assign(new Error(), { status: 429 }); }, { retry: false }).catch(nothing);
    other.tryAcquire({ key: "dropped" });
    await other.run(nothing, { key: "no room", deadline: 50 }).catch(({ code }) => console.log(code));
  `);
  assert.equal(stdout, "enough\nDEADLINE_EXCEEDED\nKEYS_FULL");
});

test("a program with waiting calls continues until they are served", async () => {
  const { stdout, ms } = await lifeOf(`
    const gate = tidegate({ law: "fixed", requests: { limit: 1, per: 700 } });
    gate.run(() => console.log("first"));
    gate.run(() => console.log("paced"));
    const one = tidegate({ law: "none", concurrency: 1, expiry: 200 });
    one.tryAcquire(); // and lost
    one.run(() => console.log("after the lost call's expiry"));
  `);
  assert.deepEqual(stdout.split("\n").sort(), ["after the lost call's expiry", "first", "paced"]);
  assert.ok(ms >= 700);
});

test("a program ends if it only waits for a call that never ends, unless it says when that call is lost", async () => {
  const stuck = (options) => `
    const gate = tidegate({ concurrency: 1, warnAfter: Infinity, ${options} });
    gate.run(() => new Promise(nothing));
    gate.run(() => console.log("sent"), call).catch(({ code }) => console.log(code));`;
  assert.equal((await lifeOf(`const call = {};${stuck("")}`)).stdout, "");
  assert.equal((await lifeOf(`const call = {};${stuck("expiry: 300")}`)).stdout, "sent");
  assert.equal((await lifeOf(`const call = { deadline: 300 };${stuck("")}`)).stdout, "DEADLINE_EXCEEDED");
  // A timer that lets the program end is replaced if a call has to wait for the rate.
  const paced = await lifeOf(`
    const gate = tidegate({ concurrency: 1, requests: { limit: 1, per: 500 }, warnAfter: Infinity });
    let end;
    gate.run(() => new Promise((done) => (end = done)));
    for (const name of ["second", "third"]) gate.run(() => console.log(name));
    setTimeout(() => end(), 100);`);
  assert.equal(paced.stdout, "second\nthird");
});

test("a call inside a call waits for its turn like any other", async () => {
  const gate = tidegate();
  const inner = () => gate.run(() => sleep(1));
  const calls = Array.from({ length: 50 }, () => gate.run(async () => (await sleep(1), inner())));
  await Promise.all(calls);
  const { ok, waiting } = gate.stats();
  assert.deepEqual({ ok, waiting }, { ok: 100, waiting: 0 });
});

test("a nested call without a free place is rejected at its deadline, and one with another key is sent", async () => {
  const gate = tidegate({ concurrency: 1 });
  await assert.rejects(gate.run(() => gate.run(nothing, { deadline: 50 })), DeadlineExceeded);
  assert.equal(await gate.run(() => gate.run(() => "served", { key: "inner" })), "served");
  const { waiting, inFlight } = gate.stats();
  assert.deepEqual({ waiting, inFlight }, { waiting: 0, inFlight: 0 });
});
