/** All laws by name, for runtimes that compile wasm only from an import with `?module`. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { LoneLane } from "./lone.js";
import module from "./laws.wasm?module";

/** Creates a gate that accepts every law. */
export const tidegate = maker(lazily(() => instance(module)), LAWS.length, LoneLane);

export * from "./public.js";
