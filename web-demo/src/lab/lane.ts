/**
 * A law's lane: what its world has shown so far, in as many columns as a plot has room for. The
 * engine computes all numbers; the lane only adds them up by column.
 */

import type { Frame, World } from "../engine";
import { binOf, programsOf, type Scenario } from "./state";
import { SECOND, time } from "./units";

/** The approximate number of columns of a plot. */
const COLUMNS = 300;
/** Waits are drawn on a logarithmic scale; shorter ones are drawn as this, s. */
export const SHORTEST = 0.01;
/** Fairness is measured over this many columns, to even out chance. */
const STRETCH = 10;

/** What each column of a lane shows; `null` if it has no value. */
export interface Columns {
  at: number[];
  /** Calls a second; or, of a long window, calls in the window so far. */
  served: (number | null)[];
  capacity: (number | null)[];
  /** The share of arrived calls that were throttled or failed. */
  throttled: (number | null)[];
  /**
   * The mean wait of the calls that were sent, in seconds; and the longest wait seen: a bin's mean,
   * or a client's remaining wait.
   */
  waited: (number | null)[];
  longest: (number | null)[];
  /** The shares of the clients that got least and most; 1 is an even share. */
  least: (number | null)[];
  most: (number | null)[];
}

/** A server's window that takes several columns: its limit. The plot then shows how it is spent. */
export function longWindow(scenario: Scenario): number | null {
  const { window, also } = scenario.server;
  return window && !also && time(window.width) / SECOND >= 4 * columnWidth(scenario) ? window.limit : null;
}

/** The width of a column in seconds: a whole number of bins. */
export function columnWidth(scenario: Scenario): number {
  const bin = binOf(scenario);
  const bins = Math.ceil(time(scenario.end) / bin);
  return (Math.max(1, Math.round(bins / COLUMNS)) * bin) / SECOND;
}

export class Lane {
  readonly columns: Columns = { at: [], served: [], throttled: [], capacity: [], waited: [], longest: [], least: [], most: [] };
  /** Every bin of the run so far, for the CSV file. */
  readonly bins: { served: number[]; throttled: number[]; left: number[]; waited: number[] } = { served: [], throttled: [], left: [], waited: [] };
  frame: Frame | null = null;
  metrics: Record<string, number | null> = {};
  digest = "";
  over = false;
  failed = "";
  /** The server's limit when the present column began. */
  #rate = 0;
  readonly #totals: Float64Array[] = [];
  readonly #window: number | null;
  readonly #members: { from: number; to: number; stranger: boolean }[];
  #column = 0;

  constructor(readonly law: string, readonly world: World, readonly scenario: Scenario, readonly width: number) {
    this.#window = longWindow(scenario);
    this.#members = scenario.clients.flatMap((group) => {
      const { from, to, law } = group;
      const member = { from: time(from) / SECOND, to: (to === undefined ? Infinity : time(to)) / SECOND, stranger: law !== undefined };
      return Array.from({ length: programsOf(group) }, () => member);
    });
  }

  get now(): number {
    return this.frame?.now ?? 0;
  }

  take(frame: Frame): void {
    this.frame = frame;
    this.over = frame.over;
    const { bins } = frame;
    if (frame.now === 0) this.#rate = frame.rate;
    for (let index = 0; index < bins.count; index++) {
      this.bins.served.push(bins.served[index]!);
      this.bins.throttled.push(bins.throttled[index]!);
      this.bins.left.push(bins.left[index]!);
      this.bins.waited.push(bins.waited[index]!);
    }
    const perColumn = Math.max(1, Math.round(this.width / this.world.bin));
    const whole = () => (this.#column + 1) * perColumn <= this.bins.served.length;
    while (whole()) this.#close(this.#column * perColumn, this.width);
    const rest = this.bins.served.length - this.#column * perColumn;
    if (frame.over && rest > 0) this.#close(this.#column * perColumn, Math.max(frame.now - this.#column * this.width, this.world.bin));
  }

  /** Ends a column that begins with this bin and spans this many seconds. */
  #close(first: number, seconds: number): void {
    const { at, served, throttled, capacity, waited, longest, least, most } = this.columns;
    const { frame, bins } = this;
    const end = first + Math.round(this.width / this.world.bin);
    const sum = (numbers: number[]) => numbers.slice(first, end).reduce((sum, number) => sum + number, 0);
    const start = this.#column * this.width;
    at.push(start + seconds);
    const [good, bad] = [sum(bins.served), sum(bins.throttled)];
    served.push(this.#window === null ? good / seconds : this.#window - frame!.level);
    throttled.push(good + bad > 0 ? bad / (good + bad) : null);
    capacity.push(this.#window ?? this.#rate);
    this.#rate = frame!.rate;
    const left = sum(bins.left);
    waited.push(left > 0 ? sum(bins.waited) / left : null);
    let seen = frame!.waiting.reduce((most, wait) => (wait > most ? wait : most), -1);
    for (let bin = first; bin < Math.min(end, bins.left.length); bin++) {
      if (bins.left[bin]! > 0) seen = Math.max(seen, bins.waited[bin]! / bins.left[bin]!);
    }
    longest.push(seen < 0 ? null : seen);
    this.#totals.push(frame!.served);
    const shares = this.#shares(start + seconds);
    least.push(shares?.[0] ?? null);
    most.push(shares?.[1] ?? null);
    this.#column++;
  }

  /**
   * The least and the most that a client got, relative to an even share, of the clients that were
   * present throughout.
   */
  #shares(now: number): [number, number] | null {
    const last = this.#totals.at(-1)!;
    const index = this.#totals.length - 1 - STRETCH;
    const before = this.#totals[index];
    const since = Math.max(0, now - STRETCH * this.width);
    const got: number[] = [];
    this.#members.forEach(({ from, to, stranger }, process) => {
      if (!stranger && from <= since && to >= now) got.push(last[process]! - (before?.[process] ?? 0));
    });
    const all = got.reduce((sum, calls) => sum + calls, 0);
    if (got.length < 2 || all === 0) return null;
    return [Math.min(...got) * got.length / all, Math.max(...got) * got.length / all];
  }
}
