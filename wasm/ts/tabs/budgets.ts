/** The budgets that one tab holds: a desk for each key. */

import { TidegateError } from "../errors.js";
import { Desk, type DeskStats } from "../shared/desk.js";
import type { Desks } from "../shared/held.js";
import type { Records } from "./records.js";

/** The counters of a budget that this tab holds. */
export type TabStats = DeskStats & {
  /** Why the last attempt to store the budget failed. Calls are leased in both cases. */
  unstored: string | undefined;
};

/** Options of all budgets. */
export interface BudgetOptions extends Desks {
  readonly records: Records;
}

/** The most budgets that a tab holds: each takes a megabyte. */
const MOST = 64;

export class Budgets {
  readonly #options: BudgetOptions;
  readonly #from: ReturnType<Records["begin"]>;
  readonly #desks = new Map<string, Desk>();

  /** `ousted`: the seat was taken from a holder that did not answer. */
  constructor(options: BudgetOptions, ousted: boolean) {
    this.#options = options;
    this.#from = options.records.begin(ousted);
  }

  /** Answers a request for a key: the grant, and the record after it; `undefined` if it was answered before. */
  answer(key: string, request: Uint8Array): { grant: Uint8Array<ArrayBuffer>; record: Uint8Array<ArrayBuffer> } | undefined {
    const desk = this.#desks.get(key) ?? this.#open(key);
    const grant = desk.answer(request);
    if (!grant) return undefined;
    const record = desk.snapshot();
    this.#options.records.keep(key, record);
    return { grant, record };
  }

  stats(key: string): TabStats | undefined {
    const desk = this.#desks.get(key);
    return desk && { ...desk.stats(), unstored: this.#options.records.unstored };
  }

  #open(key: string): Desk {
    if (this.#desks.size >= MOST) throw new TidegateError("KEYS_FULL", `a tab holds at most ${MOST} budgets: use fewer keys`);
    const { policy, load, seed, now } = this.#options;
    const desk = new Desk(load, policy, { from: this.#from(key), seed, now });
    this.#desks.set(key, desk);
    return desk;
  }
}
