/** Calls in flight: when each reached the gate, and the decision. */

import { What, type Frame } from "../engine";

export interface Call { at: number; thread: number; served: boolean }

/** The calls whose decision is near the present, the earliest first. */
export class Calls {
  #calls: Call[] = [];
  #first = 0;
  /** Keeps one call in this many, so that dots stay distinguishable. */
  every = 1;
  #count = 0;

  clear(): void {
    [this.#calls, this.#first, this.#count] = [[], 0, 0];
  }

  take({ steps }: Frame): void {
    if (!steps) return;
    const { at, thread, what, value } = steps;
    for (let index = 0; index < at.length; index++) {
      if (what[index] !== What.Decided || this.#count++ % this.every !== 0) continue;
      this.#calls.push({ at: at[index] ?? 0, thread: thread[index] ?? 0, served: value[index] === 0 });
    }
  }

  /** Yields the calls up to `to` and discards those before `from`. */
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
