/** One curve per world of what the bins counted, also as a table. */

import type { Frame } from "../engine";
import { Series, type Axis, type Line, type Rows } from "../plot/series";
import { textTable } from "../plot/table";
import { part } from "./part";

export class Curves {
  readonly series: Series;
  readonly #changed: () => void;
  #rows: Rows;
  #fresh = false;

  /** `host` is the figure; it contains `.plot`, `.legend` and `details`. */
  constructor(host: HTMLElement, x: Axis, y: Axis, lines: Line[]) {
    this.series = new Series(part(host, ".plot"), x, y, lines, host.querySelector<HTMLElement>(".legend"));
    this.#changed = textTable(part(host, "details:not(.more)"), () => this.series.table());
    this.#rows = [[], ...lines.map(() => [])];
  }

  clear(): void {
    this.#rows = [[], ...this.series.lines.map(() => [])];
    this.#fresh = true;
  }

  /** Sets a line's value at a point of the axis. Points are the multiples of `pitch`, from `pitch` on. */
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

  paint(): void {
    if (!this.#fresh) return;
    this.#fresh = false;
    this.series.set(this.#rows);
    this.#changed();
  }
}

export interface Sums { offered: number; served: number; throttled: number }

/** Sums the clients' counts over several bins, so that a plot has room for them. */
export class Gather {
  #bins = 0;
  #told: Sums = { offered: 0, served: 0, throttled: 0 };
  /** The sums since the start. */
  readonly total: Sums = { offered: 0, served: 0, throttled: 0 };

  /** Calls `then` with the sums of each `width` bins, and at the end with the rest. */
  constructor(readonly width: number, readonly then: (index: number, sums: Sums) => void) {}

  take({ bins: { count, byProcess }, over }: Frame): void {
    const processes = count && byProcess.offered.length / count;
    for (let bin = 0; bin < count; bin++) {
      for (let at = bin * processes; at < (bin + 1) * processes; at++) {
        this.total.offered += byProcess.offered[at] ?? 0;
        this.total.served += byProcess.served[at] ?? 0;
      }
      this.#bins += 1;
      if (this.#bins % this.width === 0) this.#tell();
    }
    if (over && this.#bins % this.width) this.#tell();
  }

  #tell(): void {
    const { offered, served } = this.total;
    const sums = { offered: offered - this.#told.offered, served: served - this.#told.served };
    this.#told = { offered, served, throttled: offered - served };
    this.then(Math.ceil(this.#bins / this.width) - 1, { ...sums, throttled: sums.offered - sums.served });
  }
}
