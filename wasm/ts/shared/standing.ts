/** Whose policy applies to a budget: that of the program that joined last. See `core/docs/shared.md`. */

import type { Exports } from "../core.js";
import { TidegateError } from "../errors.js";
import { leaves } from "./carrier.js";
import { made, type BudgetCore } from "./core.js";
import { impossible } from "./desk.js";
import { writeShared, type SharedPolicy } from "./policy.js";

/** A policy as programs tell each other. */
export interface Told {
  /** Its start, in milliseconds since 1970. */
  readonly since: number;
  /** Equal for equal policies. */
  readonly digest: number;
  /** For messages. */
  readonly text: string;
}

/** The results of `standing_meet`. */
const REPLACES = 1;
const REPLACED = 2;

export class Standing {
  readonly #policy: SharedPolicy;
  readonly #load: () => Exports;
  readonly #text: string;
  #opened: { readonly core: BudgetCore; readonly digest: number } | undefined;
  #tell: (why: unknown) => void = () => {};
  /** The digests of the policies that have replaced this one. */
  readonly #told = new Set<number>();

  constructor(policy: SharedPolicy, load: () => Exports) {
    this.#policy = policy;
    this.#load = load;
    this.#text = JSON.stringify(policy);
  }

  /** The program sends a request. `tell` gets the error that another policy applies. */
  ask(tell: (why: unknown) => void): void {
    this.#open().core.standing_ask(performance.now());
    this.#tell = tell;
  }

  /** This program's policy, to take a seat with. */
  claim(): Told {
    const { core, digest } = this.#open();
    return { since: core.standing_start(Date.now()), digest, text: this.#text };
  }

  /** This program has taken a seat with its policy. */
  hold({ since }: Told): void {
    this.#open().core.standing_hold(since);
  }

  /** This program has lost a seat that it did not leave. */
  lost(): void {
    this.#open().core.standing_lost(performance.now());
  }

  /**
   * Whether this program takes the seat of a holder with a request, because its policy replaces the other one, if that is
   * known. If the other one applies, it says so once for each policy.
   */
  replaces(other: Told | undefined, request: Uint8Array): boolean {
    if (!other || leaves(request)) return false;
    const { since, digest, text } = other;
    const rank = this.#open().core.standing_meet(performance.now(), Date.now(), since, digest);
    if (rank === REPLACED && !this.#told.has(digest)) {
      this.#told.add(digest);
      this.#tell(new TidegateError("POLICY", `the policy of this program, ${this.#text}, does not apply, because one that joined later shares the budget with another: ${text}. Give both the same policy`));
    }
    return rank === REPLACES;
  }

  #open(): { readonly core: BudgetCore; readonly digest: number } {
    if (this.#opened) return this.#opened;
    const core = made(this.#load());
    const digest = core.standing_open(writeShared(core.row(), this.#policy));
    if (digest < 0) throw impossible();
    return (this.#opened = { core, digest });
  }
}
