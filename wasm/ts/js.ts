/** The entry for pages that forbid wasm: the same core as plain JavaScript. */

import { lazily, type Exports } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { whole } from "./whole.js";
import { instantiate } from "#plain/gate";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(() => instantiate() as Exports), FEW, PumpedLane, whole);

export * from "./public.js";
