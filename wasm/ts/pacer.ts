/** A pacing gate: each call gets its time on arrival and sleeps until then. */

import { dropped, nap, type Timers } from "./wait.js";

/** The quota. */
export interface PacingOptions {
  /** How many calls a period allows. */
  limit: number;
  /** The period, in milliseconds. */
  per: number;
  /** How many may be sent at once. @defaultValue 1 */
  burst?: number | undefined;
  /**
   * Whether no period of this length has more than `limit`. The rate is then `limit + 1 - burst` per `per` + 2 ms. It
   * holds for the times at which calls are due: a call whose timer is late is closer to the next one. @defaultValue false
   */
  strict?: boolean | undefined;
  /** The clock in milliseconds, for tests. @defaultValue performance.now */
  now?: (() => number) | undefined;
  /** The timers, for tests: see `tidegate/test`. @defaultValue globalThis */
  timers?: Timers | undefined;
}

/** A pacing gate. */
export interface Pacing {
  /** Returns whether a call of this cost may be sent now. If so, the call is charged. */
  readonly take: (cost?: number) => boolean;
  /** Resolves when a call of this cost may be sent: first come, first served. */
  readonly wait: (cost?: number, signal?: AbortSignal | null) => Promise<void>;
  /** Makes all calls from now on wait for at least `ms` milliseconds, for a `Retry-After`. */
  readonly cooldown: (ms: number) => void;
  /** Frees the gate. Calls that wait are still sent in time; later calls are not paced. */
  readonly [Symbol.dispose]: () => void;
}

interface Exports {
  pacing_open(calls: number, period: number, burst: number, now: number): number;
  pacing_take(pacing: number, cost: number, patient: boolean, now: number): number;
  pacing_give(pacing: number, cost: number, now: number): void;
  pacing_delay(pacing: number, ms: number, now: number): void;
  pacing_close(pacing: number): void;
}

/** Creates the `pacing` of an entry. */
export const of = (load: () => unknown) => {
  let core: Exports | undefined;
  return ({ limit, per, burst = 1, strict, now = () => performance.now(), timers = globalThis }: PacingOptions): Pacing => {
    const pacing = (core ??= load() as Exports);
    const slot = pacing.pacing_open(limit, per, burst >= 1 ? (strict ? -burst : burst) : 0, now());
    if (slot < -1) throw new RangeError("limit, per and burst must be above 0, burst * per / limit at most 146 years, and with strict, burst at most limit");
    if (slot < 0) throw new RangeError("out of memory for another pacing gate");
    let open = true;
    const take = (cost: number, patient: boolean): number => {
      const ms = open ? pacing.pacing_take(slot, cost, patient, now()) : 0;
      if (ms !== ms) throw new RangeError(`a cost of ${cost} exceeds the burst of ${burst}`);
      return ms;
    };
    // All functions of the gate refer to this one.
    dropped?.register(take, pacing.pacing_close.bind(undefined, slot), take);
    return {
      take: (cost = 1) => take(cost, false) === 0,
      async wait(cost = 1, signal) {
        signal?.throwIfAborted();
        const ms = take(cost, true);
        if (!ms) return;
        try {
          await nap(timers, ms, signal);
        } catch (reason) {
          if (open) pacing.pacing_give(slot, cost, now());
          throw reason;
        }
      },
      cooldown(ms) {
        if (open) pacing.pacing_delay(slot, ms, now());
      },
      [Symbol.dispose]() {
        if (open) pacing.pacing_close(slot);
        dropped?.unregister(take);
        open = false;
      },
    };
  };
};
