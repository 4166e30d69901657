/** The entry for pages: as the main one, without tokens, costs, bodies and counters. */

import { compile, instance, lazily } from "./core.js";
import { fewer, type Gate, type Options } from "./fewer.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { common, packed } from "#packed/lite";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate: (options?: Options) => Gate = maker(lazily(() => instance(compile(packed, common))), FEW, PumpedLane, fewer);

export * from "./public.lite.js";
