/** One pacing gate and nothing else, for runtimes that compile wasm only where it is imported with `?module`. */

import { instance } from "./core.js";
import module from "./pacing.wasm?module";
import { of } from "./pacer.js";

/** Makes a pacing gate. */
export const pacing = of(() => instance(module));

export type { Pacing, PacingOptions } from "./pacer.js";
