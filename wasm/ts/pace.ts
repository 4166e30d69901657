/**
 * One pace and nothing else: for a limit that you know, of calls that you make yourself.
 *
 * It keeps the quota exactly, and lets calls wait. It does not learn, retry, or read what servers say.
 */

import { instance, unpack } from "./core.js";
import { common, packed } from "#packed/pace";
import { of } from "./pacing.js";

/** Makes a pace. */
export const pace = of(() => instance(new WebAssembly.Module(unpack(packed, common))));

export type { Pace, PaceOptions } from "./pacing.js";
