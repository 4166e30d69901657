/** The laboratory's state: one plain object. The scenario file, the address and the controls are derived from it. */

import type { OwnLaw } from "./ownlaws";
import { Fault, MINUTE, SECOND, decimal, type Rate, type Time } from "./units";

export interface State {
  /** The preset it began as, so that an address contains only the differences. */
  base: string;
  scenario: Scenario;
  /** The laws that run side by side. */
  laws: string[];
  seed: number;
  /** Virtual seconds in a second; 0: the run takes about twenty seconds. */
  speed: number;
  /** Position at which it was stopped; null while it runs. */
  at: Time | null;
}

/** The content of a scenario file, key by key. */
export interface Scenario {
  /** The author's title; empty: generated from the rest. */
  title: string;
  end: Time;
  bin: Time;
  measureFrom: Time;
  peakFrom: Time | null;
  stopWhenDone: boolean;
  stopAtRemaining: number | null;
  offered: Rate | null;
  latency: Latency;
  limit: Limit;
  outages: Outage[];
  strangers: Rate | null;
  hints: Hints;
  clients: Group[];
  own: OwnLaw[];
  stretches: Stretch[];
  convergences: Convergence[];
}

export type Latency =
  | { kind: "constant"; time: Time }
  | { kind: "uniform"; least: Time; most: Time }
  | { kind: "exponential"; mean: Time }
  | { kind: "lognormal"; median: Time; sigma: number };

export interface Bucket { kind: "bucket"; burst: number; rate: Rate; start: number | null; steps: RateStep[] }
export interface Window { kind: "window"; limit: number; width: Time; phase: Time | null }
export interface Queue { kind: "queue"; workers: number; places: number; service: Time; steps: ServiceStep[] }
export interface Autoscaling { kind: "autoscaling"; least: Rate; most: Rate; target: number; period: Time; credit: Time }
export type Limit = Bucket | Window | Queue | Autoscaling;

export interface RateStep { at: Time; rate: Rate }
export interface ServiceStep { at: Time; service: Time }
export interface Outage { from: Time; to: Time }

/** How a server sends a number: not at all, truthfully, as a multiple of the truth, or as a fixed lie. */
export type Honesty<T> = "absent" | "honest" | { times: number } | { always: T };

export interface Quota { limit: number; period: Time }

export interface Hints {
  retryAfter: Honesty<Time>;
  remaining: Honesty<number>;
  reset: Honesty<Time>;
  quota: Honesty<Quota>;
}

export type Demand =
  | { kind: "closed" }
  | { kind: "work"; calls: number }
  | { kind: "poisson"; rate: Rate }
  | { kind: "think"; time: Time }
  | { kind: "on_off"; on: Time; off: Time };

/** Equal client processes. */
export interface Group {
  processes: number;
  threads: number;
  demand: Demand;
  from: Time;
  to: Time | null;
  /** The group's law; null: the law under test. */
  law: string | null;
  deadline: Time | null;
  counted: boolean;
}

export const SHOWS = ["util", "throttled", "throttles", "load", "peak", "jain"] as const;
export type Show = (typeof SHOWS)[number];

export interface Stretch {
  name: string;
  from: Time;
  to: Time;
  show: Show[];
  offered: Rate | null;
  credit: number;
  every: Time | null;
  times: number;
}

export const TOWARDS = ["up", "down", "fair"] as const;

export interface Convergence {
  name: string;
  toward: (typeof TOWARDS)[number];
  at: Time;
  until: Time;
  width: Time;
  rate: Rate | null;
}

export const MOST_LAWS = 6;

/** More would keep a browser busy for too long. */
const MOST = { bins: 200_000, processes: 2_000, threads: 20_000, counters: 3_000_000, parts: 128, count: 1_000_000_000 };

export const group = (): Group =>
  ({ processes: 1, threads: 1, demand: { kind: "closed" }, from: 0, to: null, law: null, deadline: null, counted: false });

/** A scenario file with defaults only. */
export const scenario = (): Scenario => ({
  title: "",
  end: 20 * MINUTE,
  bin: SECOND,
  measureFrom: 0,
  peakFrom: null,
  stopWhenDone: false,
  stopAtRemaining: null,
  offered: null,
  latency: { kind: "uniform", least: 25_000, most: 75_000 },
  limit: { kind: "bucket", burst: 20, rate: { calls: 10, per: "s" }, start: null, steps: [] },
  outages: [],
  strangers: null,
  hints: { retryAfter: "absent", remaining: "absent", reset: "absent", quota: "absent" },
  clients: [{ ...group(), processes: 5, threads: 2 }],
  own: [],
  stretches: [],
  convergences: [],
});

/** A scenario with a change. It drops the author's title, which no longer fits. */
export const changed = (scenario: Scenario, change: Partial<Scenario>): Scenario => fitted({ ...scenario, title: "", ...change });

/** Drops the measures that no longer fit into the scenario's time or bins. */
function fitted(scenario: Scenario): Scenario {
  const whole = (...times: Time[]) => times.every((time) => time % scenario.bin === 0);
  return {
    ...scenario,
    stretches: scenario.stretches.filter(({ from, to, every, times }) =>
      to + (every ?? 0) * (times - 1) <= scenario.end && whole(from, to, every ?? 0)),
    convergences: scenario.convergences.filter(({ at, until, width }) =>
      until <= scenario.end && whole(at, until, width)),
  };
}

/** Rejects what is too large for a page. The engine rejects what is invalid. */
export function checked(scenario: Scenario): Scenario {
  const { clients, end, bin, limit } = scenario;
  const processes = clients.reduce((sum, group) => sum + group.processes, 0);
  const threads = clients.reduce((sum, group) => sum + group.processes * group.threads, 0);
  const bins = Math.ceil(end / bin);
  const parts = [clients, scenario.own, scenario.outages, scenario.stretches, scenario.convergences, "steps" in limit ? limit.steps : []];
  const too = (is: number, most: number, what: string) => {
    if (is > most) throw new Fault(`${decimal(is)} ${what} are too many: the page takes at most ${decimal(most)}, the command line more`);
  };
  too(processes, MOST.processes, "processes");
  too(threads, MOST.threads, "workers");
  too(bins, MOST.bins, "bins of time");
  too(bins * processes, MOST.counters, "counters (bins times processes)");
  for (const part of parts) too(part.length, MOST.parts, "entries of a kind");
  return scenario;
}

/** Shortens a title to fit an address, without splitting a surrogate pair. */
export const cut = (title: string): string => title.slice(0, 300).replace(/[\ud800-\udbff]$/, "");

/** A whole number within bounds. */
export function count(value: unknown, what: string, least = 0): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= MOST.count) return value;
  throw new Fault(`${what} must be a whole number from ${least} to ${decimal(MOST.count)}`);
}

/** Virtual seconds in a second: as chosen, or such that the run takes twenty seconds. */
export const pace = ({ speed, scenario }: State): number => speed || Math.max(1, scenario.end / SECOND / 20);
