/** One pace and nothing else, for runtimes that compile wasm only where it is imported with `?module`. */

import { instance } from "./core.js";
import module from "./pace.wasm?module";
import { of } from "./pacing.js";

/** Makes a pace. */
export const pace = of(() => instance(module));

export type { Pace, PaceOptions } from "./pacing.js";
