/** tidegate: decides when the next call to a rate-limited API may be sent, and learns from the responses. */

import { compile, instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { whole } from "./whole.js";
import { common, packed } from "#packed/gate";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(() => instance(compile(packed, common))), FEW, PumpedLane, whole);

export * from "./public.js";
