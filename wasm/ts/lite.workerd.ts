/** The entry without tokens, costs, bodies and counters, for Cloudflare's runtime. */

import { instance, lazily } from "./core.js";
import { fewer, type Gate, type Options } from "./fewer.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import module from "./lite.wasm";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate: (options?: Options) => Gate = maker(lazily(() => instance(module)), FEW, LoneLane, fewer);

export * from "./public.lite.js";
