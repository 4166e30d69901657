/** All laws by name, and snapshots, for runtimes that compile wasm only from an import with `?module`. */

import { instance, lazily } from "./core.js";
import { everything } from "./everything.js";
import { maker } from "./gate.js";
import { LAWS, type Law } from "./law.js";
import { LoneLane } from "./lone.js";
import type { Key } from "./options.js";
import type { Snapshots } from "./snapshot.js";
import module from "./full.wasm?module";

/** Creates a gate that accepts every law and several keys for a call, and has snapshots. */
export const tidegate = maker<Snapshots, Key, Law>(lazily(() => instance(module)), LAWS.length, LoneLane, everything);

export * from "./public.js";
export type { Snapshot, Snapshots } from "./snapshot.js";
