/** The entry for Cloudflare's runtime, which compiles wasm only as a module of its own. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import module from "./tidegate.wasm";

/** Makes a gate. One gate serves all calls to an API, and keeps its origins apart. */
export const tidegate = maker(lazily(() => instance(module)), FEW, LoneLane);

export * from "./public.js";
