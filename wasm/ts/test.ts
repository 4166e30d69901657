/** A clock for tests. It drives a gate's clock and its timers, and advances only when the test says so. */

import type { Timers } from "./wait.js";

/** A clock that a test controls. */
export interface TestClock {
  /** Options for `tidegate({ ...clock.options })` and `pacing({ ...clock.options })`. */
  readonly options: { readonly now: () => number; readonly timers: Timers };
  /** Advances the clock by `ms` milliseconds. Timers fire in order, and what a timer wakes runs before the next timer fires. */
  readonly advance: (ms: number) => Promise<void>;
}

// A test may replace the global one by a fake.
const { setTimeout } = globalThis;

/** Lets everything run that does not wait for a timer: promises, and responses from memory. */
const settled = () => new Promise<void>((wake) => setTimeout(wake, 0));

/** Creates a clock that starts at 0. */
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
