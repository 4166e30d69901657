// The scenario of a fleet of tabs: stretches of time, some of which begin with a fault.

import { story } from "./fleet-story.mjs";
import { TabFleet } from "./tabs-fleet.mjs";

const MUST = { utilisation: 0.97, jain: 0.98 };

/** In order: the seconds in tests and in the table, what happens first, and the required figures. */
const stretches = [
  { name: "settling", short: 6 },
  { name: "6 tabs with more to do than there is room for", short: 10, long: 60, must: MUST },
  {
    name: "while the holder's tab is frozen", short: 8, long: 60, must: MUST,
    fault: (fleet) => fleet.freeze(fleet.holder),
  },
  {
    name: "from when the next holder's is closed, too", short: 8, long: 60, must: MUST,
    fault: (fleet) => fleet.crash(fleet.holder),
  },
  { name: "from when the frozen one goes on", short: 8, long: 60, must: MUST, fault: (fleet) => fleet.thaw() },
];

/** Runs a fleet through all stretches with a law, and calls `step` at the start of each. */
export const run = (test, law, long, step) => story(test, TabFleet, stretches, law, long, step);
