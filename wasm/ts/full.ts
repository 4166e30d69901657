/** The entry with all laws by name, and snapshots. */

import { compile, instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { PumpedLane } from "./pumped.js";
import { snapshots } from "./snapshot.js";
import { common, packed } from "#packed/full";

/** Creates a gate that accepts every law and has snapshots. */
export const tidegate = maker(lazily(() => instance(compile(packed, common))), LAWS.length, PumpedLane, snapshots);

export * from "./public.js";
export type { Snapshot, Snapshots } from "./snapshot.js";
