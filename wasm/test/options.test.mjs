// Valid and invalid options, the messages of their errors, and defaults.

import assert from "node:assert/strict";
import test from "node:test";
import { LAWS, PolicyError, tidegate } from "tidegate";
import { chance } from "./tools.mjs";

const nothing = () => {};
const policyError = (message) => (error) => error instanceof PolicyError && message.test(error.message);

test("an invalid option of a gate is reported with its value and the valid range", () => {
  const wrong = [
    [{ keys: 0 }, /^keys is 0; it must be a whole number from 1 to/],
    [{ queue: -1 }, /^queue is -1; it must be a whole number from 0/],
    [{ queue: 1.5 }, /^queue is 1\.5/],
    [{ seed: "x" }, /^seed is "x"; it must be a whole number/],
    [{ warnAfter: NaN }, /^warnAfter is NaN; it must be a number from 0 to Infinity/],
    [{ fetch: "https://a" }, /^fetch is "https:\/\/a"; it must be a function/],
    [{ key: "a" }, /^key is "a"; it must be a function/],
    [{ now: 0 }, /^now is 0; it must be a function/],
    [{ timers: {} }, /^timers\.setTimeout is undefined; it must be a function/],
    [{ retry: false }, /^retry is an option of a call: pass it to the call, or to gate\.with\(\{ retry \}\)$/],
    [{ requests: { limit: "10", per: 1_000 } }, /^requests\.limit is "10"; it must be a whole number/],
    [{ requests: 10 }, /^the options of requests are 10; they must be an object/],
    [{ backoff: 100 }, /^the options of backoff are 100; they must be an object/],
    [{ backoff: { min: 5 } }, /^there is no option "min" of backoff; the options are base, max/],
    [{ retryBudget: { percent: 10, keep: 1 } }, /^there is no option "keep" of retryBudget; the options are percent, reserve/],
    [{ concurency: 5 }, /^there is no option "concurency" of a gate; the options are law, requests/],
    [{ requests: { limit: 1, per: 1, bust: 2 } }, /^there is no option "bust" of requests; the options are limit, per, burst, strict/],
    [{ law: "aimd" }, /^the law "aimd" is only in tidegate\/full/],
    [{ law: "magic" }, /no law "magic"/],
    [{ law: "fixed", requests: { limit: 0, per: 1_000 } }, /requests\.limit is 0/],
    [{ requests: { limit: 10, per: NaN } }, /requests\.per is NaN/],
    [{ requests: { limit: 10 } }, /requests\.per is NaN or missing/],
    [{ requests: { limit: 1.5, per: 1_000 } }, /requests\.limit is 1\.5; it must be a whole number/],
    [{ requests: { limit: 10, per: 86_400_000, burst: 10_000_000 } }, /requests\.burst is 10000000; .* to 532407/],
    [{ requests: { limit: 10, per: 1_000, burst: 11, strict: true } }, /^requests\.burst is 11, and strict allows at most the limit, 10: lower burst, or omit strict$/],
    [{ tokens: { limit: 10, per: 1e12, burst: 10, strict: true } }, /^tokens\.burst is 10; it must be a whole number from 1 to 9$/],
    [{ requests: { limit: 10, per: 1_000, strict: "yes" } }, /^requests\.strict is "yes"; it must be true or false$/],
    [{ concurrency: 65_536 }, /concurrency/],
    [{ concurrency: 2.5 }, /concurrency is 2\.5; it must be a whole number/],
    [{ gap: -1 }, /^gap is -1; it must be a number from 0/],
    [{ attempts: -1 }, /attempts/],
    [{ retryBudget: { percent: 0 } }, /retryBudget\.percent is 0; it must be a whole number from 1/],
    [{ retryBudget: { percent: 10, reserve: 0 } }, /retryBudget\.reserve is 0/],
    [{ backoff: { base: 10, max: 5 } }, /backoff\.max/],
    [{ law: "fixed" }, /^the law "fixed" needs a limit: set requests or tokens, or omit law/],
    ...[-0.01, 0.13, NaN, "1%"].map((tolerance) => [{ tolerance }, /^tolerance is .*; it must be a number from 0 to 0\.125/]),
    ...["fixed", "none", "backoff", undefined].map((law) => [{ law, tolerance: 0.1, requests: { limit: 1, per: 1 } }, /^the law "\w+" has no tolerance: set law to "adaptive", or/]),
    [null, /^the options of a gate are null; they must be an object/],
  ];
  for (const [options, message] of wrong) assert.throws(() => tidegate(options), policyError(message));
  const gate = tidegate({ law: undefined, queue: undefined });
  assert.throws(() => gate.setPolicy({ keys: 5 }), policyError(/^there is no option "keys" of a policy/));
  assert.throws(() => gate.setPolicy({ law: "fixed" }), policyError(/set requests or tokens/));
  assert.throws(() => gate.setPolicy({ law: "none", tolerance: 0 }), policyError(/omit tolerance$/));
  assert.throws(() => gate.on("waits", nothing), policyError(/^there is no event "waits"; the events are wait, sent/));
  assert.throws(() => gate.on("wait"), policyError(/^listener is undefined; it must be a function/));
});

test("an invalid option of a call is reported for all kinds of calls", async () => {
  const gate = tidegate();
  const wrong = [
    [{ deadlin: 5 }, /^there is no option "deadlin" of a call/],
    [{ deadline: NaN }, /^deadline is NaN; it must be a number from 0/],
    [{ deadline: "5" }, /^deadline is "5"; it must be a number/],
    [{ cost: -1 }, /^cost is -1; it must be a whole number from 0/],
    [{ cost: NaN }, /^cost is NaN/],
    [{ cost: { tokens: 0.5 } }, /^cost\.tokens is 0\.5/],
    [{ cost: { tokns: 5 } }, /^there is no option "tokns" of cost; the options are requests, tokens/],
    [{ attemptTimeout: "5" }, /^attemptTimeout is "5"; it must be a number from 0/],
    [{ key: 5 }, /^key is 5; it must be a string/],
    [{ signal: "stop" }, /^signal is "stop"; it must be an AbortSignal/],
    [{ retry: 3 }, /^retry is 3; it must be true, false or "throttled"/],
    [{ release: "body " }, /^release is "body "; it must be "headers" or "body"/],
    [{ outcome: "ok" }, /^outcome is "ok"; it must be a function/],
    ...[-1, 8, 0.5, NaN, Infinity, "high"].map((priority) => [{ priority }, /^priority is .*; it must be a whole number from 0 to 7/]),
  ];
  for (const [options, message] of wrong) {
    await assert.rejects(gate.run(nothing, options), policyError(message));
    await assert.rejects(gate.fetch("http://127.0.0.1:9", {}, options), policyError(message));
    assert.throws(() => gate.with(options), policyError(message));
    if ("cost" in options || "key" in options) assert.throws(() => gate.tryAcquire(options), policyError(message));
  }
  await assert.rejects(gate.run(nothing, { key: ["a"] }), policyError(/^key is \["a"\]; it must be a string, or several in tidegate\/full/));
  await assert.rejects(gate.run(() => 1, { actualCost: () => -1 }), policyError(/^actualCost is -1/));
  for (const work of [undefined, Promise.resolve(1)]) {
    await assert.rejects(gate.run(work), policyError(/^work is .*; it must be a function/));
    assert.throws(() => gate.wrap(work), policyError(/^work is .*; it must be a function/));
  }
  assert.equal(gate.stats().failed, 0);
  assert.throws(() => gate.tryAcquire().settle("fine"), policyError(/^the outcome is "fine"; it must be one of ok, throttled/));
  assert.equal(gate.stats().rejected, 0);
});

test("an entry accepts four laws", () => {
  const accepted = LAWS.filter((law) => {
    try {
      return tidegate({ law, requests: { limit: 1, per: 1 } });
    } catch {}
  });
  assert.deepEqual(accepted, ["adaptive", "fixed", "none", "backoff"]);
});

test("a stated limit is kept with or without a stated law", async () => {
  const limits = [{ requests: { limit: 7, per: 3_600_000, burst: 7 } }, { tokens: { limit: 7, per: 3_600_000 } }];
  for (const policy of limits.flatMap((limit) => [limit, { law: "adaptive", ...limit }])) {
    const gate = tidegate(policy);
    const permits = Array.from({ length: 100 }, () => gate.tryAcquire({ cost: { requests: 1, tokens: 1 } })).filter((permit) => permit);
    assert.equal(permits.length, 7);
    gate.setPolicy({ law: "none" });
    assert.ok(gate.tryAcquire());
  }
});

test("a tolerance keeps the rate although one call in a hundred is rejected at random", () => {
  const rate = (tolerance, seed) => {
    const random = chance(seed);
    let [now, full, served] = [0, 0, 0];
    const gate = tidegate({ tolerance, seed, now: () => now });
    for (let call = 0; call < 20_000; call++) {
      let permit;
      while (!(permit = gate.tryAcquire())) now += Math.max(gate.peek().wait, 0.01);
      // A hundred calls a second, ten at once.
      const isServed = random(100) && (full = Math.max(full, now)) - now < 100;
      if (isServed) [full, served] = [full + 10, served + 1];
      permit.settle(isServed ? "ok" : "throttled");
    }
    return (served / now) * 1_000;
  };
  const median = (tolerance) => Array.from({ length: 11 }, (_, seed) => rate(tolerance, seed)).sort((a, b) => a - b)[5];
  const [tolerant, not] = [0.125, 0].map(median);
  assert.ok(tolerant > 95 && not < 50, `${tolerant} and ${not} calls a second`);
});

test("nothing is compiled before the first call", (t) => {
  const { Module } = WebAssembly;
  t.after(() => (WebAssembly.Module = Module));
  WebAssembly.Module = class {
    constructor() {
      throw new Error("compiled");
    }
  };
  const gate = tidegate({ requests: { limit: 1, per: 1 } });
  gate.on("wait", nothing);
  gate.with({ key: "a" });
  assert.throws(() => tidegate({ requests: { limit: 0, per: 1 } }), PolicyError);
});
