/** Series of numbers over one axis, drawn by uPlot, which comes when the first of them is near. */

import type uPlot from "uplot";
import type { Table } from "./table";
import { font, onTheme, tone, type Tone } from "./theme";

export interface Axis {
  label: string;
  /** How a value is written, in the table as well. */
  format: (value: number) => string;
  log?: boolean;
  /** Seconds: ticks at full minutes and hours. */
  time?: boolean;
  /** Bounds that hold whatever the data; they may be changed between two `set`s. */
  min?: number;
  max?: number;
  /** Without its name, where a heading already says it. */
  bare?: boolean;
}

export interface Line {
  label: string;
  tone: Tone;
  /** Lengths of dash and gap, so that colour is never all that tells lines apart. */
  dash?: number[];
  /** A mark for each value instead of a line. */
  mark?: "disc" | "cross";
  width?: number;
  /** Whether the area below it is tinted. */
  fill?: boolean;
}

/** The looks of up to six series: colours that stay apart for colour-blind eyes, each with its dash. */
export const LOOKS: { tone: Tone; dash: number[] }[] = [
  { tone: "s1", dash: [] },
  { tone: "s2", dash: [7, 4] },
  { tone: "s3", dash: [2, 3] },
  { tone: "s4", dash: [10, 3, 2, 3] },
  { tone: "s5", dash: [4, 2] },
  { tone: "s6", dash: [1, 4] },
];

/** The first row is the axis, then one for each line. */
export type Rows = [number[], ...(number | null)[][]];

export class Series {
  data: Rows;
  #plot: uPlot | null = null;
  #undo: (() => void)[] = [];

  /** `host` has its height by the style sheet; `legend` is filled with the lines' names. */
  constructor(readonly host: HTMLElement, readonly x: Axis, readonly y: Axis, readonly lines: Line[], legend?: HTMLElement | null) {
    this.data = [[], ...lines.map(() => [])];
    legend?.replaceChildren(...lines.map(entry));
    Object.assign(host, { series: this });
    void this.#load();
  }

  /** Shows these rows. They may grow in place between calls. */
  set(data: Rows): void {
    this.data = data;
    this.#plot?.setData(data as uPlot.AlignedData);
  }

  /** The rows as the plot has them. */
  drawn(): Rows | null {
    return this.#plot && this.#plot.data as Rows;
  }

  /** What the plot shows, in words: every point of it. */
  table(): Table {
    const [axis, ...rows] = this.data;
    const says = (value: number | null | undefined) => (value == null ? "" : this.y.format(value));
    return {
      head: [this.x.label, ...this.lines.map((line) => `${line.label}, ${this.y.label}`)],
      rows: axis.map((at, index) => [this.x.format(at), ...rows.map((row) => says(row[index]))]),
    };
  }

  destroy(): void {
    for (const undo of this.#undo) undo();
    this.#plot?.destroy();
    this.#plot = null;
  }

  async #load(): Promise<void> {
    const [{ default: Plot }] = await Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]);
    if (!this.host.isConnected) return;
    const size = () => ({ width: this.host.clientWidth, height: this.host.clientHeight });
    this.#plot = new Plot({
      ...size(),
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      legend: { show: false },
      padding: [10, 24, 0, 0],
      scales: { x: { time: false, range: bounds(this.x) }, y: { distr: this.y.log ? 3 : 1, range: this.y.log ? decades(this.y) : bounds(this.y) } },
      axes: [axis(this.x, 34), axis(this.y, 58)],
      series: [{}, ...this.lines.map(series)],
    }, this.data as uPlot.AlignedData, this.host);
    this.#plot.over.parentElement?.setAttribute("aria-hidden", "true");
    const resize = new ResizeObserver(() => this.#plot?.setSize(size()));
    resize.observe(this.host);
    this.#undo.push(() => resize.disconnect(), onTheme(() => this.#plot?.redraw(false, true)));
  }
}

/** Where ticks of a time may stand apart. */
const CLOCK = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** From the least to the most, and never less than a sensible piece. */
function bounds(axis: Axis): uPlot.Range.Function {
  return (_plot, least, most) => {
    const low = axis.min ?? least ?? 0;
    return [low, axis.max ?? (most == null || most <= low ? low + 1 : most * 1.04)];
  };
}

/** Whole decades about the values, for an axis of logarithms. */
function decades(axis: Axis): uPlot.Range.Function {
  const ten = (round: (power: number) => number, value: number) => 10 ** round(Math.log10(value));
  return (_plot, least, most) => {
    const low = axis.min ?? ten(Math.floor, least > 0 ? least : 1);
    const high = axis.max ?? ten(Math.ceil, most > 0 ? most : 1);
    return [low, high > low ? high : low * 10];
  };
}

/** Full decades, and their halves and fifths where there are few. */
function powers(_plot: uPlot, _axis: number, least: number, most: number): number[] {
  const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const steps = high - low > 2 ? [1] : [1, 2, 5];
  const splits = Array.from({ length: high - low + 1 }, (_, power) => steps.map((step) => step * 10 ** (low + power))).flat();
  return splits.filter((split) => split >= least * 0.999 && split <= most * 1.001);
}

function axis({ label, format, bare, time, log }: Axis, size: number): uPlot.Axis {
  return {
    ...(!bare && { label, labelSize: 18 }),
    size,
    ...(time && { incrs: CLOCK, space: 64 }),
    ...(log && { splits: powers }),
    stroke: () => tone("soft"),
    font: font(),
    labelFont: font(),
    grid: { stroke: () => tone("line"), width: 1 },
    ticks: { stroke: () => tone("line"), width: 1, size: 4 },
    values: (_plot, ticks) => ticks.map((tick) => (tick == null ? "" : format(tick))),
  };
}

function series({ tone: name, dash, mark, width, label, fill }: Line): uPlot.Series {
  const stroke = () => tone(name);
  if (!mark) return { label, stroke, dash, width: width ?? 2, points: { show: false }, ...(fill && { fill: () => `color-mix(in srgb, ${tone(name)} 14%, transparent)` }) };
  return { label, stroke, paths: () => null, points: { show: true, size: 7, width: 2, stroke, fill: stroke, ...(mark === "cross" && { paths: crosses }) } };
}

/** Crosses for points, so that a refusal is told by its shape as well. */
function crosses(plot: uPlot, index: number, from: number, to: number): uPlot.Series.Points.Paths {
  const [stroke, arm] = [new Path2D(), 3.5 * devicePixelRatio];
  const [xs, ys] = [plot.data[0], plot.data[index]];
  for (let at = from; at <= to; at++) {
    const [x, y] = [xs?.[at], ys?.[at]];
    if (x == null || y == null) continue;
    const [cx, cy] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
    stroke.moveTo(cx - arm, cy - arm);
    stroke.lineTo(cx + arm, cy + arm);
    stroke.moveTo(cx - arm, cy + arm);
    stroke.lineTo(cx + arm, cy - arm);
  }
  return { stroke, fill: null, clip: null, flags: 2 };
}

function entry({ label, tone: name, dash, mark }: Line): HTMLElement {
  const item = document.createElement("li");
  const shape = mark === "disc" ? `<circle cx="14" cy="6" r="4" fill="currentColor"/>`
    : mark === "cross" ? `<path d="M10 2l8 8M10 10l8-8"/>` : `<path d="M1 6h26" stroke-dasharray="${dash ?? ""}"/>`;
  item.innerHTML = `<svg width="28" height="12" fill="none" stroke="currentColor" stroke-width="2" style="color:var(--${name})" aria-hidden="true">${shape}</svg>`;
  item.append(label);
  return item;
}
