/**
 * Times and rates in the notation of scenario files: `"25ms"`, `"1h 30min"`, `"4500/h"`. The
 * simulator rejects invalid ones.
 */

/** A duration, or a time since the start of the world, in microseconds. */
export type Time = number;

/** Calls in each second, minute, hour or day. */
export interface Rate {
  calls: number;
  per: Per;
}

export type Per = "s" | "min" | "h" | "d";

export const SECOND: Time = 1_000_000;
export const MINUTE: Time = 60 * SECOND;
export const HOUR: Time = 60 * MINUTE;
export const DAY: Time = 24 * HOUR;

/** What is wrong with an input: one sentence for its author. */
export class Fault extends Error {}

export const PERIODS: Record<Per, Time> = { s: SECOND, min: MINUTE, h: HOUR, d: DAY };

/** The names of units that the simulator accepts. */
const UNITS = new Map(([
  [1e-3, "ns nsec nanos"], [1, "us usec µs"], [1_000, "ms msec millis"], [SECOND, "s sec secs second seconds"],
  [MINUTE, "m min mins minute minutes"], [HOUR, "h hr hrs hour hours"], [DAY, "d day days"], [7 * DAY, "w wk wks week weeks"],
  [2_630_016 * SECOND, "M month months"], [31_557_600 * SECOND, "y yr yrs year years"],
] as const).flatMap(([size, names]) => names.split(" ").map((name) => [name, size] as const)));

/** The units of time, the largest first. */
const WRITTEN: [string, Time][] = [["h", HOUR], ["min", MINUTE], ["s", SECOND], ["ms", 1_000], ["us", 1]];

/** A time of a scenario file. Without one, 0. */
export const time = (text = ""): Time =>
  [...text.replaceAll(/\s/g, "").matchAll(/([\d.]+)([a-zA-Zµ]+)/g)].reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS.get(unit!) ?? NaN), 0);

/** A time in its largest unit without a fraction. */
export function timeText(time: Time): string {
  const [unit, size] = WRITTEN.find(([, size]) => time % size === 0 && time >= size) ?? ["s", SECOND];
  return `${time / size}${unit}`;
}

export function rate(text: string): Rate {
  const [calls, per] = text.split("/").map((part) => part.trim());
  return { calls: Number(calls), per: per as Per };
}

export function rateText({ calls, per }: Rate): string {
  return `${decimal(calls)}/${per}`;
}

/** A number without an exponent and with at most six decimals. */
export function decimal(number: number): string {
  return number.toFixed(6).replace(/\.?0+$/, "");
}

/** Calls a second, for plots. */
export const perSecond = ({ calls, per }: Rate): number => calls / (PERIODS[per] / SECOND);

/** A time from seconds measured on the page, to the millisecond. */
export const fromSeconds = (seconds: number): Time => Math.round(seconds * 1_000) * 1_000;

/** A time in words, with at most two units: `1 h 30 min`, `12.5 s`. */
export function spoken(time: Time): string {
  if (time < SECOND) return time === 0 ? "0 s" : `${decimal(time / 1_000)} ms`;
  if (time < MINUTE) return `${decimal(Math.round(time / 1_000) / 1_000)} s`;
  const rounded = Math.round(time / SECOND) * SECOND;
  const [large, small, names] = rounded < HOUR ? [MINUTE, SECOND, ["min", "s"]] : [HOUR, MINUTE, ["h", "min"]];
  const whole = Math.floor(rounded / large);
  const rest = Math.floor((rounded - whole * large) / small);
  return rest ? `${whole} ${names[0]} ${rest} ${names[1]}` : `${whole} ${names[0]}`;
}

const SPELT: Record<Per, string> = { s: "a second", min: "a minute", h: "an hour", d: "a day" };

/** A rate in words: `4500 an hour`. */
export function spokenRate(text: string): string {
  const { calls, per } = rate(text);
  return `${decimal(calls)} ${SPELT[per]}`;
}
