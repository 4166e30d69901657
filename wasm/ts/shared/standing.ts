/** Whose policy applies to a budget: that of the program that joined last. See `core/docs/shared.md`. */

import { TidegateError } from "../errors.js";
import { leaves } from "./carrier.js";
import type { BudgetCore } from "./core.js";
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

/** The results of `standing_meet`: from the second on, the other policy applies. */
const REPLACES = 1;
const REPLACED = 2;
const REPLACED_AHEAD = 3;

export class Standing {
  readonly #text: string;
  /** The digest of the policy, once it is needed. */
  #digest: number | undefined;
  #tell: (why: unknown) => void = () => {};
  /** The time of day, in milliseconds since 1970, by a clock that all programs share; 0 if it is not known yet. */
  today: () => number = Date.now;
  /** The digests of the policies that have replaced this one. */
  readonly #told = new Set<number>();

  constructor(private readonly policy: SharedPolicy, private readonly core: () => BudgetCore) {
    this.#text = JSON.stringify(policy);
  }

  /** The program sends a request. `tell` gets the error that another policy applies. */
  ask(tell: (why: unknown) => void): void {
    this.#open().standing_ask(performance.now());
    this.#tell = tell;
  }

  /** This program's policy, to take a seat with. */
  claim(): Told {
    return { since: this.#open().standing_start(this.today()), digest: this.#digest!, text: this.#text };
  }

  /** Whether this program has joined. One that has just started may end at once. */
  get hasJoined(): boolean {
    return !!this.#open().standing_has_joined(performance.now());
  }

  /** This program has taken a seat with its policy. */
  hold({ since }: Told): void {
    this.#open().standing_hold(since);
  }

  /** This program has lost a seat that it did not leave. */
  lost(): void {
    this.#open().standing_lost(performance.now());
  }

  /** Whether this program takes the seat of a holder with a request, because its policy replaces the other one, if that is known. */
  replaces(other: Told | undefined, request: Uint8Array): boolean {
    return !!other && !leaves(request) && this.#meet(other) === REPLACES;
  }

  /** Whether this program, which has the seat, leaves it to another one, whose policy replaces its own. */
  yields(other: Told | undefined): boolean {
    return !!other && this.#meet(other) >= REPLACED;
  }

  /** If the other policy applies, says so once for each policy. */
  #meet({ since, digest, text }: Told): number {
    const rank = this.#open().standing_meet(performance.now(), this.today(), since, digest);
    if (rank >= REPLACED && !this.#told.has(digest)) {
      this.#told.add(digest);
      const why = rank === REPLACED_AHEAD ? "whose clock is more than a day ahead of that of this one" : "that joined later";
      const remedy = rank === REPLACED_AHEAD ? "Set the clock of both machines, and restart that program" : "Give both the same policy";
      this.#tell(new TidegateError("POLICY", `the policy of this program, ${this.#text}, does not apply, because one ${why} shares the budget with another: ${text}. ${remedy}`));
    }
    return rank;
  }

  #open(): BudgetCore {
    const core = this.core();
    if (this.#digest !== undefined) return core;
    const digest = core.standing_open(writeShared(core.row(), this.policy));
    if (digest < 0) throw impossible();
    this.#digest = digest;
    return core;
  }
}
