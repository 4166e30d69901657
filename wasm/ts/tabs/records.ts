/** The records of the budgets: as the holder broadcast them, and in the page's storage for when no tab is open. */

import { UNKNOWN, type Store } from "../shared/budgets.js";
import type { Past } from "../shared/desk.js";
import { bytes, text } from "../shared/text.js";

interface Told {
  readonly record: Uint8Array;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Whether nothing was granted after it. */
  ended: boolean;
}

/** The stored data: whether the holder ended with it, and each key's record and time. */
interface Stored {
  readonly ended: boolean;
  readonly budgets: Record<string, [at: number, record: string]>;
}

/** Milliseconds between two writes to the storage. */
const EVERY = 10_000;

/** The most records. Without one, a budget continues as if its last grants were unknown. */
const MOST = 1_000;

export class Records implements Store {
  readonly #told = new Map<string, Told>();
  /** Whether the last known holder has left, and so granted nothing since; `undefined` if none was heard. */
  #left: boolean | undefined;
  #stored = -Infinity;
  /** Whether no grants of former holders are unknown. */
  #isFirst = true;
  unstored: string | undefined;

  constructor(private readonly name: string) {}

  /** The holder has granted calls; this is its record now. */
  hear(key: string, record: Uint8Array): void {
    this.#keep(key, record, false);
    this.#left = false;
  }

  /** A holder has started or left. */
  change(left: boolean): void {
    this.#left = left;
  }

  /** This tab becomes the holder. The last grants of an `ousted` holder are unknown. */
  begin(ousted: boolean): void {
    const stored = this.#read();
    for (const [key, told] of stored?.told ?? []) {
      if (told.at > (this.#told.get(key)?.at ?? -Infinity)) this.#told.set(key, told);
    }
    const ended = !ousted && (this.#left ?? stored?.ended ?? false);
    for (const told of this.#told.values()) told.ended = ended;
    this.#isFirst = ended || !(ousted || this.#left !== undefined || stored);
    this.#left = false;
    // A successor must know that this tab grants.
    this.store(false);
  }

  read(key: string): Past | undefined {
    const told = this.#told.get(key);
    if (told) return { record: told.record, away: Math.max(Date.now() - told.at, 0), ended: told.ended };
    return this.#isFirst ? undefined : UNKNOWN;
  }

  /** The other tabs have the record too, so it is stored only once in a while. */
  write(key: string, record: Uint8Array): void {
    this.#keep(key, record, true);
    if (performance.now() - this.#stored > EVERY) this.store(false);
  }

  #keep(key: string, record: Uint8Array, ended: boolean): void {
    this.#told.delete(key);
    this.#told.set(key, { record, at: Date.now(), ended });
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MOST) break;
      this.#isFirst = false;
      this.#told.delete(oldest);
    }
  }

  store(ended: boolean): void {
    const budgets: Stored["budgets"] = Object.fromEntries([...this.#told].map(([key, { at, record }]) => [key, [at, text(record)]]));
    this.#stored = performance.now();
    try {
      localStorage.setItem(this.name, JSON.stringify({ ended, budgets } satisfies Stored));
      this.unstored = undefined;
    } catch (error) {
      this.unstored = String(error);
      try {
        // It would say that nothing was granted after it.
        localStorage.removeItem(this.name);
      } catch {
        // Workers have no such storage, and pages may lack it.
      }
    }
  }

  /** Reads what a holder has stored. What is damaged is dropped, and then any budget may have been granted from. */
  #read(): { readonly ended: boolean; readonly told: Map<string, Told> } | undefined {
    const told = new Map<string, Told>();
    let item: string | null;
    try {
      item = localStorage.getItem(this.name);
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
          told.set(key, { at, record: bytes(record), ended: false });
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
