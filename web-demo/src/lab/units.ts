/** Times and rates, as the engine writes them in a scenario: `"25ms"`, `"4500/h"`. */

/** A duration, or a time since the start of the world, in microseconds. */
export type Time = number;

/** Calls in each second, minute, hour or day. */
export interface Rate { calls: number; per: Per }

export type Per = "s" | "min" | "h" | "d";

export const SECOND: Time = 1_000_000;
export const MINUTE: Time = 60 * SECOND;
export const HOUR: Time = 60 * MINUTE;

/** What is wrong with an input: one sentence for its author. */
export class Fault extends Error {}

export const PERIODS: Record<Per, Time> = { s: SECOND, min: MINUTE, h: HOUR, d: 24 * HOUR };

const UNITS: Record<string, Time> = { ns: 1e-3, us: 1, ms: 1_000, ...PERIODS };

/** A time of a scenario. Without one, 0. */
export function time(text = "0s"): Time {
  const [, number, unit] = /^([\d.]+)(\w+)$/.exec(text) ?? [];
  return Number(number) * UNITS[unit!]!;
}

export const timeText = (time: Time): string => `${Math.round(time)}us`;

export function rate(text: string): Rate {
  const [calls, per] = text.split("/");
  return { calls: Number(calls), per: per as Per };
}

export const rateText = ({ calls, per }: Rate): string => `${decimal(calls)}/${per}`;

/** A number without an exponent and with at most six decimals. */
export const decimal = (number: number): string => number.toFixed(6).replace(/\.?0+$/, "");

/** Calls a second, for plots. */
export const perSecond = ({ calls, per }: Rate): number => calls / (PERIODS[per] / SECOND);

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

/** A rate in words: `4500 calls an hour`. */
export function spokenRate(text: string): string {
  const { calls, per } = rate(text);
  return `${decimal(calls)} ${calls === 1 ? "call" : "calls"} ${SPELT[per]}`;
}
