// One budget for a fleet of Node processes: real processes, a real Redis server, a real API. The whole
// run, with longer stretches, is in tests/golden/shared-redis.md.

import assert from "node:assert/strict";
import test from "node:test";
import { BOUND } from "./fleet-figures.mjs";
import { run } from "./redis-story.mjs";

test("a fleet goes through everything, loses nothing, and sends no more than is leased", async (t) => {
  const done = await run(t, "fixed", false);
  const told = JSON.stringify(done, undefined, 1);
  assert.equal(done.lost, 0, "calls were lost");
  assert.equal(done.twice, 0, "calls were made twice");
  for (const { stretch, excess } of done.stretches) assert.ok(excess <= BOUND, `${stretch}: ${excess} calls above the limit`);
  const [, eight, , killed, stopped, , closed, , , dead, , last] = done.stretches;
  assert.ok(eight.utilisation > 0.9 && eight.jain > 0.95 && eight.local > 0.9, told);
  for (const { utilisation, alone } of [killed, closed, last]) assert.ok(utilisation > 0.7 && alone < 0.3, told);
  assert.ok(stopped.utilisation > 0.3, told);
  assert.ok(dead.utilisation > 0.3 && dead.alone > 0.5, told);
});
