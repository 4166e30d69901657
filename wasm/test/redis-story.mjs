// What a fleet on a Redis server goes through: stretches of time, some of which begin with a fault.

import { setTimeout as sleep } from "node:timers/promises";
import { figures, LIMIT, mark } from "./fleet-figures.mjs";
import { api } from "./live.mjs";
import { RedisFleet } from "./redis-fleet.mjs";

/** The laws that hold the budget, and how many seconds it takes them to find what there is. */
export const LAWS = {
  fixed: { policy: { law: "fixed", requests: { limit: LIMIT, per: 1_000 } }, settling: 15 },
  adaptive: { policy: {}, settling: 120 },
};

/** Another process comes where one has ended. */
const replace = (end) => async (fleet) => {
  const { holder } = fleet;
  await fleet[end](holder);
  await fleet.raise(holder);
};

/** One after the other: how many seconds in the tests and in the table, what happens first, and what must be. */
export const STRETCHES = [
  { name: "settling", short: 4 },
  {
    name: "8 processes with more to do than there is room for, their clocks hours apart", short: 10, long: 60,
    must: { utilisation: 0.97, throttled: 0.005, jain: 0.98, local: 0.9 },
  },
  { name: "from when the holder is killed, and another process comes", short: 8, long: 30, fault: replace("crash") },
  { name: "then", short: 3, long: 30 },
  {
    name: "while the holder is stopped", short: 5, long: 5,
    fault: (fleet) => fleet.signal((fleet.stopped = fleet.holder), "SIGSTOP"),
  },
  { name: "from when it goes on as if nothing had been", short: 4, long: 30, fault: (fleet) => fleet.signal(fleet.stopped, "SIGCONT") },
  { name: "from when the holder closes its gate and ends, and another process comes", short: 5, long: 30, fault: replace("close") },
  { name: "while Redis is silent", short: 5, long: 5, fault: ({ server }) => server.tell("CLIENT", "PAUSE", "5000", "ALL") },
  { name: "from when it ends all connections", short: 5, long: 30, fault: ({ server }) => server.tell("CLIENT", "KILL", "TYPE", "normal") },
  { name: "while Redis is dead", short: 6, long: 60, fault: ({ server }) => server.kill() },
  { name: "from when one that knows nothing takes its place", short: 8, long: 15, fault: ({ server }) => server.start() },
  { name: "at last", short: 3, long: 30 },
];

/** Takes a fleet through all of it under a law; `step` is told of each stretch as it begins. */
export async function run(test, law, long, step = () => {}) {
  const { policy, settling } = LAWS[law];
  const fleet = new RedisFleet(await api(test, "--limit", String(LIMIT)), policy);
  try {
    await fleet.start();
    fleet.saturate(6);
    const marks = [await mark(fleet)];
    for (const { name, fault, short, long: seconds = settling } of STRETCHES) {
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
      stretches: STRETCHES.map(({ name, must }, i) => ({ stretch: name, must, ...figures(fleet, marks[i], marks[i + 1]) })),
      inHand: fleet.inHand,
      lost: fleet.ends("lost"),
      crashed: fleet.ends("crashed"),
      twice: Object.values(works).filter(({ served }) => served > 1).length,
    };
  } finally {
    await fleet.dispose();
  }
}
