/**
 * Pacing only, for a limit that you know.
 *
 * It keeps the quota exactly and makes calls wait. It does not learn, retry or read responses.
 */

import { instantiate } from "#core/pacing";
import { of } from "./pacer.js";

/** Creates a pacing gate. */
export const pacing = of(instantiate);

export type { Pacing, PacingOptions } from "./pacer.js";
