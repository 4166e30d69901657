/** Snapshots of what a gate has learned. */

import { TidegateError } from "./errors.js";
import type { Inside } from "./gate.js";

/** What a gate has learned. It can be stored with `JSON.stringify` or structured clone. */
export interface Snapshot {
  /** When the snapshot was taken, in milliseconds since 1970. */
  readonly at: number;
  /** Each key and its record. */
  readonly keys: readonly (readonly [key: string, record: string])[];
}

/** The methods of a gate for snapshots. */
export interface Snapshots {
  /** Returns what the gate has learned. */
  readonly snapshot: () => Snapshot;
  /** Continues from a snapshot. Keys with calls keep their state. */
  readonly restore: (snapshot: Snapshot) => void;
}

/** The core's answer for a damaged record. */
const DAMAGED = -3;

/** Creates the methods of a gate. */
export const snapshots = ({ now, queue, lanes, make, retire, hasRoom, full }: Inside): Snapshots => ({
  snapshot() {
    const keys = [...lanes.values()].map(({ key, gate, house: { core } }): [string, string] => {
      const length = core.snapshot!(gate, now());
      return [key, btoa(String.fromCharCode(...core.room().subarray(0, length)))];
    });
    return { at: Date.now(), keys };
  },
  restore(snapshot) {
    for (const [key, record] of records(snapshot)) {
      const before = lanes.get(key);
      if (before && !before.isIdle()) continue;
      if (!before && !hasRoom()) throw full();
      const lane = make(key, (core, high, low) => {
        core.room().set(record.subarray(0, 4096));
        const slot = core.restore!(high, low, now(), record.length, Date.now() - snapshot.at, queue);
        if (slot === DAMAGED) throw new TidegateError("SNAPSHOT", `the snapshot of ${key || "the gate"} is damaged or belongs to another law`);
        return slot;
      });
      if (before) retire(before);
      lanes.set(key, lane);
    }
  },
});

/** The keys and records of a snapshot. Throws if it is invalid. */
function records(snapshot: Snapshot): [string, Uint8Array][] {
  try {
    const { at, keys } = snapshot;
    if (Number.isFinite(at)) return keys.map(([key, record]) => [String(key), Uint8Array.from(atob(record), (character) => character.charCodeAt(0))]);
  } catch {
    // Reported below.
  }
  throw new TidegateError("SNAPSHOT", "not a snapshot: pass the result of snapshot(), or its JSON copy");
}
