/** Times and rates in the notation of scenario files: `"25ms"`, `"1h 30min"`, `"4500/h"`. */

/** A duration, or a time since the start of the world: whole microseconds. */
export type Time = number;

/** Calls in each second, minute, hour or day, with at most six decimals. */
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

const UNITS: Record<string, Time> = {
  us: 1, usec: 1, "µs": 1,
  ms: 1_000, msec: 1_000, millis: 1_000,
  s: SECOND, sec: SECOND, secs: SECOND, second: SECOND, seconds: SECOND,
  m: MINUTE, min: MINUTE, mins: MINUTE, minute: MINUTE, minutes: MINUTE,
  h: HOUR, hr: HOUR, hrs: HOUR, hour: HOUR, hours: HOUR,
  d: DAY, day: DAY, days: DAY,
};

/** The units of time, the largest first. */
const WRITTEN: [string, Time][] = [["h", HOUR], ["min", MINUTE], ["s", SECOND], ["ms", 1_000], ["us", 1]];

/** The longest time that is not treated as unlimited. */
const CENTURY = 36_525 * DAY;

export function time(text: string): Time {
  const parts = [...text.matchAll(/\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*/gy)];
  const read = parts.reduce((length, part) => length + part[0].length, 0);
  if (!parts.length || read !== text.length) throw new Fault(`“${text}” is not a time like “100ms” or “1h 30min”`);
  let sum = 0;
  for (const [, number, unit] of parts) {
    const size = Object.hasOwn(UNITS, unit!) && UNITS[unit!];
    if (!size) throw new Fault(`“${text}” has no known unit of time; use us, ms, s, min, h or d`);
    sum += Number(number) * size;
  }
  const whole = Math.round(sum);
  if (Math.abs(sum - whole) > 1e-6) throw new Fault(`“${text}” is finer than a microsecond`);
  if (whole > CENTURY) throw new Fault(`“${text}” is longer than a century`);
  return whole;
}

/** A time in its largest unit without a fraction. */
export function timeText(time: Time): string {
  const [unit, size] = WRITTEN.find(([, size]) => time % size === 0 && time >= size) ?? ["s", SECOND];
  return `${time / size}${unit}`;
}

export function rate(text: string): Rate {
  const match = /^\s*(\d{1,9}(?:\.\d{1,6})?)\s*\/\s*(s|min|h|d)\s*$/.exec(text);
  if (!match) throw new Fault(`“${text}” is not a rate like “4/s” or “4500/h”, in calls per s, min, h or d`);
  const rate = { calls: Number(match[1]), per: match[2] as Per };
  if (perSecond(rate) > 1e6) throw new Fault(`“${text}” is more than a million calls a second`);
  return rate;
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

/** Seconds, for plots. */
export const seconds = (time: Time): number => time / SECOND;

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
export const spokenRate = ({ calls, per }: Rate): string => `${decimal(calls)} ${SPELT[per]}`;
