/** The budgets that one process holds: a desk and a file for each key. */

import { TidegateError } from "../errors.js";
import { Desk, type DeskStats } from "../shared/desk.js";
import type { Desks } from "../shared/held.js";
import type { Place } from "./place.js";
import { RecordFile } from "./record.js";

/** The counters of a budget that this process holds. */
export type LocalStats = DeskStats & {
  /** Why the last attempt to write the budget failed. Calls are leased in both cases. */
  unstored: string | undefined;
};

/** Options of all budgets. */
export interface BudgetOptions extends Desks {
  readonly place: Place;
}

interface Budget {
  readonly desk: Desk;
  readonly file: RecordFile;
  /** When a member last asked, by the process's clock. */
  asked: number;
  unstored: string | undefined;
}

/** A budget is unloaded after this many milliseconds without a request; its file contains everything. */
const IDLE = 60_000;

/** The most budgets that a process holds: each takes a megabyte. */
const MOST = 256;

export class Budgets {
  readonly #options: BudgetOptions;
  /** Whether there was no holder before. If there was, calls may be leased even without a file. */
  readonly #isFirst: boolean;
  readonly #budgets = new Map<string, Budget>();

  constructor(options: BudgetOptions, isFirst: boolean) {
    this.#options = options;
    this.#isFirst = isFirst;
  }

  /** Answers a request for a key. What it grants has been written. */
  answer(key: string, request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const budget = this.#budgets.get(key) ?? this.#open(key);
    budget.asked = performance.now();
    const grant = budget.desk.answer(request);
    if (!grant) return undefined;
    try {
      budget.file.write(budget.desk.snapshot());
      budget.unstored = undefined;
    } catch (error) {
      budget.unstored = String(error);
      budget.desk.unkept();
    }
    return grant;
  }

  /** The process that sent this request has ended. */
  ended(key: string, request: Uint8Array): void {
    this.#budgets.get(key)?.desk.ended(request);
  }

  stats(key: string): LocalStats | undefined {
    const budget = this.#budgets.get(key);
    return budget && { ...budget.desk.stats(), unstored: budget.unstored };
  }

  /** Whether all grants have been written, so that another process can continue at once. */
  get isKept(): boolean {
    return [...this.#budgets.values()].every(({ unstored }) => unstored === undefined);
  }

  close(): void {
    for (const { file } of this.#budgets.values()) file.close();
    this.#budgets.clear();
  }

  #open(key: string): Budget {
    const { place, policy, load, seed, now } = this.#options;
    this.#forget(Math.max(IDLE, (policy.heartbeat ?? 0) * 4));
    if (this.#budgets.size >= MOST) throw new TidegateError("KEYS_FULL", `a process holds at most ${MOST} budgets: use fewer keys, or another name for some`);
    const file = new RecordFile(place, key);
    const past = file.read();
    const from = past ? { ...past, ended: true } : this.#isFirst ? undefined : { record: new Uint8Array(), away: 0, ended: false };
    const budget = { desk: new Desk(load, policy, { from, seed, now }), file, asked: 0, unstored: undefined };
    this.#budgets.set(key, budget);
    return budget;
  }

  #forget(idle: number): void {
    const now = performance.now();
    for (const [key, { file, asked, unstored }] of this.#budgets) {
      if (now - asked <= idle || unstored !== undefined) continue;
      file.close();
      this.#budgets.delete(key);
    }
  }
}
