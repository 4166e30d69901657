/** The same core as plain JavaScript, for edge workers. */

import { lazily, type Exports } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { LoneLane } from "./lone.js";
import { instantiate } from "#plain/gate";

/** Makes a gate. One gate serves all calls to an API, and keeps its origins apart. */
export const tidegate = maker(lazily(() => instantiate() as Exports), FEW, LoneLane);

export * from "./public.js";
