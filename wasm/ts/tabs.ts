/**
 * One budget for the tabs of one browser that show pages of one origin.
 *
 * One tab holds the budgets, and the others lease from it over a BroadcastChannel. A Web Lock
 * decides which one it is. When that tab is closed, discarded or frozen, another one continues from
 * its last messages.
 */

import { compile, instance } from "./core.js";
import { PumpedLane } from "./pumped.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import type { LeasedLane } from "./shared/lane.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import type { TabStats } from "./tabs/budgets.js";
import { Post } from "./tabs/post.js";
import { Records } from "./tabs/records.js";
import { timers } from "./tabs/timers.js";
import { common, packed } from "#packed/shared";

/** Options of a shared gate: which tabs share, and the policy of each key's budget. */
export interface TabOptions extends SharedOptions, SharedPolicy {
  /**
   * Tabs whose gates have the same name share. It is part of the names of a channel, a lock and an
   * item of `localStorage`, after `tidegate:`. @defaultValue "default"
   */
  name?: string;
  /** The seed of the jitter of budgets that this tab holds, for tests. @defaultValue random */
  seed?: number;
}

/** A gate that shares the budget of each key with the other tabs. */
export interface TabGate extends SharedGate {
  /** Returns the counters of a key's budget if this tab holds it, else `undefined`. @defaultValue the key of `run` */
  readonly budget: (key?: string) => TabStats | undefined;
}

let module: object | undefined;
const load = () => instance((module ??= compile(packed, common)));
const share = sharer(load, PumpedLane, () => {});

/**
 * Creates a gate that shares the budget of each key with all tabs of the origin that use the same
 * `name`. Create one for the page.
 */
export function tidegate({ name = "default", law, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: TabOptions = {}): TabGate {
  const policy = { law, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared(new Float64Array(18), policy);
  const { seed, now } = options;
  const lanes = new Set<LeasedLane>();
  const all = `tidegate:${name}`;
  const post = new Post({ policy, records: new Records(all), load, seed, now }, all, () => lanes.forEach((lane) => lane.rest()));
  const gate = share(post.carry, { ...options, timers }, lanes);
  const close = () => {
    gate.close();
    post.close();
  };
  return { ...gate, budget: (key = "") => post.budget(key), close, [Symbol.dispose]: close };
}

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Peek, Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type { TabStats } from "./tabs/budgets.js";
export type * from "./shared/index.js";
