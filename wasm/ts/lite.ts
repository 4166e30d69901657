/** The entry for pages: as the main one, without tokens, costs, bodies and counters. */

import { lazily } from "./core.js";
import { fewer, type Gate, type Options } from "./fewer.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { instantiate, Lane } from "#core/lite";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate: (options?: Options) => Gate = maker(lazily(instantiate), FEW, Lane, fewer);

export * from "./public.lite.js";
