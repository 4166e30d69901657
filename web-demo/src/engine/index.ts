/**
 * The engine: the simulator of tools/sim with the crate's controllers, in a web worker. It computes
 * all numbers of the laboratory.
 *
 * Times are seconds of virtual time since the start of a world. All requests of one turn of the
 * event loop go to the worker in one message, so ask parallel worlds together: `await
 * Promise.all(worlds.map((world) => world.advance(until)))`.
 */

import { connect } from "./client";

/** The inputs of a run. Equal inputs give equal runs on every machine. */
export interface WorldSpec {
  /** TOML, in the format of tools/sim/scenarios. */
  scenario: string;
  /** One of `Engine.laws()`, or two as `ONE+OTHER`. */
  law: string;
  /** A whole number from 0 to 2^53. */
  seed: number;
}

/** Why the engine rejected a request. The message is one sentence, the same as tidegate-sim's. */
export class EngineError extends Error {
  override name = "EngineError";

  /**
   * - `scenario`: the text is not a scenario; the message names the line
   * - `law`: the law does not exist; the message lists all laws
   * - `broken`: a law or the simulator has a defect; the world cannot continue
   * - `unsupported`: this browser cannot run the engine
   */
  constructor(readonly code: "scenario" | "law" | "broken" | "unsupported", message: string) {
    super(message);
  }
}

export interface Engine {
  /** The names of all laws, then of all peers. */
  laws(): Promise<string[]>;
  /** Reads a scenario file: an object with its keys, times in one unit and defaults left out. */
  parse(file: string): Promise<object>;
  /** The scenario file for what `parse` returned, or for a changed version of it. */
  print(scenario: object): Promise<string>;
  /** A new world before its first event. */
  open(spec: WorldSpec): Promise<World>;
}

/** A run. Requests are answered in order. */
export interface World {
  /** Client processes, each with one throttle that its threads share. */
  readonly processes: number;
  /** Each thread's process. */
  readonly processOf: Uint32Array;
  /** When the world ends, s. */
  readonly end: number;
  /** The width of a bin, s. */
  readonly bin: number;
  /** Runs all events up to and including `until`, and returns what is new since the last frame. */
  advance(until: number): Promise<Frame>;
  /** The metrics so far, as in tidegate-sim's JSON; null: not defined. */
  metrics(): Promise<Record<string, number | null>>;
  /** The digest of the trace so far, 16 hexadecimal digits, as tidegate-sim prints it. */
  digest(): Promise<string>;
  /** Discards the world. Unanswered requests stay unanswered. */
  close(): void;
}

/** The state of a world at one moment. The caller owns the arrays. */
export interface Frame {
  /** The virtual time, s. */
  now: number;
  /** Whether the run has ended. */
  over: boolean;
  /** The bins that have ended since the last frame. The end of the world ends its last bin. */
  bins: Bins;
  /** Per process: remaining wait of its next call, s. NaN: no call waits for a time. */
  waiting: Float64Array;
  /** Per process: calls served so far. */
  served: Float64Array;
  /** Calls that the server would serve at once; fractional for a bucket. */
  level: number;
  /** The server's present limit, calls/s; 0 in an outage. */
  rate: number;
}

/** Consecutive bins. A call counts in the bin in which it arrives at the server. */
export interface Bins {
  /** The index of the first bin, which begins at `from * world.bin` seconds. */
  from: number;
  count: number;
  /** Calls that arrived, including other callers'. */
  offered: Float64Array;
  /** Calls that were served. */
  served: Float64Array;
  /** Calls that were throttled, answered "busy", or failed in an outage. */
  throttled: Float64Array;
  /** Calls that were sent in the bin, and their total wait, s. */
  left: Float64Array;
  waited: Float64Array;
}

let started: Promise<Engine> | undefined;

/** The page's only engine. The first use starts its worker; after a failure, the next use tries again. */
export function engine(): Promise<Engine> {
  return started ??= connect().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
}
