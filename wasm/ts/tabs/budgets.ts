/** The budgets that one tab holds: a desk for each key. */

import type { Exports } from "../core.js";
import { TidegateError } from "../errors.js";
import { Desk, type DeskOptions, type DeskStats } from "../shared/desk.js";
import type { SharedPolicy } from "../shared/policy.js";
import type { Records } from "./records.js";

/** What a budget of this tab has counted. */
export type TabStats = DeskStats & {
  /** Why what has been learnt could not be stored when that was tried last. Budgets are leased all the same. */
  unstored: string | undefined;
};

/** What budgets are made with. */
export interface BudgetOptions extends Pick<DeskOptions, "seed" | "now"> {
  readonly policy: SharedPolicy;
  readonly records: Records;
  /** Gives an instance of the module that is one desk's alone. */
  readonly load: () => Exports;
}

/** A tab holds so many at most: each takes a megabyte. */
const MOST = 64;

/** See the module. */
export class Budgets {
  readonly #options: BudgetOptions;
  readonly #from: ReturnType<Records["begin"]>;
  readonly #desks = new Map<string, Desk>();

  /** `ousted`: the holder before did not answer, and the seat was taken from it. */
  constructor(options: BudgetOptions, ousted: boolean) {
    this.#options = options;
    this.#from = options.records.begin(ousted);
  }

  /** Answers a request of a key: the grant, and what the budget is after it; `undefined` where it was answered before. */
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
    if (this.#desks.size >= MOST) throw new TidegateError("KEYS_FULL", `one tab holds ${MOST} budgets at most: give fewer calls keys of their own`);
    const { policy, load, seed, now } = this.#options;
    const desk = new Desk(load, policy, { from: this.#from(key), seed, now });
    this.#desks.set(key, desk);
    return desk;
  }
}
