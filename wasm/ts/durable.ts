/**
 * One budget for all isolates of a Cloudflare Worker. A Durable Object holds the budget of each key.
 *
 * This entry runs only in Cloudflare's runtime. It contains both the gate and the object.
 */

import * as workers from "cloudflare:workers";
import { instance } from "./core.js";
import { PolicyError } from "./errors.js";
import { LoneLane } from "./lone.js";
import type { BudgetStats } from "./shared/budgets.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import { made } from "./shared/core.js";
import { Desk } from "./shared/desk.js";
import type { SharedPolicy } from "./shared/policy.js";
import module from "./shared.wasm";

/** A stub of the object that holds the budget of one key. */
export interface Stub {
  lease(request: Uint8Array<ArrayBuffer>, key: string): Promise<Uint8Array | undefined>;
}

/** A binding of a class that extends {@link TidegateObject}. */
export interface Namespace {
  getByName(name: string): Stub;
}

/** Options of a shared gate. */
export interface DurableOptions extends SharedOptions {
  /** The binding of the objects that hold the budgets, such as `env.TIDEGATE`. */
  shared: Namespace;
}

const share = sharer(
  () => instance(module),
  LoneLane,
  // Outside of a request there is nothing to keep alive, and old runtimes cannot do it.
  (until) => {
    try {
      workers.waitUntil?.(until);
    } catch {}
  },
);

/** Options that belong to the object's policy. */
const POLICY = ["law", "tolerance", "requests", "maxCooldown", "concurrency", "expiry", "heartbeat"] satisfies (keyof SharedPolicy)[];

/** Creates a gate that shares the budget of each key with all other isolates. Create it at module scope. */
export function tidegate({ shared, ...options }: DurableOptions): SharedGate {
  const misplaced = POLICY.find((name) => (options as SharedPolicy)[name] !== undefined);
  if (misplaced) {
    throw new PolicyError(`${misplaced} is not an option of a shared gate: return it from policy() of a class that extends TidegateObject`);
  }
  if (typeof shared?.getByName !== "function") {
    throw new PolicyError("shared is not a binding of Durable Objects: add one under durable_objects in wrangler.jsonc, and pass it as env.TIDEGATE");
  }
  return share((key, request) => shared.getByName(key).lease(request, key), options);
}

/** The data that an object stores. */
interface Kept {
  /** When it was written, in milliseconds since 1970. */
  at: number;
  record: Uint8Array;
  /** Whether nothing is leased after this record until another is written. */
  rests: boolean;
  /** The object's name. Cloudflare passes it only in recent runtimes, and only up to 1024 bytes. */
  key: string;
}

/** The record of an object that has learned nothing. */
const NOTHING = new Uint8Array();

/** The storage keys of the record, and of a policy that was set. */
const BUDGET = "tidegate:budget";
const TOLD = "tidegate:policy";

/** Milliseconds between two records, and the longest time between them if the alarm is late. */
const EVERY = 8_000;
const LATEST = 9_500;

/**
 * The object that holds the budget of one key. Export a class that extends it from a Worker, and bind that class.
 *
 * The object needs SQLite storage (`new_sqlite_classes`), in which it uses names that begin with `tidegate:`, and the
 * alarm. A class with its own `alarm` calls `super.alarm()` in it.
 *
 * If the storage rejects writes (it is full, or a plan's writes are used up), the object continues, `stats()` returns
 * the reason as `unstored`, and each request tries again. An object that restores an old record leases nothing until
 * all earlier leases have been used or have expired. Earlier and later leases add up in one case: nothing could be
 * stored since the object woke up, and storage works again in the moment in which the object moves. If the storage
 * cannot be read, the object leases nothing, and each isolate continues within its share.
 *
 * A budget takes 0.2 MB of memory while it is awake, and more with each member and each call in flight.
 * Cloudflare gives the objects of a class in one process 128 MB together.
 */
export class TidegateObject<Env = unknown> extends workers.DurableObject<Env> {
  #desk: Desk | undefined;
  #key: string | undefined;
  #written = -Infinity;
  /** Whether the record says that nothing is leased after it, and whether a request has arrived since the alarm. */
  #rests = false;
  #isBusy = false;
  #isAlarmSet = false;
  #unstored: string | undefined;

  /** Returns the policy of a key's budget. Override it. @defaultValue the law `adaptive` */
  policy(_key: string): SharedPolicy {
    return {};
  }

  /** Answers a gate's request for leases of a key. */
  lease(request: Uint8Array, key?: string): Uint8Array<ArrayBuffer> | undefined {
    if (key !== undefined && key !== this.#name()) {
      this.#key = key;
      // An instance that opened it before learning the key has leased nothing.
      this.#desk = undefined;
    }
    const grant = this.#open().answer(request);
    this.#isBusy = true;
    const now = Date.now();
    // A successor must know of a lease before it is sent.
    if (this.#rests || now - this.#written >= LATEST || now < this.#written) this.#write(now);
    else this.#wake(now);
    return grant;
  }

  /**
   * Replaces the policy, and stores it so that it stays after a move. Without an argument, `policy()` applies again. If the
   * policy cannot be stored, this throws, and the policy applies until the object moves.
   */
  setPolicy(policy?: SharedPolicy): void {
    const { kv } = this.ctx.storage;
    const next = policy ?? this.policy(this.#name());
    // Check the policy before storing it; a stored policy is not checked again.
    if (this.#desk) this.#desk.follow(next);
    else this.#desk = this.#made(next);
    if (policy) kv.put(TOLD, policy);
    else kv.delete(TOLD);
    // A record of another law would not fit.
    this.#write(Date.now());
  }

  /** Returns the counters since the object woke up. */
  stats(): BudgetStats {
    return { ...this.#open().stats(), unstored: this.#unstored };
  }

  /** Stores the budget, and notes that the object is at rest if no request came since the last alarm. */
  override alarm(): void {
    this.#isAlarmSet = false;
    this.#open();
    const rests = !this.#isBusy;
    this.#isBusy = false;
    // The runtime logs the error and calls the alarm again, with growing delays.
    if (!this.#write(Date.now(), rests)) throw new Error(`the budget of ${this.#name()} is not stored: ${this.#unstored}`);
  }

  #name(): string {
    return (this.#key ??= this.ctx.id.name ?? this.#kept()?.key) ?? "";
  }

  // Without SQLite, this throws the runtime's explanation.
  #kept(): Kept | undefined {
    return this.ctx.storage.kv.get<Kept>(BUDGET);
  }

  #open(): Desk {
    return (this.#desk ??= this.#made(this.ctx.storage.kv.get<SharedPolicy>(TOLD) ?? this.policy(this.#name())));
  }

  #made(policy: SharedPolicy): Desk {
    const now = Date.now();
    const kept = this.#kept();
    // A successor must know that this object leases. If that cannot be stored, there may have been
    // unknown predecessors too.
    const isFirst = !kept || kept.rests;
    const ended = isFirst && this.#store({ at: now, record: NOTHING, ...kept, rests: false, key: this.#name() });
    this.#wake(now);
    const { record, at } = kept ?? { record: NOTHING, at: now };
    const from = kept || !ended ? { record, away: Math.max(now - at, 0), ended } : undefined;
    return new Desk(made(instance(module)), policy, { from });
  }

  #write(now: number, rests = false): boolean {
    const isStored = this.#store({ at: now, record: this.#desk!.snapshot(), rests, key: this.#name() });
    if (isStored) this.#written = now;
    else this.#desk!.unkept();
    if (!rests) this.#wake(now);
    return isStored;
  }

  #store(kept: Kept): boolean {
    try {
      this.ctx.storage.kv.put<Kept>(BUDGET, kept);
    } catch (error) {
      this.#unstored = String(error);
      return false;
    }
    this.#rests = kept.rests;
    this.#unstored = undefined;
    return true;
  }

  /** Sets the alarm. If that fails, the next request tries again. */
  async #wake(now: number): Promise<void> {
    if (this.#isAlarmSet) return;
    this.#isAlarmSet = true;
    try {
      await this.ctx.storage.setAlarm(now + EVERY);
    } catch {
      this.#isAlarmSet = false;
    }
  }
}

export * from "./shared/index.js";
