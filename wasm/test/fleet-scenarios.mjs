// The scenarios of a fleet: stretches of time, some of which begin with a fault.

import { setTimeout as sleep } from "node:timers/promises";
import { figures, LIMIT, mark } from "./fleet-figures.mjs";
import { Fleet } from "./fleet.mjs";
import { api } from "./live.mjs";

const HOUR = 3_600_000;

/** Two isolates in one process, the others in another, and the object in a third. */
const APART = { cells: [[0, 1, 2, 3, 4, 5], [6, 7]] };

/** The laws that hold the budget. */
export const LAWS = {
  fixed: { law: "fixed", requests: { limit: LIMIT, per: 1_000 } },
  adaptive: {},
};

/**
 * Each stretch: its name, its duration in seconds, and what happens at its start. `long` uses the durations of
 * the committed table; tests use shorter ones.
 */
export const SCENARIOS = {
  eight: {
    about: "8 saturated isolates",
    stretches: (_, law) => [
      ["settling", law === "fixed" ? 5 : 120],
      ["then", law === "fixed" ? 60 : 120, undefined, { utilisation: 0.97, throttled: 0.005, jain: 0.98, local: 0.9 }],
    ],
  },
  apart: {
    about: "8 isolates without a shared budget: each searches for its share alone",
    fleet: { shares: false },
    stretches: () => [["settling", 60], ["then", 60]],
  },
  skew: {
    about: "8 isolates whose clocks differ by hours",
    fleet: { skew: (isolate) => isolate * 7 * HOUR },
    stretches: (long) => [["settling", 5], ["then", long ? 60 : 8]],
  },
  crash: {
    about: "the process of 2 of 8 isolates is killed with their leases and calls, and 2 others replace them",
    fleet: APART,
    stretches: (long) => [
      ["before", long ? 30 : 4],
      ["from the crash", long ? 30 : 10, async (fleet) => {
        await fleet.crash(1);
        await fleet.raise(1);
      }],
      ["then", long ? 30 : 3],
    ],
  },
  evict: {
    about: "the object aborts and restores its record",
    stretches: (long) => [
      ["before", long ? 30 : 9],
      ["from the abort", long ? 30 : 6, (fleet) => fleet.tell("evict")],
      ["then", long ? 30 : 3],
    ],
  },
  slow: {
    about: "the object takes 3 s to answer for a while",
    stretches: () => [
      ["before", 30],
      ["while it is slow", 30, (fleet) => fleet.tell("stall?ms=3000")],
      ["after it", 30, (fleet) => fleet.tell("stall?ms=0")],
    ],
  },
  outage: {
    about: "the process of the object is killed, and another continues from the stored state",
    fleet: APART,
    stretches: (long) => [
      ["before", long ? 30 : 5],
      ["without it", long ? 60 : 10, (fleet) => fleet.fell()],
      ["15 s from its return", 15, (fleet) => fleet.wake()],
      ["then", long ? 30 : 3],
    ],
  },
  step: {
    about: "the load suddenly grows tenfold: from 10 calls a second to 100",
    begin: (fleet) => fleet.arise(10),
    stretches: (long) => [
      ["before", long ? 30 : 6],
      ["10 s from the step", long ? 10 : 5, (fleet) => void (fleet.load = 10)],
      ["then", long ? 20 : 3],
    ],
  },
};

/** Runs a scenario with a law, and calls `step` at the start of each stretch. */
export async function run(test, name, law, long, step = () => {}) {
  const scenario = SCENARIOS[name];
  const server = await api(test, "--limit", String(LIMIT));
  const fleet = new Fleet(server, { policy: LAWS[law], ...scenario.fleet });
  try {
    await fleet.start();
    (scenario.begin ?? ((fleet) => fleet.saturate(6)))(fleet);
    const stretches = scenario.stretches(long, law);
    const marks = [await mark(fleet)];
    for (const [stretch, seconds, fault] of stretches) {
      step(stretch, seconds);
      const end = performance.now() + seconds * 1_000;
      await fault?.(fleet);
      await sleep(end - performance.now());
      marks.push(await mark(fleet));
    }
    step("draining", 0);
    await fleet.drain();
    const { works } = await mark(fleet);
    const ends = (how) => fleet.calls.filter(({ ended }) => ended === how).length;
    return {
      stretches: stretches.map(([stretch, , , must], i) => ({ stretch, must, ...figures(fleet, marks[i], marks[i + 1]) })),
      inHand: fleet.inHand,
      lost: ends("lost") + ends(undefined),
      crashed: ends("crashed"),
      twice: Object.values(works).filter(({ served }) => served > 1).length,
    };
  } finally {
    await fleet.dispose();
  }
}
