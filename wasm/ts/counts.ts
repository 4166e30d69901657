/** Counters of a gate, and what its keys would make a new call wait for. */

import { PolicyError } from "./errors.js";
import type { Inside, Several } from "./gate.js";
import { CAUSES, type Lane } from "./lane.js";
import { checkKey, COUNTERS, type Counts, type Key, type Peek, type Stats } from "./options.js";

/** Creates the methods of a gate whose calls may have several keys. */
export const counts = (inside: Inside, several?: Several): Counts<Key> => {
  const { now, lanes, lanesOf, isPaused } = inside;
  /** The counters of forgotten keys. */
  const past = nothing();
  inside.retired = (lane) => {
    count(past, lane);
    past.inFlight = 0;
  };

  const stats = (key?: string) => {
    const sum = key === undefined ? { ...past, causes: { ...past.causes } } : nothing();
    for (const lane of lanesOf(key)) {
      count(sum, lane);
      sum.keys++;
      sum.waiting += lane.waiting;
      sum.interval = Math.max(sum.interval, lane.house.core.interval(lane.gate, 0, now()));
    }
    return sum;
  };

  const peekAt = (key: Key = ""): Peek => {
    checkKey(key);
    const lane = lanes.get(key);
    const paused = isPaused();
    if (!lane) return { wait: paused ? Infinity : 0, cause: paused ? "paused" : undefined, waiting: 0, inFlight: 0 };
    const { core } = lane.house;
    const time = now();
    const cause = paused ? "paused" : CAUSES[(core.why(lane.gate, -1, time, NaN, 1, 0) - 1) % 4];
    const { waiting, inFlight } = stats(key);
    return { wait: paused ? Infinity : core.peek(lane.gate, time), cause, waiting, inFlight };
  };

  const peek = several?.peek(peekAt) ?? peekAt;

  return {
    stats,
    peek,
    soonest(keys) {
      const ranks = keys.map((key) => {
        const { wait, cause, waiting, inFlight } = peek(key);
        return { key, ranks: [+(cause === "concurrency"), wait, waiting + inFlight] };
      });
      const [first] = ranks.sort(({ ranks: a }, { ranks: b }) => a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!);
      if (!first) throw new PolicyError("soonest needs at least one key");
      return first.key;
    },
  };
};

/** Adds the counters of a lane. */
function count(sum: Stats, { house: { core }, gate, causes }: Lane): void {
  core.stats(gate);
  const row = core.row();
  COUNTERS.forEach((name, i) => name && (sum[name] += row[i]!));
  for (const cause of CAUSES) {
    sum.causes[cause] += causes[cause];
    sum.waits += causes[cause];
  }
}

/** Counters at zero. */
function nothing(): Stats {
  const sum = { keys: 0, waiting: 0, waits: 0, interval: 0, causes: { pacing: 0, cooldown: 0, concurrency: 0, retryBudget: 0, paused: 0 } } as Stats;
  for (const name of COUNTERS) if (name) sum[name] = 0;
  return sum;
}
