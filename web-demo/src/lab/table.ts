/** The table of metrics: one row per law. The best value of each column is marked. */

import { h } from "./dom";
import { best, head, meaning, shown, written } from "./metric";
import type { Lane } from "./lane";

export class Figures {
  readonly element: HTMLElement;
  readonly #table = h("table", { class: "figures" });
  readonly #all = h("input", { type: "checkbox", id: "lab-all-figures" });
  readonly #caption = h("caption");
  readonly #meanings = h("dl", { class: "meanings" });
  #lanes: Lane[] = [];
  #key = "";

  constructor() {
    this.#all.addEventListener("change", () => this.show(this.#lanes, this.#caption.textContent ?? ""));
    this.element = h("div", { class: "table-of-figures" },
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of each law" }, this.#table),
      h("label", { class: "check", for: this.#all.id }, this.#all, "All figures, and the digest of each run"),
      h("details", {}, h("summary", {}, "What the columns mean"), this.#meanings));
  }

  show(lanes: Lane[], caption: string): void {
    this.#lanes = lanes;
    const names = shown(lanes.map((lane) => lane.metrics), this.#all.checked);
    const key = `${lanes.map((lane) => lane.law).join()} ${names.join()} ${this.#all.checked}`;
    if (key !== this.#key) this.#build(lanes, names);
    this.#key = key;
    if (this.#caption.textContent !== caption) this.#caption.textContent = caption;
    const bests = names.map((name) => best(name, lanes.map((lane) => lane.metrics)));
    lanes.forEach((lane, row) => {
      const cells = this.#table.tBodies[0]!.rows[row]!.cells;
      names.forEach((name, column) => {
        const cell = cells[column + 1]!;
        const text = lane.failed ? "broke" : written(name, lane.metrics[name]);
        const isBest = bests[column]!.includes(row);
        if (cell.firstChild!.textContent !== text) cell.firstChild!.textContent = text;
        cell.dataset.value = String(lane.metrics[name]);
        cell.classList.toggle("best", isBest);
        cell.lastElementChild!.textContent = isBest ? " best" : "";
      });
      if (this.#all.checked) cells[names.length + 1]!.textContent = lane.digest;
    });
  }

  #build(lanes: Lane[], names: string[]): void {
    const column = (name: string) => h("th", { scope: "col", title: meaning(name) }, head(name));
    this.#table.replaceChildren(
      this.#caption,
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "law"), ...names.map(column), this.#all.checked && h("th", { scope: "col" }, "digest"))),
      h("tbody", {}, ...lanes.map((lane, index) => h("tr", { "data-law": lane.law },
        h("th", { scope: "row" }, h("i", { class: `swatch s${index + 1}` }), lane.law),
        ...names.map((name) => h("td", { "data-metric": name }, h("span"), h("span", { class: "sr" }))),
        this.#all.checked && h("td", { class: "digest" })))));
    this.#meanings.replaceChildren(...names.flatMap((name) => [h("dt", {}, head(name)), h("dd", {}, meaning(name))]));
  }
}
