/**
 * The settings of a figure: its form in the page. A range with `data-stops` selects one of those
 * values; `data-unit` follows the value.
 */

import { number } from "../plot/number";

export class Knobs {
  constructor(readonly form: HTMLFormElement) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => this.write());
    // Replaces invalid input by the value that runs.
    form.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement && !target.checkValidity()) target.value = target.defaultValue;
    }, true);
    form.addEventListener("reset", () => queueMicrotask(() => this.write()));
    this.write();
  }

  number(name: string): number {
    const input = this.#field(name) as HTMLInputElement;
    return shown(input) * Number(input.dataset.times ?? 1);
  }

  text(name: string): string {
    return this.#field(name).value;
  }

  flag(name: string): boolean {
    return (this.#field(name) as HTMLInputElement).checked;
  }

  /** Writes every range's value beside it, for screens and screen readers. */
  write(): void {
    for (const input of this.form.querySelectorAll<HTMLInputElement>("input[type=range]")) {
      const value = shown(input);
      let unit = input.dataset.unit ?? "";
      if (value === 1) unit = unit.replace(/^calls/, "call");
      const words = input.dataset.zero && value === 0 ? input.dataset.zero : `${number(value, 6)} ${unit}`.trim();
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

/** Invalid input counts as the default. */
function shown(input: HTMLInputElement): number {
  const value = input.checkValidity() ? input.value : input.defaultValue;
  return Number(input.dataset.stops?.split(" ")[Number(value)] ?? value);
}
