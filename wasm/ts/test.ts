/** A clock for tests: time passes when the test says so, for a gate's clock and for its timers. */

import type { Timers } from "./wait.js";

/** See the module. */
export interface TestClock {
  /** What `tidegate({ ...clock.options })` and `pacing({ ...clock.options })` take. */
  readonly options: { readonly now: () => number; readonly timers: Timers };
  /** Lets time pass, timer by timer; what a timer wakes runs before the next one fires. */
  readonly advance: (ms: number) => Promise<void>;
}

// A test may replace the global one with a fake.
const { setTimeout } = globalThis;

/** All that waits for no timer has its turn: promises, and responses that are made in memory. */
const settled = () => new Promise<void>((wake) => setTimeout(wake, 0));

/** Makes a clock that begins at 0. */
export function testClock(): TestClock {
  let time = 0;
  let latest = 0;
  const timers = new Map<number, { at: number; then: () => void }>();
  const advance = async (ms: number) => {
    const end = time + ms;
    for (;;) {
      await settled();
      const [number, timer] = [...timers].reduce<[number, { at: number; then: () => void }] | []>((first, one) => (first[1] && first[1].at <= one[1].at ? first : one), []);
      if (!timer || timer.at > end) break;
      timers.delete(number!);
      time = Math.max(time, timer.at);
      timer.then();
    }
    time = end;
  };
  return {
    options: {
      now: () => time,
      timers: {
        setTimeout(then, ms) {
          timers.set(++latest, { at: time + ms, then });
          return latest;
        },
        clearTimeout: (timer) => void timers.delete(timer),
      },
    },
    advance,
  };
}
