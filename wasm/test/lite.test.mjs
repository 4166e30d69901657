// The same programs through every entry with a gate: their events, results and times are equal.

import assert from "node:assert/strict";
import test from "node:test";
import { tidegate } from "tidegate";
import { tidegate as full } from "tidegate/full";
import { tidegate as js } from "tidegate/js";
import { PolicyError, tidegate as lite } from "tidegate/lite";
import { testClock } from "tidegate/test";

const EVENTS = ["wait", "sent", "settled", "throttled", "retry", "gaveUp"];

/** What a program sees: all events, and the time and result of each call. */
async function seen(create, options, program) {
  const clock = testClock();
  const told = [];
  const server = { calls: 0 };
  const fetch = async (input, init) => program.serve(server.calls++, clock.options.now(), init);
  const gate = create({ ...clock.options, fetch, seed: 7, ...options });
  for (const name of EVENTS) gate.on(name, (event) => told.push([clock.options.now(), name, event]));
  const note = (name, call) => call.then((value) => value?.status ?? value, ({ code, message }) => code ?? message).then((result) => told.push([clock.options.now(), name, result]));
  await program.calls(gate, note, clock);
  await clock.advance(600_000);
  gate.close();
  return told;
}

const answer = (status, headers) => new Response(status === 204 ? null : "text", { status, headers });
const many = (count, call) => Array.from({ length: count }, (_, i) => call(i));

const PROGRAMS = {
  "an unknown limit, told by Retry-After": [{}, {
    serve: (call, now) => (call > 20 && now < 2_000 ? answer(429, { "Retry-After": "2" }) : answer(200)),
    async calls(gate, note, clock) {
      many(200, (i) => note(i, gate.fetch("https://api.example/")));
      await clock.advance(20_000);
      gate.pause();
      many(5, (i) => note(`paused ${i}`, gate.fetch("https://api.example/", { method: "POST" })));
      await clock.advance(1_000);
      gate.resume();
    },
  }],
  "a limit that headers tell": [{}, {
    serve: (call) => answer(call % 50 === 49 ? 429 : 200, { "RateLimit": `"default";r=${49 - (call % 50)};t=10`, "RateLimit-Policy": '"default";q=50;w=10' }),
    async calls(gate, note) {
      many(150, (i) => note(i, gate.fetch("https://api.example/", {}, { priority: i % 3 })));
    },
  }],
  "failures, a deadline, a timeout and an abort": [{ attempts: 3, backoff: { base: 50, max: 400 }, concurrency: 4 }, {
    serve: (call, now, { signal } = {}) => {
      if (call % 7 === 3) throw new Error("reset");
      if (call % 7 === 5) return new Promise((_, fail) => signal?.addEventListener("abort", () => fail(signal.reason)));
      return answer(call % 2 ? 503 : 200);
    },
    async calls(gate, note, clock) {
      const controller = new AbortController();
      const hasty = gate.with({ attemptTimeout: 300, deadline: 5_000, signal: controller.signal });
      many(40, (i) => note(i, hasty.fetch("https://api.example/", { method: i % 3 ? "GET" : "POST" })));
      await clock.advance(2_000);
      controller.abort(new Error("enough"));
    },
  }],
  "a known limit, keys and permits": [{ requests: { limit: 10, per: 1_000, burst: 2 }, queue: 20 }, {
    async calls(gate, note, clock) {
      many(30, (i) => note(i, gate.run(() => i, { key: i % 2 ? "a" : "b" })));
      const permit = gate.tryAcquire({ key: "c" });
      permit.settle({ outcome: "throttled", retryAfter: 3_000 });
      note("c", gate.run(() => "c", { key: "c" }));
      await clock.advance(1_000);
      gate.setPolicy({ requests: { limit: 1, per: 1_000 } });
      many(3, (i) => note(`wrapped ${i}`, gate.wrap((x) => x, { key: "a" })(i)));
      await clock.advance(1_000);
      gate.reset("c");
      many(30, (i) => note(`full ${i}`, gate.run(() => i, { key: "d", outcome: () => "ok" })));
    },
  }],
  "costs, and a lower ceiling": [{ tokens: { limit: 1_000, per: 10_000, burst: 500 } }, {
    costs: true,
    async calls(gate, note, clock) {
      const call = (i) => note(i, gate.run(() => i, { cost: { requests: 1 + (i % 3), tokens: 10 + i }, actualCost: () => ({ requests: 1 + (i % 2), tokens: 5 * i }) }));
      many(60, call);
      await clock.advance(3_000);
      note("throttled", gate.run(() => ({ status: 429, headers: { "retry-after": "600" } }), { priority: 7, retry: false }));
      await clock.advance(1_000);
      gate.setPolicy({ tokens: { limit: 1_000, per: 10_000 }, maxCooldown: 2_000 });
      many(20, call);
    },
  }],
};

for (const [name, [options, program]] of Object.entries(PROGRAMS)) {
  test(`all entries do the same: ${name}`, async () => {
    const entries = [tidegate, full, js, ...(program.costs ? [] : [lite])].map((entry) => seen(entry, entry === lite ? options : { warnAfter: Infinity, ...options }, program));
    const [events, ...others] = await Promise.all(entries);
    assert.ok(events.length > 40, events.length);
    for (const other of others) assert.deepEqual(other, events);
  });
}

test("a POST is repeated if the server asks for that, through every entry", async () => {
  for (const create of [tidegate, full, js, lite]) for (const [value, calls] of [["true", 2], ["maybe", 1]]) {
    let sent = 0;
    const fetch = async () => answer(sent++ ? 200 : 503, { "x-should-retry": value });
    await create({ backoff: { base: 1, max: 1 }, fetch }).fetch("https://api.example/", { method: "POST" });
    assert.equal(sent, calls);
  }
});

test("an option of the main entry is reported as such", async () => {
  const lacks = (name) => (error) => error instanceof PolicyError && error.message === `the option "${name}" is in tidegate, not in tidegate/lite`;
  const gate = lite();
  for (const name of ["tokens", "retryBudget", "warnAfter"]) assert.throws(() => lite({ [name]: {} }), lacks(name));
  assert.throws(() => gate.setPolicy({ tokens: { limit: 1, per: 1 } }), lacks("tokens"));
  for (const name of ["cost", "actualCost"]) {
    await assert.rejects(gate.run(() => 1, { [name]: 2 }), lacks(name));
    await assert.rejects(gate.fetch("https://api.example/", {}, { [name]: 2 }), lacks(name));
    assert.throws(() => gate.with({ [name]: 2 }), lacks(name));
  }
  assert.throws(() => lite({ quotas: 1 }), /^PolicyError: there is no option "quotas" of a gate; the options are law, requests, concurrency,/);
  assert.deepEqual(["stats", "peek", "soonest"].filter((name) => name in gate), []);
});
