// One budget for a fleet: real processes, a real Redis server, real tabs, real workers, and a real API. The whole runs,
// with longer stretches, are in tests/golden/shared-*.md.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { run } from "./fleet.mjs";
import { ALL } from "./fleets.mjs";
import { measured } from "./live.mjs";
import { closeBrowsers } from "./tabs-browser.mjs";

const above = (low, all, name) => all.every((is) => is[name] > low);

/**
 * What each fleet is tested for, its scenario, and the bars of its figures by stretch. They are low, because its members
 * share the processors.
 */
const FLEETS = [
  ["eight Node processes with a Redis server pass all disturbances", "redis", ([, eight, visited, then, , killed, stopped, , closed, , , dead, , last]) =>
    eight.utilisation > 0.9 && eight.jain > 0.95 && eight.local > 0.9 && above(0.85, [visited, then], "utilisation") &&
    [killed, closed, last].every(({ utilisation, alone }) => utilisation > 0.7 && alone < 0.3) &&
    stopped.utilisation > 0.3 && dead.utilisation > 0.3 && dead.alone > 0.5],
  ["eight processes on one machine, in Node and Rust, pass all disturbances", "local", ([, eight, visited, then, killed, closed, last]) =>
    eight.utilisation > 0.95 && eight.jain > 0.95 && killed.utilisation > 0.8 &&
    above(0.9, [visited, then, closed, last], "utilisation") && [eight, visited, killed, closed, last].every(({ alone }) => alone < 0.1)],
  ["six tabs pass all disturbances", "tabs", ([, ...all]) => above(0.85, all, "utilisation") && above(0.9, all, "jain")],
  ["eight isolates with clocks hours apart share a limit evenly, and few calls wait for a message", "skew", ([, then]) =>
    then.utilisation > 0.6 && then.jain > 0.9 && then.local > 0.8],
  ["isolates that crash with leases delay others only briefly", "crash", ([, , then]) => then.utilisation > 0.6 && then.jain > 0.8],
  ["an evicted object continues from its record", "evict", ([, , then]) => then.utilisation > 0.6 && then.alone < 0.2],
  ["without the object, isolates keep to their shares, and return to it later", "outage", ([, without, , then]) =>
    without.utilisation > 0.5 && without.alone > 0.7 && then.utilisation > 0.5 && then.alone < 0.5],
  ["isolates with a sudden tenfold load do not exceed the limit", "step", ([, , then]) => then.utilisation > 0.6],
];

// They wait most of the time.
describe("a fleet loses no call, and sends no more than is leased", { concurrency: 2 }, () => {
  after(closeBrowsers);
  for (const [what, name, good] of FLEETS) {
    test(what, async (t) => {
      let told;
      const scenario = async () => {
        const done = await run(t, ALL[name], "fixed", false);
        told = JSON.stringify(done, undefined, 1);
        assert.equal(done.lost, 0, "calls were lost");
        assert.equal(done.twice, 0, "calls were made twice");
        for (const { stretch, excess } of done.stretches) assert.ok(excess <= ALL[name].bound, `${stretch}: ${excess} calls above the limit`);
        return done.stretches;
      };
      assert.ok(await measured(t, scenario, good), told);
    });
  }
});
