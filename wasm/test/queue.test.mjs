// Which calls wait, for how long, and in what order.

import assert from "node:assert/strict";
import test from "node:test";
import { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, tidegate as main, tidegate } from "tidegate";
import { tidegate as full } from "tidegate/full";
import { tidegate as js } from "tidegate/js";
import { tidegate as lite } from "tidegate/lite";
import { pacing } from "tidegate/pacing";
import { testClock } from "tidegate/test";
import { chance } from "./tools.mjs";

/** One call at a time, `ms` apart. */
const every = (ms, more) => tidegate({ law: "fixed", requests: { limit: 1, per: ms }, ...more });
const nothing = () => {};

test("calls that join and abort at random are admitted by priority, then by arrival", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (let seed = 1; seed <= 20; seed++) {
    const random = chance(seed);
    let now = 0;
    let due = 0;
    const gate = every(10, { now: () => now });
    const left = [];
    const waits = [];
    const expected = [];
    const admit = () => {
      if (!waits.length || now < due) return;
      due = now + 10;
      waits.sort((one, other) => other.priority - one.priority || one.step - other.step);
      expected.push(waits.shift().step);
    };
    for (let step = 0; step < 300; step++) {
      const what = random(10);
      if (what < 6) {
        const [call, priority, controller] = [{ step }, random(8), new AbortController()];
        Object.assign(call, { priority, controller });
        waits.push(call);
        gate.run(() => left.push(step), { priority, signal: controller.signal }).catch(nothing);
      } else if (what < 8 && waits.length) {
        waits.splice(random(waits.length), 1)[0].controller.abort();
      } else {
        now += 10;
        t.mock.timers.tick(10);
      }
      admit();
      await Promise.resolve();
      assert.equal(gate.stats().waiting, waits.length);
    }
    await new Promise(setImmediate);
    assert.ok(expected.length > 20);
    assert.deepEqual(left, expected, `seed ${seed}`);
    gate.close();
  }
});

test("two hundred abandoned calls do not affect the estimate of the next one", async () => {
  const gate = every(100, { now: () => 0 });
  gate.tryAcquire();
  const first = gate.run(nothing);
  const controllers = Array.from({ length: 200 }, () => new AbortController());
  const calls = controllers.map(({ signal }) => gate.run(nothing, { signal }));
  await assert.rejects(gate.run(nothing, { deadline: 20_000 }), (error) => error.wait === 20_200);
  controllers.forEach((controller) => controller.abort());
  await Promise.allSettled(calls);
  let told;
  gate.on("wait", ({ ms }) => (told = ms));
  const next = gate.run(nothing, { deadline: 200 });
  assert.equal(told, 200);
  gate.close();
  await Promise.allSettled([first, next]);
});

/** Calls of random length on a gate with a gap, by the test clock: when each started and ended. */
async function gapped(gate, { advance, options: { now, timers } }, count) {
  const random = chance(count);
  const calls = [];
  for (let i = 0; i < count; i++) {
    const work = async () => {
      const call = { start: now() };
      calls.push(call);
      await new Promise((wake) => timers.setTimeout(wake, random(80)));
      call.end = now();
    };
    void gate.run(work);
    if (!random(4)) await advance(random(200));
  }
  await advance(20_000);
  return calls;
}

for (const [name, tidegate] of Object.entries({ main, full, js, lite })) {
  test(`a place is free again a gap after the end of its call: ${name}`, async () => {
    for (const concurrency of [undefined, 1, 3]) {
      const clock = testClock();
      const calls = await gapped(tidegate({ gap: 100, concurrency, ...clock.options }), clock, 40);
      assert.ok(calls.length === 40 && calls.every(({ end }) => end), `${calls.length}`);
      const places = Array.from({ length: concurrency ?? 1 }, () => -Infinity);
      for (const { start, end } of calls) {
        const place = places.findIndex((free) => free <= start);
        assert.notEqual(place, -1, `${start} with ${places}`);
        places[place] = end + 100;
      }
    }
  });
}

test("during a gap the outcome is known, and waits and deadlines include it", async () => {
  const { advance, options } = testClock();
  const gate = tidegate({ law: "none", gap: 100, ...options });
  const told = [];
  gate.on("wait", ({ cause, ms }) => told.push([cause, ms]));
  await gate.run(nothing);
  await gate.idle();
  const { ok, inFlight } = gate.stats();
  assert.deepEqual({ ok, inFlight }, { ok: 1, inFlight: 0 });
  assert.deepEqual(gate.peek(), { wait: 100, cause: "concurrency", waiting: 0, inFlight: 0 });
  assert.equal(gate.tryAcquire(), null);
  const calls = [gate.run(options.now), gate.run(options.now)];
  assert.deepEqual(told, [["concurrency", 100], ["concurrency", 200]]);
  await assert.rejects(gate.run(nothing, { deadline: 299 }), (error) => error instanceof DeadlineExceeded && error.wait === 300);
  await advance(250);
  assert.deepEqual(await Promise.all(calls), [100, 200]);
  // What the last call's place has still to rest does not change with the policy.
  gate.setPolicy({ law: "none", concurrency: 1 });
  assert.equal(gate.peek().wait, 50);
  await advance(50);
  gate.tryAcquire().settle();
  gate.tryAcquire().settle();
});

test("a call behind others meets its deadline if no call is in flight and no place rests", async () => {
  for (const more of [{}, { gap: 100 }]) {
    const { advance, options } = testClock();
    const gate = every(1_000, { concurrency: 1, ...more, ...options });
    await gate.run(nothing);
    await advance(500);
    const calls = Array.from({ length: 3 }, () => gate.run(options.now, { deadline: 2_600 }));
    calls.push(gate.run(nothing, { deadline: 2_600 }).catch(({ wait }) => wait));
    await advance(3_000);
    assert.deepEqual(await Promise.all(calls), [1_000, 2_000, 3_000, 3_500]);
  }
});

test("the gap of a response begins with the end of its body", async () => {
  const { advance, options } = testClock();
  const { readable, writable } = new TransformStream();
  const gate = tidegate({ gap: 100, fetch: async () => new Response(readable), ...options });
  const body = (await gate.fetch("https://a.example/")).text();
  await advance(500);
  assert.equal(gate.peek("https://a.example").inFlight, 1);
  await writable.close();
  await body;
  const { wait, inFlight } = gate.peek("https://a.example");
  assert.deepEqual({ wait, inFlight }, { wait: 100, inFlight: 0 });
});

test("a call takes as many steps with a hundred thousand waiting calls as with a hundred", async () => {
  const steps = async (waiting) => {
    let reads = 0;
    const gate = every(3_600_000, { queue: 200_000, now: () => (reads++, 0) });
    gate.tryAcquire();
    const calls = Array.from({ length: waiting }, () => gate.run(nothing));
    reads = 0;
    const begun = process.cpuUsage();
    for (let i = 0; i < 2_000; i++) calls.push(gate.run(nothing, { priority: 1 }));
    const { user } = process.cpuUsage(begun);
    gate.close();
    await Promise.allSettled(calls);
    return [reads, user / 1_000];
  };
  const [few] = await steps(100);
  const [many, ms] = await steps(100_000);
  assert.equal(many, few);
  // A list that is searched takes five seconds of processor time; this takes a hundredth of that.
  assert.ok(ms < 1_000, `${ms} ms`);
});

function counted(t) {
  const set = globalThis.setTimeout;
  const count = { timers: 0 };
  globalThis.setTimeout = (...args) => (count.timers++, set(...args));
  t.after(() => (globalThis.setTimeout = set));
  return count;
}

test("four hundred waiting calls need one timer each, and are admitted in order", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const count = counted(t);
  let now = 0;
  const gate = every(4, { now: () => now });
  const left = [];
  const calls = Array.from({ length: 401 }, (_, i) => gate.run(() => left.push(i)));
  while (now < 1_600) {
    now += 4;
    t.mock.timers.tick(4);
    await new Promise(setImmediate);
    assert.equal(left.length, 1 + now / 4);
  }
  await Promise.all(calls);
  assert.deepEqual(left, Array.from({ length: 401 }, (_, i) => i));
  assert.equal(count.timers, 400);
});

test("four hundred waiting calls need few more timers if real timers fire early", async (t) => {
  const count = counted(t);
  const gate = every(4);
  await Promise.all(Array.from({ length: 401 }, () => gate.run(nothing)));
  assert.ok(count.timers <= 450, `${count.timers} timers`);
});

test("a full queue rejects at once", async () => {
  const gate = every(20, { queue: 2 });
  const calls = [1, 2, 3].map(() => gate.run(nothing));
  await assert.rejects(gate.run(nothing), (error) => error instanceof QueueFull && error.code === "QUEUE_FULL");
  await Promise.all(calls);
  assert.equal(gate.stats().waiting, 0);
});

test("a call that is delayed past its deadline is rejected at its deadline", async () => {
  const gate = every(1_000);
  const calls = [1, 2, 3].map(() => gate.run(nothing));
  const before = performance.now();
  const late = gate.run(nothing, { deadline: 60_000 });
  gate.setPolicy({ law: "fixed", requests: { limit: 1, per: 3_600_000 } });
  await assert.rejects(late, (error) => error instanceof DeadlineExceeded && error.wait > 600_000);
  assert.ok(performance.now() - before < 600_000, "it did not wait for its turn");
  gate.setPolicy({ law: "none" });
  await Promise.all(calls);
});

test("work that continues past its deadline is aborted", async () => {
  let aborted;
  const work = (signal) => new Promise(() => signal.addEventListener("abort", () => (aborted = signal.reason)));
  const gate = tidegate();
  await assert.rejects(gate.run(work, { deadline: 1_000 }), DeadlineExceeded);
  assert.ok(aborted instanceof DeadlineExceeded);
  assert.equal(gate.stats().abandoned, 1);
});

test("an aborted call ends in any state with the reason of its signal", async () => {
  const gate = every(50, { concurrency: 1 });
  const controller = new AbortController();
  const { signal } = controller;
  const inFlight = gate.run(() => new Promise(nothing), { signal });
  const waits = gate.run(nothing, { signal });
  controller.abort("enough");
  await assert.rejects(inFlight, (reason) => reason === "enough");
  await assert.rejects(waits, (reason) => reason === "enough");
  await assert.rejects(gate.run(nothing, { signal }), (reason) => reason === "enough");
  const { waiting, inFlight: left } = gate.stats();
  assert.deepEqual({ waiting, left }, { waiting: 0, left: 0 });
  await gate.run(nothing);
});

test("an abort ends a call between two attempts, and it is not sent again", { timeout: 5_000 }, async () => {
  const gate = tidegate({ law: "backoff", backoff: { base: 3_600_000, max: 3_600_000 } });
  const controller = new AbortController();
  let calls = 0;
  const work = () => {
    calls++;
    setTimeout(() => controller.abort("enough"), 20);
    throw Object.assign(new Error("no"), { status: 503 });
  };
  await assert.rejects(gate.run(work, { signal: controller.signal }), (reason) => reason === "enough");
  const { waiting, inFlight } = gate.stats();
  assert.deepEqual({ calls, waiting, inFlight }, { calls: 1, waiting: 0, inFlight: 0 });
});

test("a listener can abort a waiting call, and a call that was aborted before it joined never runs", async () => {
  const ran = [];
  const gate = every(3_600_000);
  await gate.run(nothing);
  const waits = new AbortController();
  gate.on("wait", () => waits.abort("enough"));
  await assert.rejects(gate.run(() => ran.push("waited"), { signal: waits.signal }), (reason) => reason === "enough");
  assert.equal(gate.stats().waiting, 0);
  const again = tidegate({ law: "backoff", backoff: { base: 1, max: 1 } });
  const tries = new AbortController();
  again.on("retry", () => tries.abort("enough"));
  const rejected = () => {
    ran.push("rejected");
    throw Object.assign(new Error("no"), { status: 429 });
  };
  await assert.rejects(again.run(rejected, { signal: tries.signal }), (reason) => reason === "enough");
  await assert.rejects(again.run(() => ran.push("came too late"), { signal: tries.signal }), (reason) => reason === "enough");
  assert.deepEqual([ran, again.stats().admitted, again.stats().inFlight], [["rejected"], 1, 0]);
});

test("a call that is admitted and not yet sent keeps its key, and is not sent if it is aborted", async () => {
  const gate = tidegate({ law: "none", keys: 1, concurrency: 2 });
  const permits = [gate.tryAcquire(), gate.tryAcquire()];
  const controller = new AbortController();
  const one = gate.run(() => controller.abort("enough"));
  const other = gate.run(() => assert.fail("it was aborted"), { signal: controller.signal });
  for (const permit of permits) permit.settle();
  assert.deepEqual([gate.stats().waiting, gate.stats().inFlight], [0, 2]);
  assert.throws(() => gate.tryAcquire({ key: "another" }), { code: "KEYS_FULL" });
  await one;
  assert.equal(await other.catch((reason) => reason), "enough");
  assert.deepEqual([gate.stats().inFlight, gate.stats().abandoned], [0, 1]);
});

test("slow calls to a server without a limit all start within two seconds, the first ten at once", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const gate = tidegate({ now: () => now });
  const starts = [];
  const causes = new Set();
  gate.on("wait", ({ cause }) => causes.add(cause));
  const calls = Array.from({ length: 100 }, () => gate.run(() => {
    starts.push(now);
    return new Promise((wake) => setTimeout(wake, 10_000));
  }));
  while (now < 12_000) {
    now += 1;
    t.mock.timers.tick(1);
    if (now % 50 === 0) await new Promise(setImmediate);
  }
  await Promise.all(calls);
  assert.equal(starts.filter((start) => start === 0).length, 10);
  assert.equal(starts.length, 100);
  assert.ok(starts.at(-1) <= 2_000, `the last call started at ${starts.at(-1)} ms`);
  assert.deepEqual([[...causes], gate.stats().waiting], [["concurrency"], 0]);
});

test("a permit is settled once, explicitly or at the end of its scope", () => {
  const gate = tidegate({ concurrency: 1 });
  const permit = gate.tryAcquire();
  permit.settle("ok");
  permit.settle("failed");
  permit[Symbol.dispose]();
  gate.tryAcquire()[Symbol.dispose]();
  const { ok, failed, abandoned, inFlight } = gate.stats();
  assert.deepEqual({ ok, failed, abandoned, inFlight }, { ok: 1, failed: 0, abandoned: 1, inFlight: 0 });
});

test("a cost in requests and tokens is charged to both limits, and corrected to the actual cost", () => {
  let now = 0;
  const gate = tidegate({
    law: "fixed", requests: { limit: 10, per: 1_000, burst: 10 }, tokens: { limit: 1_000, per: 1_000 }, now: () => now,
  });
  const cost = { requests: 1, tokens: 800 };
  const permit = gate.tryAcquire({ cost });
  assert.equal(gate.tryAcquire({ cost }), null, "200 tokens are left");
  permit.settle("ok", { tokens: 100 });
  assert.ok(gate.tryAcquire({ cost }), "900 are left");
  assert.equal(gate.tryAcquire({ cost }), null);
  assert.ok(gate.tryAcquire({ cost: 3 }), "calls without tokens are none of that limit's");
});

test("a call that can never be admitted is rejected at once", async () => {
  const gate = every(10);
  await assert.rejects(gate.run(nothing, { cost: 2 }), (error) => error instanceof Rejected && error.code === "TOO_BIG");
});

test("an error with a status is read as a response, and throttled calls are retried", async () => {
  const gate = tidegate();
  let calls = 0;
  const result = await gate.run(() => {
    if (++calls < 3) throw Object.assign(new Error("no"), { status: 429, headers: new Headers({ "retry-after-ms": "5" }) });
    return "served";
  });
  assert.deepEqual([result, calls, gate.stats().throttled], ["served", 3, 2]);
  await assert.rejects(gate.run(() => { calls++; throw new RangeError("a bug"); }), RangeError);
  assert.equal(calls, 4, "an error of another kind is nobody's to retry");
});

test("a listener that throws delays no call, and its error is reported", async (t) => {
  const thrown = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => thrown.push(error.message));
  t.after(() => {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  });
  const gate = every(50);
  gate.on("wait", () => {
    throw new Error("a listener's");
  });
  await Promise.all([1, 2, 3].map(() => gate.run(nothing)));
  assert.deepEqual(thrown, ["a listener's", "a listener's"]);
  const { waiting, ok } = gate.stats();
  assert.deepEqual({ waiting, ok }, { waiting: 0, ok: 3 });
});

test("a listener may close the gate, or change its policy", async () => {
  const closed = every(3_600_000);
  closed.on("wait", () => closed.close());
  await closed.run(nothing);
  await assert.rejects(closed.run(nothing), Closed);
  const changed = every(3_600_000);
  changed.on("wait", () => changed.setPolicy({ law: "none" }));
  await changed.run(nothing);
  await changed.run(nothing);
});

test("the core accepts the full ranges of the options", () => {
  const ends = {
    requests: [undefined, ...[1, 4_294_967_295].flatMap((limit) => [1e-6, 1e12].map((per) => ({ limit, per })))],
    tokens: [undefined, { limit: 4_294_967_295, per: 1e-6, burst: 4_294_967_295 }, { limit: 1, per: 1e12, burst: 4 }],
    backoff: [undefined, { base: 1e-6 }, { base: 1e12 }, { base: 1e-6, max: 1e-6 }, { max: 1e12 }],
    retryBudget: [undefined, { percent: 1, reserve: 1 }, { percent: 1e6, reserve: 1e6 }],
    rest: [{}, { concurrency: 1, expiry: 1, maxCooldown: 1, attempts: 1, elapsed: 0 }, { concurrency: 65_535, expiry: 1e12, maxCooldown: 1e12, attempts: 65_535, elapsed: 1e12 }],
  };
  const combine = (names) => names.reduce((all, name) => all.flatMap((one) => ends[name].map((value) => ({ ...one, ...(name === "rest" ? value : { [name]: value }) }))), [{}]);
  const gate = tidegate({ now: () => 0 });
  gate.tryAcquire().settle();
  for (const law of ["adaptive", "fixed", "none", "backoff"]) {
    for (const policy of combine(Object.keys(ends))) {
      if (law === "fixed" && !policy.requests && !policy.tokens) continue;
      assert.doesNotThrow(() => gate.setPolicy({ law, ...policy }), JSON.stringify({ law, ...policy }));
      if (law === "adaptive") for (const tolerance of [0, 0.125]) assert.doesNotThrow(() => gate.setPolicy({ tolerance, law, ...policy }));
    }
  }
});

test("an invalid policy changes nothing", () => {
  const gate = tidegate({ keys: 2, now: () => 0 });
  gate.tryAcquire().settle();
  assert.throws(() => gate.setPolicy({ retryBudget: { percent: 0.5 } }), PolicyError);
  assert.ok(gate.tryAcquire({ key: "another" }));
});

test("a clock that goes back, stops or returns NaN delays no call for ever", async () => {
  let now = 1_000;
  const gate = every(100, { now: () => now });
  assert.ok(gate.tryAcquire());
  for (const wrong of [NaN, -5, Infinity, -Infinity, 2 ** 53, 2 ** 53 + 2, 1e300]) {
    now = wrong;
    assert.equal(gate.tryAcquire(), null, `at ${wrong}`);
  }
  now = 1_100;
  assert.ok(gate.tryAcquire());
  now = 500;
  assert.equal(gate.tryAcquire(), null);
  now = 1_200;
  assert.ok(gate.tryAcquire());
});

test("a wait can take a month, and an infinite deadline never passes", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const day = 86_400_000;
  /** Days pass one by one, and each call that is woken reads the clock. */
  const pass = async (days) => {
    for (let i = 0; i < days; i++) {
      now += day;
      t.mock.timers.tick(day);
      await new Promise(setImmediate);
    }
  };
  const ended = [];
  const end = (name) => [() => ended.push(name), (error) => ended.push(`${name}: ${error}`)];
  const month = { limit: 1, per: 30 * day };
  const one = pacing({ ...month, now: () => now });
  one.take();
  one.wait().then(...end("pacing"));
  const gate = tidegate({ law: "fixed", requests: month, now: () => now });
  gate.tryAcquire().settle();
  gate.run(nothing, { deadline: Infinity }).then(...end("waits"));
  tidegate({ now: () => now }).run(() => new Promise(nothing), { deadline: Infinity }).then(...end("in flight"));
  await pass(29);
  assert.deepEqual(ended, []);
  // A timer that is set while the day goes by counts from its end.
  await pass(2);
  assert.deepEqual(ended.toSorted(), ["pacing", "waits"]);
  await pass(60);
  assert.equal(ended.length, 2);
});
