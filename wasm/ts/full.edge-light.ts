/** All laws by name, and snapshots, for runtimes that compile wasm only from an import with `?module`. */

import { instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { LoneLane } from "./lone.js";
import { snapshots } from "./snapshot.js";
import module from "./full.wasm?module";

/** Creates a gate that accepts every law and has snapshots. */
export const tidegate = maker(lazily(() => instance(module)), LAWS.length, LoneLane, snapshots);

export * from "./public.js";
export type { Snapshot, Snapshots } from "./snapshot.js";
