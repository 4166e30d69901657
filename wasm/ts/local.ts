/**
 * One budget for the processes of one user on one machine, without a server.
 *
 * The processes connect through a socket. The process that owns it holds the budgets. If it ends or
 * freezes, the next process that asks takes the socket over and continues from the holder's files
 * beside it. The crate `tidegate-tower` uses the same protocol: see `core/docs/local.md`.
 */

import { instance, unpack } from "./core.js";
import type { LocalStats } from "./local/budgets.js";
import { Place } from "./local/place.js";
import { Post } from "./local/post.js";
import { PumpedLane } from "./pumped.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import { common, packed } from "#packed/shared";

/** Options of a shared gate: which processes share, and the policy of each key's budget. */
export interface LocalOptions extends SharedOptions, SharedPolicy {
  /**
   * Processes with the same name and folder share. 1 to 64 letters, digits, dots, dashes and
   * underscores. @defaultValue "default"
   */
  name?: string;
  /**
   * The folder of the socket and the records. It must belong to the user and be closed to others.
   * @defaultValue `tidegate-` followed by the user ID, in the folder for temporary files
   */
  folder?: string;
  /** The seed of the jitter of budgets that this process holds, for tests. @defaultValue random */
  seed?: number;
}

/** A gate that shares the budget of each key with the user's other processes. */
export interface LocalGate extends SharedGate {
  /**
   * Returns the counters of a key's budget if this process holds it, else `undefined`.
   * @defaultValue the key of `run`
   */
  readonly budget: (key?: string) => LocalStats | undefined;
  /** Returns all leases, and releases the socket if this process owns it. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

let module: WebAssembly.Module | undefined;
const load = () => instance((module ??= new WebAssembly.Module(unpack(packed, common))));
const share = sharer(load, PumpedLane, () => {});

/**
 * Creates a gate that shares the budget of each key with all processes that use the same `name`.
 * Create one for the program.
 */
export function tidegate({ name = "default", folder, law, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: LocalOptions = {}): LocalGate {
  const policy = { law, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared(new Float64Array(18), policy);
  const { seed, now } = options;
  const post = new Post({ place: new Place(name, folder), policy, load, seed, now });
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
export type { LocalStats } from "./local/budgets.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";
