/** tidegate: decides when the next call to somebody else's API may be sent, and learns from what comes back. */

import { compile, instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { common, packed } from "#packed/gate";

/** Makes a gate. One gate serves all calls to an API, and keeps its origins apart. */
export const tidegate = maker(lazily(() => instance(compile(packed, common))), FEW, PumpedLane);

export * from "./public.js";
