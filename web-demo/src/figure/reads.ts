/** The table under a figure: one row per world, filled from the engine's metrics. */

import { number, percent, seconds } from "../plot/number";
import type { Metrics } from "./stage";

export class Reads {
  readonly #rows: HTMLTableRowElement[];

  constructor(table: HTMLTableElement) {
    this.#rows = [...table.tBodies[0]!.rows];
  }

  /** Names a row whose subject the reader can choose. */
  name(row: number, name: string): void {
    const head = this.#rows[row]?.querySelector("th");
    if (head) head.textContent = name;
  }

  show(metrics: Metrics[]): void {
    metrics.forEach((values, row) => {
      for (const cell of this.#rows[row]?.querySelectorAll<HTMLElement>("[data-metric]") ?? []) {
        const text = written(cell.dataset.metric!, values);
        cell.dataset.value = String(values[cell.dataset.metric!]);
        if (cell.textContent !== text) cell.textContent = text;
      }
    });
  }
}

/** A metric's value as text, by the metric's name. */
export function written(name: string, metrics: Metrics): string {
  const value = metrics[name];
  if (/util|throttled$/.test(name)) return percent(value);
  if (name.startsWith("jain")) return value == null ? "–" : value.toFixed(3);
  if (name.endsWith("_ms")) return seconds(value == null ? null : value / 1000);
  if (name.endsWith("_s")) return value == null ? "–" : `${number(value, 4)} s`;
  return number(value, 4);
}
