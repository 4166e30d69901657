/** Pacing only, for Cloudflare's runtime. */

import { instance } from "./core.js";
import module from "./pacing.wasm";
import { of } from "./pacer.js";

/** Creates a pacing gate. */
export const pacing = of(() => instance(module));

export type { Pacing, PacingOptions } from "./pacer.js";
