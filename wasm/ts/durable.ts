/**
 * One budget for all isolates of a Cloudflare worker, held by a Durable Object for each key.
 *
 * The entry for Cloudflare's runtime alone: it has both sides of the seam that `shared/` describes.
 */

import * as workers from "cloudflare:workers";
import { instance } from "./core.js";
import { PolicyError } from "./errors.js";
import { LoneLane } from "./lone.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import { Desk, type DeskStats } from "./shared/desk.js";
import type { SharedPolicy } from "./shared/policy.js";
import module from "./shared.wasm";

/** The object of one key, as seen from afar. */
export interface Stub {
  lease(request: Uint8Array<ArrayBuffer>, key: string): Promise<Uint8Array | undefined>;
}

/** A binding of {@link TidegateObject}, or of a class that extends it. */
export interface Namespace {
  getByName(name: string): Stub;
}

/** What a shared gate is made with. */
export interface DurableOptions extends SharedOptions {
  /** The objects that hold the budgets, one for each key: `env.TIDEGATE`, or what the binding is called. */
  shared: Namespace;
}

const share = sharer(
  () => instance(module),
  LoneLane,
  // Outside of a request there is nothing to keep alive, and an old runtime cannot.
  (until) => {
    try {
      workers.waitUntil?.(until);
    } catch {}
  },
);

/** What belongs to the object's policy. */
const POLICY = ["law", "requests", "maxCooldown", "concurrency", "expiry", "heartbeat"] satisfies (keyof SharedPolicy)[];

/** Makes a gate that shares the budget of each key with all other isolates. Make it at module scope. */
export function tidegate({ shared, ...options }: DurableOptions): SharedGate {
  const misplaced = POLICY.find((name) => (options as SharedPolicy)[name] !== undefined);
  if (misplaced) {
    throw new PolicyError(`${misplaced} is no option of a shared gate: the limit belongs where the budget is, so return it from policy() of a class that extends TidegateObject`);
  }
  if (typeof shared?.getByName !== "function") {
    throw new PolicyError("shared is no binding of Durable Objects: name one in wrangler.jsonc under durable_objects, and pass it as env.TIDEGATE");
  }
  return share((key, request) => shared.getByName(key).lease(request, key), options);
}

/** What an object has counted. */
export type ObjectStats = DeskStats & {
  /** Why what has been learnt could not be stored when that was tried last. Budgets are leased all the same. */
  unstored: string | undefined;
};

/** What an object keeps in its storage. */
interface Kept {
  /** When it was written, in milliseconds since 1970. */
  at: number;
  record: Uint8Array;
  /** Whether nothing is leased after it before another is written. */
  rests: boolean;
  /** Cloudflare tells an object its name where that is no longer than 1024 bytes, and of late. */
  key: string;
}

/** The record of an object that has learnt nothing yet. */
const NOTHING = new Uint8Array();

/** Where it keeps that, and a policy that it was told. */
const BUDGET = "tidegate:budget";
const TOLD = "tidegate:policy";

/** So many milliseconds after one record the next is written; no later than this where the alarm is late. */
const EVERY = 8_000;
const LATEST = 9_500;

/**
 * The object that holds the budget of one key: export it from a worker, and bind it there. It needs
 * SQLite storage (`new_sqlite_classes`), where the names that begin with `tidegate:` are its own, and
 * the alarm: a class that has one of its own calls `super.alarm()` in it.
 *
 * Where its storage takes nothing any more (it is full, or a plan's share of writes is used up) the object
 * goes on, and `stats()` tells why nothing is stored; each request tries again. Whoever wakes up from an old
 * record leases nothing before all has left that may have been leased. (The leases of before and after add up
 * in one case: nothing could be stored since the object woke up from rest, and it can be in the moment in which
 * the object moves.) Where nothing can be read, nothing is leased, and calls go on within their isolates' shares.
 *
 * A budget takes 0.92 MB of memory while it is awake, so that Cloudflare's 128 MB for
 * all objects of a class that share a process are enough for a hundred and thirty keys at a time.
 */
export class TidegateObject<Env = unknown> extends workers.DurableObject<Env> {
  #desk: Desk | undefined;
  #key: string | undefined;
  #written = -Infinity;
  /** Whether the record says that nothing is leased after it, and whether a request came since the alarm. */
  #rests = false;
  #isBusy = false;
  #isAlarmSet = false;
  #unstored: string | undefined;

  /** What the budget of a key keeps to: extend the class to say so. @defaultValue the law `adaptive` */
  policy(_key: string): SharedPolicy {
    return {};
  }

  /** Answers a request of a gate's, for a key. */
  lease(request: Uint8Array, key?: string): Uint8Array<ArrayBuffer> | undefined {
    if (key !== undefined && key !== this.#name()) {
      this.#key = key;
      // Whoever has opened it has leased nothing, or would have told the key.
      this.#desk = undefined;
    }
    const grant = this.#open().answer(request);
    this.#isBusy = true;
    const now = Date.now();
    // Whoever comes next has to know of a lease before it is sent.
    if (this.#rests || now - this.#written >= LATEST || now < this.#written) this.#write(now);
    else this.#wake(now);
    return grant;
  }

  /**
   * Follows another policy from now on, and after a move; without one, the class's own again. Where that
   * cannot be stored it throws, and the policy holds until the object moves.
   */
  setPolicy(policy?: SharedPolicy): void {
    const { kv } = this.ctx.storage;
    const next = policy ?? this.policy(this.#name());
    // Nothing that cannot be is stored; and what is stored is not asked whether it can.
    if (this.#desk) this.#desk.follow(next);
    else this.#desk = this.#made(next);
    if (policy) kv.put(TOLD, policy);
    else kv.delete(TOLD);
    // A record of another law would not fit.
    this.#write(Date.now());
  }

  /** What has been counted since the object woke up. */
  stats(): ObjectStats {
    return { ...this.#open().stats(), unstored: this.#unstored };
  }

  /** Writes down what has been learnt since the latest record; and that the object rests, where nobody has asked since. */
  override alarm(): void {
    this.#isAlarmSet = false;
    this.#open();
    const rests = !this.#isBusy;
    this.#isBusy = false;
    // What throws is tried again by the runtime, later each time, and is in its log.
    if (!this.#write(Date.now(), rests)) throw new Error(`the budget of ${this.#name()} is not stored: ${this.#unstored}`);
  }

  #name(): string {
    return (this.#key ??= this.ctx.id.name ?? this.#kept()?.key) ?? "";
  }

  // Without SQLite the runtime says here what has to be changed.
  #kept(): Kept | undefined {
    return this.ctx.storage.kv.get<Kept>(BUDGET);
  }

  #open(): Desk {
    return (this.#desk ??= this.#made(this.ctx.storage.kv.get<SharedPolicy>(TOLD) ?? this.policy(this.#name())));
  }

  #made(policy: SharedPolicy): Desk {
    const now = Date.now();
    const kept = this.#kept();
    // Whoever comes next has to know that this one leases. Where that cannot be told, there may have been
    // others of whom nobody knows.
    const isFirst = !kept || kept.rests;
    const ended = isFirst && this.#store({ at: now, record: NOTHING, ...kept, rests: false, key: this.#name() });
    this.#wake(now);
    const { record, at } = kept ?? { record: NOTHING, at: now };
    const from = kept || !ended ? { record, away: Math.max(now - at, 0), ended } : undefined;
    return new Desk(() => instance(module), policy, { from });
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

  /** Sees that there will be an alarm. Where it cannot be set, the next request tries again. */
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

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";
