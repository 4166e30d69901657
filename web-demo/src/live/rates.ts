/** Turns counts into calls a second over the last minute, for a plot. */

import type { Rows } from "../plot/series";

/** Seconds that a plot covers. */
export const REACH = 60;
/** Rates are averaged over this many seconds. */
const GLANCE = 1;
/** The shortest time that gives a rate. */
const LEAST = 0.5;

interface Sample { at: number; counts: number[] }

export class Rates {
  readonly rows: Rows;
  readonly #samples: Sample[] = [];
  /** The rates of the last second. */
  rates: number[] = [];

  /** For this many counts. Rows have one more value: the limit. */
  constructor(readonly lines: number) {
    this.rows = [[], ...Array.from({ length: lines + 1 }, () => [])];
  }

  /** Records the counts so far. If a count restarts, so does its rate. */
  note(at: number, counts: number[], allowed: number): void {
    const last = this.#samples.at(-1)?.counts;
    if (last) counts.forEach((count, line) => {
      if (count < last[line]!) for (const sample of this.#samples) sample.counts[line] = 0;
    });
    this.#samples.push({ at, counts: [...counts] });
    while (this.#samples.length > 2 && this.#samples[1]!.at <= at - GLANCE) this.#samples.shift();
    const first = this.#samples[0]!;
    const time = at - first.at;
    this.rates = counts.map((count, line) => (time >= LEAST ? Math.max(0, count - first.counts[line]!) / time : 0));
    this.#push(at, time >= LEAST ? this.rates : this.rates.map(() => null), allowed);
    this.#forget(at);
  }

  /** Reports are missing: lines and rates are interrupted. */
  pause(): void {
    const [at] = this.rows[0].slice(-1);
    this.#samples.length = 0;
    if (at !== undefined) this.#push(at, this.rows.slice(2).map(() => null), null);
  }

  #push(at: number, rates: (number | null)[], allowed: number | null): void {
    const [times, ...rows] = this.rows;
    times.push(at);
    [...rates, allowed].forEach((value, row) => rows[row]!.push(value));
  }

  #forget(at: number): void {
    const gone = this.rows[0].findIndex((time) => time >= at - REACH);
    if (gone > 0) for (const row of this.rows) row.splice(0, gone);
  }
}
