/** One pace and nothing else, for Cloudflare's runtime. */

import { instance } from "./core.js";
import module from "./pace.wasm";
import { of } from "./pacing.js";

/** Makes a pace. */
export const pace = of(() => instance(module));

export type { Pace, PaceOptions } from "./pacing.js";
