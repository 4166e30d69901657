//! What the page asks of the engine.

export interface WorldSpec { scenario: string; law: string; seed: number }

export class EngineError extends Error {
  constructor(readonly code: "scenario" | "law" | "broken" | "unsupported", message: string) {
    super(message);
  }
}

export interface Engine {
  readonly kind: "wasm" | "js";
  laws(): Promise<string[]>;
  open(spec: WorldSpec, watch?: { steps?: boolean }): Promise<World>;
}

export interface World {
  readonly threads: number;
  readonly processes: number;
  readonly processOf: Uint32Array;
  readonly end: number;
  readonly bin: number;
  advance(until: number): Promise<Frame>;
  metrics(): Promise<Record<string, number | null>>;
  digest(): Promise<string>;
  close(): void;
}

export interface Frame {
  now: number;
  over: boolean;
  bins: Bins;
  waiting: Float64Array;
  inFlight: Uint32Array;
  served: Float64Array;
  throttled: Float64Array;
  level: number | null;
  rate: number;
  steps?: Steps;
}

export interface Bins {
  from: number;
  count: number;
  offered: Float64Array;
  served: Float64Array;
  throttled: Float64Array;
  byProcess: { offered: Float64Array; served: Float64Array };
  wait: Float64Array;
}

export interface Steps {
  at: Float64Array;
  thread: Uint32Array;
  what: Uint8Array;
  value: Float64Array;
}

export function engine(): Promise<Engine> {
  return Promise.reject(new EngineError("unsupported", "The engine is not built yet."));
}
