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
  lease(request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined>;
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

/** Makes a gate that shares the budget of each key with all other isolates. Make it at module scope. */
export function tidegate({ shared, ...options }: DurableOptions): SharedGate {
  if (typeof shared?.getByName !== "function") {
    throw new PolicyError("shared is no binding of Durable Objects: name one in wrangler.jsonc under durable_objects, and pass it as env.TIDEGATE");
  }
  return share((key, request) => shared.getByName(key).lease(request), options);
}

/** What an object keeps in its storage. */
interface Kept {
  /** When it was written, in milliseconds since 1970. */
  at: number;
  record: Uint8Array;
}

/** So many milliseconds after the first news a record is written; no later than this where the alarm is late. */
const EVERY = 8_000;
const LATEST = 9_500;

/**
 * The object that holds the budget of one key: export it from a worker, and bind it there. It needs
 * SQLite storage (`new_sqlite_classes`).
 */
export class TidegateObject<Env = unknown> extends workers.DurableObject<Env> {
  #desk: Desk | undefined;
  #written = -Infinity;
  #isAlarmSet = false;

  /** What the budget of a key keeps to: extend the class to say so. @defaultValue the law `adaptive` */
  policy(_key: string): SharedPolicy {
    return {};
  }

  /** Answers a request of a gate's. */
  lease(request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const grant = this.#open().answer(request);
    this.#note();
    return grant;
  }

  /** Follows another policy from now on, and after a move; without one, the class's own again. */
  setPolicy(policy?: SharedPolicy): void {
    this.#open().follow(policy ?? this.policy(this.#key));
    if (policy) this.ctx.storage.kv.put("policy", policy);
    else this.ctx.storage.kv.delete("policy");
    this.#note();
  }

  /** What has been counted since the object woke up. */
  stats(): DeskStats {
    return this.#open().stats();
  }

  /** Writes down what has been learnt since the latest record. */
  override alarm(): void {
    this.#isAlarmSet = false;
    this.#write(Date.now());
  }

  get #key(): string {
    return this.ctx.id.name ?? "";
  }

  #open(): Desk {
    if (this.#desk) return this.#desk;
    // Without SQLite the runtime says here what has to be changed.
    const { kv } = this.ctx.storage;
    const kept = kv.get<Kept>("budget");
    const policy = kv.get<SharedPolicy>("policy") ?? this.policy(this.#key);
    const from = kept && { record: kept.record, away: Math.max(Date.now() - kept.at, 0) };
    return (this.#desk = new Desk(() => instance(module), policy, { from }));
  }

  /** Something has changed. */
  #note(): void {
    const now = Date.now();
    if (now - this.#written >= LATEST || now < this.#written) this.#write(now);
    else if (!this.#isAlarmSet) {
      this.#isAlarmSet = true;
      void this.ctx.storage.setAlarm(this.#written + EVERY);
    }
  }

  #write(now: number): void {
    if (!this.#desk) return;
    this.#written = now;
    this.ctx.storage.kv.put<Kept>("budget", { at: now, record: this.#desk.snapshot() });
  }
}

export { Closed, Late, PolicyError, QueueFull, Refused, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Permit, Target } from "./gate.js";
export type { Cause } from "./lane.js";
export type { Law, Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";
