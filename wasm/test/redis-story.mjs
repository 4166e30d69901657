// The phases of a fleet on a Redis server. Some begin with a fault.

import { replace, story } from "./fleet-story.mjs";
import { RedisFleet } from "./redis-fleet.mjs";

/** In order: the seconds in tests and in the table, what happens first, and the required figures. */
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

/** Runs a fleet through all stretches with a law, and calls `step` at the start of each. */
export const run = (test, law, long, step) => story(test, RedisFleet, STRETCHES, law, long, step);
