/**
 * One budget for all processes of a fleet that share a Redis server.
 *
 * The budget is held by one of the processes: whoever asks and finds that nobody holds it takes the
 * seat, and another does within a second or two after a crash. Redis carries the messages, keeps
 * what has been learnt, and decides who holds the seat.
 *
 * The other way would be to keep the budget in Redis alone, read by each process, changed there, and
 * written back where nobody else has in between. It was not taken: what is written down of a budget is
 * what outlasts its holder, 200 bytes or so, and not who shares it and each call in flight, which are a
 * hundred thousand; and of a fleet that asks at the same time all but one would have to begin again.
 */

import { instance, unpack } from "./core.js";
import { PumpedLane } from "./pumped.js";
import { check, type RedisClient } from "./redis/client.js";
import { Post } from "./redis/post.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import type { DeskStats } from "./shared/desk.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import { common, packed } from "#packed/shared";

/** What a shared gate is made with: which server, and what the budget of each key keeps to. */
export interface RedisOptions extends SharedOptions, SharedPolicy {
  /**
   * A client that is connected, of the package `redis` or `ioredis`. It is yours, and stays open; one
   * more connection is made as it was made, and closed with the gate.
   */
  shared: RedisClient;
  /** What the names of all keys in Redis begin with. Who has the same one shares. @defaultValue "\{tidegate\}" */
  prefix?: string;
  /** Makes the jitter of a budget that this process holds repeatable, for tests. @defaultValue from `crypto` */
  seed?: number;
}

/** A gate that shares the budget of each key with the other processes of a fleet. */
export interface RedisGate extends SharedGate {
  /** What the budget of a key has counted, where this is the process that holds it. @defaultValue the key of `run` */
  readonly budget: (key?: string) => DeskStats | undefined;
  /** Gives back what is leased, and the budgets that this process holds, and ends the connection that the gate has made. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

let module: WebAssembly.Module | undefined;
const load = () => instance((module ??= new WebAssembly.Module(unpack(packed, common))));
const share = sharer(load, PumpedLane, () => {});

/**
 * Makes a gate that shares the budget of each key with all processes whose gates have the same `prefix`
 * on the same server. Make one for the program, and close it before the client.
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
export type { Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { Quota } from "./policy.js";
export type { IoRedis, NodeRedis, RedisClient } from "./redis/client.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";
