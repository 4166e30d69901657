/** Curves of what bins have counted, one for each world, with the plot's numbers as a table. */

import type { Frame } from "../engine";
import { Series, type Axis, type Line, type Rows } from "../plot/series";
import { textTable } from "../plot/table";
import { part } from "./part";

export class Curves {
  readonly series: Series;
  readonly #changed: () => void;
  #rows: Rows;
  #fresh = false;

  /** `host` is the figure, in which `.plot`, `.legend` and `details` stand. */
  constructor(host: HTMLElement, x: Axis, y: Axis, lines: Line[]) {
    this.series = new Series(part(host, ".plot"), x, y, lines, host.querySelector<HTMLElement>(".legend"));
    this.#changed = textTable(part(host, "details"), () => this.series.table());
    this.#rows = [[], ...lines.map(() => [])];
  }

  clear(): void {
    this.#rows = [[], ...this.series.lines.map(() => [])];
    this.#fresh = true;
  }

  /** Puts a value of a line at a point of the axis; the points are the multiples of `pitch` from `pitch` on. */
  put(line: number, index: number, pitch: number, value: number | null): void {
    const [axis, ...rows] = this.#rows;
    while (axis.length <= index) {
      axis.push((axis.length + 1) * pitch);
      for (const row of rows) row.push(null);
    }
    const row = rows[line];
    if (row) row[index] = value;
    this.#fresh = true;
  }

  /** Adds a point of its own, whose axis is not before those that are there. */
  push(at: number, values: (number | null)[]): void {
    this.#rows[0].push(at);
    values.forEach((value, line) => (this.#rows[line + 1] as (number | null)[] | undefined)?.push(value));
    this.#fresh = true;
  }

  /** Shows what is new. */
  paint(): void {
    if (!this.#fresh) return;
    this.#fresh = false;
    this.series.set(this.#rows);
    this.#changed();
  }
}

/** Counts of calls, gathered from bins into wider ones: as many as a plot has room for. */
export class Gather {
  #offered = 0;
  #served = 0;
  #wait = 0;
  #waits = 0;
  #bins = 0;
  total = { offered: 0, served: 0 };

  constructor(readonly width: number, readonly then: (index: number, sums: { offered: number; served: number; throttled: number; wait: number | null }) => void) {}

  take({ bins }: Frame): void {
    for (let bin = 0; bin < bins.count; bin++) {
      const [offered, served, wait] = [bins.offered[bin] ?? 0, bins.served[bin] ?? 0, bins.wait[bin] ?? NaN];
      this.#offered += offered;
      this.#served += served;
      this.total.offered += offered;
      this.total.served += served;
      if (!Number.isNaN(wait)) [this.#wait, this.#waits] = [this.#wait + wait, this.#waits + 1];
      if (++this.#bins % this.width) continue;
      this.then(this.#bins / this.width - 1, {
        offered: this.#offered, served: this.#served, throttled: this.#offered - this.#served,
        wait: this.#waits ? this.#wait / this.#waits : null,
      });
      this.#offered = this.#served = this.#wait = this.#waits = 0;
    }
  }
}
