/** Whose policy applies to a budget: that of the program that joined last. See `core/docs/shared.md`. */

import type { Exports } from "../core.js";
import { TidegateError } from "../errors.js";
import { made } from "./core.js";
import { impossible } from "./desk.js";
import { writeShared, type SharedPolicy } from "./policy.js";

/** A policy as programs tell each other. */
export interface Told {
  /** When it was new, in milliseconds since 1970, but later than each policy that it replaced. */
  readonly since: number;
  /** Equal for equal policies. */
  readonly digest: number;
  /** For messages. */
  readonly text: string;
}

/** A program joins this many milliseconds after its first request. One that ends earlier replaces no policy. */
const JOINS = 250;

/** The longest pause after a loss, in milliseconds. */
const PAUSE_MOST = 60_000;

export class Standing {
  readonly #digest: () => number;
  readonly #text: string;
  #since: number | undefined;
  #first: number | undefined;
  /** When the pause after a loss ends, and how long it is. */
  #until = -Infinity;
  #pause = 0;
  #tell: (why: unknown) => void = () => {};
  /** The digests of the policies that have replaced this one. */
  readonly #lost = new Set<number>();

  constructor(policy: SharedPolicy, load: () => Exports) {
    let digest: number | undefined;
    this.#digest = () => {
      if (digest !== undefined) return digest;
      const core = made(load());
      const found = core.budget_digest(writeShared(core.row(), policy));
      if (found < 0) throw impossible();
      return (digest = found);
    };
    this.#text = JSON.stringify(policy);
  }

  /** The program sends a request. `tell` gets the error that another policy applies. */
  ask(tell: (why: unknown) => void): void {
    this.#first ??= performance.now();
    this.#tell = tell;
  }

  /** This program's policy, to take a seat with. */
  claim(): Told {
    return { since: this.#since ?? Date.now(), digest: this.#digest(), text: this.#text };
  }

  /** This program has taken a seat with its policy. */
  hold({ since }: Told): void {
    this.#since = Math.max(this.#since ?? 0, since);
  }

  /** This program has lost a seat that it did not leave. It may be slow, so it pauses before it takes one from another policy: for 1, 2, 4, … s. */
  lost(): void {
    const now = performance.now();
    if (now < this.#until) return;
    this.#pause = now - this.#until > PAUSE_MOST ? 1_000 : Math.min(this.#pause * 2, PAUSE_MOST);
    this.#until = now + this.#pause;
  }

  /** Whether this program's policy replaces that of a holder. If not, it says so once for each other policy. */
  replaces(other: Told): boolean {
    const isEqual = other.digest === this.#digest();
    if (isEqual) this.#since = Math.max(this.#since ?? 0, other.since);
    else if (performance.now() - this.#first! >= JOINS) this.#since ??= Math.max(Date.now(), other.since + 1);
    if (isEqual || this.#since === undefined) return false;
    if (this.#since > other.since) return performance.now() >= this.#until;
    if (!this.#lost.has(other.digest)) {
      this.#lost.add(other.digest);
      this.#tell(new TidegateError("POLICY", `the policy of this program, ${this.#text}, does not apply, because one that joined later shares the budget with another: ${other.text}. Give both the same policy`));
    }
    return false;
  }
}
