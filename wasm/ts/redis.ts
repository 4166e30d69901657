/**
 * One budget for all processes of a fleet that share a Redis server.
 *
 * One of the processes holds the budget: the first one that asks while no process holds it. After a crash, another
 * process takes over within a second or two. Redis carries the messages, keeps the record, and decides which process
 * holds the budget.
 *
 * The budget itself is not in Redis: with its members and calls in flight it takes a hundred thousand bytes, a record 200. And
 * if several processes changed it at the same time, all but one would have to start again.
 */

import { check, type RedisClient } from "./redis/client.js";
import { Post } from "./redis/post.js";
import { held, type HeldGate, type HeldOptions } from "./shared/held.js";

/** Options of a shared gate: the server, and the policy of each key's budget. */
export interface RedisOptions extends HeldOptions {
  /**
   * A connected client of the package `redis` or `ioredis`. The gate duplicates it for a second connection, and
   * closes only that one.
   */
  shared: RedisClient;
  /** The prefix of all names in Redis. Gates with the same prefix share their budgets. @defaultValue "\{tidegate\}" */
  prefix?: string;
}

/**
 * Creates a gate that shares the budget of each key with all processes whose gates have the same `prefix` on the
 * same server. Create one for the program, and close it before the client.
 */
export function tidegate({ shared, prefix = "{tidegate}", ...options }: RedisOptions): HeldGate {
  check(shared);
  return held(options, (budgets, standing) => new Post(shared, prefix, budgets, standing));
}

export type { IoRedis, NodeRedis, RedisClient } from "./redis/client.js";
export type { HeldGate } from "./shared/held.js";
export * from "./shared/index.js";
