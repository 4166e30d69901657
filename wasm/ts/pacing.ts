/**
 * One pacing gate and nothing else: for a limit that you know, of calls that you make yourself.
 *
 * It keeps the quota exactly, and lets calls wait. It does not learn, retry, or read what servers say.
 */

import { instance, unpack } from "./core.js";
import { common, packed } from "#packed/pacing";
import { of } from "./pacer.js";

/** Makes a pacing gate. */
export const pacing = of(() => instance(new WebAssembly.Module(unpack(packed, common))));

export type { Pacing, PacingOptions } from "./pacer.js";
