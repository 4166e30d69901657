/**
 * One budget for all processes of a fleet that share a Redis server.
 *
 * One of the processes holds the budget: the first one that asks while no process holds it. After a crash, another
 * process takes over within a second or two. Redis carries the messages, keeps the record, and decides which process
 * holds the budget.
 *
 * The alternative is to keep the whole budget in Redis, and to let each process read, change and write it. That was
 * rejected for two reasons. A record has about 200 bytes, but the members and the calls in flight take a hundred
 * thousand. And if several processes ask at the same time, all but one have to start again.
 */

import { instance, unpack } from "./core.js";
import { PumpedLane } from "./pumped.js";
import { check, type RedisClient } from "./redis/client.js";
import { Post } from "./redis/post.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import type { DeskStats } from "./shared/desk.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import { common, packed } from "#packed/shared";

/** Options of a shared gate: the server, and the policy of each key's budget. */
export interface RedisOptions extends SharedOptions, SharedPolicy {
  /**
   * A connected client of the package `redis` or `ioredis`. The gate duplicates it for a second connection, and
   * closes only that one.
   */
  shared: RedisClient;
  /** The prefix of all names in Redis. Gates with the same prefix share their budgets. @defaultValue "\{tidegate\}" */
  prefix?: string;
  /** The seed of the jitter of budgets that this process holds, for tests. @defaultValue random */
  seed?: number;
}

/** A gate that shares the budget of each key with the other processes of a fleet. */
export interface RedisGate extends SharedGate {
  /** Returns the counters of a key's budget if this process holds it, else `undefined`. @defaultValue the key of `run` */
  readonly budget: (key?: string) => DeskStats | undefined;
  /** Returns all leases, hands over the budgets that this process holds, and closes the second connection. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

let module: WebAssembly.Module | undefined;
const load = () => instance((module ??= new WebAssembly.Module(unpack(packed, common))));
const share = sharer(load, PumpedLane, () => {});

/**
 * Creates a gate that shares the budget of each key with all processes whose gates have the same `prefix` on the
 * same server. Create one for the program, and close it before the client.
 */
export function tidegate({ shared, prefix = "{tidegate}", law, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: RedisOptions): RedisGate {
  check(shared);
  const policy = { law, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared(new Float64Array(18), policy);
  const { seed, now } = options;
  const post = new Post({ client: shared, prefix, policy, load, seed, now });
  const gate = share(post.carry, options);
  let closed: Promise<void> | undefined;
  const close = () => {
    gate.close();
    return (closed ??= post.close());
  };
  const budget = (key = "") => post.budget(key);
  return { ...gate, budget, close, [Symbol.dispose]: close, [Symbol.asyncDispose]: close };
}

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Peek, Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { Quota } from "./policy.js";
export type { IoRedis, NodeRedis, RedisClient } from "./redis/client.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";
