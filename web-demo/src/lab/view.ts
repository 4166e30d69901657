/** A law's card: its four plots, with the same axes as the other cards, and its results. */

import { Series, type Axis, type Line, type Rows } from "../plot/series";
import { clock, number, percent, round, seconds } from "../plot/number";
import { textTable, type Table } from "../plot/table";
import type { Tone } from "../plot/theme";
import { h, say } from "./dom";
import { lineOf } from "./laws";
import { SHORTEST, longWindow, type Lane } from "./lane";

/** What all cards share: the end of the run and the maxima over all lanes. */
export interface Scale {
  /** Seconds. */
  end: number;
  /** Calls a second. */
  calls: number;
  /** The power of ten of the longest wait. */
  wait: number;
}

/** Units of time for the axis: three of one make its shortest run. */
const UNITS: [number, string][] = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];

export class Card {
  readonly element: HTMLElement;
  readonly #plots: Series[] = [];
  #unit = "s";
  readonly #time: Axis = { label: "time", format: (value) => (value === 0 ? `0 ${this.#unit}` : number(value, 6)), min: 0, max: 1, bare: true };
  readonly #calls: Axis = { label: "calls", format: number, min: 0, max: 1, bare: true };
  readonly #throttled: Axis = { label: "throttled", format: (share) => percent(share), min: 0, max: 1, bare: true };
  readonly #waits: Axis = { label: "wait", format: (power) => (Number.isInteger(power) ? seconds(10 ** power) : ""), min: Math.log10(SHORTEST), max: 0, bare: true };
  readonly #shares: Axis = { label: "share", format: number, min: 0, max: 2, bare: true };
  readonly #details: HTMLDetailsElement;
  readonly #line = h("p", { class: "so-far" });
  readonly #tell: () => void;
  readonly #watch: IntersectionObserver;
  #scale: Scale = { end: 1, calls: 1, wait: 0 };
  #gone = false;
  /** The value of a burst that exceeds the plot. */
  readonly #peak = h("span", { class: "peak" });
  /** Whether any part is in view; if not, it is not drawn. */
  seen = true;

  constructor(readonly lane: Lane, index: number, remove: () => void) {
    const tone = (["s1", "s2", "s3", "s4", "s5", "s6"] as const)[index]!;
    const host = (name: string) => h("div", { class: `plot ${name}`, role: "img", "aria-label": `Plot of ${lane.law}: ${name}. The numbers are in the table below it.` });
    const plot = (name: string, caption: string, axis: Axis, lines: Line[]) => {
      const [element, legend] = [host(name), h("ul", { class: "legend" })];
      const series = () => new Series(element, this.#time, axis, lines, legend);
      return { caption, element, legend, series };
    };
    const plots = [
      plot("served", longWindow(lane.scenario) ? "Served in the window, calls" : "Served, calls/s", this.#calls, [
        { label: "served", tone, width: 1.5, fill: true }, { label: "limit", tone: "soft", dash: [5, 4], width: 1.25 },
      ]),
      plot("throttled", "Throttled", this.#throttled, [{ label: "throttled", tone: "throttled", width: 1.5, fill: true }]),
      plot("waits", "Wait at the gate", this.#waits, [
        { label: "average", tone, width: 1.5 }, { label: "longest seen", tone: "soft", dash: [2, 3], width: 1.25 },
      ]),
      plot("shares", lane.world.processes > 1 ? "Shares of clients, 1 is even" : "Shares of clients: there is only one", this.#shares, [
        { label: "least", tone, width: 1.5 }, { label: "most", tone: "soft", dash: [2, 3], width: 1.25 },
      ]),
    ];
    this.#details = h("details", {}, h("summary", {}, `Numbers of ${lane.law}`));
    this.element = h("article", { class: "lane", "data-law": lane.law, "aria-label": lane.law },
      heading(lane.law, tone, remove),
      h("p", { class: "law-line" }, lineOf(lane.law) ?? "a law of your own"),
      this.#line,
      ...plots.map(({ caption, element, legend }) => h("div", {}, h("div", { class: "caption" }, h("h4", {}, caption), legend), element)),
      this.#details);
    // The plots need their elements in the page first.
    queueMicrotask(() => {
      if (this.#gone) return;
      this.#plots.push(...plots.map(({ series }) => series()));
      this.paint(this.#scale);
    });
    plots[0]!.element.append(this.#peak);
    this.#watch = new IntersectionObserver((entries) => {
      this.seen = entries.at(-1)!.isIntersecting;
      if (this.seen) this.paint(this.#scale);
    }, { rootMargin: "300px" });
    this.#watch.observe(this.element);
    this.#tell = textTable(this.#details, () => this.#table());
  }

  paint(scale: Scale): void {
    this.#scale = scale;
    const { at, served, throttled, capacity, waited, longest, least, most } = this.lane.columns;
    const [size, unit] = UNITS.find(([size]) => scale.end >= 3 * size) ?? [1, "s"];
    this.#unit = unit;
    this.#time.max = scale.end / size;
    this.#calls.max = scale.calls;
    const peak = Math.max(0, ...served.map((calls) => calls ?? 0));
    say(this.#peak, peak > scale.calls ? `up to ${number(peak)} ↑` : "");
    this.#waits.max = scale.wait;
    const time = at.map((at) => at / size);
    const rows: Rows[] = [
      [time, served, capacity],
      [time, throttled],
      [time, waited.map(power), longest.map(power)],
      [time, least, most.map((share) => share && Math.min(share, 2))],
    ];
    this.#plots.forEach((series, index) => series.set(rows[index]!));
    this.#tell();
  }

  measured(): void {
    const { metrics, failed } = this.lane;
    const jain = metrics.jain_process ?? metrics.jain_worker;
    const parts = [
      `used ${percent(metrics.util)}`, `throttled ${percent(metrics.throttled)}`, jain != null && `fairness ${jain.toFixed(2)}`,
    ];
    say(this.#line, failed || parts.filter(Boolean).join(", "));
  }

  destroy(): void {
    this.#gone = true;
    this.#watch.disconnect();
    for (const series of this.#plots) series.destroy();
  }

  /** Whether its table is open. */
  get open(): boolean {
    return this.#details.open;
  }

  set open(open: boolean) {
    this.#details.open = open;
  }

  /** Focuses its remove button. */
  focus(): void {
    this.element.querySelector("button")?.focus();
  }

  #table(): Table {
    const { at, served, capacity, throttled, waited, longest, least, most } = this.lane.columns;
    const unit = longWindow(this.lane.scenario) ? "in the window" : "calls/s";
    const head = ["time", `served, ${unit}`, `the limit, ${unit}`, "throttled", "average wait", "longest wait seen", "least share", "most"];
    const row = (index: number) => [
      clock(at[index]!), number(served[index]), number(capacity[index]), percent(throttled[index]),
      seconds(waited[index]), seconds(longest[index]), number(least[index]), number(most[index]),
    ];
    return { head, rows: at.map((_, index) => row(index)) };
  }
}

/** A law's name and its remove button. */
export function heading(law: string, tone: Tone | null, remove: () => void): HTMLElement {
  return h("header", {},
    h("h3", {}, tone && h("i", { class: `swatch ${tone}` }), law),
    h("button", { type: "button", class: "quiet", onclick: remove, "aria-label": `Remove ${law}` }, "×"));
}

const power = (wait: number | null) => (wait === null ? null : Math.log10(Math.max(wait, SHORTEST)));

/** The scale for all lanes, in round numbers, so that axes change rarely. */
export function scaleOf(lanes: Lane[], end: number): Scale {
  let [gives, calls, wait] = [0, 0, 1];
  for (const { columns } of lanes) {
    for (const value of columns.capacity) gives = Math.max(gives, value ?? 0);
    for (const value of columns.served) calls = Math.max(calls, value ?? 0);
    for (const value of columns.longest) wait = Math.max(wait, value ?? 0);
    for (const value of columns.waited) wait = Math.max(wait, value ?? 0);
  }
  // A burst at the start may exceed the limit a hundred times: it is cut off.
  const most = gives > 0 ? Math.min(calls, gives * 2) : calls;
  return { end, calls: round(Math.max(most, gives * 1.25) || 1, [1, 1.5, 2, 3, 4, 5, 6, 8, 10]), wait: Math.ceil(Math.log10(wait)) };
}
