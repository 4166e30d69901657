/** The desk: one budget that members lease from. It knows neither how requests reach it nor where it is kept. */

import type { Exports } from "../core.js";
import { PolicyError, TidegateError } from "../errors.js";
import { made, type BudgetCore } from "./core.js";
import { writeShared, type SharedPolicy } from "./policy.js";

/** What a desk is made with besides its policy: all optional. */
export interface DeskOptions {
  /**
   * What `snapshot` told `away` milliseconds ago, and whether that desk `ended` with it: then this one
   * goes on at once, else behind whatever may have been leased until now. Of a record that does not fit the
   * policy nothing is learnt but that there may be leases.
   */
  from?: { record: Uint8Array; away: number; ended: boolean };
  /** Makes the jitter repeatable, for tests. @defaultValue from `crypto` */
  seed?: number;
  /** The clock in milliseconds, for tests. What was before this program began has its time too. @defaultValue since 1970 */
  now?: () => number;
}

/** What a desk has counted since it was made. */
export type DeskStats = Record<(typeof COUNTERS)[number], number> & {
  /** Requests that were answered. */
  answered: number;
};

/** The counters in the core's order. */
const COUNTERS = [
  "admitted", "ok", "throttled", "busy", "failed", "abandoned", "slowdowns", "speedups", "inFlight", "members", "interval",
] as const;

/** See the module. */
export class Desk {
  readonly #core: BudgetCore;
  readonly #now: () => number;
  #answered = 0;
  /** Whether it goes on from what it was given. */
  readonly resumed: boolean;

  /** `load` gives an instance of the module that is this desk's alone. */
  constructor(load: () => Exports, policy: SharedPolicy, { from, seed, now = () => performance.timeOrigin + performance.now() }: DeskOptions = {}) {
    const core = (this.#core = made(load()));
    this.#now = now;
    const [high, low] = seed === undefined ? crypto.getRandomValues(new Uint32Array(2)) : [0, seed >>> 0];
    const heartbeat = writeShared(core.row(), policy);
    if (from) core.room().set(from.record.subarray(0, 4096));
    const begun = from ? core.budget_restore(high!, low!, now(), heartbeat, from.record.length, from.away, from.ended) : core.budget_open(high!, low!, now(), heartbeat);
    if (!begun) throw impossible();
    this.resumed = !!from && begun === 1;
  }

  /** The grant that answers a request; `undefined` where there is nothing to send. Throws where it is no request. */
  answer(request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const core = this.#core;
    const length = request.length;
    if (length <= 4096) core.room().set(request);
    const grant = length <= 4096 ? core.budget_answer(length, this.#now()) : -1;
    if (grant < 0) {
      throw new TidegateError("MESSAGE", `${length} bytes have come that are no request: they are damaged, or of another version of tidegate than here`);
    }
    this.#answered++;
    return grant ? core.room().slice(0, grant) : undefined;
  }

  /** What is to be kept for when it has to move. Until the next one it leases no further ahead than this one says. */
  snapshot(): Uint8Array<ArrayBuffer> {
    const length = this.#core.budget_snapshot(this.#now());
    return this.#core.room().slice(0, length);
  }

  /** What `snapshot` told last could not be kept, and the one before is all that there is. */
  unkept(): void {
    this.#core.budget_unkept();
  }

  /** Follows another policy from now on. A law that stays the same keeps what it has learnt. */
  follow(policy: SharedPolicy): void {
    const heartbeat = writeShared(this.#core.row(), policy);
    if (!this.#core.budget_follow(this.#now(), heartbeat)) throw impossible();
  }

  /** The counters, and the time between two calls by the law in milliseconds (`interval`; 0 where nothing is kept apart). */
  stats(): DeskStats {
    this.#core.budget_stats(this.#now());
    const row = this.#core.row();
    const told = { answered: this.#answered } as DeskStats;
    COUNTERS.forEach((name, i) => (told[name] = row[i]!));
    return told;
  }
}

/** The core's word on a policy whose numbers, each by itself, can be. */
function impossible(): PolicyError {
  return new PolicyError("the policy's options are not possible together");
}
