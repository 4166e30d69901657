/** The budgets that one process holds: a desk for each key, and its file. */

import type { Exports } from "../core.js";
import { TidegateError } from "../errors.js";
import { Desk, type DeskOptions, type DeskStats } from "../shared/desk.js";
import type { SharedPolicy } from "../shared/policy.js";
import type { Place } from "./place.js";
import { RecordFile } from "./record.js";

/** What a budget of this process has counted. */
export type LocalStats = DeskStats & {
  /** Why what has been learnt could not be written down when that was tried last. Budgets are leased all the same. */
  unstored: string | undefined;
};

/** What budgets are made with. */
export interface BudgetOptions extends Pick<DeskOptions, "seed" | "now"> {
  readonly place: Place;
  readonly policy: SharedPolicy;
  /** Gives an instance of the module that is one desk's alone. */
  readonly load: () => Exports;
}

interface Budget {
  readonly desk: Desk;
  readonly file: RecordFile;
  /** When a member asked last, by the clock of the process. */
  asked: number;
  unstored: string | undefined;
}

/** One is forgotten where nobody has asked for so many milliseconds: its file has all of it. */
const IDLE = 60_000;

/** A process holds so many at most: each takes a megabyte. */
const MOST = 256;

/** See the module. */
export class Budgets {
  readonly #options: BudgetOptions;
  /** Whether nobody held them before: else there may be leases where there is no file. */
  readonly #isFirst: boolean;
  readonly #budgets = new Map<string, Budget>();

  constructor(options: BudgetOptions, isFirst: boolean) {
    this.#options = options;
    this.#isFirst = isFirst;
  }

  /** Answers a request of a key; what was granted is written down by then. */
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

  stats(key: string): LocalStats | undefined {
    const budget = this.#budgets.get(key);
    return budget && { ...budget.desk.stats(), unstored: budget.unstored };
  }

  /** Whether what was granted is written down, so that another process can go on at once. */
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
    if (this.#budgets.size >= MOST) throw new TidegateError("KEYS_FULL", `one process holds ${MOST} budgets at most: give fewer calls keys of their own, or choose another name for some`);
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
