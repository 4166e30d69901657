// One budget for eight members: real workers, a real object, a real API. The whole run, with longer
// stretches, is in tests/golden/shared-workerd.md.

import assert from "node:assert/strict";
import test from "node:test";
import { BOUND } from "./fleet-figures.mjs";
import { run } from "./fleet-scenarios.mjs";

/** What holds in every scenario, even on a busy machine. The other bars are low for that reason. */
async function sound(t, name) {
  const done = await run(t, name, "fixed", false);
  assert.equal(done.lost, 0, "calls were lost");
  assert.equal(done.twice, 0, "calls were made twice");
  for (const { stretch, excess } of done.stretches) assert.ok(excess <= BOUND, `${stretch}: ${excess} calls above the limit`);
  return Object.fromEntries(done.stretches.map((is) => [is.stretch, is]));
}

test("eight members with clocks hours apart share a limit evenly, and few calls wait for a message", async (t) => {
  const { then } = await sound(t, "skew");
  assert.ok(then.utilisation > 0.6 && then.jain > 0.9 && then.local > 0.8, JSON.stringify(then));
});

test("members that crash with leases delay others only briefly", async (t) => {
  const { then } = await sound(t, "crash");
  assert.ok(then.utilisation > 0.6 && then.jain > 0.8, JSON.stringify(then));
});

test("an evicted object continues from its record", async (t) => {
  const { then } = await sound(t, "evict");
  assert.ok(then.utilisation > 0.6 && then.alone < 0.2, JSON.stringify(then));
});

test("without the object, members keep to their shares, and return to it later", async (t) => {
  const { "without it": without, then } = await sound(t, "outage");
  assert.ok(without.utilisation > 0.5 && without.alone > 0.7, JSON.stringify(without));
  assert.ok(then.utilisation > 0.5 && then.alone < 0.5, JSON.stringify(then));
});

test("a sudden tenfold load does not exceed the limit", async (t) => {
  const { then } = await sound(t, "step");
  assert.ok(then.utilisation > 0.6, JSON.stringify(then));
});
