/** Pacing only, for runtimes that compile wasm only from an import with `?module`. */

import { instance } from "./core.js";
import module from "./pacing.wasm?module";
import { of } from "./pacer.js";

/** Creates a pacing gate. */
export const pacing = of(() => instance(module));

export type { Pacing, PacingOptions } from "./pacer.js";
