/**
 * What the reader can turn: the form of a figure, as it stands in the page. A range with
 * `data-stops` chooses among those values; `data-unit` is written behind the value.
 */

import { number } from "../plot/number";

export class Knobs {
  constructor(readonly form: HTMLFormElement) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => this.write());
    form.addEventListener("reset", () => queueMicrotask(() => this.write()));
    this.write();
  }

  number(name: string): number {
    const input = this.#field(name);
    const stops = input.dataset.stops?.split(" ");
    const value = stops ? stops[Number(input.value)] : input.value;
    const factor = Number(input.dataset.times ?? 1);
    return Number(value) * factor;
  }

  text(name: string): string {
    const field = this.form.elements.namedItem(name);
    return field ? (field as HTMLInputElement | RadioNodeList).value : "";
  }

  flag(name: string): boolean {
    return (this.#field(name) as HTMLInputElement).checked;
  }

  /** Writes every range's value beside it, for eyes and for screen readers. */
  write(): void {
    for (const input of this.form.querySelectorAll<HTMLInputElement>("input[type=range]")) {
      const stops = input.dataset.stops?.split(" ");
      const shown = Number(stops ? stops[Number(input.value)] : input.value);
      const words = input.dataset.zero && shown === 0 ? input.dataset.zero : `${number(shown, 6)} ${input.dataset.unit ?? ""}`.trim();
      input.setAttribute("aria-valuetext", words);
      const output = input.parentElement?.querySelector("output");
      if (output) output.textContent = words;
    }
  }

  #field(name: string): HTMLInputElement | HTMLSelectElement {
    const field = this.form.elements.namedItem(name);
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) throw new Error(`There is no control "${name}".`);
    return field;
  }
}
