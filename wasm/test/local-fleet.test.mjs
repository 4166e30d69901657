// One budget for a fleet of Node and Rust processes on one machine: real processes, a real socket, a real API. The
// whole run, with longer stretches, is in tests/golden/shared-local.md.

import assert from "node:assert/strict";
import test from "node:test";
import { BOUND } from "./fleet-figures.mjs";
import { measured } from "./live.mjs";
import { run } from "./local-story.mjs";

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
  const isUsed = ([, eight, killed, closed, last]) =>
    eight.utilisation > 0.95 && eight.jain > 0.95 && killed.utilisation > 0.8 && [closed, last].every(({ utilisation }) => utilisation > 0.9) &&
    [eight, killed, closed, last].every(({ alone }) => alone < 0.1);
  assert.ok(await measured(t, story, isUsed), told);
});
