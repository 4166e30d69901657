/** The laboratory's state: one plain object. The scenario is as in its file, so that no other form of it has to be kept equal. */

import { stringify } from "smol-toml";

import { Fault, SECOND, decimal, time, type Time } from "./units";
import { title } from "./words";

export interface State {
  /** The preset it began as; empty for none. */
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

/** More would keep a browser busy for too long. */
const MOST = { bins: 200_000, processes: 2_000, threads: 20_000, counters: 3_000_000, parts: 128 };

/** The scenario of the default state. */
export const SCENARIO: Scenario =
  { end: "20min", server: { bucket: { burst: 20, rate: "10/s" } }, clients: [{ processes: 5, threads: 2 }] };

export const binOf = ({ bin = "1s" }: Scenario): Time => time(bin);
export const programsOf = ({ processes = 1 }: Group): number => processes;

/** A scenario file. The engine runs the same text, so that the two cannot differ. */
export const write = ({ title: own, ...scenario }: Scenario): string => stringify({ title: own || title(scenario), ...scenario });

/** A place in a state: the keys that lead to it. */
export type Path = readonly (string | number)[];

const find = (part: unknown, path: Path): unknown =>
  path.reduce((part, key) => (part as Record<string | number, unknown> | undefined)?.[key], part);

/** What applies to a file without it, and has controls. */
const USUAL = { scenario: { latency: { uniform: ["25ms", "75ms"] } } };

export const get = (state: State, path: Path): unknown => find(state, path) ?? find(USUAL, path);

/** A copy with another value at this place; undefined removes it. */
export function put<T>(part: T, [key, ...rest]: Path, value: unknown): T {
  const copy = (Array.isArray(part) ? [...part] : { ...part }) as Record<string | number, unknown>;
  const next = rest.length ? put(copy[key!] ?? {}, rest, value) : value;
  if (next === undefined) delete copy[key!];
  else copy[key!] = next;
  return copy as T;
}

/** The keys of lists. The simulator also reads a list as a table, by position, which the bounds would not see. */
const LISTS = new Set(["clients", "convergence", "faults", "outages", "show", "steps", "stretch", "uniform"]);

/** Whether lists are only where they are known. */
const isPlain = (part: unknown, key = ""): boolean => Array.isArray(part)
  ? LISTS.has(key) && part.every((entry) => isPlain(entry))
  : typeof part !== "object" || part === null || Object.entries(part).every(([key, value]) => key === "laws" || isPlain(value, key));

/** Rejects what is too large for a page. The engine rejects what is invalid. */
export function checked(scenario: Scenario): Scenario {
  if (!isPlain(scenario)) throw new Fault("a list stands where a table is expected");
  const { clients, server, stretch, convergence, laws } = scenario;
  const processes = clients.reduce((sum, group) => sum + programsOf(group), 0);
  const threads = clients.reduce((sum, group) => sum + programsOf(group) * (group.threads ?? 1), 0);
  const bins = Math.ceil(time(scenario.end) / binOf(scenario));
  const parts = [clients, server.outages, server.bucket?.steps, server.queue?.steps, stretch, convergence, Object.keys(laws ?? {})];
  const too = (is: number, most: number, what: string) => {
    if (is > most) throw new Fault(`${decimal(is)} ${what} are too many: the page takes at most ${decimal(most)}, the command line more`);
  };
  too(processes, MOST.processes, "processes");
  too(threads, MOST.threads, "workers");
  too(bins, MOST.bins, "bins of time");
  too(bins * processes, MOST.counters, "counters (bins times processes)");
  for (const part of parts) too(part?.length ?? 0, MOST.parts, "entries of a kind");
  return scenario;
}

/** Virtual seconds in a second: as chosen, or such that the run takes twenty seconds. */
export const pace = ({ speed, scenario }: State): number => speed || Math.max(1, time(scenario.end) / SECOND / 20);
