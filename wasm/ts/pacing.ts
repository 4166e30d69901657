/**
 * Pacing only, for a limit that you know.
 *
 * It keeps the quota exactly and makes calls wait. It does not learn, retry or read responses.
 */

import { instance, unpack } from "./core.js";
import { common, packed } from "#packed/pacing";
import { of } from "./pacer.js";

/** Creates a pacing gate. */
export const pacing = of(() => instance(new WebAssembly.Module(unpack(packed, common))));

export type { Pacing, PacingOptions } from "./pacer.js";
