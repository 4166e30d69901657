/** What has been learnt of the budgets: as the holder has told all tabs, and in the page's storage for when none is open. */

import { bytes, text } from "../shared/text.js";

interface Told {
  readonly record: Uint8Array;
  /** When that was, in milliseconds since 1970. */
  readonly at: number;
}

/** What is stored: whether the holder has ended with it, and by key when it was told and what. */
interface Stored {
  readonly ended: boolean;
  readonly budgets: Record<string, [at: number, record: string]>;
}

/** So often it is stored, in milliseconds. */
const EVERY = 10_000;

/** See the module. */
export class Records {
  readonly #name: string;
  readonly #told = new Map<string, Told>();
  /** Whether the holder that was heard last has left, and so has granted nothing since; nothing where none was heard. */
  #left: boolean | undefined;
  #stored = -Infinity;
  /** Why it could not be stored when that was tried last. */
  unstored: string | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** The holder has granted something, and its budget is this now. */
  hear(key: string, record: Uint8Array): void {
    this.#told.set(key, { record, at: Date.now() });
    this.#left = false;
  }

  /** There is a holder; or it has left. */
  change(left: boolean): void {
    this.#left = left;
  }

  /**
   * This tab is the holder from now on. Returns what each budget is to go on from; `undefined` for one that nobody
   * has held before. Of a holder that was `ousted` nobody knows what it has granted last.
   */
  begin(ousted: boolean): (key: string) => { record: Uint8Array; away: number; ended: boolean } | undefined {
    const stored = this.#read();
    for (const [key, [at, record]] of Object.entries(stored?.budgets ?? {})) {
      if (at > (this.#told.get(key)?.at ?? -Infinity)) this.#told.set(key, { record: bytes(record), at });
    }
    const wasHeld = ousted || this.#left !== undefined || !!stored;
    const ended = !ousted && (this.#left ?? stored?.ended ?? false);
    this.#left = false;
    // Whoever comes next has to know that this one grants.
    this.store(false);
    return (key) => {
      const told = this.#told.get(key);
      if (told) return { record: told.record, away: Math.max(Date.now() - told.at, 0), ended };
      return wasHeld && !ended ? { record: new Uint8Array(), away: 0, ended } : undefined;
    };
  }

  /** The holder has granted something. */
  keep(key: string, record: Uint8Array): void {
    this.#told.set(key, { record, at: Date.now() });
    if (performance.now() - this.#stored > EVERY) this.store(false);
  }

  /** Stores all of it. */
  store(ended: boolean): void {
    const budgets: Stored["budgets"] = {};
    for (const [key, { at, record }] of this.#told) budgets[key] = [at, text(record)];
    this.#stored = performance.now();
    try {
      localStorage.setItem(this.#name, JSON.stringify({ ended, budgets } satisfies Stored));
      this.unstored = undefined;
    } catch (error) {
      this.unstored = String(error);
      this.#forget();
    }
  }

  /** What is stored would say that nothing was granted after it. */
  #forget(): void {
    try {
      localStorage.removeItem(this.#name);
    } catch {
      // A worker has no such storage, and a page need not have any.
    }
  }

  #read(): Stored | undefined {
    try {
      const stored: Partial<Stored> | null = JSON.parse(localStorage.getItem(this.#name) ?? "null");
      return stored?.budgets ? { ended: stored.ended === true, budgets: stored.budgets } : undefined;
    } catch {
      return undefined;
    }
  }
}
