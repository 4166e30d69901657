/** One pace: each call is given a time of its own when it comes, and sleeps until then. */

import { nap } from "./wait.js";

/** The quota. */
export interface PaceOptions {
  /** How many calls fit into a period. */
  limit: number;
  /** The period, in milliseconds. */
  per: number;
  /** How many may leave at once. @defaultValue 1 */
  burst?: number;
  /** The clock in milliseconds, for tests. @defaultValue performance.now */
  now?: () => number;
}

/** A pace. */
export interface Pace {
  /** Whether a call of this cost may leave now; if so, it has been charged. */
  readonly take: (cost?: number) => boolean;
  /** Resolves when a call of this cost may leave: first come, first served. */
  readonly wait: (cost?: number, signal?: AbortSignal | null) => Promise<void>;
  /** Keeps calls that come from now on back for so many milliseconds, as a Retry-After asks for. */
  readonly hold: (ms: number) => void;
  /** Frees the pace. Calls that wait already still leave; it paces no more. */
  readonly [Symbol.dispose]: () => void;
}

interface Exports {
  pace_open(calls: number, period: number, burst: number, now: number): number;
  pace_take(pace: number, cost: number, patient: boolean, now: number): number;
  pace_give(pace: number, cost: number, now: number): void;
  pace_delay(pace: number, ms: number, now: number): void;
  pace_close(pace: number): void;
}

/** Makes the `pace` of an entry. */
export const of = (load: () => unknown) => {
  let core: Exports | undefined;
  return ({ limit, per, burst = 1, now = () => performance.now() }: PaceOptions): Pace => {
    const pace = (core ??= load() as Exports);
    const slot = pace.pace_open(limit, per, burst, now());
    if (slot < -1) throw new RangeError("limit, per and burst are above 0, and burst times per is below 584 years");
    if (slot < 0) throw new RangeError("there is no memory for another pace");
    let open = true;
    const take = (cost: number, patient: boolean): number => {
      const ms = open ? pace.pace_take(slot, cost, patient, now()) : 0;
      if (ms !== ms) throw new RangeError(`a cost of ${cost} never fits into a burst of ${burst}`);
      return ms;
    };
    return {
      take: (cost = 1) => take(cost, false) === 0,
      async wait(cost = 1, signal) {
        signal?.throwIfAborted();
        const ms = take(cost, true);
        if (!ms) return;
        try {
          await nap(ms, signal);
        } catch (reason) {
          if (open) pace.pace_give(slot, cost, now());
          throw reason;
        }
      },
      hold(ms) {
        if (open) pace.pace_delay(slot, ms, now());
      },
      [Symbol.dispose]() {
        if (open) pace.pace_close(slot);
        open = false;
      },
    };
  };
};
