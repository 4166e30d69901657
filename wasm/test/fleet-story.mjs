// Runs a fleet of processes through stretches of time, some of which begin with a fault.

import { setTimeout as sleep } from "node:timers/promises";
import { figures, LIMIT, mark } from "./fleet-figures.mjs";
import { api } from "./live.mjs";

/** The laws of a budget, and how many seconds they need to find a limit. */
export const LAWS = {
  fixed: { policy: (limit) => ({ law: "fixed", requests: { limit, per: 1_000 } }), settling: 15 },
  adaptive: { policy: () => ({}), settling: 120 },
};

/** Ends the holder, and starts another process in its place. */
export const replace = (end) => async (fleet) => {
  const { holder } = fleet;
  await fleet[end](holder);
  await fleet.raise(holder);
};

/**
 * Runs a fleet through the stretches with a law, and calls `step` at the start of each. `long` uses the durations of
 * the committed table.
 */
export async function story(test, Fleet, stretches, law, long, step = () => {}) {
  const { policy, settling } = LAWS[law];
  const { limit = LIMIT } = Fleet;
  const fleet = new Fleet(await api(test, "--limit", String(limit)), policy(limit));
  try {
    await fleet.start();
    fleet.saturate(6);
    const marks = [await mark(fleet)];
    for (const { name, fault, short, long: seconds = settling } of stretches) {
      const lasts = long ? seconds : short;
      step(name, lasts);
      const end = performance.now() + lasts * 1_000;
      await fault?.(fleet);
      await sleep(end - performance.now());
      marks.push(await mark(fleet));
    }
    step("draining", 0);
    await fleet.drain();
    const { works } = await mark(fleet);
    return {
      stretches: stretches.map(({ name, must }, i) => ({ stretch: name, must, ...figures(fleet, marks[i], marks[i + 1]) })),
      inHand: fleet.inHand,
      lost: fleet.ends("lost"),
      crashed: fleet.ends("crashed"),
      twice: Object.values(works).filter(({ served }) => served > 1).length,
    };
  } finally {
    await fleet.dispose();
  }
}
