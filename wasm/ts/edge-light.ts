/** The entry for runtimes that compile wasm only from an import with `?module`. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import { whole } from "./whole.js";
import module from "./tidegate.wasm?module";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(() => instance(module)), FEW, LoneLane, whole);

export * from "./public.js";
