/** The same core as plain JavaScript, for edge workers. */

import { lazily, type Exports } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import { whole } from "./whole.js";
import { instantiate } from "#plain/gate";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(() => instantiate() as Exports), FEW, LoneLane, whole);

export * from "./public.js";
