/** Calls on their way: when each met the gate, and what the gate said. */

import type { Frame } from "../engine";

/** The numbers of steps and outcomes, as the engine has them. */
export const DECIDED = 4;
export const LEFT = 0;
export const SERVED = 0;

export interface Call { at: number; thread: number; served: boolean }

/** The calls whose decision is not far from the present, the earliest first. */
export class Calls {
  #calls: Call[] = [];
  #first = 0;
  /** One call in so many is kept, so that a crowd stays a crowd and not a wall. */
  every = 1;
  #count = 0;

  clear(): void {
    [this.#calls, this.#first, this.#count] = [[], 0, 0];
  }

  take({ steps }: Frame): void {
    if (!steps) return;
    const { at, thread, what, value } = steps;
    for (let index = 0; index < at.length; index++) {
      if (what[index] !== DECIDED || this.#count++ % this.every !== 0) continue;
      this.#calls.push({ at: at[index] ?? 0, thread: thread[index] ?? 0, served: value[index] === SERVED });
    }
  }

  /** Forgets calls before a point in time, and shows those up to another. */
  *between(from: number, to: number): Iterable<Call> {
    while ((this.#calls[this.#first]?.at ?? Infinity) < from) this.#first++;
    if (this.#first > 4096) {
      this.#calls.splice(0, this.#first);
      this.#first = 0;
    }
    for (let index = this.#first; index < this.#calls.length; index++) {
      const call = this.#calls[index];
      if (!call || call.at > to) return;
      yield call;
    }
  }
}
