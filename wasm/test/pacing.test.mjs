// Guarantees about time that other packages do not keep: see bench/README.md.

import assert from "node:assert/strict";
import test from "node:test";
import { tidegate } from "tidegate";
import { pacing } from "tidegate/pacing";
import { measured } from "./live.mjs";

/** The largest number of `times` in any span of this many milliseconds. */
function most(times, span) {
  let best = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last] - times[first] >= span) first++;
    best = Math.max(best, last - first + 1);
  }
  return best;
}

/** One call at 0 s and three hundred at 0.9 s: when they started, by the gate's clock. */
async function bursts(clock, call) {
  const starts = [];
  const start = () => starts.push(clock.read);
  const first = call(start);
  await new Promise((wake) => setTimeout(wake, 900));
  await Promise.all([first, ...Array.from({ length: 300 }, () => call(start))]);
  return starts;
}

test("a hundred per second are at most 101 in any second, and one in any eight milliseconds", async (t) => {
  let starts;
  const run = async () => {
    const clock = { now: () => (clock.read = performance.now()) };
    const gate = tidegate({ law: "fixed", requests: { limit: 100, per: 1_000 }, now: clock.now });
    starts = await bursts(clock, (start) => gate.run(start));
    assert.equal(starts.length, 301);
    assert.ok(most(starts, 1_000) <= 101, `${most(starts, 1_000)} in a second`);
  };
  // Ten, but for the two that a late timer is made up for. On a busy machine a call starts long after it was admitted.
  assert.ok(await measured(t, run, () => most(starts, 8) === 1), "two within eight milliseconds");
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
  assert.throws(() => pacing({ limit: 0, per: 1_000 }), RangeError);
});
