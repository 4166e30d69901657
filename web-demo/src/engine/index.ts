/**
 * The engine: the simulator of tools/sim with the controllers of the crate, in a web worker.
 * All numbers on the page come from it.
 *
 * Times are seconds of virtual time, counted from the start of a world. Requests of one turn of the
 * event loop go to the worker in one message, so many worlds side by side are asked all at once:
 * `await Promise.all(worlds.map((world) => world.advance(until)))`.
 */

import { connect } from "./client";

/** What makes a run; the same three give the same run on every machine. */
export interface WorldSpec {
  /** TOML, as tools/sim/scenarios has it. */
  scenario: string;
  /** One of `Engine.laws()`, or two as `ONE+OTHER`. */
  law: string;
  /** A whole number from 0 to 2^53. */
  seed: number;
}

/** Why the engine does not do what it was asked; the message is one sentence, as tidegate-sim says it. */
export class EngineError extends Error {
  override name = "EngineError";

  /**
   * - `scenario`: the text is none; the message names the line
   * - `law`: there is no such law; the message names all there are
   * - `broken`: a law or the simulator has a defect; the world cannot go on
   * - `unsupported`: this browser cannot run the engine
   */
  constructor(readonly code: "scenario" | "law" | "broken" | "unsupported", message: string) {
    super(message);
  }
}

export interface Engine {
  /** Whether WebAssembly runs, or the same in plain JavaScript where that is forbidden. */
  readonly kind: "wasm" | "js";
  /** The names of all laws, and of all peers after them. */
  laws(): Promise<string[]>;
  /** A new world before its first event. `steps` makes its frames have every step. */
  open(spec: WorldSpec, watch?: { steps?: boolean }): Promise<World>;
}

/** A run. It is asked in order, and each request is answered after those before it. */
export interface World {
  /** Threads in all, each with at most one call outstanding. */
  readonly threads: number;
  /** Client processes, each with one throttle that its threads share. */
  readonly processes: number;
  /** The process of each thread. */
  readonly processOf: Uint32Array;
  /** When the world ends, s. */
  readonly end: number;
  /** The width of a bin, s. */
  readonly bin: number;
  /** Lets all happen up to and including `until`, and tells what is new since the frame before. */
  advance(until: number): Promise<Frame>;
  /** The metrics of tidegate-sim's JSON for what has happened so far; null: it has no meaning. */
  metrics(): Promise<Record<string, number | null>>;
  /** The digest of the trace so far, 16 hexadecimal digits, as tidegate-sim prints it. */
  digest(): Promise<string>;
  /** Forgets the world. What was asked of it and is not answered yet never will be. */
  close(): void;
}

/** What a world shows at a moment. Arrays are the reader's own. */
export interface Frame {
  /** The virtual time, s. */
  now: number;
  /** Whether nothing more will happen. */
  over: boolean;
  /** The bins that have ended since the frame before; the end of the world ends the last one. */
  bins: Bins;
  /** Per process: how long its next call has still to wait, s. NaN: none waits for a time. */
  waiting: Float64Array;
  /** Per process: calls on their way. */
  inFlight: Uint32Array;
  /** Per process: calls that the server has served so far. */
  served: Float64Array;
  /** Per process: calls that the server has throttled or failed so far. */
  throttled: Float64Array;
  /** Calls that the server would serve if they came at once; a bucket has parts of one. */
  level: number;
  /** What the server gives, calls/s; 0 in an outage. */
  rate: number;
  /** Every step since the frame before, where the world was opened for it. */
  steps?: Steps;
}

/** Bins, one after the other. Calls are counted when they arrive at the server. */
export interface Bins {
  /** The index of the first one: it begins at `from * world.bin` seconds. */
  from: number;
  count: number;
  /** Calls that arrived, of strangers too. */
  offered: Float64Array;
  /** Those of them that were served. */
  served: Float64Array;
  /** The others: throttled, busy, or failed in an outage. */
  throttled: Float64Array;
  /** The same of each process, without strangers: all processes of a bin, then those of the next. */
  byProcess: { offered: Float64Array; served: Float64Array };
  /** Calls that were sent in the bin, and how long they had waited for it together, s. */
  left: Float64Array;
  waited: Float64Array;
}

/** Steps, one after the other. */
export interface Steps {
  /** When, s. */
  at: Float64Array;
  thread: Uint32Array;
  /** A `What`. */
  what: Uint8Array;
  /**
   * - `Left`: how long it had waited, s
   * - `Waits`: until when, s
   * - `Rejected`: when it could be sent, s; NaN where that is not why
   * - `Decided`, `Back`: an `Outcome`
   * - others: NaN
   */
  value: Float64Array;
}

/** What can happen to a call. */
export const What = {
  /** Its throttle admits it. */
  Left: 0,
  /** Its throttle tells it to ask again later. */
  Waits: 1,
  /** Its throttle has no room for it until another one of its process is back. */
  Full: 2,
  /** Its throttle will not admit it. */
  Rejected: 3,
  /** It arrives at the server, which decides. */
  Decided: 4,
  /** It is back at its client. */
  Back: 5,
  /** It came back, and there is no other attempt. */
  GivenUp: 6,
  /** Its client left before it did. */
  Withdrawn: 7,
  /** It is in the queue of its process. */
  Queued: 8,
} as const;

/** What became of a call. */
export const Outcome = { Ok: 0, Throttled: 1, Busy: 2, Failed: 3, Abandoned: 4 } as const;

let started: Promise<Engine> | undefined;

/** The engine, one for the page. Its worker starts on first use; where that fails, on the next. */
export function engine(): Promise<Engine> {
  return started ??= connect().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
}
