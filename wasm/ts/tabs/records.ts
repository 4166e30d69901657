/** The records of the budgets: as the holder broadcast them, and in the page's storage for when no tab is open. */

import { bytes, text } from "../shared/text.js";

interface Told {
  readonly record: Uint8Array;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** The stored data: whether the holder ended with it, and each key's record and time. */
interface Stored {
  readonly ended: boolean;
  readonly budgets: Record<string, [at: number, record: string]>;
}

/** What was read of them. */
interface Read {
  readonly ended: boolean;
  readonly told: Map<string, Told>;
}

/** Milliseconds between two writes to the storage. */
const EVERY = 10_000;

export class Records {
  readonly #name: string;
  readonly #told = new Map<string, Told>();
  /** Whether the last known holder has left, and so granted nothing since; `undefined` if none was heard. */
  #left: boolean | undefined;
  #stored = -Infinity;
  /** Why the last attempt to store failed. */
  unstored: string | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** The holder has granted calls; this is its record now. */
  hear(key: string, record: Uint8Array): void {
    this.#told.set(key, { record, at: Date.now() });
    this.#left = false;
  }

  /** A holder has started or left. */
  change(left: boolean): void {
    this.#left = left;
  }

  /**
   * This tab becomes the holder. Returns what each budget continues from; `undefined` for one that
   * no tab has held. The last grants of an `ousted` holder are unknown.
   */
  begin(ousted: boolean): (key: string) => { record: Uint8Array; away: number; ended: boolean } | undefined {
    const stored = this.#read();
    for (const [key, told] of stored?.told ?? []) {
      if (told.at > (this.#told.get(key)?.at ?? -Infinity)) this.#told.set(key, told);
    }
    const wasHeld = ousted || this.#left !== undefined || !!stored;
    const ended = !ousted && (this.#left ?? stored?.ended ?? false);
    this.#left = false;
    // A successor must know that this tab grants.
    this.store(false);
    return (key) => {
      const told = this.#told.get(key);
      if (told) return { record: told.record, away: Math.max(Date.now() - told.at, 0), ended };
      return wasHeld && !ended ? { record: new Uint8Array(), away: 0, ended } : undefined;
    };
  }

  /** This holder has granted calls. */
  keep(key: string, record: Uint8Array): void {
    this.#told.set(key, { record, at: Date.now() });
    if (performance.now() - this.#stored > EVERY) this.store(false);
  }

  /** Stores all records. */
  store(ended: boolean): void {
    const budgets: Stored["budgets"] = Object.fromEntries([...this.#told].map(([key, { at, record }]) => [key, [at, text(record)]]));
    this.#stored = performance.now();
    try {
      localStorage.setItem(this.#name, JSON.stringify({ ended, budgets } satisfies Stored));
      this.unstored = undefined;
    } catch (error) {
      this.unstored = String(error);
      this.#forget();
    }
  }

  /** Stored data would say that nothing was granted after it. */
  #forget(): void {
    try {
      localStorage.removeItem(this.#name);
    } catch {
      // Workers have no such storage, and pages may lack it.
    }
  }

  /** Reads what a holder has stored. What is damaged is dropped, and then any budget may have been granted from. */
  #read(): Read | undefined {
    const told = new Map<string, Told>();
    let item: string | null;
    try {
      item = localStorage.getItem(this.#name);
    } catch {
      return undefined;
    }
    if (item === null) return undefined;
    let ended = false;
    try {
      const stored: Stored = JSON.parse(item);
      ended = stored.ended === true;
      for (const [key, entry] of Object.entries(stored.budgets)) {
        try {
          const [at, record] = entry;
          if (!Number.isFinite(at)) throw new TypeError("no time");
          told.set(key, { at, record: bytes(record) });
        } catch {
          ended = false;
        }
      }
    } catch {
      ended = false;
    }
    return { ended, told };
  }
}
