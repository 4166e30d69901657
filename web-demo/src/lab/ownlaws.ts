/**
 * A scenario's custom laws: a law of the package with other parameters and a name that can run
 * beside the others. Parameters are kept as written: `{ base: "10ms", jitter: "none" }`.
 */

import { Fault, decimal, rate, rateText, time, timeText } from "./units";

export interface OwnLaw {
  name: string;
  kind: Kind;
  parameters: Record<string, string>;
}

type Type = "time" | "rate" | "count" | "factor" | "recovery" | readonly string[];

/** Each law's parameters: name in scenario files, type, label on the page, default. */
export const PARAMETERS = {
  fixed: { rate: ["rate", "Rate", "10/s"], burst: ["count", "Burst", "1"] },
  backoff: {
    base: ["time", "First delay", "100ms"], most: ["time", "Longest delay", "20s"], factor: ["factor", "Factor", "2"],
    jitter: [["full", "equal", "none"], "Jitter", "full"], attempts: ["count", "Attempts", "unlimited"],
  },
  autosleeper: {
    initial: ["time", "First delay", ""], most: ["time", "Longest delay", ""], up: ["factor", "On failure ×", ""], down: ["factor", "On success ×", ""],
    threshold: ["count", "Successes before speeding up", ""], spread: ["factor", "Jitter ±", ""], most_spread: ["time", "Jitter at most", ""],
  },
  tchannel: {
    most: ["count", "Calls/s at most", ""], recovery: ["recovery", "Recovery", ""], over: [["wait", "reject"], "Over the limit", ""],
  },
} as const satisfies Record<string, Record<string, readonly [Type, string, string]>>;

export type Kind = keyof typeof PARAMETERS;

export const KINDS = Object.keys(PARAMETERS) as Kind[];

/** The type, label and default of a law's parameters. */
export const parametersOf = (kind: Kind): [string, Type, string, string][] =>
  Object.entries(PARAMETERS[kind] as Record<string, readonly [Type, string, string]>).map(([name, [type, words, usual]]) => [name, type, words, usual]);

/** A parameter as a scenario file writes it. */
export function written(kind: Kind, name: string, text: string): string {
  const type = typeOf(kind, name);
  if (type === "time" || type === "rate" || typeof type !== "string") return JSON.stringify(text);
  if (type !== "recovery") return text;
  const [how, number] = text.split(" ");
  return `{ ${how} = ${number} }`;
}

/** Parses a parameter of a file or an address. Rejects unknown names. */
export function parameter(kind: Kind, name: string, value: unknown): string {
  const type = typeOf(kind, name);
  const text = typeof value === "object" && value !== null ? Object.entries(value).map(([how, number]) => `${how} ${String(number)}`).join() : String(value);
  const fits = (pattern: RegExp) => {
    if (!pattern.test(text)) throw new Fault(`“${text.slice(0, 40)}” is not a valid ${name} of ${kind}`);
    return text;
  };
  if (typeof type !== "string") return fits(new RegExp(`^(${type.join("|")})$`));
  switch (type) {
    case "time": return timeText(time(text));
    case "rate": return rateText(rate(text));
    case "count": return fits(/^[1-9]\d{0,8}$/);
    case "factor": return decimal(Number(fits(/^\d{1,4}(\.\d{1,6})?$/)));
    case "recovery": return fits(/^(rate|value) \d{1,9}$/);
  }
}

function typeOf(kind: Kind, name: string): Type {
  const found = parametersOf(kind).find(([known]) => known === name);
  if (found) return found[1];
  throw new Fault(`there is no parameter “${name.slice(0, 40)}” of ${kind}; there are ${parametersOf(kind).map(([name]) => name).join(", ")}`);
}

export function kindOf(text: string): Kind {
  const kind = KINDS.find((kind) => kind === text);
  if (kind) return kind;
  throw new Fault(`a custom law is one of ${KINDS.join(", ")}`);
}

export function nameOf(text: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,39}$/.test(text)) return text;
  throw new Fault(`“${text.slice(0, 40)}” is not a valid law name; use lower-case letters, digits, dots, - and _`);
}

/** A name that is still free. */
export function freshName(kind: Kind, taken: OwnLaw[]): string {
  const names = [`my-${kind}`, ...Array.from({ length: 99 }, (_, index) => `my-${kind}-${index + 2}`)];
  return names.find((name) => !taken.some((law) => law.name === name))!;
}
