/** Every law by name, for Cloudflare's runtime. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { LoneLane } from "./lone.js";
import module from "./laws.wasm";

/** Makes a gate whose policy may name any law. */
export const tidegate = maker(lazily(() => instance(module)), LAWS.length, LoneLane);

export * from "./public.js";
