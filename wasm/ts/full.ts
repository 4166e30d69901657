/** The entry with all laws by name, and snapshots. */

import { bodies } from "./bodies.js";
import { lazily } from "./core.js";
import { costs } from "./costs.js";
import { counts } from "./counts.js";
import { maker, type Parts } from "./gate.js";
import { LAWS, type Law } from "./law.js";
import { several } from "./layers.js";
import type { Gate as OfEntry, Key, Options as OptionsOfEntry } from "./options.js";
import type { Policy as PolicyOfEntry } from "./policy.js";
import { snapshots, type Snapshots } from "./snapshot.js";
import { warner } from "./warnings.js";
import { instantiate, Lane } from "#core/full";

const everything: Parts = { costs, bodies, warner, several, more: (inside) => ({ ...counts(inside, several), ...snapshots(inside) }) };

/** Creates a gate that accepts every law and several keys for a call, and has snapshots. */
export const tidegate = maker<Snapshots, Key, Law>(lazily(instantiate), LAWS.length, Lane, everything);

export * from "./public.js";
export type { Snapshot, Snapshots } from "./snapshot.js";

/** The policy of a gate, with every law. */
export type Policy = PolicyOfEntry<Law>;
/** Options of a gate, with every law. */
export type Options<K extends Key = string> = OptionsOfEntry<K, Law>;
/** A gate with every law. */
export type Gate<K extends Key = string> = OfEntry<K, Law>;
