/** The budgets that a program holds: a desk for each key. */

import { TidegateError } from "../errors.js";
import { leaves } from "./carrier.js";
import type { BudgetCore } from "./core.js";
import { Desk, type DeskStats, type Past } from "./desk.js";
import type { SharedPolicy } from "./policy.js";

/** The counters of a budget that this program holds. */
export type BudgetStats = DeskStats & {
  /** Why the last attempt to store the budget failed. Calls are leased in both cases. */
  unstored: string | undefined;
};

/** Where the records of budgets are. */
export interface Store {
  /** What the budget of a key continues from; `undefined` if nobody has held it. */
  read(key: string): Past | undefined;
  /** Stores a record before its grant is sent. Throws if the record could not be stored and no other program keeps it. */
  write(key: string, record: Uint8Array<ArrayBuffer>): void;
  /** Why only other members have the records. */
  readonly unstored?: string | undefined;
  /** The budget of a key is unloaded. */
  close?(key: string): void;
}

/** A predecessor whose record is unknown. */
export const UNKNOWN: Past = { record: new Uint8Array(), away: 0, ended: false };

/** No store: the records are stored with the grants, and seats open and close the budgets. */
const NOWHERE: Store = { read: () => UNKNOWN, write() {} };

/** A grant, and the record after it. */
export interface Granted {
  readonly grant: Uint8Array<ArrayBuffer>;
  readonly record: Uint8Array<ArrayBuffer>;
}

interface Budget {
  readonly desk: Desk;
  /** When a member last asked, by the program's clock. */
  asked: number;
  /** The members that have not left, and when each last asked. The latest is the last one. */
  readonly members: Map<number, number>;
  unstored: string | undefined;
}

/** The member that sent a valid request: half of its number, which is random. */
const member = (request: Uint8Array) => new DataView(request.buffer, request.byteOffset).getUint32(3);

/** A budget is unloaded after this many milliseconds without a request: `REST` if no member is present and no call is in flight. */
const IDLE = 60_000;
const REST = 1_000;

/** The most members whose presence is known. */
const PRESENT = 1_024;

/** The most budgets with a store. */
const MOST = 256;

export class Budgets {
  readonly #budgets = new Map<string, Budget>();
  #store = NOWHERE;

  /** `core` creates the instance of the module for all desks, when it is needed, and `most` is how many there may be. */
  constructor(
    private readonly policy: SharedPolicy,
    private readonly core: () => BudgetCore,
    private readonly now: (() => number) | undefined,
    private most: number,
  ) {}

  /** This program has taken the seat of all keys, whose records are in a store. */
  begin(store: Store): void {
    // Budgets of an earlier seat do not know what another holder has granted since.
    this.end();
    this.#store = store;
    this.most = MOST;
  }

  /** Answers a request for a key; `undefined` if there is nothing to send. */
  answer(key: string, request: Uint8Array): Granted | undefined {
    const budget = this.#budgets.get(key) ?? this.#load(key);
    budget.asked = performance.now();
    const grant = budget.desk.answer(request);
    budget.members.delete(member(request));
    if (!leaves(request)) budget.members.set(member(request), budget.asked);
    this.#isUsed(budget);
    if (!grant) return undefined;
    const record = budget.desk.snapshot();
    try {
      this.#store.write(key, record);
      budget.unstored = undefined;
    } catch (error) {
      budget.unstored = String(error);
      budget.desk.unkept();
    }
    return { grant, record };
  }

  /** The sender of this request has ended. */
  ended(key: string, request: Uint8Array): void {
    const budget = this.#budgets.get(key);
    budget?.desk.ended(request);
    budget?.members.delete(member(request));
  }

  stats(key: string): BudgetStats | undefined {
    const budget = this.#budgets.get(key);
    return budget && { ...budget.desk.stats(), unstored: budget.unstored ?? this.#store.unstored };
  }

  /** Whether all grants have been stored, so that another program can continue at once. */
  get isKept(): boolean {
    return [...this.#budgets.values()].every(({ unstored }) => unstored === undefined);
  }

  /** Whether there is no room for another budget, besides those that are about to be opened. */
  isFull(opening = 0): boolean {
    return this.#budgets.size + opening >= this.most;
  }

  /** Whether no request has arrived for a while. */
  isIdle(key: string): boolean {
    const budget = this.#budgets.get(key);
    if (!budget) return true;
    const silent = performance.now() - budget.asked;
    const rests = silent > REST && !this.#isUsed(budget) && !budget.desk.stats().inFlight;
    return rests || silent > Math.max(IDLE, (this.policy.heartbeat ?? 0) * 4);
  }

  /** Whether a member is present: it has asked within the expiry, and not left. Forgets the others, and the earliest of too many. */
  #isUsed({ members }: Budget): boolean {
    const { expiry = 30_000, heartbeat = 0 } = this.policy;
    const since = performance.now() - Math.max(expiry, heartbeat * 4);
    for (const [member, asked] of members) {
      if (asked >= since && members.size <= PRESENT) break;
      members.delete(member);
    }
    return members.size > 0;
  }

  open(key: string, from: Past | undefined): Budget {
    const { policy, now } = this;
    const budget = { desk: new Desk(this.core(), policy, { from, now }), asked: performance.now(), members: new Map<number, number>(), unstored: undefined };
    this.#budgets.set(key, budget);
    return budget;
  }

  /** Unloads a budget, and returns its last record. */
  close(key: string): Uint8Array<ArrayBuffer> | undefined {
    const desk = this.#budgets.get(key)?.desk;
    const record = desk?.snapshot();
    desk?.close();
    this.#budgets.delete(key);
    this.#store.close?.(key);
    return record;
  }

  end(): void {
    for (const key of this.#budgets.keys()) this.close(key);
  }

  /** Opens a budget from its record, in place of those that are idle. */
  #load(key: string): Budget {
    for (const [idle, { unstored }] of this.#budgets) if (unstored === undefined && this.isIdle(idle)) this.close(idle);
    if (this.isFull()) throw this.full();
    return this.open(key, this.#store.read(key));
  }

  full(): TidegateError {
    return new TidegateError("KEYS_FULL", `this program holds at most ${this.most} budgets: use fewer keys, or more programs. Through Redis, the option keys is the limit`);
  }
}
