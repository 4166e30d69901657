// One budget for eight members: real workers, a real object, a real API. The whole run, with longer
// stretches, is in tests/golden/shared-workerd.md.

import assert from "node:assert/strict";
import test from "node:test";
import { BOUND } from "./fleet-figures.mjs";
import { run } from "./fleet-scenarios.mjs";
import { measured } from "./live.mjs";

/**
 * Runs a scenario, and checks what holds even on a busy machine. `good` gets the figures of the stretches; its bars are
 * low, because eight isolates share the processors.
 */
async function passes(t, name, good) {
  let figures;
  const scenario = async () => {
    const done = await run(t, name, "fixed", false);
    assert.equal(done.lost, 0, "calls were lost");
    assert.equal(done.twice, 0, "calls were made twice");
    for (const { stretch, excess } of done.stretches) assert.ok(excess <= BOUND, `${stretch}: ${excess} calls above the limit`);
    return (figures = Object.fromEntries(done.stretches.map((is) => [is.stretch, is])));
  };
  assert.ok(await measured(t, scenario, good), JSON.stringify(figures));
}

test("eight members with clocks hours apart share a limit evenly, and few calls wait for a message", (t) =>
  passes(t, "skew", ({ then }) => then.utilisation > 0.6 && then.jain > 0.9 && then.local > 0.8));

test("members that crash with leases delay others only briefly", (t) =>
  passes(t, "crash", ({ then }) => then.utilisation > 0.6 && then.jain > 0.8));

test("an evicted object continues from its record", (t) =>
  passes(t, "evict", ({ then }) => then.utilisation > 0.6 && then.alone < 0.2));

test("without the object, members keep to their shares, and return to it later", (t) =>
  passes(t, "outage", ({ "without it": without, then }) =>
    without.utilisation > 0.5 && without.alone > 0.7 && then.utilisation > 0.5 && then.alone < 0.5));

test("a sudden tenfold load does not exceed the limit", (t) => passes(t, "step", ({ then }) => then.utilisation > 0.6));
