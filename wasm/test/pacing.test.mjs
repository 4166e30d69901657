// Guarantees about time that other packages do not keep: see bench/README.md.

import assert from "node:assert/strict";
import test from "node:test";
import { tidegate as main } from "tidegate";
import { tidegate as full } from "tidegate/full";
import { tidegate as js } from "tidegate/js";
import { tidegate as lite } from "tidegate/lite";
import { pacing } from "tidegate/pacing";
import { testClock } from "tidegate/test";
import { chance } from "./tools.mjs";

/** The largest number of `times`, or the largest total of their costs, in any span of this many milliseconds. */
function most(times, span, costs = times.map(() => 1)) {
  let [best, total] = [0, 0];
  for (let first = 0, last = 0; last < times.length; last++) {
    total += costs[last];
    while (times[last] - times[first] >= span) total -= costs[first++];
    best = Math.max(best, total);
  }
  return best;
}

/** Strict quotas: one that p-queue and p-throttle have too, and others at random. */
function* stricts(count) {
  const random = chance(count);
  yield [{ limit: 10, per: 1_000, burst: 1 }, random];
  for (let i = 1; i < count; i++) {
    const limit = 1 + random(30);
    yield [{ limit, per: 10 + random(2_000), burst: 1 + random(limit) }, random];
  }
}

/** A pacing gate with the method of the others. */
const paced = ({ requests, now, timers }) => {
  const one = pacing({ ...requests, now, timers });
  return { run: (start) => one.wait().then(start) };
};

for (const [name, tidegate] of Object.entries({ main, full, js, lite, paced })) {
  test(`no period has more calls than a strict quota, with late timers: ${name}`, async () => {
    for (const [quota, random] of stricts(8)) {
      const { advance, options: { now, timers } } = testClock();
      // A pacing gate leaves a call that is late to its timer.
      const late = tidegate === paced ? timers : { ...timers, setTimeout: (then, ms) => timers.setTimeout(then, ms + random(quota.per >> 2)) };
      const gate = tidegate({ concurrency: 5, requests: { ...quota, strict: true }, now, timers: late });
      const starts = [];
      for (let i = 0; i < 40; i++) {
        void gate.run(() => starts.push(now()));
        if (!random(5)) await advance(random(2 * quota.per));
      }
      await advance(60 * quota.per);
      assert.equal(starts.length, 40);
      assert.ok(most(starts, quota.per) <= quota.limit, JSON.stringify(quota));
    }
  });
}

test("no period has more tokens than a strict quota, half of which may be sent at once", async () => {
  const random = chance(1);
  const { advance, options } = testClock();
  const gate = main({ tokens: { limit: 100, per: 1_000, strict: true }, ...options });
  await assert.rejects(gate.run(() => {}, { cost: { tokens: 51 } }), { code: "TOO_BIG" });
  const [starts, costs] = [[], []];
  for (let i = 0; i < 40; i++) {
    const tokens = 1 + random(50);
    void gate.run(() => (starts.push(options.now()), costs.push(tokens)), { cost: { tokens } });
  }
  await advance(30_000);
  assert.equal(starts.length, 40);
  const total = most(starts, 1_000, costs);
  assert.ok(total > 75 && total <= 100, `${total}`);
});

test("a pacing gate gives each call its own time, and refunds abandoned calls", async () => {
  const one = pacing({ limit: 100, per: 1_000 });
  const left = [];
  const before = performance.now();
  await Promise.all(Array.from({ length: 30 }, (_, i) => one.wait().then(() => left.push(i))));
  // Node's timers may fire early by a little.
  assert.ok(performance.now() - before >= 280);
  assert.deepEqual(left, Array.from({ length: 30 }, (_, i) => i));
  const controller = new AbortController();
  const slow = pacing({ limit: 1, per: 60_000 });
  assert.equal(slow.take(), true);
  assert.equal(slow.take(), false);
  const waits = Array.from({ length: 50 }, () => slow.wait(1, controller.signal));
  controller.abort("enough");
  for (const wait of waits) await assert.rejects(wait, (reason) => reason === "enough");
  await assert.rejects(slow.wait(2), RangeError);
  one.cooldown(60_000);
  assert.equal(one.take(), false);
  assert.throws(() => slow.take(2), RangeError);
  for (const wrong of [{ limit: 0, per: 1_000 }, { limit: 2, per: 1, burst: 3, strict: true }, ...[0, -1, NaN].map((burst) => ({ limit: 2, per: 1, burst }))]) {
    assert.throws(() => pacing(wrong), RangeError);
  }
});
