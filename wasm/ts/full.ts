/** The entry with all laws by name, and snapshots. */

import { compile, instance, lazily } from "./core.js";
import { maker } from "./gate.js";
import { LAWS } from "./law.js";
import { several } from "./layers.js";
import type { Key } from "./options.js";
import { PumpedLane } from "./pumped.js";
import { snapshots, type Snapshots } from "./snapshot.js";
import { common, packed } from "#packed/full";

/** Creates a gate that accepts every law and several keys for a call, and has snapshots. */
export const tidegate = maker<Snapshots, Key>(lazily(() => instance(compile(packed, common))), LAWS.length, PumpedLane, snapshots, several);

export * from "./public.js";
export type { Snapshot, Snapshots } from "./snapshot.js";
