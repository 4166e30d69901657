/** The desk: one of the budgets of an instance of the module. It does not know how requests arrive or where it is stored. */

import { PolicyError, TidegateError } from "../errors.js";
import type { BudgetCore } from "./core.js";
import { writeShared, type SharedPolicy } from "./policy.js";

/**
 * A record of `snapshot` that is `away` milliseconds old, and whether that desk `ended` with it. If it did, the next desk
 * continues at once, else after everything that may have been leased until now. A record that does not fit the policy
 * only says that there may be leases.
 */
export interface Past {
  readonly record: Uint8Array;
  readonly away: number;
  readonly ended: boolean;
}

/** Options of a desk besides its policy. All are optional. */
export interface DeskOptions {
  /** What it continues from. */
  from?: Past | undefined;
  /** The clock in milliseconds, for tests. It must cover times before the program began. @defaultValue since 1970 */
  now?: () => number;
}

/** The counters of a desk since it was created. */
export type DeskStats = Record<(typeof COUNTERS)[number], number> & {
  /** Requests that were answered. */
  answered: number;
};

/** The counters in the core's order. */
const COUNTERS = [
  "admitted", "ok", "throttled", "busy", "failed", "abandoned", "slowdowns", "speedups", "inFlight", "members", "interval",
] as const;

export class Desk {
  readonly #core: BudgetCore;
  readonly #now: () => number;
  readonly #slot: number;
  #answered = 0;
  /** Whether it continues from its record. */
  readonly resumed: boolean;

  constructor(core: BudgetCore, policy: SharedPolicy, { from, now = () => performance.timeOrigin + performance.now() }: DeskOptions = {}) {
    this.#core = core;
    this.#now = now;
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    const heartbeat = writeShared(core.row(), policy);
    const { record, away, ended } = from ?? { record: [], away: NaN, ended: false };
    core.room().set(record.slice(0, 4096));
    const opened = core.budget_open(high!, low!, now(), heartbeat, record.length, away, ended);
    if (opened < -1) throw new TidegateError("KEYS_FULL", "there is no memory for another budget");
    if (opened < 0) throw impossible();
    this.#slot = opened >> 1;
    this.resumed = opened % 2 === 1;
  }

  /** Returns the grant for a request, or `undefined` if there is nothing to send. Throws for an invalid request. */
  answer(request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const core = this.#core;
    const length = request.length;
    if (length <= 4096) core.room().set(request);
    const grant = length <= 4096 ? core.budget_answer(this.#slot, length, this.#now()) : -1;
    if (grant < 0) {
      throw new TidegateError("MESSAGE", `${length} bytes are not a valid request: they are damaged or from another version of tidegate`);
    }
    this.#answered++;
    return grant ? core.room().slice(0, grant) : undefined;
  }

  /** The sender of this request, which was answered, has ended. */
  ended(request: Uint8Array): void {
    this.#core.room().set(request);
    this.#core.budget_ended(this.#slot, request.length, this.#now());
  }

  /** Returns the record to store for a move. Until the next one, it leases no further ahead than this record says. */
  snapshot(): Uint8Array<ArrayBuffer> {
    const length = this.#core.budget_snapshot(this.#slot, this.#now());
    return this.#core.room().slice(0, length);
  }

  /** Reports that the last record could not be stored, so that the previous one is the latest. */
  unkept(): void {
    this.#core.budget_unkept(this.#slot);
  }

  /** Changes the policy. A law that stays the same keeps what it has learned. */
  follow(policy: SharedPolicy): void {
    const heartbeat = writeShared(this.#core.row(), policy);
    if (!this.#core.budget_follow(this.#slot, this.#now(), heartbeat)) throw impossible();
  }

  /** Frees its memory. It is not used after that. */
  close(): void {
    this.#core.budget_close(this.#slot);
  }

  /** The counters, and the law's time between two calls in milliseconds (`interval`; 0 without a rate). */
  stats(): DeskStats {
    this.#core.budget_stats(this.#slot, this.#now());
    const row = this.#core.row();
    const told = { answered: this.#answered } as DeskStats;
    COUNTERS.forEach((name, i) => (told[name] = row[i]!));
    return told;
  }
}

/** The core rejects the policy, although each number is valid. */
export function impossible(): PolicyError {
  return new PolicyError("the policy's options contradict each other");
}
