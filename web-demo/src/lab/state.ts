/** The laboratory's state: one plain object. The scenario has the keys and values of its file. */

import { SECOND, time, type Time } from "./units";

export interface State {
  /** The preset that it is; empty after a change. */
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

/** A scenario file, as tools/sim/scenarios describes it. Keys without controls are kept. */
export interface Scenario {
  title?: string;
  end: string;
  bin?: string;
  measure_from?: string;
  latency?: { uniform?: string[] };
  server: Server;
  clients: Group[];
  laws?: Record<string, Record<string, Record<string, unknown>>>;
  stretch?: { from: string; to: string; every?: string; times?: number }[];
  convergence?: Convergence[];
}

export interface Server {
  bucket?: { burst: number; rate: string; start?: number; steps?: { at: string; rate: string }[] };
  window?: { limit: number; width: string; phase?: string };
  queue?: { workers: number; places: number; service: string; steps?: { at: string; service: string }[] };
  autoscaling?: { least: string; most: string };
  also?: unknown[];
  outages?: { from: string; to: string }[];
  strangers?: string;
  hints?: Record<string, unknown>;
}

/** Equal client processes. */
export interface Group {
  processes?: number;
  threads?: number;
  demand?: string | { work?: number; poisson?: string; think?: string; on_off?: { on: string; off: string } };
  from?: string;
  to?: string;
  law?: string;
}

export interface Convergence { name: string; toward: string; at: string; until: string; width: string; rate?: string }

export const MOST_LAWS = 6;

/** The default state. */
export const USUAL: State = {
  base: "", laws: ["adaptive", "no-gate"], seed: 1, speed: 0, at: null,
  scenario: { end: "20min", server: { bucket: { burst: 20, rate: "10/s" } }, clients: [{ processes: 5, threads: 2 }] },
};

export const binOf = ({ bin = "1s" }: Scenario): Time => time(bin);
export const programsOf = ({ processes = 1 }: Group): number => processes;

/** A place in a state: the keys that lead to it. */
export type Path = readonly (string | number)[];

const find = (part: unknown, path: Path): unknown =>
  path.reduce((part, key) => (part as Record<string | number, unknown> | undefined)?.[key], part);

/** What applies to a file without it, and has controls. */
const LATENCY = { scenario: { latency: { uniform: ["25ms", "75ms"] } } };

export const get = (state: State, path: Path): unknown => find(state, path) ?? find(LATENCY, path);

/** A copy with another value at this place; undefined removes it. */
export function put<T>(part: T, [key, ...rest]: Path, value: unknown): T {
  const copy = (Array.isArray(part) ? [...part] : { ...part }) as Record<string | number, unknown>;
  const next = rest.length ? put(copy[key!] ?? {}, rest, value) : value;
  if (next === undefined) delete copy[key!];
  else copy[key!] = next;
  return copy as T;
}

/** Virtual seconds in a second: as chosen, or such that the run takes twenty seconds. */
export const pace = ({ speed, scenario }: State): number => speed || Math.max(1, time(scenario.end) / SECOND / 20);
