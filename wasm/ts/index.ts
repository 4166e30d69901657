/** tidegate: decides when the next call to a rate-limited API may be sent, and learns from the responses. */

import { lazily } from "./core.js";
import { maker } from "./gate.js";
import { FEW } from "./law.js";
import { whole } from "./whole.js";
import { instantiate, Lane } from "#core/gate";

/** Creates a gate. Create one for the program: each origin has its own limit and queue. */
export const tidegate = maker(lazily(instantiate), FEW, Lane, whole);

export * from "./public.js";
