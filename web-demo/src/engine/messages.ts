/** Messages between the page and the worker. Each is a list of everything from one turn. */

import type { EngineError, WorldSpec } from "./index";

/** The client assigns the numbers of requests and worlds. */
export type Request =
  | { ask: "start" | "laws"; id: number }
  | { ask: "parse"; id: number; file: string }
  | { ask: "print"; id: number; scenario: object }
  | { ask: "open"; id: number; world: number } & WorldSpec
  | { ask: "advance"; id: number; world: number; until: number }
  | { ask: "metrics" | "digest"; id: number; world: number }
  | { ask: "close"; world: number };

/** A request that is answered after earlier requests about the same world. */
export type Ask = Exclude<Request, { ask: "close" }>;

export type Reply =
  | { id: number; value: unknown }
  | { id: number; error: { code: EngineError["code"]; message: string } };

/** What `open` returns about a world. */
export interface Opened { end: number; bin: number; processOf: Uint32Array }
