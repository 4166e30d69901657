/** The entry for Cloudflare's runtime, which compiles wasm only from a module import. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import { whole } from "./whole.js";
import module from "./tidegate.wasm";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(() => instance(module)), FEW, LoneLane, whole);

export * from "./public.js";
