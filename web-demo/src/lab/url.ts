/**
 * The state in the address: `?lab=1&preset=day&server=bucket,100/s,20&laws=adaptive,aimd#lab`.
 *
 * The address contains only what differs from the preset. What it does not understand keeps the
 * preset's value and is reported in a sentence, so that no link breaks the page or silently shows
 * something else.
 */

import { escaped } from "../address";
import {
  bounded, law, readConvergence, readGroup, readHints, readLatency, readLimit, readOwn, readSpan, readStretch, short, span, whole,
  writeConvergence, writeGroup, writeHints, writeLatency, writeLimit, writeOwn, writeStretch,
} from "./compact";
import { MOST_LAWS, checked, cut, type Scenario, type State } from "./state";
import { Fault, decimal, rate, rateText, time, timeText } from "./units";

const VERSION = "1";
/** The longest query, in characters. */
export const LONGEST = 8_000;

/** The laboratory's keys. */
const OTHER_KEYS = ["lab", "preset", "laws", "seed", "speed", "at"];

/** Writes a part of the scenario as a value of the address, and reads it. */
interface Key { write(scenario: Scenario): string; read(text: string): Partial<Scenario> }

const optional = <T>(text: string, read: (text: string) => T): T | null => (text === "" ? null : read(text));
const list = <T>(text: string, read: (text: string) => T): T[] => (text === "" ? [] : text.split(";").map(read));
const or = <T>(value: T | null, write: (value: T) => string): string => (value === null ? "" : write(value));

const KEYS: Record<string, Key> = {
  title: { write: ({ title }) => title, read: (text) => ({ title: cut(text) }) },
  end: { write: ({ end }) => timeText(end), read: (text) => ({ end: time(text) }) },
  bin: { write: ({ bin }) => timeText(bin), read: (text) => ({ bin: time(text) }) },
  server: { write: ({ limit }) => writeLimit(limit), read: (text) => ({ limit: readLimit(text) }) },
  hints: { write: ({ hints }) => writeHints(hints), read: (text) => ({ hints: readHints(text) }) },
  outages: {
    write: ({ outages }) => outages.map(({ from, to }) => span(from, to)).join(";"),
    read: (text) => ({ outages: list(text, (each) => { const [from, to] = readSpan(each); return { from, to }; }) }),
  },
  strangers: { write: ({ strangers }) => or(strangers, rateText), read: (text) => ({ strangers: optional(text, rate) }) },
  clients: { write: ({ clients }) => clients.map(writeGroup).join(";"), read: (text) => ({ clients: list(text, readGroup) }) },
  own: { write: ({ own }) => own.map(writeOwn).join(";"), read: (text) => ({ own: list(text, readOwn) }) },
  latency: { write: ({ latency }) => writeLatency(latency), read: (text) => ({ latency: readLatency(text) }) },
  measure: { write: ({ measureFrom }) => timeText(measureFrom), read: (text) => ({ measureFrom: time(text) }) },
  peak: { write: ({ peakFrom }) => or(peakFrom, timeText), read: (text) => ({ peakFrom: optional(text, time) }) },
  offered: { write: ({ offered }) => or(offered, rateText), read: (text) => ({ offered: optional(text, rate) }) },
  stop: {
    write: ({ stopWhenDone, stopAtRemaining }) => [stopWhenDone ? "done" : "", or(stopAtRemaining, decimal)].filter(Boolean).join(","),
    read: (text) => {
      const parts = text.split(",").filter(Boolean);
      const left = parts.find((part) => part !== "done");
      return { stopWhenDone: parts.includes("done"), stopAtRemaining: left === undefined ? null : whole(left, "stop") };
    },
  },
  settle: {
    write: ({ convergences }) => convergences.map(writeConvergence).join(";"),
    read: (text) => ({ convergences: list(text, readConvergence) }),
  },
  stretch: { write: ({ stretches }) => stretches.map(writeStretch).join(";"), read: (text) => ({ stretches: list(text, readStretch) }) },
};

/** The presets by name. The empty name is the default scenario. */
export type Presets = (name: string) => State | undefined;

/** Whether a key belongs to the laboratory. */
export const isOwn = (key: string): boolean => Object.hasOwn(KEYS, key) || OTHER_KEYS.includes(key);

/** Keys of the page's other parts. */
const FOREIGN = ["theme", "hammer", "backoff", "limit", "busy"];

/** The query for a state and nothing else. */
export const write = (state: State, presets: Presets): string =>
  "?" + pairsOf(state, presets).map(([name, value]) => `${name}=${escaped(value)}`).join("&");

/** The keys and values for a state. */
export function pairsOf(state: State, presets: Presets): [string, string][] {
  const base = presets(state.base)!;
  const said: [string, string][] = [["lab", VERSION]];
  if (state.base) said.push(["preset", state.base]);
  const differs = Object.entries(KEYS).filter(([, key]) => key.write(state.scenario) !== key.write(base.scenario));
  for (const [name, key] of differs) {
    // A state that differs from its preset has a generated title, which is left out.
    if (name === "title" && state.scenario.title === "" && differs.length > 1) continue;
    said.push([name, key.write(state.scenario)]);
  }
  if (state.laws.join() !== base.laws.join()) said.push(["laws", state.laws.join()]);
  if (state.seed !== base.seed) said.push(["seed", decimal(state.seed)]);
  if (state.speed !== base.speed) said.push(["speed", decimal(state.speed)]);
  if (state.at !== null) said.push(["at", timeText(state.at)]);
  return said;
}

/** The state of an address, and a sentence for each part that was not understood. */
export function read(query: string, presets: Presets): { state: State; notices: string[] } {
  const notices: string[] = [];
  const said = pairs(query, notices);
  const name = said.get("preset") ?? "";
  const base = presets(name) ?? presets("")!;
  if (base.base !== name) notices.push(`The link names an unknown preset “${short(name)}”; this is the default.`);
  const state = structuredClone(base);
  if (!said.has("lab")) return { state, notices };
  if (said.get("lab") !== VERSION) {
    notices.push(`The link is of version “${short(said.get("lab")!)}” of the laboratory, and this page reads version ${VERSION}; its meaning may differ.`);
  }
  const attempt = (key: string, read: (text: string) => void) => {
    const text = said.get(key);
    if (text === undefined) return;
    try {
      read(text);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      notices.push(`In the link, ${key} was not understood: ${fault.message}. The default is used.`);
    }
  };
  if (Object.keys(KEYS).some((name) => said.has(name))) state.scenario.title = "";
  for (const [name, key] of Object.entries(KEYS)) {
    attempt(name, (text) => { state.scenario = { ...state.scenario, ...key.read(text) }; });
  }
  attempt("laws", (text) => { state.laws = readLaws(text); });
  attempt("seed", (text) => { state.seed = readSeed(text); });
  attempt("speed", (text) => { state.speed = bounded(text, 1e7, "the speed"); });
  attempt("at", (text) => { state.at = Math.min(time(text), state.scenario.end); });
  for (const key of said.keys()) {
    if (!isOwn(key) && !FOREIGN.includes(key)) notices.push(`The link has an unknown key “${short(key)}”.`);
  }
  try {
    checked(state.scenario);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    notices.push(`The link asks for too much: ${fault.message}. This is the default scenario.`);
    state.scenario = structuredClone(base.scenario);
    state.at = null;
  }
  return { state, notices };
}

function pairs(query: string, notices: string[]): Map<string, string> {
  const said = new Map<string, string>();
  if (query.length > LONGEST) {
    notices.push("The link is too long; this is the default state.");
    return said;
  }
  for (const part of query.replace(/^\?/, "").split("&").filter(Boolean)) {
    const at = part.indexOf("=");
    const [name, value] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    try {
      said.set(decodeURIComponent(name), decodeURIComponent(value));
    } catch {
      notices.push(`A part of the link is damaged: “${short(part)}”.`);
    }
  }
  return said;
}

/** A seed. The engine takes larger ones, but the page's numbers are exact only up to this size. */
export function readSeed(text: string): number {
  const seed = /^\d{1,16}$/.test(text.trim()) ? Number(text) : NaN;
  if (Number.isSafeInteger(seed)) return seed;
  throw new Fault(`a seed is a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);
}

function readLaws(text: string): string[] {
  const laws = [...new Set(text.split(",").filter(Boolean).map(law))];
  if (laws.length > 0 && laws.length <= MOST_LAWS) return laws;
  throw new Fault(`one to ${MOST_LAWS} laws can run side by side`);
}
