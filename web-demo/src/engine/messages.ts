/** What the page and the worker tell each other. Both send lists: what came up in one turn. */

import type { EngineError } from "./index";

/** The client numbers requests, and worlds. */
export type Request =
  | { ask: "start" | "laws"; id: number }
  | { ask: "open"; id: number; world: number; scenario: string; law: string; seed: number; steps: boolean }
  | { ask: "advance"; id: number; world: number; until: number }
  | { ask: "metrics" | "digest"; id: number; world: number }
  | { ask: "close"; world: number };

/** A request that is answered after those before it that are about the same world. */
export type Ask = Exclude<Request, { ask: "close" }>;

export type Reply =
  | { id: number; value: unknown }
  | { id: number; error: { code: EngineError["code"]; message: string } };

/** A world as `open` tells it. */
export interface Opened { end: number; bin: number; processOf: Uint32Array }
