/** The entry with all laws by name. */

import { compile, instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { common, packed } from "#packed/laws";

/** Creates a gate that accepts every law. */
export const tidegate = maker(lazily(() => instance(compile(packed, common))), LAWS.length, PumpedLane);

export * from "./public.js";
