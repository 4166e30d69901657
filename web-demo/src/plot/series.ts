/** Series of numbers over one axis, drawn by uPlot. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./series.css";
import type { Table } from "./table";
import { font, onTheme, tone, type Tone } from "./theme";

export interface Axis {
  label: string;
  /** Formats a value, in the table as well. */
  format: (value: number) => string;
  /** Fixed bounds; they may be changed between two `set`s. */
  min?: number;
  max?: number;
  /** Without its name, because a heading states it. */
  bare?: boolean;
}

export interface Line {
  label: string;
  tone: Tone;
  /** Lengths of dash and gap, so that lines differ in more than colour. */
  dash?: number[];
  width?: number;
  /** Whether the area below the line is tinted. */
  fill?: boolean;
}

/** The first row is the axis, then one for each line. */
export type Rows = [number[], ...(number | null)[][]];

export class Series {
  data: Rows;
  readonly #plot: uPlot;
  #undo: (() => void)[] = [];

  /** The style sheet sets the height of `host`; `legend` receives the lines' names. */
  constructor(readonly host: HTMLElement, readonly x: Axis, readonly y: Axis, readonly lines: Line[], legend?: HTMLElement | null) {
    this.data = [[], ...lines.map(() => [])];
    legend?.replaceChildren(...lines.map(entry));
    Object.assign(host, { series: this });
    const size = () => ({ width: host.clientWidth, height: host.clientHeight });
    const plot = this.#plot = new uPlot({
      ...size(),
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      legend: { show: false },
      padding: [10, 24, 0, 0],
      scales: { x: { time: false, range: bounds(x) }, y: { range: bounds(y) } },
      axes: [axis(x, 34), axis(y, 58)],
      series: [{}, ...lines.map(series)],
    }, this.data as uPlot.AlignedData, host);
    plot.over.parentElement?.setAttribute("aria-hidden", "true");
    const resize = new ResizeObserver(() => plot.setSize(size()));
    resize.observe(host);
    this.#undo.push(() => resize.disconnect(), onTheme(() => plot.redraw(false, true)));
  }

  /** Shows these rows. They may grow in place between calls. */
  set(data: Rows): void {
    this.data = data;
    this.#plot.setData(data as uPlot.AlignedData);
  }

  /** Every point of the plot as text. */
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
    this.#plot.destroy();
  }
}

/** From the minimum to the maximum, with a sensible minimum range. */
function bounds(axis: Axis): uPlot.Range.Function {
  return (_plot, least, most) => {
    const low = axis.min ?? least ?? 0;
    return [low, axis.max ?? (most == null || most <= low ? low + 1 : most * 1.04)];
  };
}

function axis({ label, format, bare }: Axis, size: number): uPlot.Axis {
  return {
    ...(!bare && { label, labelSize: 18 }),
    size,
    stroke: () => tone("soft"),
    font: font(),
    labelFont: font(),
    grid: { stroke: () => tone("line"), width: 1 },
    ticks: { stroke: () => tone("line"), width: 1, size: 4 },
    values: (_plot, ticks) => ticks.map((tick) => (tick == null ? "" : format(tick))),
  };
}

function series({ tone: name, dash, width, label, fill }: Line): uPlot.Series {
  const stroke = () => tone(name);
  return { label, stroke, dash, width: width ?? 2, points: { show: false }, ...(fill && { fill: () => `color-mix(in srgb, ${tone(name)} 14%, transparent)` }) };
}

function entry({ label, tone: name, dash }: Line): HTMLElement {
  const item = document.createElement("li");
  item.innerHTML = `<svg width="28" height="12" fill="none" stroke="currentColor" stroke-width="2" style="color:var(--${name})" aria-hidden="true"><path d="M1 6h26" stroke-dasharray="${dash ?? ""}"/></svg>`;
  item.append(label);
  return item;
}
