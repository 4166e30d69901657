// One budget for a fleet of Node processes: real processes, a real Redis server, a real API. The whole
// run, with longer stretches, is in tests/golden/shared-redis.md.

import assert from "node:assert/strict";
import test from "node:test";
import { BOUND } from "./fleet-figures.mjs";
import { measured } from "./live.mjs";
import { run } from "./redis-story.mjs";

test("a fleet passes all disturbances, loses no call, and sends no more than is leased", async (t) => {
  let told;
  const story = async () => {
    const done = await run(t, "fixed", false);
    assert.equal(done.lost, 0, "calls were lost");
    assert.equal(done.twice, 0, "calls were made twice");
    for (const { stretch, excess } of done.stretches) assert.ok(excess <= BOUND, `${stretch}: ${excess} calls above the limit`);
    told = JSON.stringify(done, undefined, 1);
    return done.stretches;
  };
  // Utilisation also depends on the processors, because a fleet has nine processes.
  const isUsed = ([, eight, , killed, stopped, , closed, , , dead, , last]) =>
    eight.utilisation > 0.9 && eight.jain > 0.95 && eight.local > 0.9 &&
    [killed, closed, last].every(({ utilisation, alone }) => utilisation > 0.7 && alone < 0.3) &&
    stopped.utilisation > 0.3 && dead.utilisation > 0.3 && dead.alone > 0.5;
  assert.ok(await measured(t, story, isUsed), told);
});
