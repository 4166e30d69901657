// The scenario of a fleet on one machine: stretches of time, some of which begin with a fault.

import { setTimeout as sleep } from "node:timers/promises";
import { replace, story } from "./fleet-story.mjs";
import { LocalFleet } from "./local-fleet.mjs";

/** The required figures of each law. */
const MUST = {
  fixed: { utilisation: 0.99, jain: 0.99 },
  adaptive: { utilisation: 0.98, throttled: 0.003, jain: 0.99 },
};

/** Kills the holder three times and freezes it once, at this interval in seconds. */
const everything = (apart) => async (fleet) => {
  for (let i = 0; i < 3; i++) {
    await replace("crash")(fleet);
    await sleep(apart * 1_000);
  }
  fleet.stopped = fleet.holder;
  fleet.signal(fleet.stopped, "SIGSTOP");
  await sleep(3_000);
  fleet.signal(fleet.stopped, "SIGCONT");
};

/** In order: the seconds in tests and in the table, what happens first, and the required figures. */
const stretches = (law, long) => [
  { name: "settling", short: 4 },
  { name: "8 processes with more to do than there is room for, their clocks hours apart", short: 10, long: 60, must: MUST[law] },
  { name: "the holder is killed three times, and another process comes; then it is stopped for 3 s", short: 20, long: 120, fault: everything(long ? 30 : 4), must: MUST[law] },
  { name: "from when the holder closes its gate and ends, and another process comes", short: 5, long: 30, fault: replace("close") },
  { name: "at last", short: 3, long: 30, must: MUST[law] },
];

/** Runs a fleet through all stretches with a law, and calls `step` at the start of each. */
export const run = (test, law, long, step) => story(test, LocalFleet, stretches(law, long), law, long, step);
